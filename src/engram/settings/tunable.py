"""How one setting is declared: its default, unit, range, help and where it comes from."""

from __future__ import annotations

from engram.values.frozen import field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Value = bool | int | float | str


def tunable(
    default: Value,
    help: str,
    *,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    ref: str = "",
    restart: bool = False,
) -> Any:
    """Declare one setting. `restart`: it is read when the vault is opened, so a change waits for the next open."""
    spec = {"help": help, "unit": unit, "low": low, "high": high, "choices": choices, "ref": ref, "restart": restart}
    return field(default=default, metadata=spec)
