"""The line to a model endpoint: requests within a time limit, and none to an endpoint that is known to be down.

Before a request the endpoint is asked for a sign of life, at most once in `probe_s`; while the last sign was bad every call
fails at once. A connection that broke, 429 and 5xx are tried once more. What is said of a trouble names the place, the model and
a status; it holds no text, no key and nothing of an answer. Redirects are not followed and proxies of the environment are not
used: words go to the address that was named, and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engram.deadline import in_time, patience
from engram.env import Env
from engram.frozen import frozen

if TYPE_CHECKING:
    import httpx2

_BACKOFF_S = 0.3
_MOST_BYTES = 64 << 20
"""An answer that is longer is given up. 2,048 vectors of 1,536 numbers, written out, have about as many bytes."""


UNREACHED, LATE, GARBLED = 0, -1, -2


@frozen
class Answer:
    """An HTTP status, or one of the three ways in which there was none."""

    status: int
    retry_after: str = ""
    content: bytes = b""


@frozen
class Sign:
    """What was last seen of the endpoint, and when. Empty: it answered."""

    at: float
    trouble: str = ""
    way_out: str = ""


@frozen(kw_only=True)
class Place:
    """Where one model is asked, and how long. `key` is called when a request is made; what it returns is kept nowhere."""

    name: str  # provider:model
    url: str
    probe: str
    setting: str  # that holds the address
    key_name: str = ""
    key: Callable[[], str] = lambda: ""
    timeout_s: float = 15.0
    connect_s: float = 2.0
    probe_s: float = 30.0
    meanwhile: str = ""  # what goes on without it
    problem: str = ""  # why this can be no endpoint

    @property
    def shown(self) -> str:
        """The address, for messages; nothing if it is none, because it may hold what it should not."""
        return "" if self.problem else self.url


def address_problem(url: str, setting: str) -> str:
    """Why this can be no address; empty if it can."""
    no_address = f"the setting `{setting}` is no http or https address"
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return no_address
    if not whole or not url.isascii() or not url.isprintable() or " " in url:
        return no_address
    if parts.username is not None or parts.password is not None:
        return f"the setting `{setting}` holds a name or password, which do not belong there"
    return f"the setting `{setting}` has a query or fragment" if parts.query or parts.fragment else ""


class Line:
    """Made without asking anything."""

    def __init__(self, place: Place, env: Env) -> None:
        self.place = place
        self._env = env
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._client: httpx2.Client | None = None
        self._sign: Sign | None = None

    def post(self, path: str, body: bytes) -> tuple[Answer, Sign]:
        """The answer to a request, made again once if the first came to nothing and the time allows; and what it says of the
        endpoint. Nothing is asked of one that is down."""
        sign = self.looked()
        if sign.trouble:
            return Answer(UNREACHED), sign
        deadline = self._env.monotonic() + patience(self.place.timeout_s)
        answer = self._send("POST", path, deadline, body)
        wait = max(_BACKOFF_S, _seconds(answer.retry_after))
        again = answer.status in (UNREACHED, 429) or answer.status >= 500
        if again and self._env.monotonic() + wait < deadline:
            self._env.sleep(wait)
            answer = self._send("POST", path, deadline, body)
        in_time(f"{self.place.name} was asked")  # before it is judged: that our time was short says nothing of the endpoint
        self._sign = self._judged(answer)
        return answer, self._sign

    def looked(self) -> Sign:
        """What was last seen of it; asked anew when that is older than `probe_s`."""
        with self._probing:  # others wait for the one who asks, at most `connect_s`
            sign = self._sign
            if sign is None or self._env.monotonic() - sign.at >= self.place.probe_s:
                sign = self._sign = self._probe()
            return sign

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _send(self, method: str, path: str, deadline: float, body: bytes | None = None) -> Answer:
        import httpx2

        client, headers = self._opened(), self._headers(body is not None)
        left = max(deadline - self._env.monotonic(), 0.01)
        timeout = httpx2.Timeout(left, connect=min(left, self.place.connect_s))
        try:
            with client.stream(
                method, self.place.url + path, content=body, headers=headers, timeout=timeout, follow_redirects=False
            ) as answer:
                content = bytearray()
                for piece in answer.iter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES or self._env.monotonic() > deadline:  # or a drip that never ends
                        return Answer(LATE)
                return Answer(answer.status_code, answer.headers.get("retry-after", ""), bytes(content))
        except httpx2.TimeoutException as error:
            return Answer(UNREACHED if isinstance(error, httpx2.ConnectTimeout) else LATE)
        except httpx2.TransportError:  # not connected, or broken off
            return Answer(UNREACHED)
        except (httpx2.RequestError, httpx2.InvalidURL):
            return Answer(GARBLED)

    def _opened(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(trust_env=False)
            return self._client

    def _headers(self, posting: bool) -> dict[str, str]:
        headers = {"accept": "application/json"} | ({"content-type": "application/json"} if posting else {})
        key = self.place.key()
        return headers | ({"authorization": f"Bearer {key}"} if key else {})

    def _probe(self) -> Sign:
        if self.place.problem:
            return self._seen(self.place.problem, "See `engram config`.")
        if not _installed():
            return self._seen("endpoints need the extra `llm`", 'Run `pip install "engram-local[llm]"`.')
        answer = self._send("GET", self.place.probe, self._env.monotonic() + patience(self.place.connect_s))
        in_time(f"{self.place.name} was asked")
        # A server without this path is a server that answers; whether it has the model, the first request tells.
        return self._seen() if answer.status in (404, 405) else self._judged(answer)

    def _judged(self, answer: Answer) -> Sign:
        """What an answer says of the endpoint, whatever it says of the words."""
        status, shown, name = answer.status, self.place.shown, self.place.name
        if status in (401, 403):
            return self._seen(
                f"{shown} refuses the key (HTTP {status})", f"Put one into the environment variable {self.place.key_name}."
            )
        if status == 404:
            model = name.partition(":")[2]
            return self._seen(f"{shown} has no model {model!r}", "Have it served there, or name another one.")
        if 300 <= status < 400:
            return self._seen(
                f"{shown} answers with a redirect", f"Put the address it leads to into the setting `{self.place.setting}`."
            )
        if status == UNREACHED:
            return self._seen(f"{name} cannot be reached at {shown}")
        if status == LATE:
            return self._seen(f"{name} at {shown} did not answer in time")
        if status == GARBLED:
            return self._seen(f"{name} at {shown} answers in no way that can be read")
        if status == 429 or status >= 500:
            return self._seen(f"{name} at {shown} is not able to answer (HTTP {status})")
        return self._seen()

    def _seen(self, trouble: str = "", way_out: str = "") -> Sign:
        waiting = f"It is asked again after {self.place.probe_s:g} s; until then {self.place.meanwhile}."
        return Sign(self._env.monotonic(), trouble, way_out or waiting if trouble else "")


def _installed() -> bool:
    try:
        import httpx2  # noqa: F401  late: an optional dependency, and slow to load
    except ImportError:
        return False
    return True


def _seconds(retry_after: str) -> float:
    """As a number of seconds; a date is as good as no word, because the clocks of two machines differ."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
