"""Sessions of signed-in browsers, held in memory only, so that they end with the server.

A session holds a token in the form of an `Authorization` header, and each request checks that token again: revoking it ends the
session's access at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import threading
from collections import OrderedDict
from collections.abc import Callable

from engram.env import Env
from engram.values.frozen import field, frozen

_SECRET_BYTES = 32
_MAX_SESSIONS = 256
_MAX_PER_TOKEN = 16
_LINK_S = 600.0


@frozen
class Session:
    """A signed-in browser.

    header: the token, as an `Authorization` header. csrf: the secret that every form must carry. local: begun by the link of
    `engram ui`, so that its user sits at the vault's own machine.
    """

    header: str = field(repr=False)
    csrf: str = field(repr=False)
    local: bool = False

    def accepts(self, csrf: str) -> bool:
        """Return whether this is the session's CSRF secret; compared in constant time."""
        return hmac.compare_digest(self.csrf.encode(), csrf.encode("utf-8", "replace"))


class Sessions:
    """The sessions of one server. `cookie` is a random name: cookies ignore ports, and two servers may run on one host."""

    def __init__(self, env: Env, hours: Callable[[], float]) -> None:
        self._env = env
        self._hours = hours
        self._lock = threading.Lock()
        self._open: OrderedDict[bytes, tuple[Session, float]] = OrderedDict()
        self._link: tuple[bytes, str, float] | None = None
        self.cookie = f"engram_{env.random(4).hex()}"

    def invite(self, header: str) -> str:
        """Return a secret that begins one session with this token within ten minutes."""
        secret = self._secret()
        with self._lock:
            self._link = (_digest(secret), header, self._env.monotonic() + _LINK_S)
        return secret

    def accept(self, secret: str) -> str | None:
        """Return the cookie of a new session, or None if the secret is wrong, used or too old."""
        with self._lock:
            link = self._link
            if link is None or not hmac.compare_digest(link[0], _digest(secret)) or self._env.monotonic() > link[2]:
                return None
            self._link = None
        return self.begin(link[1], local=True)

    def begin(self, header: str, *, local: bool = False) -> str:
        """Return the cookie of a new session. A token's seventeenth session ends its oldest, not another token's."""
        cookie = self._secret()
        with self._lock:
            self._open[_digest(cookie)] = (Session(header, self._secret(), local), self._env.monotonic())
            own = [key for key, (session, _) in self._open.items() if session.header == header]
            for key in own[:-_MAX_PER_TOKEN]:
                del self._open[key]
            while len(self._open) > _MAX_SESSIONS:
                self._open.popitem(last=False)
        return cookie

    def find(self, cookie: str | None) -> Session | None:
        """Return the session of a cookie and renew its lifetime, or None if it is unknown or expired."""
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
        """End a session; an unknown cookie is ignored."""
        with self._lock:
            self._open.pop(_digest(cookie or ""), None)

    def _secret(self) -> str:
        return base64.urlsafe_b64encode(self._env.random(_SECRET_BYTES)).decode().rstrip("=")


def _digest(secret: str) -> bytes:
    """Return the digest under which a secret is looked up, so that the time of a lookup reveals nothing about the secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).digest()
