"""The line to a model endpoint: requests within a time limit, and none to an endpoint that is known to be down.

Before a request the endpoint is asked for a sign of life, at most once in `probe_s`; while the last sign was bad every call
fails at once. A connection that broke, 429 and 5xx are tried once more. What is said of a trouble names the place, the model and
a status; it holds no text, no key and nothing of an answer. Redirects are not followed and proxies of the environment are not
used: words go to the address that was named, and nowhere else. What is under way ends when the deadline passes, whatever the
server does.

Connections that look at the deadline while they wait: a call that is off, or whose time is over, ends within a moment.

The timeouts of the library count from one piece to the next, so that a server which sends a byte now and then holds a call for
as long as it likes; and a wait that has begun is not ended by anybody.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpcore2

from engram.deadline import POLL_S, acquire_in_time, check_deadline, deadline, deadline_error, deadline_passed, pause, wait_limit
from engram.env import Env
from engram.values.frozen import frozen

if TYPE_CHECKING:
    import httpcore2


_BACKOFF_S = 0.3
_LONGEST_PAUSE_S = 3.0  # before a second try: who is told to wait longer goes on without
_LONGEST_REST_S = 3600.0
_MOST_BYTES = 64 << 20
"""An answer that is longer is given up. 2,048 vectors of 1,536 numbers, written out, have about as many bytes."""


UNREACHED, LATE, GARBLED, UNTRUSTED = 0, -1, -2, -3


@frozen
class EndpointResponse:
    """An HTTP status, or one of the four ways in which there was none."""

    status: int
    retry_after: float = 0.0
    content: bytes = b""


@frozen
class EndpointStatus:
    """What was last seen of the endpoint, when, and how long that counts. Empty: it answered."""

    at: float
    lasts: float
    trouble: str = ""
    way_out: str = ""


@frozen(kw_only=True)
class EndpointSettings:
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


class EndpointClient:
    """Made without asking anything."""

    def __init__(self, place: EndpointSettings, env: Env) -> None:
        self.place = place
        self._env = env
        self._lock = threading.Lock()
        self._probing = threading.Semaphore(1)
        self._pool: httpcore2.ConnectionPool | None = None
        self._closed = False
        self._sign: EndpointStatus | None = None

    def post(self, path: str, body: bytes) -> tuple[EndpointResponse, EndpointStatus]:
        """The answer to a request, made again once if the first came to nothing and the time allows; and what it says of the
        endpoint. Nothing is asked of one that is down."""
        sign = self.looked()
        if sign.trouble:
            return EndpointResponse(UNREACHED), sign
        with deadline(self.place.timeout_s, self._env.monotonic) as until:
            answer = self._send("POST", path, body)
            wait = max(_BACKOFF_S, answer.retry_after)
            again = answer.status in (UNREACHED, 429) or answer.status >= 500
            if again and wait <= _LONGEST_PAUSE_S and wait < until.left:
                pause(wait, self._env.sleep)
                answer = self._send("POST", path, body)
        check_deadline(f"{self.place.name} was asked")  # a short deadline says nothing about the endpoint
        self._sign = self._judged(answer)
        return answer, self._sign

    def looked(self) -> EndpointStatus:
        """What was last seen of it; asked anew when that is no longer new."""
        if not acquire_in_time(self._probing, None):  # others wait for the one who asks, at most `connect_s`
            raise deadline_error(f"{self.place.name} was asked")
        try:
            sign = self._sign
            if sign is None or self._env.monotonic() - sign.at >= sign.lasts:
                sign = self._sign = self._probe()
            return sign
        finally:
            self._probing.release()

    def close(self) -> None:
        """What is under way ends too."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _send(self, method: str, path: str, body: bytes | None = None) -> EndpointResponse:
        """Within the deadline that is set."""
        import httpcore2

        pool = self._opened()
        if pool is None:
            return EndpointResponse(UNREACHED)
        left = max(wait_limit(self.place.timeout_s), 0.01)
        timeout = {"connect": min(left, self.place.connect_s), "read": left, "write": left, "pool": left}
        url, headers = self.place.url + path, self._headers(body is not None)
        try:
            with pool.stream(method, url, headers=headers, content=body, extensions={"timeout": timeout}) as answer:
                told = {name.lower(): value.decode("latin-1") for name, value in answer.headers}
                if told.get(b"content-encoding", "identity") != "identity":  # not asked for
                    return EndpointResponse(GARBLED)
                content = bytearray()
                for piece in answer.iter_stream():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        return EndpointResponse(GARBLED)
                return EndpointResponse(answer.status, _seconds(told.get(b"retry-after", "")), bytes(content))
        except httpcore2.TimeoutException as error:
            return EndpointResponse(UNREACHED if isinstance(error, httpcore2.ConnectTimeout) else LATE)
        except httpcore2.ConnectError as error:
            return EndpointResponse(UNTRUSTED if isinstance(error.__cause__ or error.__context__, ssl.SSLError) else UNREACHED)
        except (httpcore2.NetworkError, httpcore2.ProtocolError):  # broken off
            return EndpointResponse(UNREACHED)

    def _opened(self) -> httpcore2.ConnectionPool | None:
        import httpcore2
        import httpx2

        with self._lock:
            if self._pool is None and not self._closed:
                secure = httpx2.create_ssl_context(trust_env=False) if self.place.url.startswith("https:") else None
                self._pool = httpcore2.ConnectionPool(ssl_context=secure, keepalive_expiry=5.0, network_backend=DeadlineBackend())
            return self._pool

    def _headers(self, posting: bool) -> list[tuple[str, str]]:
        headers = [("accept", "application/json"), ("accept-encoding", "identity"), ("user-agent", "engram")]
        if posting:
            headers.append(("content-type", "application/json"))
        key = self.place.key().strip()
        if key and key.isascii() and key.isprintable():  # what cannot be a key is not sent
            headers.append(("authorization", f"Bearer {key}"))
        return headers

    def _probe(self) -> EndpointStatus:
        if self.place.problem:
            return self._seen(self.place.problem, "See `engram config`.")
        if not _installed():
            return self._seen("endpoints need the extra `llm`", 'Run `pip install "engram-local[llm]"`.')
        with deadline(self.place.connect_s, self._env.monotonic):
            answer = self._send("GET", self.place.probe)
        check_deadline(f"{self.place.name} was asked")
        # A server without this path is a server that answers; whether it has the model, the first request tells.
        return self._seen() if answer.status in (404, 405) else self._judged(answer)

    def _judged(self, answer: EndpointResponse) -> EndpointStatus:
        """What an answer says of the endpoint, whatever it says of the words."""
        status, shown, name = answer.status, self.place.shown, self.place.name
        if status in (401, 403):
            return self._seen(
                f"{shown} refuses the key (HTTP {status})", f"Put one into the environment variable {self.place.key_name}."
            )
        if status == 404:
            model = name.partition(":")[2]
            way_out = f"Have it served there, name another one, or mend `{self.place.setting}`: many end in `/v1`."
            return self._seen(f"{shown} has no model {model!r}", way_out)
        if 300 <= status < 400:
            return self._seen(
                f"{shown} answers with a redirect", f"Put the address it leads to into the setting `{self.place.setting}`."
            )
        if status == UNREACHED:
            return self._seen(f"{name} cannot be reached at {shown}")
        if status == UNTRUSTED:
            return self._seen(
                f"{shown} makes no secure connection", "This machine must trust its certificate; or is its address one of `http`?"
            )
        if status == LATE:
            return self._seen(f"{name} at {shown} did not answer in time")
        if status == GARBLED:
            return self._seen(f"{name} at {shown} answers in no way that can be read")
        if status == 429 or status >= 500:
            return self._seen(f"{name} at {shown} is not able to answer (HTTP {status})", rest=answer.retry_after)
        return self._seen()

    def _seen(self, trouble: str = "", way_out: str = "", rest: float = 0.0) -> EndpointStatus:
        lasts = max(self.place.probe_s, min(rest, _LONGEST_REST_S))
        waiting = f"It is asked again after {lasts:g} s; until then {self.place.meanwhile}."
        return EndpointStatus(self._env.monotonic(), lasts, trouble, way_out or waiting if trouble else "")


def _installed() -> bool:
    try:
        import httpx2  # noqa: F401  late: an optional dependency, and slow to load
    except ImportError:
        return False
    return True


def _seconds(retry_after: str) -> float:
    """As a number of seconds; a date is as good as no word, because the clocks of two machines differ."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0


class DeadlineStream(httpcore2.NetworkStream):
    """A stream that is read in short waits."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        waited = 0.0
        while not deadline_passed() and (timeout is None or waited < timeout):
            try:
                return self._stream.read(max_bytes, POLL_S)
            except httpcore2.ReadTimeout:
                waited += POLL_S
        raise httpcore2.ReadTimeout

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if deadline_passed():
            raise httpcore2.WriteTimeout
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class DeadlineBackend(httpcore2.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        return DeadlineStream(super().connect_tcp(host, port, timeout, local_address, socket_options))
