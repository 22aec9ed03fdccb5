"""Rerankers: the interface of a cross-encoder that scores texts against a question, and one that runs from a local folder.

Reranking is off unless a reranker is passed (`engram.open(reranker=…)`) or named in the settings: the small models available do
not help after the default encoder (R@10 .692 → .684 on LoCoMo) and cost 9 to 20 ms per pair.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from engram.errors import EmbedderUnavailable, EmbeddingFailed
from engram.models.embedders import runtime

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

Scores = npt.NDArray[np.float32]


class Reranker(Protocol):
    """Scores texts against a question."""

    @property
    def name(self) -> str: ...

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        """Return a score for each text, higher for a better answer; the scale is the model's own."""


class OnnxReranker:
    """A cross-encoder from a folder with `model.onnx` and `tokenizer.json`, which are read on first use."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = Path(folder).expanduser()
        self._lock = threading.Lock()
        self._loaded: tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer] | None = None

    @property
    def name(self) -> str:
        return self._folder.name

    def score(self, question: str, texts: Sequence[str]) -> Scores:
        session, tokenizer = self._load()
        inputs = {node.name for node in session.get_inputs()}
        scores = np.asarray([self._score_pair(session, inputs, tokenizer.encode(question, text)) for text in texts], np.float32)
        if not np.all(np.isfinite(scores)):
            raise EmbeddingFailed("the reranking model returned a score that is not a finite number.")
        return scores

    def _score_pair(self, session: Any, inputs: set[str], encoded: Any) -> float:
        feed = {
            "input_ids": np.asarray([encoded.ids], np.int64),
            "attention_mask": np.asarray([encoded.attention_mask], np.int64),
            "token_type_ids": np.asarray([encoded.type_ids], np.int64),
        }
        logits = np.asarray(session.run(None, {name: value for name, value in feed.items() if name in inputs})[0])
        return float(logits.reshape(-1)[-1])  # one logit, or two of which the last is "relevant"

    def _load(self) -> tuple[onnxruntime.InferenceSession, tokenizers.Tokenizer]:
        with self._lock:
            if self._loaded is None:
                files = [self._folder / name for name in ("model.onnx", "tokenizer.json")]
                if not all(file.is_file() for file in files):
                    raise EmbedderUnavailable(
                        f"the reranking model {self.name!r} is incomplete: its folder needs model.onnx and tokenizer.json."
                    )
                from tokenizers import Tokenizer  # late, as the runtime

                onnx = runtime()
                options = onnx.SessionOptions()
                options.intra_op_num_threads = options.inter_op_num_threads = 1
                options.log_severity_level = 3
                tokenizer = Tokenizer.from_file(str(files[1]))
                tokenizer.enable_truncation(512)
                session = onnx.InferenceSession(str(files[0]), options, providers=["CPUExecutionProvider"])
                self._loaded = session, tokenizer
            return self._loaded
