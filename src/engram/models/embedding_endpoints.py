"""Embedding endpoints as values: where one is, what it is asked, what its answer means. Nothing here goes anywhere.

    model = "ollama:nomic-embed-text"          POST {url}/api/embed    {model, input: […]}   → embeddings[i]
    model = "openai:text-embedding-3-small"    POST {url}/embeddings   {model, input: […]}   → data[i].embedding, by index

The second is spoken by many servers besides the one it is named after; `embed_url` says which is meant.

An embedding endpoint as an `Embedder`: requests in batches over a `Line`, and vectors of one length.
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
from engram.models.connections import EndpointClient, EndpointSettings, address_problem
from engram.models.embedders import Vectors, unit
from engram.settings import Settings
from engram.types import Space
from engram.values.frozen import frozen

AUTO = "auto"


@frozen
class EmbeddingProvider:
    """One wire protocol: where it usually is, what is asked for vectors and for life, and how vectors are taken out."""

    name: str
    url: str
    embed: str
    probe: str
    entries: Callable[[Any], list[Any]]


@frozen(kw_only=True)
class EmbeddingEndpoint:
    """One model at one place. `key_name` names the environment variable that holds the key; the key itself is nowhere here."""

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
        """The address, for messages; nothing if it is none, because it may hold what it should not."""
        return "" if endpoint_problem(self) else self.url

    def fingerprint(self, dimensions: int) -> str:
        """Provider, model, length, and what is put before passages: vectors that differ in one are not compared.

        Not the address: the same model served elsewhere makes the same vectors.
        """
        before = f":{hashlib.sha256(self.passage_prefix.encode()).hexdigest()[:12]}" if self.passage_prefix else ""
        return f"{self.name}:{dimensions}{before}"

    def body(self, texts: Sequence[str]) -> bytes:
        """What is asked. ASCII, so that no text can be one that cannot be sent."""
        wanted: dict[str, object] = {"model": self.model, "input": list(texts)}
        if self.dimensions:
            wanted["dimensions"] = self.dimensions
        return json.dumps(wanted).encode("ascii")


def embedding_endpoint(settings: Settings) -> EmbeddingEndpoint | None:
    """The endpoint that the setting `model` names; None if it names a model that runs here, or none."""
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
        connect_s=settings.embed_connect_s,
        probe_s=settings.embed_probe_s,
    )


def endpoint_problem(endpoint: EmbeddingEndpoint) -> str:
    """Why this can be no endpoint; empty if it can."""
    if not endpoint.model:
        return f"the setting `model` names no model after {endpoint.provider.name}:"
    return address_problem(endpoint.url, "embed_url")


def vectors_in(content: bytes, endpoint: EmbeddingEndpoint, count: int) -> Vectors:
    """The unit vectors of an answer to `count` texts, in their order. An error quotes nothing of the answer."""
    try:
        entries = endpoint.provider.entries(json.loads(content))
        with np.errstate(over="ignore"):  # what does not fit is infinite, and refused below
            made = np.asarray(entries, np.float32)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        raise EmbeddingFailed(f"{endpoint.name} answered with something that is no list of vectors.") from None
    if len(entries) != count:
        raise EmbeddingFailed(f"{endpoint.name} answered with {len(entries)} vectors for {count} texts.")
    if made.ndim != 2 or not made.shape[1]:
        raise EmbeddingFailed(f"{endpoint.name} answered with vectors that are not lists of numbers.")
    with np.errstate(over="ignore", invalid="ignore"):
        return unit(made)


def _ollama_entries(answer: Any) -> list[Any]:
    return list(answer["embeddings"])


def _openai_entries(answer: Any) -> list[Any]:
    placed = {entry.get("index", place): entry["embedding"] for place, entry in enumerate(answer["data"])}
    return [placed[place] for place in range(len(answer["data"]))]


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
"""Query and passage prefixes that these models were trained with, from their cards. Endpoints do not add them, and without
them they find much less (the bundled model, the same family: 0.38 instead of 0.67)."""


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
