"""What every verb has at hand: the open vault, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engram.errors import InvalidQuery, NotFound
from engram.store.receipts import Once, made_once
from engram.types import Memory, Reader
from engram.vault import OpenVault

T = TypeVar("T")


def require_positive(name: str, number: object) -> None:
    """Refuse what is no whole number from 1: a slice would take it for something else."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidQuery(f"the {name} must be a whole number from 1.")


class View:
    """One open vault as one reader sees it; `key` makes its writes be made once (`keyed`)."""

    def __init__(self, vault: OpenVault, reader: Reader, key: str | None = None) -> None:
        self.vault = vault
        self.reader = reader
        self.key = key

    def again(self, memory_id: str) -> Memory:
        """The memory that a write came to, as it is by now."""
        found = self.vault.store.memories.get(self.reader, [memory_id])
        if not found:
            raise NotFound("this write was made before, and the memory it came to has been erased since.")
        return found[0]

    def made_once(
        self, about: object, make: Callable[[Once | None], T], tell: Callable[[T], str], again: Callable[[str], T]
    ) -> T:
        """Make a write; with a key, only if it was not made before: then what was answered is answered again."""
        return made_once(self.vault.store.receipts, self.reader, self.key, about, make, tell, again)
