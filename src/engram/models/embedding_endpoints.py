"""Embedding endpoints: requests, responses, and an `Embedder` over them.

    model = "ollama:nomic-embed-text"          POST {url}/api/embed    {model, input: […]}   → embeddings[i]
    model = "openai:text-embedding-3-small"    POST {url}/embeddings   {model, input: […]}   → data[i].embedding, by index

Many servers besides OpenAI's speak the second protocol; `embed_url` names the server.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engram import settings as settings_room
from engram.env import Env
from engram.errors import DimensionMismatch, EmbedderUnavailable, EmbeddingFailed
from engram.models.connections import ConnectionLimits, EndpointClient, EndpointSettings, address_problem
from engram.models.embedders import Vectors, unit
from engram.settings import Settings
from engram.types import Space
from engram.values.frozen import frozen

AUTO = "auto"


@frozen
class EmbeddingProvider:
    """A wire protocol: its default address, the paths for vectors and for the liveness probe, and the parser of answers."""

    name: str
    url: str
    embed: str
    probe: str
    entries: Callable[[Any], list[Any]]


@frozen(kw_only=True)
class EmbeddingEndpoint:
    """A model at an address. `key_name` names the environment variable with the API key; the key itself is not stored here."""

    provider: EmbeddingProvider
    model: str
    url: str
    key_name: str = ""
    dimensions: int = 0
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: int = 32
    timeout_s: float = 15.0
    connect_s: float = 2.0
    probe_s: float = 30.0

    @property
    def name(self) -> str:
        return f"{self.provider.name}:{self.model}"

    @property
    def place(self) -> str:
        """The address for messages, or "" if it is invalid, since an invalid one may contain a password."""
        return "" if endpoint_problem(self) else self.url

    def fingerprint(self, dimensions: int) -> str:
        """Return provider, model, dimensions and a hash of the passage prefix: vectors that differ in one are not compared.

        The address is not part of it: the same model served elsewhere makes the same vectors.
        """
        prefix = f":{hashlib.sha256(self.passage_prefix.encode()).hexdigest()[:12]}" if self.passage_prefix else ""
        return f"{self.name}:{dimensions}{prefix}"

    def body(self, texts: Sequence[str]) -> bytes:
        """Return the request body, in ASCII, so that lone surrogates can be sent too."""
        body: dict[str, object] = {"model": self.model, "input": list(texts)}
        if self.dimensions:
            body["dimensions"] = self.dimensions
        return json.dumps(body).encode("ascii")


def embedding_endpoint(settings: Settings, limits: ConnectionLimits = ConnectionLimits()) -> EmbeddingEndpoint | None:
    """Return the endpoint that the setting `model` names, or None if it names a local model or none."""
    name, colon, model = settings.model.partition(":")
    if not colon or name not in PROVIDERS:
        return None
    provider = PROVIDERS[name]
    query, passage = _PREFIXES.get(model.partition(":")[0].rpartition("/")[2].lower(), ("", ""))
    return EmbeddingEndpoint(
        provider=provider,
        model=model,
        url=(settings.embed_url or provider.url).rstrip("/"),
        key_name=settings.embed_key_env,
        dimensions=settings.embed_dimensions,
        query_prefix=query if settings.embed_query_prefix == AUTO else settings.embed_query_prefix,
        passage_prefix=passage if settings.embed_passage_prefix == AUTO else settings.embed_passage_prefix,
        batch=settings.embed_batch,
        timeout_s=settings.embed_timeout_s,
        connect_s=limits.connect_s,
        probe_s=limits.probe_s,
    )


def endpoint_problem(endpoint: EmbeddingEndpoint) -> str:
    """Return what is wrong with the endpoint's settings, or ""."""
    if not endpoint.model:
        return f"the setting `model` names no model after {endpoint.provider.name}:"
    return address_problem(endpoint.url, "embed_url")


def vectors_in(content: bytes, endpoint: EmbeddingEndpoint, count: int) -> Vectors:
    """Parse the unit vectors of a response to `count` texts, in their order. Errors quote nothing of the response."""
    try:
        entries = endpoint.provider.entries(json.loads(content))
        with np.errstate(over="ignore"):  # numbers out of range become infinite, and are refused below
            vectors = np.asarray(entries, np.float32)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise EmbeddingFailed(f"{endpoint.name} returned a response that is not a list of vectors.") from None
    if len(entries) != count:
        raise EmbeddingFailed(f"{endpoint.name} returned {len(entries)} vectors for {count} texts.")
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise EmbeddingFailed(f"{endpoint.name} returned vectors that are not lists of numbers.")
    with np.errstate(over="ignore", invalid="ignore"):
        return unit(vectors)


def _ollama_entries(answer: Any) -> list[Any]:
    return list(answer["embeddings"])


def _openai_entries(answer: Any) -> list[Any]:
    by_index = {entry.get("index", number): entry["embedding"] for number, entry in enumerate(answer["data"])}
    return [by_index[number] for number in range(len(answer["data"]))]


PROVIDERS = {
    provider.name: provider
    for provider in (
        EmbeddingProvider("ollama", "http://127.0.0.1:11434", "/api/embed", "/api/version", _ollama_entries),
        EmbeddingProvider("openai", "https://api.openai.com/v1", "/embeddings", "/models", _openai_entries),
    )
}

_SEARCHING = "Represent this sentence for searching relevant passages: "
_PREFIXES = {
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "nomic-embed-text-v1.5": ("search_query: ", "search_document: "),
    "mxbai-embed-large": (_SEARCHING, ""),
    "mxbai-embed-large-v1": (_SEARCHING, ""),
    "snowflake-arctic-embed": (_SEARCHING, ""),
    "snowflake-arctic-embed2": ("query: ", ""),
    "bge-large": (_SEARCHING, ""),
}
"""Query and passage prefixes that these models were trained with, from their model cards. Endpoints do not add them, and
recall suffers without them (the bundled model, of the same family: 0.38 instead of 0.67)."""


class RemoteEmbedder:
    """An embedder behind an endpoint: requests in batches, vectors of one length. Making one sends no request.

    `known`: the vector space of the vault. If it holds this model's vectors, their dimensions are known while the endpoint is
    down. `sendable` removes from a text what may not leave the machine, since a question may contain anything.
    """

    background = (0.3, 0.1)
    """An estimate for models that were not measured: published values lie between 0.1 and 0.7. It weighs as much as 32 vectors
    of the vault (`LiveIndex.background`), so that it matters in small vaults only."""

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
        self._client = EndpointClient(endpoint_settings(endpoint), env)

    @property
    def fingerprint(self) -> str:
        return self.endpoint.fingerprint(self._dimensions)

    @property
    def dimensions(self) -> int:
        """The length of the vectors; 0 until the first response if neither the settings nor the vault know it."""
        return self._dimensions

    @property
    def trouble(self) -> str:
        """The reason why the endpoint does not answer, or "". Probes it if the last check is older than `probe_s`."""
        return self._client.check().trouble

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._embed([self.endpoint.query_prefix + self._sanitized(text)])[0]
        return vector

    def passages(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self.endpoint.passage_prefix + self._sanitized(text) for text in texts]
        size = self.endpoint.batch
        batches = [self._embed(prefixed[start : start + size]) for start in range(0, len(prefixed), size)]
        return np.concatenate(batches) if batches else np.empty((0, self._dimensions), np.float32)

    def close(self) -> None:
        self._client.close()

    def _sanitized(self, text: str) -> str:
        return self._sendable(text) or "…"  # some endpoints refuse an empty text

    def _embed(self, texts: Sequence[str]) -> Vectors:
        response, status = self._client.post(self.endpoint.provider.embed, self.endpoint.body(texts))
        if status.trouble:
            raise EmbedderUnavailable(f"{status.trouble}.", way_out=status.way_out)
        if response.status != 200:
            raise EmbeddingFailed(f"{self.endpoint.name} refused these texts (HTTP {response.status}).")
        vectors = vectors_in(response.content, self.endpoint, len(texts))
        with self._lock:
            self._dimensions = self._dimensions or vectors.shape[1]
        if vectors.shape[1] != self._dimensions:
            raise DimensionMismatch(f"{self.endpoint.name} returned {vectors.shape[1]} dimensions, not {self._dimensions}.")
        return vectors


def endpoint_settings(endpoint: EmbeddingEndpoint) -> EndpointSettings:
    """Return the connection settings of an embedding endpoint."""
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
        meanwhile="recall searches by words alone",
        problem=endpoint_problem(endpoint),
    )
