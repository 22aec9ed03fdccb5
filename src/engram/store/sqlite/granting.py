"""Tokens, and receipts of what was asked for under a key of the caller's.

`holder` is the one verb that takes no reader: it is where readers from the network come from.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import Conflict, InvalidQuery, NotFound
from engram.guard.scopes import readable, require_owner, require_writer
from engram.guard.tokens import Token, digest_of, looks_like_one
from engram.store.admission import check_scope
from engram.store.sqlite import receipts
from engram.store.sqlite.path import Path
from engram.store.sqlite.scopes import intern
from engram.types import Policy, Reader, Role, Scope

_NAME_CHARACTERS = 100
_SELECT = """
    SELECT t.id, t.name, t.policy, t.role, t.writes, t.created_at, t.expires_at, t.revoked_at,
           s.project, s.squad, s.agent, s.channel, s.user
      FROM tokens AS t JOIN scopes AS s ON s.key = t.scope
"""


class Granting(Path):
    """Mixed into the store."""

    def grant(self, reader: Reader, token: Token, secret: str) -> Token:
        """Keep a token under the digest of its secret."""
        with self._watched(reader, "grant"):
            require_owner(reader, "granting tokens")
            check_scope(token.scope)
            readable(token.reader)  # a policy that its role may not have is refused now, not at the first call
            if not token.name.strip() or len(token.name) > _NAME_CHARACTERS or not token.name.isprintable():
                raise InvalidQuery(f"a token has a name of 1 to {_NAME_CHARACTERS} characters.")
            row = (token.id, token.name, digest_of(secret, self._opened.token_key), token.policy, token.role, int(token.writes))

            def work(connection: apsw.Connection) -> Token:
                connection.execute(
                    """
                    INSERT INTO tokens (id, name, digest, policy, role, writes, scope, created_at, expires_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    (*row, intern(connection, token.scope), to_micros(token.created_at), _micros(token.expires_at)),
                )
                return token

            return self._write(reader, "grant", work, subject=token.id)

    def tokens(self, reader: Reader) -> list[Token]:
        """All of them, oldest first."""
        with self._watched(reader, "tokens"):
            require_owner(reader, "looking at tokens")
        with self._read(reader, "tokens") as connection:
            return list(_found(connection.execute(_SELECT + "ORDER BY t.id")))

    def revoke(self, reader: Reader, token_id: str) -> Token:
        """From now on it opens nothing, in any process. Revoking twice is revoking once."""
        with self._watched(reader, "revoke"):
            require_owner(reader, "revoking tokens")
            now = to_micros(self._env.now())

            def work(connection: apsw.Connection) -> Token:
                connection.execute("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, token_id))
                found = next(_found(connection.execute(_SELECT + "WHERE t.id = ?", (token_id,))), None)
                if found is None:
                    raise NotFound("there is no token of that id.", way_out="See `engram token list`.")
                return found

            return self._write(reader, "revoke", work, subject=token_id)

    def holder(self, secret: str) -> Token | None:
        """The token that this is the secret of; None if there is none, or it holds no more."""
        if not looks_like_one(secret):
            return None
        with self._readers.use("tokens") as connection:
            digest = digest_of(secret, self._opened.token_key)
            found = next(_found(connection.execute(_SELECT + "WHERE t.digest = ?", (digest,))), None)
        return found if found is not None and found.holds(self._env.now()) else None

    # ── receipts ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def begin_once(self, reader: Reader, key: str, request: str) -> bytes | None:
        """Mark that this is begun; or the answer it got, if it was done before. Refused while its outcome is not known."""
        with self._watched(reader, "once"):
            require_writer(reader)
            name, asked, now = self._receipt(reader, key), self._keyed(request), to_micros(self._env.now())
            oldest = now - int(self._live.now.receipt_hours * 3_600_000_000)

            def work(connection: apsw.Connection) -> Any:
                connection.execute("DELETE FROM receipts WHERE at < ?", (oldest,))
                found = connection.execute(f"SELECT request, {_ANSWERED} FROM receipts WHERE name = ?", (name,)).fetchall()
                if not found:
                    connection.execute("INSERT INTO receipts (name, request, at) VALUES (?, ?, ?)", (name, asked, now))
                    return None
                return found[0]

            known: tuple[bytes, str | bytes | None] | None = self._write(reader, "once", work)
            if known is None:
                return None
            if not hmac.compare_digest(known[0], asked):
                raise receipts.used()
            if known[1] is None:
                raise Conflict(
                    "what this idempotency key stands for is under way, or its answer is gone.",
                    way_out="Wait and ask again; after an hour look what is there, and take a new key.",
                )
            return known[1].encode("latin-1") if isinstance(known[1], str) else bytes(known[1])

    def end_once(self, reader: Reader, key: str, body: bytes | None) -> None:
        """Keep the answer for whoever asks again; or, with None, let the key be used again, because nothing was done."""
        name = self._receipt(reader, key)
        sql = (
            "DELETE FROM receipts WHERE name = ?2 AND ?1 IS NULL"
            if body is None
            else f"UPDATE receipts SET body = {_ANSWER} WHERE name = ?2"
        )
        told = None if body is None else body.decode("latin-1")
        self._write(reader, "once", lambda connection: connection.execute(sql, (told, name)).get)


_ANSWER = "CAST('sealed:' || seal('confidential', ?1, 0, 'receipt/' || hex(?2)) AS BLOB)"
_ANSWERED = """CASE WHEN substr(body, 1, 7) = CAST('sealed:' AS BLOB)
    THEN unseal(CAST(substr(body, 8) AS TEXT), 0, 'receipt/' || hex(name)) ELSE body END"""
"""An answer may hold words of any memory, so it is kept as closely as can be."""


def forget_receipts(connection: apsw.Connection) -> None:
    """Part of erasing: an answer may hold words of what was erased. That it was given stays known."""
    connection.execute("UPDATE receipts SET body = NULL WHERE NOT plain")


def _found(rows: apsw.Cursor) -> Iterator[Token]:
    row: Any
    for row in rows:
        identity, name, policy, role, writes, created, expires, revoked, *place = row
        yield Token(
            id=identity,
            name=name,
            scope=Scope(*place),
            policy=Policy(policy),
            role=Role(role),
            writes=bool(writes),
            created_at=from_micros(created),
            expires_at=None if expires is None else from_micros(expires),
            revoked_at=None if revoked is None else from_micros(revoked),
        )


def _micros(moment: Any) -> int | None:
    return None if moment is None else to_micros(moment)
