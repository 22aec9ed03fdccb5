"""Open the learned models that come with the package: their folders, their ONNX sessions, one error for damaged files."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, TypeVar

from engram.errors import EmbedderUnavailable, EngramError
from engram.models.embedders import runtime

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

T = TypeVar("T")


def read_model(name: str, folder: Path | None, read: Callable[[Traversable], T]) -> T:
    """Read a model from its folder in the package, or from another folder; raise `EmbedderUnavailable` if that fails."""
    try:
        return read(files("engram.models").joinpath(f"{name}s") if folder is None else folder)
    except EngramError:
        raise
    except Exception as error:  # the tokenizer and the runtime raise bare exceptions for a damaged file
        raise EmbedderUnavailable(
            f"the {name} model cannot be read ({type(error).__name__}).", way_out="Install engram-local again."
        ) from error


def session_of(place: Traversable, name: str) -> Any:
    """Return an ONNX session on one thread for a file of a model's folder."""
    onnx = runtime()
    options = onnx.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # the arena never frees the memory of the largest input
    options.log_severity_level = 3
    with as_file(place.joinpath(name)) as path:  # by its path: bytes would be held a second time
        return onnx.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def tokenizer_of(place: Traversable) -> Any:
    """Return the tokenizer in a model's folder, without truncation or padding."""
    from tokenizers import Tokenizer  # late, as the runtime

    tokenizer = Tokenizer.from_str(place.joinpath("tokenizer.json").read_text("utf-8"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
