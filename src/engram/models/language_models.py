"""Language models: text generators with a budget, answers checked against a JSON schema, and the extractor interface.

A generator is a chat endpoint or any function from a prompt to text. An answer that must be JSON is checked and requested once
more if it does not fit. Every call counts against the budget. A model that is down, over budget or unusable raises an error
that quotes no text, and the caller continues without the model.

An `Extractor` is any function from turns to statements. `capture/extraction.py` checks its statements before they are stored,
and does without those that do not come in time.

Schemas use the part of JSON Schema that model endpoints support: type (one or several), properties, required, items, enum.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from engram.deadline import without_deadline
from engram.errors import GenerationFailed, GeneratorUnavailable
from engram.models.spending import SpendingBudget
from engram.types import Fact, Turn
from engram.values.frozen import frozen, replace


@frozen(kw_only=True)
class Extracted:
    """A statement that a model extracted from turns. `turn`: the index of its turn, counted from 0, if known.

    `facts`: its content as subject, predicate and object; the rules read the text as well.
    """

    text: str
    category: str = "fact"
    confidence: float = 0.8
    happened_at: datetime | None = None
    turn: int | None = None
    facts: tuple[Fact, ...] = ()


class Extractor(Protocol):
    """The function passed as `engram.open(extractor=…)`. `context`: earlier turns that help to understand `turns`."""

    def __call__(self, turns: Sequence[Turn], context: Sequence[Turn]) -> Sequence[Extracted]: ...


def sentence_extractor() -> Extractor:
    """Return an extractor that makes each sentence of a person a statement: a fake, and an example of the interface."""
    from engram.text import sentences  # late: only the fake needs them
    from engram.text.english.grammar import is_assistant

    def extract(turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extracted]:
        return [
            Extracted(text=f"{turn.speaker}: {turn.text[start:end]}", turn=number)
            for number, turn in enumerate(turns)
            if not is_assistant(turn.speaker)
            for start, end in sentences.spans(turn.text)
        ]

    return extract


Schema = Mapping[str, Any]

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_QUOTED = 4000  # characters of a rejected answer that are quoted back to the model
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip


def without_thinking(text: str) -> str:
    """Return an answer without its thinking: in a pair of tags, from the start to a closing tag, or after an opening tag."""
    kept: list[str] = []
    last, thinking = 0, False
    for tag in _THINKING.finditer(text):
        if tag[1]:
            if not thinking:
                kept.clear()
            thinking, last = False, tag.end()
        elif not thinking:
            kept.append(text[last : tag.start()])
            thinking = True
    return "".join(kept if thinking else [*kept, text[last:]]).strip()


def parse_json(text: str) -> Any:
    """Return the JSON value in an answer: the whole text, in a code block, or among other words. Raise ValueError if none."""
    for piece, start in _json_starts(text):
        try:
            return _DECODER.raw_decode(piece, start)[0] if start else json.loads(piece)
        except (ValueError, RecursionError):
            continue
    raise ValueError("it is not JSON")


def _json_starts(text: str) -> Iterator[tuple[str, int]]:
    """Yield texts with the index at which JSON may begin. JSON that begins at 0 must fill the whole text."""
    yield text, 0
    answer = " " + without_thinking(text)
    yield answer, 0
    yield from ((answer, at) for opening in "{[" if (at := answer.find(opening)) > 0)


def schema_violation(value: Any, schema: Schema, at: str = "the answer") -> str:
    """Return the first violation of the schema, or "". It names a path and a rule, never a value."""
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_has_type(value, kind) for kind in kinds):
        return f"{at} is not of type {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is not one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        missing = [name for name in schema.get("required", ()) if name not in value]
        if missing:
            return f"{at} lacks {missing[0]!r}"
        properties = schema.get("properties", {})
        violations = (schema_violation(value[name], properties[name], f"{at}.{name}") for name in properties if name in value)
        return next((violation for violation in violations if violation), "")
    if isinstance(value, list) and "items" in schema:
        violations = (schema_violation(item, schema["items"], f"{at}[{number}]") for number, item in enumerate(value))
        return next((violation for violation in violations if violation), "")
    return ""


def _has_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, (object,))) or (
        kind == "integer" and isinstance(value, float) and value.is_integer()
    )


@frozen(kw_only=True)
class GenerationRequest:
    """A request to a language model. With a schema the answer must be JSON of that form; `again` holds later messages."""

    instructions: str
    prompt: str
    schema: Schema | None = None
    again: tuple[tuple[str, str], ...] = ()  # role, text

    @property
    def messages(self) -> list[dict[str, str]]:
        parts = (("system", self.instructions), ("user", self.prompt), *self.again)
        return [{"role": role, "content": text} for role, text in parts if text]

    @property
    def cost(self) -> int:
        """An upper estimate of the tokens of the messages: one for three bytes."""
        return sum(_tokens(message["content"]) for message in self.messages) + 16


@frozen
class GeneratedText:
    """An answer; its tokens including the prompt's (0: not reported); whether it was cut off or declined."""

    text: str
    tokens: int = 0
    cut: bool = False
    declined: bool = False


class TextGenerator(Protocol):
    """The backend of a language model: a chat endpoint or a function. `place`: its address, or ""."""

    name: str
    place: str

    @property
    def trouble(self) -> str: ...

    def ready(self) -> None:
        """Raise if the generator is known to be down, before the call is charged to the budget."""

    def generate(self, request: GenerationRequest) -> GeneratedText: ...

    def close(self) -> None: ...


class CallableGenerator:
    """A text generator around any function from a prompt to text."""

    place = ""
    trouble = ""

    def __init__(self, function: Callable[[str], str]) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function

    def ready(self) -> None:
        pass

    def generate(self, request: GenerationRequest) -> GeneratedText:
        try:
            answer: object = self._function("\n\n".join(message["content"] for message in request.messages))
        except Exception as error:  # noqa: BLE001  a caller's function may raise anything, and its message may quote the prompt
            problem = GeneratorUnavailable(f"the language model failed ({type(error).__name__}).")
        else:
            if isinstance(answer, str):
                return GeneratedText(answer)
            problem = GeneratorUnavailable(f"the language model returned {type(answer).__name__}, not text.")
        raise problem  # outside the handler, so that the function's own error is not chained

    def close(self) -> None:
        pass


class LanguageModel:
    """A text generator with its budget. Answers are checked against the request's schema."""

    def __init__(self, generator: TextGenerator, budget: SpendingBudget) -> None:
        self.generator = generator
        self.budget = budget

    @property
    def trouble(self) -> str:
        """The reason why the model would not answer now, or ""."""
        return self.budget.trouble or self.generator.trouble

    def text(self, request: GenerationRequest) -> str:
        """Return the answer without the model's thinking."""
        text = without_thinking(self._generate(request).text)
        if not text:
            raise GenerationFailed(f"{self.generator.name} returned an empty answer.")
        return text

    def value(self, request: GenerationRequest) -> Any:
        """Return the answer as a value of the request's schema. A first answer that does not fit is requested once more."""
        schema = request.schema or {}
        answer = self._generate(request)
        value, problem = _parse(answer, schema)
        if problem:
            retry = f"This cannot be used: {problem}. Answer again, with nothing but JSON that fits the schema."
            answer = self._generate(replace(request, again=(("assistant", answer.text[:_QUOTED]), ("user", retry))))
            value, problem = _parse(answer, schema)
        if problem:
            raise GenerationFailed(f"{self.generator.name} answered twice without fitting the schema.")
        return value

    def _generate(self, request: GenerationRequest) -> GeneratedText:
        self.generator.ready()
        used = request.cost
        reservation = self.budget.reserve(used)
        try:
            answer = self.generator.generate(request)
            used = answer.tokens or used + _tokens(answer.text)
        finally:
            with without_deadline():  # the tokens were spent even if the caller stopped waiting
                self.budget.settle(reservation, used)
        if answer.declined:
            raise GenerationFailed(f"{self.generator.name} declined to answer.")
        return answer

    def close(self) -> None:
        self.generator.close()


def _parse(answer: GeneratedText, schema: Schema) -> tuple[Any, str]:
    try:
        value = parse_json(answer.text)
    except ValueError as error:
        return None, "it was cut off, so that it must be shorter" if answer.cut else str(error)
    return value, schema_violation(value, schema)


def _tokens(text: str) -> int:
    return len(text.encode(errors="replace")) // 3
