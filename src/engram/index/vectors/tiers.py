"""The search tiers by name, and the choice of one for a vault.

`register` adds a tier. The choice depends on row counts and bytes; `live.LiveIndex` performs the swap.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from engram.errors import ConfigInvalid
from engram.index.vectors.exact import Exact
from engram.index.vectors.matrix import Rows
from engram.index.vectors.quantized import Quantized
from engram.index.vectors.tier import VectorTier
from engram.values.frozen import frozen


@frozen(kw_only=True)
class VectorLimits:
    """The numbers that tune the vector index, in one value that a benchmark can sweep."""

    vector_exact_limit: int = 20_000  # vectors up to which every one is compared (§36.6)
    vector_rescore: int = 500  # candidates of the quantized scan that are scored in full (§36.2)
    warm_patience_s: float = 0.8  # from the start of loading: how long a recall waits for all vectors (§32)
    snapshot_from: int = 5000  # vectors from which a snapshot is written; fewer load as fast from the rows
    snapshot_pause_s: float = 600.0  # least time between two snapshots of an open vault; closing writes one too


@frozen
class Backend:
    """A tier: its constructor, the bytes a vector takes in it, and the module it needs ('' for none)."""

    name: str
    make: Callable[[Rows, VectorLimits], VectorTier]
    bytes_per_vector: Callable[[int], int]
    needs: str = ""

    @property
    def installed(self) -> bool:
        return not self.needs or find_spec(self.needs) is not None


@frozen
class Choice:
    """The name of the chosen tier, and the reason why the preferred one was not chosen ('' if it was)."""

    name: str
    note: str = ""


BACKENDS: dict[str, Backend] = {}


def register(backend: Backend) -> None:
    """Add a tier, replacing one of the same name."""
    BACKENDS[backend.name] = backend


_ROW = 45
"""Bytes of a row beside its codes: key, scale, filter columns, and its entry in the key directory."""

register(Backend("exact", lambda rows, limits: Exact(rows), lambda dimensions: dimensions + _ROW))
register(
    Backend(
        "quantized",
        lambda rows, limits: Quantized(rows, limits.vector_rescore),
        lambda dimensions: dimensions + _ROW + (dimensions + 7) // 8 + 16,
        needs="faiss",
    )
)


def make(name: str, rows: Rows, limits: VectorLimits) -> VectorTier:
    return _backend(name).make(rows, limits)


def choose(count: int, dimensions: int, ram_budget_mib: float, preferred: str, limits: VectorLimits, current: str = "") -> Choice:
    """Choose the tier for `count` vectors, which with their rows should fit into `ram_budget_mib`.

    The current tier is kept until the other is clearly better, so that a vault around the limit does not swap back and forth. If
    not even the rows fit, a smaller tier would not help, and the faster one is chosen.
    """
    if preferred == "auto":
        limit = limits.vector_exact_limit
        preferred = "quantized" if count > (limit * 3 // 4 if current == "quantized" else limit) else "exact"
    backend = _backend(preferred)
    if not backend.installed:
        return Choice("exact", f"{preferred!r} needs the package of the module {backend.needs!r}; searching exactly instead.")
    cost = count * backend.bytes_per_vector(dimensions) / 2**20
    rows_alone = count * BACKENDS["exact"].bytes_per_vector(dimensions) / 2**20
    budget = ram_budget_mib * (1.0 if current == preferred else 0.9)
    if rows_alone <= budget < cost:
        return Choice("exact", f"{preferred!r} would take {cost:.0f} MiB of {ram_budget_mib:.0f}; searching exactly instead.")
    over = cost > max(ram_budget_mib, 1.0)  # no warning about an index below 1 MiB when the rest of the process uses it all
    return Choice(preferred, f"the vectors take {cost:.0f} MiB of {max(ram_budget_mib, 0.0):.0f}." if over else "")


def _backend(name: str) -> Backend:
    if name not in BACKENDS:
        raise ConfigInvalid(f"there is no vector backend {name!r}; known are {', '.join(sorted(BACKENDS))}.")
    return BACKENDS[name]
