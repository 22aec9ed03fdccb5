"""Who is signed in: a token behind a cookie, in memory only, so that it ends with the server.

A session holds the token as a request would carry it, and each request looks the token up again: one that was revoked lets
nobody in, however long the page has been open.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Callable

from engram.env import Env
from engram.frozen import field, frozen

_BYTES = 32
_SESSIONS = 256
_OF_ONE = 16
_LINK_S = 600.0


@frozen
class Session:
    """header: the token, as `Authorization` has it. csrf: what a form must bring along. local: begun by the link that `engram ui`
    gave to who started it."""

    header: str = field(repr=False)
    csrf: str = field(repr=False)
    local: bool = False

    def made(self, csrf: str) -> bool:
        """Does a form come from a page of this session?"""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "replace"))


class Sessions:
    """The sessions of one server. `cookie` is a name of its own: cookies know no ports, and two servers may run."""

    def __init__(self, env: Env, hours: Callable[[], float]) -> None:
        self._env = env
        self._hours = hours
        self._lock = threading.Lock()
        self._open: OrderedDict[bytes, tuple[Session, float]] = OrderedDict()
        self._link: tuple[bytes, str, float] | None = None
        self.cookie = f"engram_{env.random(4).hex()}"

    def invite(self, header: str) -> str:
        """A secret that is good for one session, for ten minutes."""
        secret = self._secret()
        with self._lock:
            self._link = (_digest(secret), header, self._env.monotonic() + _LINK_S)
        return secret

    def accept(self, secret: str) -> str | None:
        """The cookie of a new session for who brings the secret of the link; None the second time."""
        with self._lock:
            link = self._link
            if link is None or not hmac.compare_digest(link[0], _digest(secret)) or self._env.monotonic() > link[2]:
                return None
            self._link = None
        return self.begin(link[1], local=True)

    def begin(self, header: str, *, local: bool = False) -> str:
        """The cookie of a new session. Who signs in too often signs out themselves, not others."""
        cookie = self._secret()
        with self._lock:
            self._open[_digest(cookie)] = (Session(header, self._secret(), local), self._env.monotonic())
            own = [key for key, (one, _) in self._open.items() if one.header == header]
            for key in own[:-_OF_ONE]:
                del self._open[key]
            while len(self._open) > _SESSIONS:
                self._open.popitem(last=False)
        return cookie

    def find(self, cookie: str | None) -> Session | None:
        """The session, if it was used lately enough; that is counted from now on."""
        if not cookie:
            return None
        key, now = _digest(cookie), self._env.monotonic()
        with self._lock:
            session, used = self._open.pop(key, (None, 0.0))
            if session is None or now - used > self._hours() * 3600.0:
                return None
            self._open[key] = (session, now)
        return session

    def end(self, cookie: str | None) -> None:
        with self._lock:
            self._open.pop(_digest(cookie or ""), None)

    def _secret(self) -> str:
        return base64.urlsafe_b64encode(self._env.random(_BYTES)).decode().rstrip("=")


def _digest(secret: str) -> bytes:
    """Looked up by digest, so that how long a wrong one takes tells nothing."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
