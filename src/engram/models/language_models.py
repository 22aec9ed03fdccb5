"""A language model that writes: an endpoint, or any function from a prompt to text. Made without asking it anything.

What it is asked for as JSON is checked, and asked for again once if it does not fit. Every call counts against the budget; what
is not there, over budget or unusable is an error that holds no words, and whoever asked goes on without.

The seam for a language model that reads turns: any function from turns to statements.

What it answers is checked before it is believed (`capture/extraction.py`); what it does not answer in time is done without it.

What a model wrote, as the value it was asked for: JSON taken out of its words, and held against its schema.

The part of JSON Schema that model endpoints know: type (one or several), properties, required, items, enum. A problem names a
place and a rule, never a value: values are words of the user.
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
    """One statement that a model took from turns. `turn`: from which of them, counted from 0, if it says so.

    `facts`: what it says as subject, predicate and object; the rules read it besides.
    """

    text: str
    category: str = "fact"
    confidence: float = 0.8
    happened_at: datetime | None = None
    turn: int | None = None
    facts: tuple[Fact, ...] = ()


class Extractor(Protocol):
    """Given at `engram.open(extractor=…)`. `context` was said before the turns and is there to understand them by."""

    def __call__(self, turns: Sequence[Turn], context: Sequence[Turn]) -> Sequence[Extracted]: ...


Schema = Mapping[str, Any]

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip


def without_thinking(text: str) -> str:
    """An answer without what its maker thought before: marked, begun by the prompt and only ended, or never ended."""
    said: list[str] = []
    last, thinking = 0, False
    for tag in _THINKING.finditer(text):
        if tag[1]:
            if not thinking:
                said.clear()
            thinking, last = False, tag.end()
        elif not thinking:
            said.append(text[last : tag.start()])
            thinking = True
    return "".join(said if thinking else [*said, text[last:]]).strip()


def parse_json(text: str) -> Any:
    """The JSON of an answer: whole, in a block of code, or among other words. ValueError if there is none."""
    for piece, start in _places(text):
        try:
            return _DECODER.raw_decode(piece, start)[0] if start else json.loads(piece)
        except (ValueError, RecursionError):
            continue
    raise ValueError("it is not JSON")


def _places(text: str) -> Iterator[tuple[str, int]]:
    """Where it may begin; at 0 it must also end with the text."""
    yield text, 0
    answer = " " + without_thinking(text)
    yield answer, 0
    yield from ((answer, at) for opening in "{[" if (at := answer.find(opening)) > 0)


def schema_violation(value: Any, schema: Schema, at: str = "the answer") -> str:
    """The first place where a value is not as its schema says; empty if it is."""
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{at} is not of type {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        missing = [name for name in schema.get("required", ()) if name not in value]
        if missing:
            return f"{at} lacks {missing[0]!r}"
        known = schema.get("properties", {})
        found = (schema_violation(value[name], known[name], f"{at}.{name}") for name in known if name in value)
        return next((one for one in found if one), "")
    if isinstance(value, list) and "items" in schema:
        found = (schema_violation(one, schema["items"], f"{at}[{number}]") for number, one in enumerate(value))
        return next((one for one in found if one), "")
    return ""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, (object,))) or (
        kind == "integer" and isinstance(value, float) and value.is_integer()
    )


_QUOTED = 4000  # characters of an answer that did not fit, shown to its maker again


@frozen(kw_only=True)
class GenerationRequest:
    """What is asked. With a schema the answer is to be JSON of that form; `again` is what was said since the prompt."""

    instructions: str
    prompt: str
    schema: Schema | None = None
    again: tuple[tuple[str, str], ...] = ()  # role, text

    @property
    def messages(self) -> list[dict[str, str]]:
        said = (("system", self.instructions), ("user", self.prompt), *self.again)
        return [{"role": role, "content": text} for role, text in said if text]

    @property
    def cost(self) -> int:
        """About how many tokens it has: three bytes are one, or fewer."""
        return sum(_tokens(one["content"]) for one in self.messages) + 16


@frozen
class GeneratedText:
    """What came back; how many tokens it cost with its prompt, if its maker says so; was it cut off, or declined?"""

    text: str
    tokens: int = 0
    cut: bool = False
    declined: bool = False


class TextGenerator(Protocol):
    """What stands behind a language model."""

    name: str
    place: str

    @property
    def trouble(self) -> str: ...

    def ready(self) -> None:
        """Raises while it is known not to answer: what is not asked costs nothing."""

    def write(self, request: GenerationRequest) -> GeneratedText: ...

    def close(self) -> None: ...


class CallableGenerator:
    """Any function from a prompt to text."""

    place = ""
    trouble = ""

    def __init__(self, function: Callable[[str], str]) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function

    def ready(self) -> None:
        pass

    def write(self, request: GenerationRequest) -> GeneratedText:
        try:
            said: object = self._function("\n\n".join(one["content"] for one in request.messages))
        except Exception as error:  # noqa: BLE001  any function may stand here; its words may be the user's
            problem = GeneratorUnavailable(f"the language model failed ({type(error).__name__}).")
        else:
            if isinstance(said, str):
                return GeneratedText(said)
            problem = GeneratorUnavailable("the language model answered with something that is no text.")
        raise problem  # out here, so that what the function raised is not chained to it

    def close(self) -> None:
        pass


class LanguageModel:
    """One model, with its budget."""

    def __init__(self, writer: TextGenerator, budget: SpendingBudget) -> None:
        self.writer = writer
        self.budget = budget

    @property
    def trouble(self) -> str:
        """Why it would not answer now; empty if it would."""
        return self.budget.trouble or self.writer.trouble

    def text(self, request: GenerationRequest) -> str:
        """What it wrote, without what it thought before."""
        text = without_thinking(self._written(request).text)
        if not text:
            raise GenerationFailed(f"{self.writer.name} answered with nothing.")
        return text

    def value(self, request: GenerationRequest) -> Any:
        """The answer as a value of the request's schema; asked for once more if the first is none."""
        schema = request.schema or {}
        written = self._written(request)
        value, wrong = _read(written, schema)
        if wrong:
            mend = f"This cannot be used: {wrong}. Answer again, with nothing but JSON that fits the schema."
            written = self._written(replace(request, again=(("assistant", written.text[:_QUOTED]), ("user", mend))))
            value, wrong = _read(written, schema)
        if wrong:
            raise GenerationFailed(f"{self.writer.name} answered twice with what is not as it was asked for.")
        return value

    def _written(self, request: GenerationRequest) -> GeneratedText:
        self.writer.ready()
        used = request.cost
        reserved = self.budget.reserve(used)
        try:
            written = self.writer.write(request)
            used = written.tokens or used + _tokens(written.text)
        finally:
            with without_deadline():  # it was spent, whoever waits for it
                self.budget.settle(reserved, used)
        if written.declined:
            raise GenerationFailed(f"{self.writer.name} declined to answer.")
        return written

    def close(self) -> None:
        self.writer.close()


def _read(written: GeneratedText, schema: Schema) -> tuple[Any, str]:
    try:
        value = parse_json(written.text)
    except ValueError as error:
        return None, "it was cut off, so that it must be shorter" if written.cut else str(error)
    return value, schema_violation(value, schema)


def _tokens(text: str) -> int:
    return len(text.encode(errors="replace")) // 3
