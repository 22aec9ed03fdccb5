"""Tokens: who a caller from the network is. A token is a random secret; the vault keeps a keyed digest of it, and whom it is for.

Comes in: random bytes, or what a caller sent. Goes out: the secret's text, once; its digest; a Reader. It does no I/O.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from datetime import datetime

from engram.frozen import frozen
from engram.types import Policy, Reader, Role, Scope

_PREFIX = "engram_"
_BYTES = 32
_LENGTH = len(_PREFIX) + 43


@frozen(kw_only=True)
class AccessToken:
    """What a token stands for. Its secret is not here, nor anywhere else but with whoever was given it."""

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
    """A token just made, with its secret: shown once, and never again."""

    token: AccessToken
    secret: str


def new_secret(random: Callable[[int], bytes]) -> str:
    return _PREFIX + base64.urlsafe_b64encode(random(_BYTES)).decode().rstrip("=")


def token_digest(secret: str, key: bytes | bytearray) -> bytes:
    """Without the key nobody can try guesses, and one who reads the table cannot call."""
    return hmac.new(key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()


def is_token_shaped(secret: str) -> bool:
    """What cannot be a token is not looked up."""
    return len(secret) == _LENGTH and secret.startswith(_PREFIX) and secret.isascii()
