"""The one way in which a write is made once, however often it is asked for under one key.

Its receipt is written by the transaction that makes it: a kill leaves both or neither. What takes several transactions, or a
file beside the vault, has parts that can be made again without doing anything twice (turns are known by their refs, a skill by
its episodes, one backup more is only a backup): there the receipt comes with the last of them, and whoever is killed before it
goes on with what is left when asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from engram.deadline import without_deadline
from engram.types import (
    Reader,
)
from engram.values.frozen import mutable

if TYPE_CHECKING:
    from engram.store.upkeep_ports import ReceiptsPort

T = TypeVar("T")


def made_once(
    receipts: ReceiptsPort,
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
    except AlreadyDone as told:  # by another thread or process, meanwhile
        return again(told.answer)
    return made


@mutable
class Once:
    """A write that is made once, however often it is asked for, by the key that its caller gave it.

    `about`: what is asked for, in words that are equal if it is the same. `answer`: what to tell whoever asks again, from what
    the write returns; it holds ids and numbers, no words of a memory. `made` is set when it is durable.
    """

    key: str
    about: str
    answer: Callable[[Any], str] = str
    made: bool = False


class AlreadyDone(Exception):
    """This write was made before, and this is what was answered. Nothing was changed."""

    def __init__(self, answer: str) -> None:
        super().__init__("it was made before")
        self.answer = answer
