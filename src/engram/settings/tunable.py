"""The declaration of a setting, and the list of all settings with their values in force."""

from __future__ import annotations

from collections.abc import Callable

from engram.values.frozen import field, fields, frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from engram.settings.table import Settings

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


@frozen
class Setting:
    """A setting with its value in force. `fixed`: the environment or the program sets it, so the file would not show."""

    name: str
    value: Value
    default: Value
    origin: str
    unit: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    restart: bool
    ref: str
    help: str

    @property
    def fixed(self) -> bool:
        return self.origin in ("environment", "program")

    @property
    def truth(self) -> bool:
        return isinstance(self.default, bool)

    @property
    def number(self) -> bool:
        return isinstance(self.default, int | float) and not self.truth

    @property
    def range(self) -> str:
        if self.choices:
            return ", ".join(self.choices)
        if self.truth:
            return "true, false"
        return "" if self.low is None or self.high is None else f"{self.low} … {self.high}"


def listing(values: Settings, origin: Callable[[str], str] = lambda name: "default") -> list[Setting]:
    """Return every setting in the order of the table. `origin`: where the value of a setting comes from."""
    shipped = type(values)()
    return [
        Setting(
            name=one.name,
            value=getattr(values, one.name),
            default=getattr(shipped, one.name),
            origin=origin(one.name),
            **one.metadata,
        )
        for one in fields(values)
    ]
