"""HTTP requests to a model endpoint, within a time limit, and none while the endpoint is known to be down.

Before a request the endpoint is probed, at most once in `probe_s`; after a failed probe every call fails at once until the next
one is due. A broken connection, 429 and 5xx are retried once. Error messages name the address, the model and a status, and
contain no text, no key and nothing of a response. Redirects are not followed and proxies of the environment are not used: text
goes only to the configured address. A request ends when the deadline passes, whatever the server does.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from engram.deadline import acquire_in_time, check_deadline, deadline, deadline_error, pause, wait_limit
from engram.env import Env
from engram.values.frozen import frozen

if TYPE_CHECKING:
    import httpcore2


_BACKOFF_S = 0.3
_LONGEST_PAUSE_S = 3.0  # before the retry; a request that must wait longer is not retried
_LONGEST_REST_S = 3600.0  # the longest Retry-After that is respected
_MOST_BYTES = 64 << 20
"""Longer responses are abandoned. 2,048 vectors of 1,536 numbers in JSON take about as many bytes."""


UNREACHED, LATE, GARBLED, UNTRUSTED = 0, -1, -2, -3
"""Codes in the place of an HTTP status: no connection, no response in time, an unreadable one, an untrusted certificate."""


@frozen
class EndpointResponse:
    """A response: its HTTP status, or one of the four codes for a request without a response."""

    status: int
    retry_after: float = 0.0
    content: bytes = b""


@frozen
class EndpointStatus:
    """The result of the last contact with an endpoint, its time, and for how long it is valid. `trouble` is "" if it answered."""

    at: float
    lasts: float
    trouble: str = ""
    way_out: str = ""


@frozen(kw_only=True)
class ConnectionLimits:
    """The time limits of every endpoint that a user does not set (§32.2)."""

    connect_s: float = 2.0  # for a connection, and for the answer to a probe
    probe_s: float = 30.0  # how long the result of a probe counts; after a failed one no request is sent for so long


@frozen(kw_only=True)
class EndpointSettings:
    """The address and time limits of a model's endpoint. `key` is called for each request; its result is never stored."""

    name: str  # provider:model
    url: str
    probe: str
    setting: str  # the name of the setting with the address
    key_name: str = ""
    key: Callable[[], str] = lambda: ""
    timeout_s: float = 15.0
    connect_s: float = 2.0
    probe_s: float = 30.0
    meanwhile: str = ""  # what happens without the endpoint, for messages
    problem: str = ""  # what is wrong with these settings

    @property
    def shown(self) -> str:
        """The address for messages, or "" if it is invalid, since an invalid one may contain a password."""
        return "" if self.problem else self.url


def address_problem(url: str, setting: str) -> str:
    """Return what is wrong with an address, or ""."""
    not_http = f"the setting `{setting}` is not an http or https address"
    try:
        parts = urlsplit(url)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return not_http
    if not complete or not url.isascii() or not url.isprintable() or " " in url:
        return not_http
    if parts.username is not None or parts.password is not None:
        return f"the setting `{setting}` contains a user name or password, which must not be part of it"
    return f"the setting `{setting}` has a query or fragment" if parts.query or parts.fragment else ""


class EndpointClient:
    """A client of an endpoint that remembers whether the endpoint is up. Making one sends no request."""

    def __init__(self, settings: EndpointSettings, env: Env) -> None:
        self._settings = settings
        self._env = env
        self._lock = threading.Lock()
        self._probing = threading.Semaphore(1)
        self._pool: httpcore2.ConnectionPool | None = None
        self._closed = False
        self._status: EndpointStatus | None = None

    def post(self, path: str, body: bytes) -> tuple[EndpointResponse, EndpointStatus]:
        """Send a request, retrying once if it failed and time allows. Return the response and the status of the endpoint that
        follows from it. No request is sent to an endpoint that is down."""
        status = self.check()
        if status.trouble:
            return EndpointResponse(UNREACHED), status
        with deadline(self._settings.timeout_s, self._env.monotonic) as until:
            response = self._send("POST", path, body)
            wait = max(_BACKOFF_S, response.retry_after)
            retriable = response.status in (UNREACHED, 429) or response.status >= 500
            if retriable and wait <= _LONGEST_PAUSE_S and wait < until.left:
                pause(wait, self._env.sleep)
                response = self._send("POST", path, body)
        check_deadline(
            f"asking {self._settings.name}"
        )  # before judging: the caller's short deadline says nothing about the endpoint
        self._status = self._status_after(response)
        return response, self._status

    def check(self) -> EndpointStatus:
        """Return the last status of the endpoint, probing it if that is out of date."""
        if not acquire_in_time(self._probing, None):  # concurrent callers wait for one probe, at most `connect_s`
            raise deadline_error(f"asking {self._settings.name}")
        try:
            status = self._status
            if status is None or self._env.monotonic() - status.at >= status.lasts:
                status = self._status = self._probe()
            return status
        finally:
            self._probing.release()

    def close(self) -> None:
        """Close the connections, ending requests in progress."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _send(self, method: str, path: str, body: bytes | None = None) -> EndpointResponse:
        """Send one request within the current deadline."""
        import httpcore2

        pool = self._open_pool()
        if pool is None:
            return EndpointResponse(UNREACHED)
        left = max(wait_limit(self._settings.timeout_s), 0.01)
        timeout = {"connect": min(left, self._settings.connect_s), "read": left, "write": left, "pool": left}
        url, headers = self._settings.url + path, self._headers(body is not None)
        try:
            with pool.stream(method, url, headers=headers, content=body, extensions={"timeout": timeout}) as response:
                received = {name.lower(): value.decode("latin-1") for name, value in response.headers}
                if received.get(b"content-encoding", "identity") != "identity":  # the request asked for identity
                    return EndpointResponse(GARBLED)
                content = bytearray()
                for piece in response.iter_stream():
                    content += piece
                    if len(content) > _MOST_BYTES:
                        return EndpointResponse(GARBLED)
                return EndpointResponse(response.status, _seconds(received.get(b"retry-after", "")), bytes(content))
        except httpcore2.TimeoutException as error:
            return EndpointResponse(UNREACHED if isinstance(error, httpcore2.ConnectTimeout) else LATE)
        except httpcore2.ConnectError as error:
            return EndpointResponse(UNTRUSTED if isinstance(error.__cause__ or error.__context__, ssl.SSLError) else UNREACHED)
        except (httpcore2.NetworkError, httpcore2.ProtocolError):  # the connection broke
            return EndpointResponse(UNREACHED)

    def _open_pool(self) -> httpcore2.ConnectionPool | None:
        import httpcore2  # late: an optional dependency
        import httpx2

        from engram.models.deadline_streams import DeadlineBackend

        with self._lock:
            if self._pool is None and not self._closed:
                secure = httpx2.create_ssl_context(trust_env=False) if self._settings.url.startswith("https:") else None
                self._pool = httpcore2.ConnectionPool(ssl_context=secure, keepalive_expiry=5.0, network_backend=DeadlineBackend())
            return self._pool

    def _headers(self, posting: bool) -> list[tuple[str, str]]:
        headers = [("accept", "application/json"), ("accept-encoding", "identity"), ("user-agent", "engram")]
        if posting:
            headers.append(("content-type", "application/json"))
        key = self._settings.key().strip()
        if key and key.isascii() and key.isprintable():  # anything else cannot be a key
            headers.append(("authorization", f"Bearer {key}"))
        return headers

    def _probe(self) -> EndpointStatus:
        if self._settings.problem:
            return self._status_now(self._settings.problem, "See `engram config`.")
        if not _installed():
            return self._status_now("endpoints need the extra `llm`", 'Run `pip install "engram-local[llm]"`.')
        with deadline(self._settings.connect_s, self._env.monotonic):
            response = self._send("GET", self._settings.probe)
        check_deadline(f"asking {self._settings.name}")
        # A server without the probe's path is up all the same; the first request shows whether it has the model.
        return self._status_now() if response.status in (404, 405) else self._status_after(response)

    def _status_after(self, response: EndpointResponse) -> EndpointStatus:
        """Return the status of the endpoint that follows from a response, whatever its content."""
        status, shown, name = response.status, self._settings.shown, self._settings.name
        if status in (401, 403):
            return self._status_now(
                f"{shown} refuses the API key (HTTP {status})",
                f"Set the environment variable {self._settings.key_name} to a valid key.",
            )
        if status == 404:
            model = name.partition(":")[2]
            way_out = f"Serve it there, name another model, or correct `{self._settings.setting}`: many addresses end in `/v1`."
            return self._status_now(f"{shown} has no model {model!r}", way_out)
        if 300 <= status < 400:
            return self._status_now(
                f"{shown} answers with a redirect", f"Set `{self._settings.setting}` to the address that it redirects to."
            )
        if status == UNREACHED:
            return self._status_now(f"{name} cannot be reached at {shown}")
        if status == UNTRUSTED:
            return self._status_now(
                f"the certificate of {shown} is not trusted", "Make this machine trust it, or use an `http` address."
            )
        if status == LATE:
            return self._status_now(f"{name} at {shown} did not answer in time")
        if status == GARBLED:
            return self._status_now(f"{name} at {shown} returned a response that cannot be read")
        if status == 429 or status >= 500:
            return self._status_now(f"{name} at {shown} is unable to answer (HTTP {status})", retry_after=response.retry_after)
        return self._status_now()

    def _status_now(self, trouble: str = "", way_out: str = "", retry_after: float = 0.0) -> EndpointStatus:
        lasts = max(self._settings.probe_s, min(retry_after, _LONGEST_REST_S))
        waiting = f"The endpoint is tried again after {lasts:g} s; until then {self._settings.meanwhile}."
        return EndpointStatus(self._env.monotonic(), lasts, trouble, way_out or waiting if trouble else "")


def _installed() -> bool:
    try:
        import httpx2  # noqa: F401  late: an optional dependency, and slow to load
    except ImportError:
        return False
    return True


def _seconds(retry_after: str) -> float:
    """Return a Retry-After header in seconds. A date counts as 0, because the clocks of two machines differ."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
