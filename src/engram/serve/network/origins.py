"""Host names and origins that a server accepts."""

from __future__ import annotations

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from engram.serve.network.problems import MisdirectedRequest, OriginRefused
from engram.values.frozen import frozen

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


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
