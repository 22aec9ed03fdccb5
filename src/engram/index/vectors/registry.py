"""The tiers by name, and which of them suits a vault.

Another tier joins by `register`. Choosing is a rule on counts and bytes; the swap itself is `live.LiveIndex`'s.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from engram.errors import ConfigInvalid
from engram.frozen import frozen
from engram.index.vectors.exact import Exact
from engram.index.vectors.protocol import VectorIndex
from engram.index.vectors.quantized import Quantized
from engram.index.vectors.rows import Rows
from engram.settings import Settings


@frozen
class Backend:
    """A tier: how to make one, what a vector costs in it, and which module must be installed for it ('' for none)."""

    name: str
    make: Callable[[Rows, Settings], VectorIndex]
    bytes_per_vector: Callable[[int], int]
    needs: str = ""

    @property
    def installed(self) -> bool:
        return not self.needs or find_spec(self.needs) is not None


@frozen
class Choice:
    """A tier's name, and why it is not the one that was wanted ('' if it is)."""

    name: str
    note: str = ""


def setting_backend(settings: Settings) -> str:
    return str(getattr(settings, "vector_backend", "auto"))


def setting_exact_limit(settings: Settings) -> int:
    return int(getattr(settings, "vector_exact_limit", 20_000))


def setting_rescore(settings: Settings) -> int:
    return int(getattr(settings, "vector_rescore", 500))


BACKENDS: dict[str, Backend] = {}


def register(backend: Backend) -> None:
    """Make a tier known; one of the same name is replaced."""
    BACKENDS[backend.name] = backend


_ROW = 45
"""Bytes of a row besides its codes: key, scale, marks, and its entry in the directory."""

register(Backend("exact", lambda rows, settings: Exact(rows), lambda dimensions: dimensions + _ROW))
register(
    Backend(
        "quantized",
        lambda rows, settings: Quantized(rows, setting_rescore(settings)),
        lambda dimensions: dimensions + _ROW + (dimensions + 7) // 8 + 16,
        needs="faiss",
    )
)


def make(name: str, rows: Rows, settings: Settings) -> VectorIndex:
    return _known(name).make(rows, settings)


def choose(count: int, dimensions: int, ram_budget_mib: float, settings: Settings, current: str = "") -> Choice:
    """The tier for so many vectors, of which all, rows included, should fit into `ram_budget_mib`.

    What is in use stays until the other is clearly better: a vault around the limit does not swap back and forth. If not
    even the rows fit, a slower tier would not help, and speed decides.
    """
    wanted = setting_backend(settings)
    if wanted == "auto":
        limit = setting_exact_limit(settings)
        wanted = "quantized" if count > (limit * 3 // 4 if current == "quantized" else limit) else "exact"
    backend = _known(wanted)
    if not backend.installed:
        return Choice("exact", f"{wanted!r} needs the package of the module {backend.needs!r}; searching exactly instead.")
    cost = count * backend.bytes_per_vector(dimensions) / 2**20
    rows_alone = count * BACKENDS["exact"].bytes_per_vector(dimensions) / 2**20
    budget = ram_budget_mib * (1.0 if current == wanted else 0.9)
    if rows_alone <= budget < cost:
        return Choice("exact", f"{wanted!r} would take {cost:.0f} MiB of {ram_budget_mib:.0f}; searching exactly instead.")
    over = cost > max(ram_budget_mib, 1.0)  # where others hold all there is, a small index is not what is too large
    return Choice(wanted, f"the vectors take {cost:.0f} MiB of {max(ram_budget_mib, 0.0):.0f}." if over else "")


def _known(name: str) -> Backend:
    if name not in BACKENDS:
        raise ConfigInvalid(f"there is no vector backend {name!r}; known are {', '.join(sorted(BACKENDS))}.")
    return BACKENDS[name]


def tuning(settings: Settings) -> tuple[object, ...]:
    """What a tier is made with."""
    return setting_backend(settings), setting_exact_limit(settings), setting_rescore(settings)
