"""An embedding endpoint as an `Embedder`: requests in batches, within a time limit, and not to one that is known to be down.

Before a request the endpoint is asked for a sign of life, at most once in `embed_probe_s`; while the last sign was bad every
call fails at once. A connection that broke, 429 and 5xx are tried once more. Errors name the place, the model and a status;
they hold no text, no key and nothing of an answer. Redirects are not followed and proxies of the environment are not used:
words go to the address that was named, and nowhere else.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engram import settings as settings_room
from engram.env import Env
from engram.errors import DimensionMismatch, EmbedderUnavailable, EmbeddingFailed
from engram.models.embed import Vectors
from engram.models.endpoint import Endpoint, problem, vectors_in
from engram.types import Space

if TYPE_CHECKING:
    import httpx2

_BACKOFF_S = 0.3
_MOST_BYTES = 64 << 20
"""An answer that is longer is given up. 2,048 vectors of 1,536 numbers, written out, have about as many bytes."""


_UNREACHED, _LATE, _GARBLED = 0, -1, -2


@dataclass(frozen=True, slots=True)
class _Answer:
    """An HTTP status, or one of the three ways in which there was none."""

    status: int
    retry_after: str = ""
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class _Sign:
    """What was last seen of the endpoint, and when. Empty: it answered."""

    at: float
    trouble: str = ""
    way_out: str = ""


class RemoteEmbedder:
    """A model behind an endpoint. Made without asking it anything.

    `known`: the space of the vault. If it holds this model's vectors, their length is known while the endpoint is down.
    """

    background = (0.3, 0.1)
    """Of a model nobody has measured here: published ones lie between 0.1 and 0.7. It counts like 32 vectors against those of
    the vault (`LiveIndex.background`), so it matters in small vaults only."""

    def __init__(self, endpoint: Endpoint, env: Env, known: Space | None = None) -> None:
        self.endpoint = endpoint
        self._env = env
        own = known is not None and known.model == endpoint.fingerprint(known.dimensions)
        self._dimensions = endpoint.dimensions or (known.dimensions if known is not None and own else 0)
        self._lock = threading.Lock()
        self._probing = threading.Lock()
        self._client: httpx2.Client | None = None
        self._sign: _Sign | None = None

    @property
    def fingerprint(self) -> str:
        return self.endpoint.fingerprint(self._dimensions)

    @property
    def dimensions(self) -> int:
        """0 until the endpoint has answered, if neither the settings nor the vault tell."""
        return self._dimensions

    @property
    def trouble(self) -> str:
        """Why it does not answer; empty if it does. Asked anew when the last sign of life is older than `probe_s`."""
        return self._looked().trouble

    def query(self, text: str) -> Vectors:
        made: Vectors = self._embed([self.endpoint.query_prefix + text])[0]
        return made

    def passages(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self.endpoint.passage_prefix + text for text in texts]
        size = self.endpoint.batch
        made = [self._embed(prefixed[start : start + size]) for start in range(0, len(prefixed), size)]
        return np.concatenate(made) if made else np.empty((0, self._dimensions), np.float32)

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    # ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _embed(self, texts: Sequence[str]) -> Vectors:
        sign = self._looked()
        if sign.trouble:
            raise EmbedderUnavailable(f"{sign.trouble}.", way_out=sign.way_out)
        answer = self._twice(self.endpoint.body(texts))
        sign = self._sign = self._judged(answer)
        if sign.trouble:
            raise EmbedderUnavailable(f"{sign.trouble}.", way_out=sign.way_out)
        if answer.status != 200:
            raise EmbeddingFailed(f"{self.endpoint.name} refused these texts (HTTP {answer.status}).")
        made = vectors_in(answer.content, self.endpoint, len(texts))
        with self._lock:
            self._dimensions = self._dimensions or made.shape[1]
        if made.shape[1] != self._dimensions:
            raise DimensionMismatch(f"{self.endpoint.name} made {made.shape[1]} dimensions, not {self._dimensions}.")
        return made

    def _twice(self, body: bytes) -> _Answer:
        """The answer to a request, made again once if the first came to nothing and the time allows."""
        deadline = self._env.monotonic() + self.endpoint.timeout_s
        answer = self._send("POST", self.endpoint.provider.embed, deadline, body)
        wait = max(_BACKOFF_S, _seconds(answer.retry_after))
        again = answer.status in (_UNREACHED, 429) or answer.status >= 500
        if again and self._env.monotonic() + wait < deadline:
            self._env.sleep(wait)
            answer = self._send("POST", self.endpoint.provider.embed, deadline, body)
        return answer

    def _send(self, method: str, path: str, deadline: float, body: bytes | None = None) -> _Answer:
        import httpx2

        client, headers = self._opened(), self._headers(body is not None)
        left = max(deadline - self._env.monotonic(), 0.01)
        timeout = httpx2.Timeout(left, connect=min(left, self.endpoint.connect_s))
        try:
            with client.stream(
                method, self.endpoint.url + path, content=body, headers=headers, timeout=timeout, follow_redirects=False
            ) as answer:
                content = bytearray()
                for piece in answer.iter_bytes():
                    content += piece
                    if len(content) > _MOST_BYTES or self._env.monotonic() > deadline:  # or a drip that never ends
                        return _Answer(_LATE)
                return _Answer(answer.status_code, answer.headers.get("retry-after", ""), bytes(content))
        except httpx2.TimeoutException as error:
            return _Answer(_UNREACHED if isinstance(error, httpx2.ConnectTimeout) else _LATE)
        except httpx2.TransportError:  # not connected, or broken off
            return _Answer(_UNREACHED)
        except (httpx2.RequestError, httpx2.InvalidURL):
            return _Answer(_GARBLED)

    def _opened(self) -> httpx2.Client:
        import httpx2

        with self._lock:
            if self._client is None:
                self._client = httpx2.Client(trust_env=False)
            return self._client

    def _headers(self, posting: bool) -> dict[str, str]:
        """With the key, which is read when it is needed and kept nowhere."""
        headers = {"accept": "application/json"} | ({"content-type": "application/json"} if posting else {})
        key = settings_room.secret(self.endpoint.key_name)
        return headers | ({"authorization": f"Bearer {key}"} if key else {})

    # ── signs of life ──────────────────────────────────────────────────────────────────────────────────────────────

    def _looked(self) -> _Sign:
        with self._probing:  # others wait for the one who asks, at most `connect_s`
            sign = self._sign
            if sign is None or self._env.monotonic() - sign.at >= self.endpoint.probe_s:
                sign = self._sign = self._probe()
            return sign

    def _probe(self) -> _Sign:
        if trouble := problem(self.endpoint):
            return self._seen(trouble, "See `engram config`.")
        if not _installed():
            return self._seen("endpoints need the extra `llm`", 'Run `pip install "engram-local[llm]"`.')
        answer = self._send("GET", self.endpoint.provider.probe, self._env.monotonic() + self.endpoint.connect_s)
        # A server without this path is a server that answers; whether it has the model, the first request tells.
        return self._seen() if answer.status in (404, 405) else self._judged(answer)

    def _judged(self, answer: _Answer) -> _Sign:
        """What an answer says of the endpoint, whatever it says of the texts."""
        status, place, name = answer.status, self.endpoint.place, self.endpoint.name
        if status in (401, 403):
            return self._seen(
                f"{place} refuses the key (HTTP {status})", f"Put one into the environment variable {self.endpoint.key_name}."
            )
        if status == 404:
            return self._seen(f"{place} has no model {self.endpoint.model!r}", "Have it served there, or name another one.")
        if 300 <= status < 400:
            return self._seen(f"{place} answers with a redirect", "Put the address it leads to into the setting `embed_url`.")
        if status == _UNREACHED:
            return self._seen(f"{name} cannot be reached at {place}")
        if status == _LATE:
            return self._seen(f"{name} at {place} did not answer in time")
        if status == _GARBLED:
            return self._seen(f"{name} at {place} answers in no way that can be read")
        if status == 429 or status >= 500:
            return self._seen(f"{name} at {place} is not able to answer (HTTP {status})")
        return self._seen()

    def _seen(self, trouble: str = "", way_out: str = "") -> _Sign:
        waiting = f"It is asked again after {self.endpoint.probe_s:g} s; until then recall works on words alone."
        return _Sign(self._env.monotonic(), trouble, way_out or waiting if trouble else "")


def _installed() -> bool:
    try:
        import httpx2  # noqa: F401  late: an optional dependency, and slow to load
    except ImportError:
        return False
    return True


def _seconds(retry_after: str) -> float:
    """As a number of seconds; a date is as good as no word, because the clocks of two machines differ."""
    return float(retry_after) if retry_after.isascii() and retry_after.isdigit() else 0.0
