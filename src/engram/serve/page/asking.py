"""One request to a page as the pages see it: who asks, what was said, and the operations, called as every face calls them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from engram.engine import Engram
from engram.errors import InvalidQuery, NotFound
from engram.frozen import frozen
from engram.serve.operations import OPERATIONS, rationing, read
from engram.serve.page.sessions import Session
from engram.types import Memory


@frozen
class Shown:
    """A page: its template, and what stands in it."""

    template: str
    values: Mapping[str, Any]


@frozen
class Sent:
    """On to another page."""

    place: str


@frozen
class Asking:
    """`query` is what the address says, `form` what was filled in; of several values of a name the last counts."""

    mem: Engram
    session: Session
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    timeout: float

    @property
    def now(self) -> datetime:
        return self.mem.env.now()

    def call(self, name: str, /, **given: object) -> Any:
        """The value an operation answers with. What is None or empty was not said."""
        operation = OPERATIONS[name]
        said = {key: value for key, value in given.items() if value is not None and value != ""}
        return rationing.call(operation, self.mem, read(operation, said), timeout=self.timeout)

    def may(self, name: str) -> bool:
        """Is it any use to offer this?"""
        operation = OPERATIONS.get(name)
        reader = self.mem.reader
        return operation is not None and operation.allows(reader.role) and (operation.reads or reader.writes)

    def text(self, name: str) -> str:
        return (self.form.get(name) or self.query.get(name) or "").strip()

    def number(self, name: str, low: float, high: float) -> float | None:
        """A number that was said, None if none was."""
        said = self.text(name)
        if not said:
            return None
        try:
            value = float(said)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise InvalidQuery(f"`{name}` is a number from {low:g} to {high:g}.")
        return value

    def day(self, name: str, *, end: bool = False) -> str | None:
        """A day that was said, as the moment at which it begins, or ends."""
        said = self.text(name)
        return f"{said}T23:59:59.999999" if end and len(said) == 10 else said or None

    def memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Those of these that the reader sees, by id."""
        found: dict[str, Memory] = {}
        for one in dict.fromkeys(ids):
            try:
                found[one] = self.call("get", id=one)
            except NotFound:
                continue
        return found


def place(path: str, /, _mark: str = "", **said: object) -> str:
    """An address on this page, with what was said in it, and the id of what to look at there."""
    query = urlencode({name: str(value) for name, value in said.items() if value not in (None, "", False)})
    return f"/ui{path}" + (f"?{query}" if query else "") + (f"#{_mark}" if _mark else "")
