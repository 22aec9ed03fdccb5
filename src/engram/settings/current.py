"""The values in force: from defaults, file, environment and program to one checked `Settings`, with warnings.

A vault holds one `LiveSettings`. It also hands out the rooms' own numbers (`tuned`), which are no settings.
"""

from __future__ import annotations

import os
from _thread import allocate_lock  # not from `threading`, for which a hook would wait 0.6 ms
from collections.abc import Callable, Mapping
from pathlib import Path

from engram.errors import ConfigInvalid
from engram.log import Log
from engram.settings.file import Unreadable, file_text, parsed, write_line
from engram.settings.folders import config_path
from engram.settings.table import IDENTITY, RETIRED, TABLE, Settings
from engram.settings.tunable import Value
from engram.values.frozen import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")

log = Log("engram.settings")

_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_LOOK_AGAIN_S = 1.0  # least time between two looks at the configuration file


# ── checking one value ─────────────────────────────────────────────────────────────────────────────────────────────────


def coerce(name: str, value: object) -> tuple[Value, str]:
    """Return the value as its setting holds it, and a warning if it was clamped or replaced ('' if not)."""
    spec = TABLE[name]
    default = _default(name)
    low, high, choices = spec.metadata["low"], spec.metadata["high"], spec.metadata["choices"]
    read = _parse(value, default)
    if read is None or (choices and read not in choices):
        return default, f"{_must_be(name)}; using {default!r}"
    if isinstance(read, int | float) and not isinstance(read, bool):
        clamped = read if low is None else max(read, type(read)(low))
        clamped = clamped if high is None else min(clamped, type(clamped)(high))
        if clamped != read:
            return clamped, f"{name} = {read} is outside {low} … {high}; using {clamped}"
    return read, ""


def problem_with(name: str, value: object) -> str:
    """Say why a value cannot be used for its setting; '' if it can, if only clamped into its range."""
    choices, read = TABLE[name].metadata["choices"], _parse(value, _default(name))
    return f"{_must_be(name)}." if read is None or (choices and read not in choices) else ""


def unknown(name: str) -> str:
    """Say that a name is no setting: no longer one, or never was one."""
    if name in RETIRED:
        return f"{name} is no longer a setting: its value is fixed"
    import difflib  # late: for a mistake alone

    close = difflib.get_close_matches(name, TABLE, n=1)
    return f"there is no setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")


def _default(name: str) -> Value:
    default: Any = TABLE[name].default  # every setting has one
    return default  # type: ignore[no-any-return]


def _must_be(name: str) -> str:
    choices = TABLE[name].metadata["choices"]
    return f"{name} must be {'one of ' + ', '.join(choices) if choices else _TYPES[type(_default(name))]}"


def _parse(value: object, like: Value) -> Value | None:
    """Read a TOML value or an environment string as the type of `like`; None if it is not one."""
    if isinstance(like, bool):
        words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
        return value if isinstance(value, bool) else words.get(str(value).strip().lower())
    if isinstance(like, str):
        # A lone surrogate (a byte of the environment that was no UTF-8) cannot be stored or written anywhere.
        return value if isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    except OverflowError:  # a whole number of hundreds of digits; it is clamped into the range
        number = float("inf") if isinstance(value, int) and value > 0 else float("-inf")
    if number != number or (isinstance(like, int) and number not in (float("inf"), float("-inf")) and number != int(number)):
        return None
    if isinstance(like, float):
        return number
    return int(max(min(number, 2.0**53), -(2.0**53)))


# ── checking all values ────────────────────────────────────────────────────────────────────────────────────────────────


def coerce_all(changes: Mapping[str, object], *, origin: str) -> tuple[dict[str, Value], list[str]]:
    """Return the values of one source as their settings hold them, and warnings that name the source."""
    values: dict[str, Value] = {}
    warnings: list[str] = []
    for name, value in changes.items():
        if name not in TABLE:
            ignored = "; remove it, it has no effect" if name in RETIRED else ""
            warnings.append(f"{origin}: {unknown(name)}{ignored}")
            continue
        values[name], warning = coerce(name, value)
        if warning:
            warnings.append(f"{origin}: {warning}")
    return values, warnings


def consistent(settings: Settings) -> tuple[Settings, list[str]]:
    """Apply the rule between settings, after all sources are merged: critical pressure lies above the warning (§34.6)."""
    critical = settings.ram_warning_mib + 50
    if settings.ram_critical_mib >= critical:
        return settings, []
    warning = f"ram_critical_mib = {settings.ram_critical_mib} must be 50 above ram_warning_mib; using {critical}"
    return replace(settings, ram_critical_mib=critical), [warning]


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    variables = {name.removeprefix("ENGRAM_").lower(): name for name in environ if name.startswith("ENGRAM_") and name.isupper()}
    return {name: environ[variable] for name, variable in variables.items() if name in TABLE or name in RETIRED}


def save(name: str, value: object) -> tuple[Path, Value, str]:
    """Write one setting into the configuration file; return its path, the value kept, and a warning if it was clamped."""
    if name not in TABLE:
        raise ConfigInvalid(unknown(name) + ".")
    kept, warning = coerce(name, value)
    path = config_path()
    write_line(path, name, kept)
    return path, kept, warning


# ── the values of one open vault ───────────────────────────────────────────────────────────────────────────────────────


class LiveSettings:
    """The settings of one open vault: a snapshot that is replaced whole when something changes.

    The configuration file is read again at most once a second, so `engram config set` reaches running processes.

    `tuning`: `Weights` and `Limits` of rooms to use instead of their defaults. Users set none of them: benchmarks sweep them, and
    tests shorten a pause or lower a limit.
    """

    def __init__(
        self,
        arguments: Mapping[str, object] | None = None,
        *,
        monotonic: Callable[[], float],
        tuning: Iterable[object] = (),
    ) -> None:
        self._tuning: dict[type, object] = {}
        self.tune(*tuning)
        self._arguments = dict(arguments or {})
        for name, value in self._arguments.items():
            if name not in TABLE and name not in RETIRED:
                raise ConfigInvalid(unknown(name) + ".")
            if name in IDENTITY and (warning := coerce(name, value)[1]):
                raise ConfigInvalid(warning.split(";")[0] + ".")
        self._path = config_path()
        self._monotonic = monotonic
        self._lock = allocate_lock()
        self._stamp: tuple[int, ...] | None = None
        self._looked_at = monotonic()
        self._from_file: dict[str, object] = {}
        self.warnings: tuple[str, ...] = ()
        self._now = self._load()
        self._require_identity()

    @property
    def now(self) -> Settings:
        """The values to use for the operation that starts now."""
        moment = self._monotonic()
        if moment - self._looked_at >= _LOOK_AGAIN_S:
            self._looked_at = moment
            if _file_stamp(self._path) != self._stamp:
                self.reload()
        return self._now

    def set(self, **changes: object) -> Settings:
        """Change values for this process; the next operation uses them."""
        for name in changes:
            if name not in TABLE:
                raise ConfigInvalid(unknown(name) + ".")
        with self._lock:
            self._arguments.update(changes)
            self._now = self._load()
        return self._now

    def reload(self) -> Settings:
        """Read the configuration file now, for a caller that has just written it."""
        with self._lock:
            self._now = self._load()
        return self._now

    def tuned(self, kind: type[T]) -> T:
        """Return the value in force of a room's `Weights` or `Limits` class: its defaults unless it was tuned."""
        value = self._tuning.get(kind)
        if value is None:
            value = self._tuning[kind] = kind()
        return value  # type: ignore[return-value]  # each value is kept under its own class

    def tune(self, *values: object) -> None:
        """Use these `Weights` and `Limits` from the next operation on."""
        self._tuning.update((type(value), value) for value in values)

    def origin(self, name: str) -> str:
        """Return where the value in force comes from: default, file, environment or program."""
        if name in self._arguments:
            return "program"
        if f"ENGRAM_{name.upper()}" in os.environ:
            return "environment"
        return "file" if name in self._from_file else "default"

    def _require_identity(self) -> None:
        """Raise if the file or the environment names an identity that cannot be used: a default would be somebody else."""
        given = {**self._from_file, **_from_environment(os.environ), **self._arguments}
        for name in IDENTITY:
            if name in given and (warning := coerce(name, given[name])[1]):
                raise ConfigInvalid(warning.split(";")[0] + ".", way_out=f"Correct ENGRAM_{name.upper()} or {self._path}.")

    def _load(self) -> Settings:
        self._stamp = _file_stamp(self._path)
        warnings: list[str] = []
        try:
            self._from_file = parsed(file_text(self._path))
        except Unreadable as error:
            # A running process must not fall back to the default identity or limits because an editor is half done.
            warnings.append(f"{self._path}: not read ({error}); the last values that were read stay in force")
        values: dict[str, Any] = {}
        for origin, changes in (
            (str(self._path), self._from_file),
            ("environment", _from_environment(os.environ)),
            ("argument", self._arguments),
        ):
            coerced, more = coerce_all(changes, origin=origin)
            values |= coerced
            warnings += more
        settings, more = consistent(Settings(**values))
        warnings += more
        for warning in warnings:
            if warning not in self.warnings:
                log.warning("%s", warning)
        self.warnings = tuple(warnings)
        return settings


def _file_stamp(path: Path) -> tuple[int, ...] | None:
    """Return inode, time and size of the file, which differ after every save; None if there is no file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
