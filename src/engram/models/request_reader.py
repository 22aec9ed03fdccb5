"""The request model: does a message ask for something to be done, and which statements govern that (`training/requests`).

"Write me the script" shares no word with "always use type hints". The model turns the vector of such a message to where the
rules, likes and constraints lie that people tell in passing: a linear map of low rank, fitted on pairs of a statement and the
requests that it governs. It reads the vectors of one encoder; for another encoder there is none. Its weights lie in
`requests/`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from engram.models.bundled import read_model
from engram.models.embedders import Vectors
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_FILE = "weights.npz"


@frozen(eq=False)
class RequestReader:
    """Reads vectors of messages, made by the encoder with this fingerprint.

    `background`: mean and standard deviation of the cosine of a `governing` vector with any statement.
    """

    encoder: str
    asks: Vectors
    bias: float
    down: Vectors
    up: Vectors
    kept: float
    standing: Vectors
    background: tuple[float, float]

    def chance(self, message: Vectors) -> float:
        """Return the chance that a message asks for something to be done or advised, and not for a stored fact."""
        return float(1.0 / (1.0 + np.exp(-(message @ self.asks + self.bias))))

    def governing(self, message: Vectors) -> Vectors:
        """Return the vector, of length one, that statements lie near which govern what this message asks for."""
        turned = self.kept * message + (message @ self.down) @ self.up.T + self.standing
        unit: Vectors = (turned / np.linalg.norm(turned)).astype(np.float32)
        return unit


def request_reader(encoder: str) -> RequestReader | None:
    """Return the reader for the vectors of an encoder, or None if the model was not fitted to it."""
    reader = _bundled()
    return reader if reader.encoder == encoder else None


@cache
def _bundled() -> RequestReader:
    return read_model("request", None, _read)


def _read(place: Traversable) -> RequestReader:
    with place.joinpath(_FILE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        weights = {name: stored[name].astype(np.float32) for name in ("asks", "down", "up", "standing")}
        return RequestReader(
            encoder=str(stored["encoder"]),
            asks=weights["asks"],
            bias=float(stored["bias"]),
            down=weights["down"],
            up=weights["up"],
            kept=float(stored["kept"]),
            standing=weights["standing"],
            background=(float(stored["background"]), float(stored["spread"])),
        )
