"""Who comes in: the host and the page a request names, its token, and how often it may ask."""

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
from engram.serve.network.problems import Misdirected, StrangePage, Unauthorized
from engram.values.frozen import frozen

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_STRANGERS_A_MINUTE = 60
_REMEMBERED = 4096


@frozen
class Doors:
    """Names that a request may be for, and pages that may call: a page elsewhere could point its own name at this machine."""

    names: frozenset[str]
    origins: frozenset[str]
    public: bool

    def check(self, host: str | None, origin: str | None) -> None:
        name = _name(host or "")
        if name not in self.names and not (self.public and _is_address(name)):
            raise Misdirected("this server does not go by the name that the request is for.")
        if origin not in self.origins and not is_own(host, origin):
            raise StrangePage("a page from there may not call this server.")


def is_own(host: str | None, origin: str | None) -> bool:
    """Does a request come from a page of the very server that it is for, or from no page?"""
    return origin is None or _place(origin) == (host or "").lower()


def doors(bound: str, names: str, origins: str) -> Doors:
    listed = {name.strip().lower() for name in names.split(",") if name.strip()}
    pages = frozenset(page.strip().rstrip("/") for page in origins.split(",") if page.strip())
    return Doors(frozenset(_LOCAL | listed | {bound.lower()}), pages, not is_local(bound))


def is_local(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)


def _name(host: str) -> str:
    """Nothing but a name or an address, and a port: what else a parser of addresses would take is no browser's."""
    found = _HOST.fullmatch(host)
    return (found[1] or found[2]).lower() if found else ""


def _place(origin: str) -> str:
    try:
        parts = urlsplit(origin)
    except ValueError:  # brackets that do not close
        return ""
    return parts.netloc.lower() if parts.scheme in ("http", "https") else ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Rates:
    """So many requests a minute for each caller, as a bucket that refills: a burst is fine, a flood is not."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str, a_minute: int) -> None:
        now = self._monotonic()
        with self._lock:
            left, seen = self._buckets.pop(who, (float(a_minute), now))
            left = min(left + (now - seen) * a_minute / 60.0, float(a_minute))
            self._buckets[who] = (max(left - 1.0, 0.0), now)
            if len(self._buckets) > _REMEMBERED:
                self._buckets.popitem(last=False)
        if left < 1.0:
            raise RateLimited("this caller asks too often.", after_s=(1.0 - left) * 60.0 / a_minute)


@frozen
class Entry:
    """Where tokens are looked at. `own` holds while this server runs, and is in no vault."""

    mem: Engram
    rates: Rates
    own: GrantedToken | None = None

    def holder(self, header: str | None, address: str) -> AccessToken:
        """Whose token this is, within its rate. Who has none is slowed down by address."""
        token = self.require(header, address)
        self.rates.take(token.id, self.mem.settings.now.serve_rate)
        return token

    def require(self, header: str | None, address: str) -> AccessToken:
        """The same uncounted, before much is taken in from somebody."""
        token = self._known(_bearer(header))
        if token is None:
            self.slow_down(address)
            raise Unauthorized("there is no token here that holds.")
        return token

    def slow_down(self, address: str) -> None:
        """Count one who has shown nothing that holds."""
        self.rates.take(f"address {address}", _STRANGERS_A_MINUTE)

    def still_holds(self, header: str | None) -> bool:
        return self._known(_bearer(header)) is not None

    def _known(self, secret: str) -> AccessToken | None:
        if self.own is not None and hmac.compare_digest(secret.encode("utf-8", "replace"), self.own.secret.encode()):
            return self.own.token
        return self.mem.holder(secret)


def _bearer(header: str | None) -> str:
    scheme, _, secret = (header or "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""
