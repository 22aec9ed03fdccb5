"""Authentication of requests by the access token in their `Authorization` header."""

from __future__ import annotations

import hmac

from engram.crypto.access_tokens import AccessToken, GrantedToken
from engram.engine import Engram
from engram.serve.network.problems import Unauthorized
from engram.serve.network.rate_limits import RateLimiter
from engram.values.frozen import frozen

_FAILURES_PER_MINUTE = 60


@frozen
class Authenticator:
    """The check of access tokens. `own`: a temporary token that is valid while this server runs and stands in no vault."""

    mem: Engram
    limiter: RateLimiter
    own: GrantedToken | None = None

    def authenticate(self, header: str | None, address: str) -> AccessToken:
        """Return the token of an `Authorization` header and count the request against the token's rate."""
        token = self.verify(header, address)
        self.limiter.take(token.id, self.mem.settings.now.serve_rate)
        return token

    def verify(self, header: str | None, address: str) -> AccessToken:
        """Return the token of an `Authorization` header without counting the request. Raise `Unauthorized` if it is invalid, and
        count that against the client's address."""
        token = self._find(_bearer(header))
        if token is None:
            self.count_failure(address)
            raise Unauthorized("the request has no valid token.")
        return token

    def count_failure(self, address: str) -> None:
        """Count a failed authentication against the client's address."""
        self.limiter.take(f"address {address}", _FAILURES_PER_MINUTE)

    def is_valid(self, header: str | None) -> bool:
        """Return whether the token of an `Authorization` header is valid now."""
        return self._find(_bearer(header)) is not None

    def _find(self, secret: str) -> AccessToken | None:
        if self.own is not None and hmac.compare_digest(secret.encode("utf-8", "replace"), self.own.secret.encode()):
            return self.own.token
        return self.mem.holder(secret)


def _bearer(header: str | None) -> str:
    scheme, _, secret = (header or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""
