"""Access tokens: rows of the table `tokens`, by keyed digests of their secrets.

`holder` takes no reader, because it is what makes a reader for a caller from the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import apsw

from engram.crypto.access_tokens import AccessToken, is_token_shaped, token_digest
from engram.env import from_micros, to_micros
from engram.errors import InvalidQuery, NotFound
from engram.guard.visibility import readable, require_owner
from engram.store.sqlite.rows import intern
from engram.store.validation import check_scope
from engram.types import Policy, Reader, Role, Scope

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_NAME_CHARACTERS = 100

_SELECT = """
    SELECT t.id, t.name, t.policy, t.role, t.writes, t.created_at, t.expires_at, t.revoked_at,
           s.project, s.squad, s.agent, s.channel, s.user
      FROM tokens AS t JOIN scopes AS s ON s.key = t.scope
"""


class AccessTokens:
    """Bearer tokens: grant, list, revoke, and look up by secret."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def grant(self, reader: Reader, token: AccessToken, secret: str) -> AccessToken:
        """Store a token under the keyed digest of its secret."""
        with self._gate.watched(reader, "grant"):
            require_owner(reader, "granting tokens")
            check_scope(token.scope)
            readable(token.reader)  # raises now if the role may not have the policy, instead of at the first call
            if not token.name.strip() or len(token.name) > _NAME_CHARACTERS or not token.name.isprintable():
                raise InvalidQuery(
                    f"a token has a name of 1 to {_NAME_CHARACTERS} printable characters.",
                    way_out="Give it another name.",
                )
            row = (
                token.id,
                token.name,
                token_digest(secret, self._gate.opened.token_key),
                token.policy,
                token.role,
                int(token.writes),
            )

            def work(connection: apsw.Connection) -> AccessToken:
                connection.execute(
                    """
                    INSERT INTO tokens (id, name, digest, policy, role, writes, scope, created_at, expires_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    (*row, intern(connection, token.scope), to_micros(token.created_at), _micros(token.expires_at)),
                )
                return token

            return self._gate.write(reader, "grant", work, subject=token.id)

    def select(self, reader: Reader) -> list[AccessToken]:
        """Return all tokens, oldest first."""
        with self._gate.watched(reader, "tokens"):
            require_owner(reader, "listing tokens")
        with self._gate.read(reader, "tokens") as connection:
            return list(_tokens(connection.execute(_SELECT + "ORDER BY t.id")))

    def revoke(self, reader: Reader, token_id: str) -> AccessToken:
        """Revoke a token, for all processes at once. A second call changes nothing."""
        with self._gate.watched(reader, "revoke"):
            require_owner(reader, "revoking tokens")
            now = to_micros(self._gate.env.now())

            def work(connection: apsw.Connection) -> AccessToken:
                connection.execute("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now, token_id))
                token = next(_tokens(connection.execute(_SELECT + "WHERE t.id = ?", (token_id,))), None)
                if token is None:
                    raise NotFound("there is no token of that id.", way_out="See `engram token list`.")
                return token

            return self._gate.write(reader, "revoke", work, subject=token_id)

    def holder(self, secret: str) -> AccessToken | None:
        """Return the valid token of this secret; None if there is none, or it is expired or revoked."""
        if not is_token_shaped(secret):
            return None
        with self._gate.readers.use("tokens") as connection:
            digest = token_digest(secret, self._gate.opened.token_key)
            token = next(_tokens(connection.execute(_SELECT + "WHERE t.digest = ?", (digest,))), None)
        return token if token is not None and token.is_valid(self._gate.env.now()) else None


def _tokens(rows: apsw.Cursor) -> Iterator[AccessToken]:
    """Make tokens from rows of `_SELECT`."""
    row: Any
    for row in rows:
        identity, name, policy, role, writes, created, expires, revoked, *place = row
        yield AccessToken(
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
