"""An embedding endpoint as an `Embedder`: requests in batches over a `Line`, and vectors of one length."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np

from engram import settings as settings_room
from engram.env import Env
from engram.errors import DimensionMismatch, EmbedderUnavailable, EmbeddingFailed
from engram.models.embed import Vectors
from engram.models.endpoint import EmbeddingEndpoint, endpoint_problem, vectors_in
from engram.models.wire import EndpointClient, EndpointSettings
from engram.types import Space


class RemoteEmbedder:
    """A model behind an endpoint. Made without asking it anything.

    `known`: the space of the vault. If it holds this model's vectors, their length is known while the endpoint is down.
    `sendable`: what may be sent of a text; a question is whatever somebody wrote.
    """

    background = (0.3, 0.1)
    """Of a model nobody has measured here: published ones lie between 0.1 and 0.7. It counts like 32 vectors against those of
    the vault (`LiveIndex.background`), so it matters in small vaults only."""

    def __init__(
        self,
        endpoint: EmbeddingEndpoint,
        env: Env,
        known: Space | None = None,
        sendable: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.endpoint = endpoint
        self._sendable = sendable
        own = known is not None and known.model == endpoint.fingerprint(known.dimensions)
        self._dimensions = endpoint.dimensions or (known.dimensions if known is not None and own else 0)
        self._lock = threading.Lock()
        self._line = EndpointClient(endpoint_settings(endpoint), env)

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
        return self._line.looked().trouble

    def query(self, text: str) -> Vectors:
        made: Vectors = self._embed([self.endpoint.query_prefix + self._sent(text)])[0]
        return made

    def passages(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self.endpoint.passage_prefix + self._sent(text) for text in texts]
        size = self.endpoint.batch
        made = [self._embed(prefixed[start : start + size]) for start in range(0, len(prefixed), size)]
        return np.concatenate(made) if made else np.empty((0, self._dimensions), np.float32)

    def close(self) -> None:
        self._line.close()

    def _sent(self, text: str) -> str:
        return self._sendable(text) or "…"  # some endpoints refuse what is empty

    def _embed(self, texts: Sequence[str]) -> Vectors:
        answer, sign = self._line.post(self.endpoint.provider.embed, self.endpoint.body(texts))
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


def endpoint_settings(endpoint: EmbeddingEndpoint) -> EndpointSettings:
    return EndpointSettings(
        name=endpoint.name,
        url=endpoint.url,
        probe=endpoint.provider.probe,
        setting="embed_url",
        key_name=endpoint.key_name,
        key=lambda: settings_room.secret(endpoint.key_name),
        timeout_s=endpoint.timeout_s,
        connect_s=endpoint.connect_s,
        probe_s=endpoint.probe_s,
        meanwhile="recall works on words alone",
        problem=endpoint_problem(endpoint),
    )
