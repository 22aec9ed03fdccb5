"""Access tokens: the identity of a caller from the network. Pure.

A token is a random secret. The vault stores a keyed digest of it, with the scope, policy and role of its holder.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import datetime

from engram.types import Policy, Reader, Role, Scope
from engram.values.frozen import frozen

_PREFIX = "engram_"
_BYTES = 32
_LENGTH = len(_PREFIX) + 43


@frozen(kw_only=True)
class AccessToken:
    """The identity and rights of a token's holder. The secret is not part of it, and is stored nowhere."""

    id: str
    name: str
    scope: Scope
    policy: Policy
    role: Role
    writes: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    @property
    def reader(self) -> Reader:
        return Reader(self.scope, self.policy, self.role, may_write=self.writes)

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@frozen
class GrantedToken:
    """A new token with its secret, which is shown only once."""

    token: AccessToken
    secret: str


def new_secret(random: Callable[[int], bytes]) -> str:
    """Return the secret of a new token."""
    return _PREFIX + base64.urlsafe_b64encode(random(_BYTES)).decode().rstrip("=")


def token_digest(secret: str, key: bytes | bytearray) -> bytes:
    """Return the keyed digest of a token's secret. Without the key, a copy of the token table neither grants access nor lets
    secrets be guessed."""
    return hmac.new(key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


def is_token_shaped(secret: str) -> bool:
    """Return True if a string has the form of a token, so that anything else is refused without a lookup."""
    return len(secret) == _LENGTH and secret.startswith(_PREFIX) and secret.isascii()
