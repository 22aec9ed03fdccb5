"""Receipts of writes that carry an idempotency key: digests of the key and of the request, and the text of the answer.

A receipt is written in the transaction of its write, so a kill leaves both or neither. It holds ids and numbers, no words of a
memory; receipts of older releases may (`plain` is 0), and are emptied by erasing.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import Conflict, KeyReused
from engram.guard.visibility import require_writer
from engram.store.receipts import AlreadyDone, ReceiptRequest
from engram.values.frozen import frozen
from engram.values.identity import Reader

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


@frozen
class RequestDigests:
    """The digests of a caller's key (`name`) and of the request; the present time, and since when receipts are valid (µs)."""

    name: bytes
    request: bytes
    at: int
    since: int


def previous_answer(connection: apsw.Connection, request: RequestDigests) -> str | None:
    """Return the text of the receipt of this request; None if there is none. Raise E1010 if the key was used otherwise."""
    import hmac  # late: it loads OpenSSL (3 ms), and a hook has no receipt

    sql = "SELECT request, body FROM receipts WHERE name = ? AND at >= ?"
    rows: list[Any] = connection.execute(sql, (request.name, request.since)).fetchall()
    if not rows:
        return None
    digest, body = rows[0]
    if body is None or not hmac.compare_digest(digest, request.request):
        raise KeyReused("this idempotency key was used for something else.")
    return bytes(body).decode()


def raise_if_done(connection: apsw.Connection, request: RequestDigests) -> None:
    """Raise `AlreadyDone` if there is a receipt of this request."""
    answer = previous_answer(connection, request)
    if answer is not None:
        raise AlreadyDone(answer)


def write(connection: apsw.Connection, request: RequestDigests, answer: str) -> None:
    """Write a receipt and delete those that have expired."""
    connection.execute("DELETE FROM receipts WHERE at < ?", (request.since,))
    connection.execute(
        "INSERT INTO receipts (name, request, at, body, plain) VALUES (?, ?, ?, ?, 1)",
        (request.name, request.request, request.at, answer.encode()),
    )


def clear_old_answers(connection: apsw.Connection) -> None:
    """Empty the receipts of older releases, which may hold erased words. Their keys stay known."""
    connection.execute("UPDATE receipts SET body = NULL WHERE NOT plain")


class Receipts:
    """Receipts of writes that carry an idempotency key."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._in_progress: set[bytes] = set()
        self._lock = threading.Lock()

    def answer(self, reader: Reader, receipt: ReceiptRequest) -> str | None:
        """Return the text of the receipt of this request by this reader; None if there is none."""
        with self._gate.read(reader, "request") as connection:
            return previous_answer(connection, self._gate.request_digests(reader, receipt))

    def write(self, reader: Reader, receipt: ReceiptRequest) -> None:
        """Write the receipt of a request that was answered without a transaction of its own."""
        with self._gate.watched(reader, "request"):
            require_writer(reader)
            self._gate.write(reader, "request", lambda connection: None, receipt=receipt)

    @contextmanager
    def in_progress(self, reader: Reader, receipt: ReceiptRequest) -> Iterator[None]:
        """Let no second thread of this process begin the request. If another process does, its write raises `AlreadyDone`."""
        name = self._gate.receipt_name(reader, receipt.key)
        with self._lock:
            if name in self._in_progress:
                raise Conflict(
                    "the request of this idempotency key is in progress.", way_out="Wait for it to end, then try again."
                )
            self._in_progress.add(name)
        try:
            yield
        finally:
            self._in_progress.discard(name)
