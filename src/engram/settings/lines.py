"""The table line by line, as people are shown it: the value in force, the default, and where the value comes from."""

from __future__ import annotations

from collections.abc import Callable

from engram.settings import TABLE, Settings, Value
from engram.values.frozen import frozen


@frozen
class Setting:
    """One line. `fixed`: something goes over the file, so that a change of it would not show."""

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


def lines(values: Settings, origin: Callable[[str], str] = lambda name: "default") -> list[Setting]:
    shipped = Settings()
    return [
        Setting(name=name, value=getattr(values, name), default=getattr(shipped, name), origin=origin(name), **line.metadata)
        for name, line in TABLE.items()
    ]
