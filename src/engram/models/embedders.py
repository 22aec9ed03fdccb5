"""Words to vectors: the seam, and the encoder that runs in this process.

A vector is float32 and of length one, so that a dot product is a cosine. Each embedder names itself by a fingerprint that
goes with every vector it makes.

The one way to ONNX Runtime: without its telemetry.

From 1.31 on its wheels write a device id and a database of events into the user's cache folder as soon as they are imported, and
send them to their maker. A variable that they read at import prevents it; `disable_telemetry_events`, called after, leaves both
files there, and is for whoever imported it before us.

Small models that ship: for tests and demonstrations where meaning does not matter.
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
from engram.models.catalog import Model
from engram.models.language_models import Extracted, Extractor
from engram.text import sentences
from engram.text.english.grammar import is_assistant
from engram.text.terms import terms
from engram.types import Turn

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers


def runtime() -> Any:
    """The module. Late: loading it takes longer than opening a vault, and a vault is often opened to read only."""
    with settings_room.told("ORT_DISABLE_TELEMETRY", "1"):
        import onnxruntime
    getattr(onnxruntime, "disable_telemetry_events", lambda: None)()
    return onnxruntime


Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """One method wide in each direction: a question, or passages to be found by questions."""

    @property
    def fingerprint(self) -> str: ...

    @property
    def dimensions(self) -> int: ...

    @property
    def background(self) -> tuple[float, float]:
        """Mean and spread of the cosine of things that have nothing to do with each other."""

    def query(self, text: str) -> Vectors: ...

    def passages(self, texts: Sequence[str]) -> Vectors: ...


class OnnxEmbedder:
    """The bundled encoder. Files are read on first use, once, and shared by all threads.

    Passages are encoded one at a time: with 8-bit weights a vector depends slightly on its batch-mates (cosine .997), and
    batching gains nothing on one thread. Bulk work runs one passage a core instead.
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
            made = [self._encode(text, current_deadline()) for text in prefixed]
        else:
            self._load()
            until = current_deadline()
            with ThreadPoolExecutor(min(len(prefixed), os.cpu_count() or 1)) as pool:
                made = list(pool.map(lambda text: self._encode(text, until), prefixed))
        return np.stack(made) if made else np.empty((0, self.dimensions), np.float32)

    def _encode(self, text: str, until: Deadline | None) -> Vectors:
        if until is not None and until.passed:
            raise deadline_error("vectors were made")
        session, tokenizer = self._loaded or self._load()
        ids = np.asarray([tokenizer.encode(text).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        first: Any = session.run(None, feed)[0]
        return unit(first[0, 0])  # the vector of the first token stands for the whole (CLS pooling)

    def _load(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        return self._loaded or run_bounded(self._load_once, "the encoder was loaded")

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
    options.enable_cpu_mem_arena = False  # the arena keeps the largest input's memory for good
    options.log_severity_level = 3
    tokenizer = Tokenizer.from_file(str(model.folder / "tokenizer.json"))
    tokenizer.enable_truncation(model.max_tokens)
    tokenizer.no_padding()
    session = onnx.InferenceSession(str(model.folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    return session, tokenizer


class CallableEmbedder:
    """Any function from texts to vectors, with the name and length its vectors have."""

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
        made: Vectors = self._checked([self._query_prefix + text])[0]
        return made

    def passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimensions), np.float32)
        return self._checked([self._passage_prefix + text for text in texts])

    def _checked(self, texts: Sequence[str]) -> Vectors:
        try:
            made = np.asarray(run_bounded(lambda: self._embed(texts), "vectors were made"), dtype=np.float32)
        except EngramError:
            raise
        except Exception as error:  # noqa: BLE001  any function may stand here; its words may be the user's
            raise EmbeddingFailed(f"the model {self._name!r} failed ({type(error).__name__}).") from None
        if made.ndim != 2 or len(made) != len(texts):
            raise EmbeddingFailed(f"the model {self._name!r} answered with {made.shape} numbers for {len(texts)} texts.")
        if made.shape[1] != self._dimensions:
            raise DimensionMismatch(f"the model {self._name!r} made {made.shape[1]} dimensions, not {self._dimensions}.")
        return unit(made)


def unit(vectors: Any) -> Vectors:
    """Of length one, row by row. A vector of zeros or of no numbers is an error: it would be near to everything."""
    array = np.asarray(vectors, dtype=np.float32)
    lengths = np.linalg.norm(array, axis=-1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or not np.all(lengths > 0):
        raise EmbeddingFailed("the model made a vector that has no direction.")
    scaled: Vectors = array / lengths
    return scaled


def hashing_embedder(dimensions: int = 64) -> CallableEmbedder:
    """A bag of hashed words: equal words give near vectors, nothing more. Needs no files and no time."""

    def embed(texts: Sequence[str]) -> list[Vectors]:
        return [_bag(text, dimensions) for text in texts]

    return CallableEmbedder(embed, name=f"hashing-{dimensions}", dimensions=dimensions)


def _bag(text: str, dimensions: int) -> Vectors:
    vector = np.full(dimensions, 1e-3, np.float32)
    for term in terms(text):
        place = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest())
        vector[place % dimensions] += 1.0 if place & (1 << 40) else -1.0
    return vector


def sentence_extractor() -> Extractor:
    """Every sentence of a person as a statement, in its own words: shows what an extractor gets and gives."""

    def extract(turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extracted]:
        return [
            Extracted(text=f"{turn.speaker}: {turn.text[start:end]}", turn=number)
            for number, turn in enumerate(turns)
            if not is_assistant(turn.speaker)
            for start, end in sentences.spans(turn.text)
        ]

    return extract
