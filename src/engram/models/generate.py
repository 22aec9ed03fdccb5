"""A language model that writes: an endpoint, or any function from a prompt to text. Made without asking it anything.

What it is asked for as JSON is checked, and asked for again once if it does not fit. Every call counts against the budget; what
is not there, over budget or unusable is an error that holds no words, and whoever asked goes on without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from engram.deadline import without_deadline
from engram.errors import GenerationFailed, GeneratorUnavailable
from engram.frozen import frozen, replace
from engram.models.budget import SpendingBudget
from engram.models.schema import Schema, parse_json, schema_violation, without_thinking

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
