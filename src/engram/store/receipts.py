"""Idempotency: a write under an idempotency key is made once and answered alike every time it is requested.

The gate writes the receipt in the transaction of the write, so a kill leaves both or neither. A write of several transactions, or
of a file beside the vault, consists of parts that may be repeated without effect (turns have refs, a skill its episodes, a second
backup is harmless): its receipt comes with the last part, and a repeated request after a kill continues with the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from engram.deadline import without_deadline
from engram.values.frozen import field, frozen, replace
from engram.values.identity import Reader

if TYPE_CHECKING:
    from engram.store.upkeep_ports import ReceiptsPort

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@frozen
class ReceiptRequest:
    """A request that a write leaves a receipt, or raises `AlreadyDone` if there is one.

    key: the caller's idempotency key. request: a text that is equal for equal requests. answer: makes the text of the receipt
    from the result of the write; it may hold ids and numbers, but no words of a memory.
    """

    key: str = field(repr=False)
    request: str = field(repr=False)  # it may quote a memory
    answer: Callable[[Any], str] = str

    def mapped(self, convert: Callable[[Any], object]) -> ReceiptRequest:
        """Return the request for an inner write, from whose result `convert` makes the result that `answer` expects."""
        return replace(self, answer=lambda result: self.answer(convert(result)))


class AlreadyDone(Exception):
    """Raised if the write was made before; `answer` is the text of its receipt. Nothing was changed."""

    def __init__(self, answer: str) -> None:
        super().__init__("this write was made before")
        self.answer = answer


class Write(Protocol[T_co]):
    """A write that passes the request for its receipt to the store."""

    def __call__(self, *, receipt: ReceiptRequest | None) -> T_co: ...


def write_once(
    receipts: ReceiptsPort,
    reader: Reader,
    key: str,
    request: object,
    write: Write[T],
    encode: Callable[[T], str],
) -> T:
    """Make a write under an idempotency key; raise `AlreadyDone` if it was made before.

    request: the arguments of the call. encode: makes the text of the receipt from the result.
    """
    receipt = ReceiptRequest(key, repr(request), encode)
    if (answer := receipts.answer(reader, receipt)) is not None:
        raise AlreadyDone(answer)
    with receipts.in_progress(reader, receipt):
        result = write(receipt=receipt)
        with without_deadline():
            if receipts.answer(reader, receipt) is None:  # no transaction of the write took the receipt along
                receipts.write(reader, receipt.mapped(lambda _: result))
    return result
