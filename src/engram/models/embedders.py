"""Encoders of text as vectors: the `Embedder` interface, the bundled ONNX encoder, one around any function, and a fake.

A vector is float32 and of length one, so that a dot product is a cosine. Each embedder has a fingerprint that is stored with
every vector it makes. The fake, `hashing_embedder`, is for tests and demonstrations in which meaning does not matter.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from engram import settings as settings_room
from engram.deadline import Deadline, current_deadline, deadline_error, run_bounded
from engram.errors import DimensionMismatch, EmbedderUnavailable, EmbeddingFailed, EngramError
from engram.models.catalogue import Model
from engram.text.terms import terms

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers


def runtime() -> Any:
    """Import ONNX Runtime with telemetry disabled. Late: loading it takes longer than opening a vault.

    From 1.31 on its wheels write a device id and a database of events into the user's cache folder on import, and send them to
    their maker. An environment variable prevents it; `disable_telemetry_events` covers a program that imported it before us.
    """
    with settings_room.environment_variable("ORT_DISABLE_TELEMETRY", "1"):
        import onnxruntime
    getattr(onnxruntime, "disable_telemetry_events", lambda: None)()
    return onnxruntime


Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Turns a question, or passages that questions should find, into unit vectors."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def background(self) -> tuple[float, float]:
        """Mean and standard deviation of the cosine of unrelated texts."""

    def query(self, text: str) -> Vectors: ...

    def passages(self, texts: Sequence[str]) -> Vectors: ...


class OnnxEmbedder:
    """The bundled encoder. Its files are read on first use and shared by all threads.

    Passages are encoded one at a time: with 8-bit weights a vector depends slightly on the rest of its batch (cosine .997),
    and batching gains nothing on one thread. Several passages are spread over the cores instead.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._lock = threading.Lock()
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None

    @property
    def fingerprint(self) -> str:
        return self._model.fingerprint

    @property
    def dimensions(self) -> int:
        return self._model.dimensions

    @property
    def background(self) -> tuple[float, float]:
        return self._model.background

    def query(self, text: str) -> Vectors:
        return self._encode(self._model.query_prefix + text, current_deadline())

    def passages(self, texts: Sequence[str]) -> Vectors:
        prefixed = [self._model.passage_prefix + text for text in texts]
        if len(prefixed) < 2:
            vectors = [self._encode(text, current_deadline()) for text in prefixed]
        else:
            self._load()
            until = current_deadline()
            with ThreadPoolExecutor(min(len(prefixed), os.cpu_count() or 1)) as pool:
                vectors = list(pool.map(lambda text: self._encode(text, until), prefixed))
        return np.stack(vectors) if vectors else np.empty((0, self.dimensions), np.float32)

    def _encode(self, text: str, until: Deadline | None) -> Vectors:
        if until is not None and until.passed:
            raise deadline_error("encoding text")
        session, tokenizer = self._loaded or self._load()
        ids = np.asarray([tokenizer.encode(text).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        first: Any = session.run(None, feed)[0]
        return unit(first[0, 0])  # the vector of the first token represents the whole text (CLS pooling)

    def _load(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        return self._loaded or run_bounded(self._load_once, "loading the encoder")

    def _load_once(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        with self._lock:
            if self._loaded is None:
                self._loaded = _load_onnx(self._model)
            return self._loaded


def _load_onnx(model: Model) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
    if not model.installed():
        raise EmbedderUnavailable(f"the model {model.name!r} is not installed.")
    from tokenizers import Tokenizer  # late, as the runtime

    onnx = runtime()
    options = onnx.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena never frees the memory of the largest input
    options.log_severity_level = 3
    tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    tokenizer.enable_truncation(model.max_tokens)
    tokenizer.no_padding()
    session = onnx.InferenceSession(str(model.folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return session, tokenizer


class CallableEmbedder:
    """An embedder around any function from texts to vectors, with the name and the dimensions of its vectors."""

    def __init__(
        self,
        embed: Callable[[Sequence[str]], Any],
        *,
        name: str,
        dimensions: int,
        query_prefix: str = "",
        passage_prefix: str = "",
        background: tuple[float, float] = (0.0, 0.2),
    ) -> None:
        self._embed = embed
        self._name = name
        self._dimensions = dimensions
        self._query_prefix = query_prefix
        self._passage_prefix = passage_prefix
        self.background = background

    @property
    def fingerprint(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def query(self, text: str) -> Vectors:
        vector: Vectors = self._encode([self._query_prefix + text])[0]
        return vector

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimensions), np.float32)
        return self._encode([self._passage_prefix + text for text in texts])

    def _encode(self, texts: Sequence[str]) -> Vectors:
        try:
            vectors = np.asarray(run_bounded(lambda: self._embed(texts), "encoding text"), dtype=np.float32)
        except EngramError:
            raise
        except Exception as error:  # noqa: BLE001  a caller's function may raise anything, and its message may quote the text
            raise EmbeddingFailed(f"the model {self._name!r} failed ({type(error).__name__}).") from None
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingFailed(f"the model {self._name!r} returned an array of shape {vectors.shape} for {len(texts)} texts.")
        if vectors.shape[1] != self._dimensions:
            raise DimensionMismatch(f"the model {self._name!r} returned {vectors.shape[1]} dimensions, not {self._dimensions}.")
        return unit(vectors)


def unit(vectors: Any) -> Vectors:
    """Scale each row to length one. Raise EmbeddingFailed for a row of zeros, infinities or NaN."""
    array = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise EmbeddingFailed("the model returned a vector without a direction (zeros, infinities or NaN).")
    scaled: Vectors = array / lengths
    return scaled


def hashing_embedder(dimensions: int = 64) -> CallableEmbedder:
    """Return an embedder of hashed bags of words: texts that share words have near vectors. Needs no files."""

    def embed(texts: Sequence[str]) -> list[Vectors]:
        return [_bag(text, dimensions) for text in texts]

    return CallableEmbedder(embed, name=f"hashing-{dimensions}", dimensions=dimensions)


def _bag(text: str, dimensions: int) -> Vectors:
    vector = np.full(dimensions, 1e-3, np.float32)
    for term in terms(text):
        number = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest())
        vector[number % dimensions] += 1.0 if number & (1 << 40) else -1.0
    return vector
