"""A request as the pages see it: its session, its fields, and calls to operations, which go the way of every other face."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from engram.engine import Engram
from engram.errors import InvalidQuery, NotFound
from engram.serve.operations import OPERATIONS, limits, read
from engram.serve.page.sign_in import Session
from engram.types import Memory
from engram.values.frozen import frozen


@frozen
class PageView:
    """An answer that renders a template with these values."""

    template: str
    values: Mapping[str, Any]


@frozen
class Redirect:
    """An answer that leads to another page."""

    place: str


@frozen
class PageRequest:
    """A request of a signed-in browser.

    path: parameters in the path of the address. query: those after `?`. form: the fields of a form; of several values of a field
    the last counts. timeout: seconds that one operation may take.
    """

    mem: Engram
    session: Session
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str]
    timeout: float

    @property
    def now(self) -> datetime:
        return self.mem.env.now()

    def call(self, name: str, /, **arguments: object) -> Any:
        """Call an operation and return its value; arguments that are None or "" are left out."""
        operation = OPERATIONS[name]
        given = {key: value for key, value in arguments.items() if value is not None and value != ""}
        return limits.call(operation, self.mem, read(operation, given), timeout=self.timeout)

    def may(self, name: str) -> bool:
        """Return whether the reader's role and rights allow the operation, so that a page may offer it."""
        operation = OPERATIONS.get(name)
        reader = self.mem.reader
        return operation is not None and operation.allows(reader.role) and (operation.reads or reader.writes)

    def text(self, name: str) -> str:
        """Return a field of the form or of the address, or ""."""
        return (self.form.get(name) or self.query.get(name) or "").strip()

    def number(self, name: str, low: float, high: float) -> float | None:
        """Return a field as a number, or None if it is empty; raise `InvalidQuery` if it is not within the range."""
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise InvalidQuery(f"`{name}` is a number from {low:g} to {high:g}.")
        return value

    def day(self, name: str, *, end: bool = False) -> str | None:
        """Return a field that holds a day as its first moment, or with `end` as its last; None if it is empty."""
        text = self.text(name)
        return f"{text}T23:59:59.999999" if end and len(text) == 10 else text or None

    def memories(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the memories with these ids that the reader may see, by id."""
        visible: dict[str, Memory] = {}
        for id in dict.fromkeys(ids):
            try:
                visible[id] = self.call("get", id=id)
            except NotFound:
                continue
        return visible


def place(path: str, /, _mark: str = "", **fields: object) -> str:
    """Return the address of a page, with non-empty fields as its query and `_mark` as the element to scroll to."""
    query = urlencode({name: str(value) for name, value in fields.items() if value not in (None, "", False)})
    return f"/ui{path}" + (f"?{query}" if query else "") + (f"#{_mark}" if _mark else "")
