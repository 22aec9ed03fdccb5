"""The one way in which a write is made once, however often it is asked for under one key.

Its receipt is written by the transaction that makes it: a kill leaves both or neither. What takes several transactions, or a
file beside the vault, has parts that can be made again without doing anything twice (turns are known by their refs, a skill by
its episodes, one backup more is only a backup): there the receipt comes with the last of them, and whoever is killed before it
goes on with what is left when asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from engram.deadline import without_deadline
from engram.store.ports import Once, Told
from engram.types import Reader

T = TypeVar("T")


class Receipts(Protocol):
    """What a store has for it."""

    def answer(self, reader: Reader, once: Once) -> str | None: ...

    def under_way(self, reader: Reader, once: Once) -> AbstractContextManager[None]: ...

    def keep(self, reader: Reader, once: Once) -> None: ...


def made_once(
    receipts: Receipts,
    reader: Reader,
    key: str | None,
    about: object,
    make: Callable[[Once | None], T],
    tell: Callable[[T], str],
    again: Callable[[str], T],
) -> T:
    """Make a write; with a key, only if it was not made before: then what was answered is answered again.

    about: what is asked for. make: hands the `Once` to the write that decides, and says what its receipt tells if that write
    returns something else than this. tell, again: the answer as a receipt has it, and back, as it is by now.
    """
    if key is None:
        return make(None)
    once = Once(key, repr(about), tell)
    found = receipts.answer(reader, once)
    if found is not None:
        return again(found)
    try:
        with receipts.under_way(reader, once):
            made = make(once)
            if not once.made:
                once.answer = lambda _: tell(made)
                with without_deadline():
                    receipts.keep(reader, once)
    except Told as told:  # by another thread or process, meanwhile
        return again(told.answer)
    return made
