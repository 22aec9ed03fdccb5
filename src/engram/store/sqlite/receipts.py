"""The statements on writes that are made once: which keys were used by whom, for what, and what was answered.

A receipt is written in the transaction of the write itself, so that it is there exactly if the write is, whoever dies when. It
holds ids and numbers, no word of a memory; those of an older release may (`plain` is 0), and are emptied by erasing.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from engram.errors import Conflict, KeyReused
from engram.guard.visibility import require_writer
from engram.store.receipts import AlreadyDone, Once
from engram.types import (
    Reader,
)
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


@frozen
class Request:
    """A caller's key and what it is for, as this vault's digests of them; when, and since when receipts are kept (µs)."""

    name: bytes
    about: bytes
    at: int
    since: int


def told(connection: apsw.Connection, request: Request) -> str | None:
    """What was answered to this very request; None if it is new."""
    sql = "SELECT request, body FROM receipts WHERE name = ? AND at >= ?"
    found: list[Any] = connection.execute(sql, (request.name, request.since)).fetchall()
    if not found:
        return None
    about, body = found[0]
    if body is None or not hmac.compare_digest(about, request.about):
        raise KeyReused("this idempotency key was used for something else.")
    return bytes(body).decode()


def refuse_if_told(connection: apsw.Connection, request: Request) -> None:
    answer = told(connection, request)
    if answer is not None:
        raise AlreadyDone(answer)


def keep(connection: apsw.Connection, request: Request, answer: str) -> None:
    connection.execute("DELETE FROM receipts WHERE at < ?", (request.since,))
    connection.execute(
        "INSERT INTO receipts (name, request, at, body, plain) VALUES (?, ?, ?, ?, 1)",
        (request.name, request.about, request.at, answer.encode()),
    )


def forget_old(connection: apsw.Connection) -> None:
    """Part of erasing: an answer that an older release kept may hold words of what was erased. That it was given stays known."""
    connection.execute("UPDATE receipts SET body = NULL WHERE NOT plain")


class Receipts:
    """Receipts of writes that carry an idempotency key."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._begun: set[bytes] = set()
        self._lock = threading.Lock()

    def answer(self, reader: Reader, once: Once) -> str | None:
        """What was answered to this write when it was made, from where this reader stands; None if it was not."""
        with self._gate.read(reader, "request") as connection:
            return told(connection, self._gate.receipt_request(reader, once))

    def keep(self, reader: Reader, once: Once) -> None:
        """Remember a request that came to be answered without a write of its own."""
        with self._gate.watched(reader, "request"):
            require_writer(reader)
            self._gate.write(reader, "request", lambda connection: None, once=once)

    @contextmanager
    def under_way(self, reader: Reader, once: Once) -> Iterator[None]:
        """While this is made, nobody else in this process begins it. In another they may: one of the two is then told."""
        name = self._gate.receipt_name(reader, once.key)
        with self._lock:
            if name in self._begun:
                raise Conflict("what this idempotency key stands for is under way.", way_out="Wait for it, then ask again.")
            self._begun.add(name)
        try:
            yield
        finally:
            self._begun.discard(name)
