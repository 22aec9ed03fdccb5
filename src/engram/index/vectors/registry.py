"""The search tiers by name, and the choice of one for a vault.

`register` adds a tier. The choice depends on row counts and bytes; `live.LiveIndex` performs the swap.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from engram.errors import ConfigInvalid
from engram.frozen import frozen
from engram.index.vectors.exact import Exact
from engram.index.vectors.protocol import VectorTier
from engram.index.vectors.quantized import Quantized
from engram.index.vectors.rows import Rows
from engram.settings import Settings


@frozen
class Backend:
    """A tier: its constructor, the bytes a vector takes in it, and the module it needs ('' for none)."""

    name: str
    make: Callable[[Rows, Settings], VectorTier]
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


def setting_backend(settings: Settings) -> str:
    return str(getattr(settings, "vector_backend", "auto"))


def setting_exact_limit(settings: Settings) -> int:
    return int(getattr(settings, "vector_exact_limit", 20_000))


def setting_rescore(settings: Settings) -> int:
    return int(getattr(settings, "vector_rescore", 500))


BACKENDS: dict[str, Backend] = {}


def register(backend: Backend) -> None:
    """Add a tier, replacing one of the same name."""
    BACKENDS[backend.name] = backend


_ROW = 45
"""Bytes of a row beside its codes: key, scale, filter columns, and its entry in the key directory."""

register(Backend("exact", lambda rows, settings: Exact(rows), lambda dimensions: dimensions + _ROW))
register(
    Backend(
        "quantized",
        lambda rows, settings: Quantized(rows, setting_rescore(settings)),
        lambda dimensions: dimensions + _ROW + (dimensions + 7) // 8 + 16,
        needs="faiss",
    )
)


def make(name: str, rows: Rows, settings: Settings) -> VectorTier:
    return _backend(name).make(rows, settings)


def choose(count: int, dimensions: int, ram_budget_mib: float, settings: Settings, current: str = "") -> Choice:
    """Choose the tier for `count` vectors, which with their rows should fit into `ram_budget_mib`.

    The current tier is kept until the other is clearly better, so that a vault around the limit does not swap back and forth. If
    not even the rows fit, a smaller tier would not help, and the faster one is chosen.
    """
    preferred = setting_backend(settings)
    if preferred == "auto":
        limit = setting_exact_limit(settings)
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


def tuning(settings: Settings) -> tuple[object, ...]:
    """Return the settings that a tier is made with; if they change, the tier is made again."""
    return setting_backend(settings), setting_exact_limit(settings), setting_rescore(settings)
