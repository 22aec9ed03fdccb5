"""The statements on writes that are made once: which keys were used by whom, for what, and what was answered.

A receipt is written in the transaction of the write itself, so that it is there exactly if the write is, whoever dies when. It
holds ids and numbers, no word of a memory; those of an older release may (`plain` is 0), and are emptied by erasing.
"""

from __future__ import annotations

import hmac
from typing import Any

import apsw

from engram.errors import KeyReused
from engram.store.ports import Told
from engram.values.frozen import frozen


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
        raise Told(answer)


def keep(connection: apsw.Connection, request: Request, answer: str) -> None:
    connection.execute("DELETE FROM receipts WHERE at < ?", (request.since,))
    connection.execute(
        "INSERT INTO receipts (name, request, at, body, plain) VALUES (?, ?, ?, ?, 1)",
        (request.name, request.about, request.at, answer.encode()),
    )


def forget_old(connection: apsw.Connection) -> None:
    """Part of erasing: an answer that an older release kept may hold words of what was erased. That it was given stays known."""
    connection.execute("UPDATE receipts SET body = NULL WHERE NOT plain")
