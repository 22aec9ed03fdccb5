"""Admission of requests: host name and origin, access token, and rate limit."""

from __future__ import annotations

import hmac
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

from engram.crypto.access_tokens import AccessToken, GrantedToken
from engram.engine import Engram
from engram.errors import RateLimited
from engram.serve.network.problems import MisdirectedRequest, OriginRefused, Unauthorized
from engram.values.frozen import frozen

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_FAILURES_PER_MINUTE = 60
_BUCKETS = 4096


@frozen
class HostPolicy:
    """Host names and origins that a server accepts. The check stops DNS rebinding: a foreign page could point its own name at
    this machine. public: listens on an address that other machines reach, and so accepts any IP address as host."""

    names: frozenset[str]
    origins: frozenset[str]
    public: bool

    def check(self, host: str | None, origin: str | None) -> None:
        """Raise if a request's `Host` or `Origin` header is not accepted."""
        name = _host_name(host or "")
        if name not in self.names and not (self.public and _is_address(name)):
            raise MisdirectedRequest("the host name of this request is not one of this server's.")
        if origin not in self.origins and not is_same_origin(host, origin):
            raise OriginRefused("pages of this origin may not call this server.")


def is_same_origin(host: str | None, origin: str | None) -> bool:
    """Return whether a request comes from a page of this same server, or from no page."""
    return origin is None or _host_of_origin(origin) == (host or "").lower()


def host_policy(bound: str, names: str, origins: str) -> HostPolicy:
    """Return the policy of a server bound to a host. names, origins: the settings `serve_names` and `serve_origins`."""
    more_names = {name.strip().lower() for name in names.split(",") if name.strip()}
    more_origins = frozenset(origin.strip().rstrip("/") for origin in origins.split(",") if origin.strip())
    return HostPolicy(frozenset(_LOCAL | more_names | {bound.lower()}), more_origins, not is_local(bound))


def is_local(host: str) -> bool:
    """Return whether a host is this machine's loopback."""
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _host_name(host: str) -> str:
    """Return the name or address of a `Host` header without its port; "" for anything else, which no browser sends."""
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower() if match else ""


def _host_of_origin(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:  # unbalanced brackets
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class RateLimiter:
    """A token bucket per caller: bursts are allowed up to the rate of a minute."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, per_minute: int) -> None:
        """Count one request. Raise `RateLimited` if the caller's bucket is empty."""
        now = self._monotonic()
        with self._lock:
            left, seen = self._buckets.pop(caller, (float(per_minute), now))
            left = min(left + (now - seen) * per_minute / 60.0, float(per_minute))
            self._buckets[caller] = (max(left - 1.0, 0.0), now)
            if len(self._buckets) > _BUCKETS:
                self._buckets.popitem(last=False)
        if left < 1.0:
            raise RateLimited(f"more than {per_minute} requests a minute.", after_s=(1.0 - left) * 60.0 / per_minute)


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
