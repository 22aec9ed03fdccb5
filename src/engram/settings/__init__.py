"""Every tunable of Engram: name, default, unit, range, help and where it comes from. One table, no second place.

The table is the `Settings` dataclass itself (`table.py`): each field is declared with `tunable(...)`, so that the type
checker, the documentation (`docs/settings.md` is generated from it), the range check and the command line read one line.

A value is taken from, later wins: the default here, the configuration file, `ENGRAM_<NAME>` in the environment, the
arguments of `engram.open(settings={...})`, and what was set while running. Numbers out of range are clamped with a
warning; a value of the wrong type falls back to the default with a warning. This module is the only reader of
environment variables and configuration files.
"""

from __future__ import annotations

import contextlib
import os
import re
from _thread import allocate_lock  # not from `threading`, for which a hook would wait 0.6 ms
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from engram.errors import ConfigInvalid
from engram.log import Log
from engram.settings.folders import own_folder
from engram.settings.table import FIXED
from engram.settings.table import Settings as Settings
from engram.settings.table import Value as Value
from engram.values.frozen import Field, fields, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")

log = Log("engram.settings")

TABLE: Mapping[str, Field[Any]] = {f.name: f for f in fields(Settings)}


IDENTITY = ("agent", "project", "squad", "channel", "user", "policy")
"""Never bent: a name that is not understood must not turn its bearer into somebody else."""


def coerce(name: str, value: object) -> tuple[Value, str]:
    """The value as its setting holds it, and a warning if it had to be bent ('' if not)."""
    spec = TABLE[name]
    default = _default(name)
    low, high, choices = spec.metadata["low"], spec.metadata["high"], spec.metadata["choices"]
    parsed = _parse(value, default)
    if parsed is None or (choices and parsed not in choices):
        return default, f"{_must_be(name)}; using {default!r}"
    if isinstance(parsed, int | float) and not isinstance(parsed, bool):
        bent = parsed if low is None else max(parsed, type(parsed)(low))
        bent = bent if high is None else min(bent, type(bent)(high))
        if bent != parsed:
            return bent, f"{name} = {parsed} is outside {low} … {high}; using {bent}"
    return parsed, ""


def nonsense(name: str, value: object) -> str:
    """What is wrong with a value that its setting can have no use of; '' if it can, if only bent into its range."""
    choices, parsed = TABLE[name].metadata["choices"], _parse(value, _default(name))
    return f"{_must_be(name)}." if parsed is None or (choices and parsed not in choices) else ""


def _default(name: str) -> Value:
    default: Any = TABLE[name].default  # every setting has one
    return default  # type: ignore[no-any-return]


def _must_be(name: str) -> str:
    choices = TABLE[name].metadata["choices"]
    return f"{name} must be {'one of ' + ', '.join(choices) if choices else _WANTED[type(_default(name))]}"


_WANTED = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


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
    except OverflowError:  # a whole number of hundreds of digits; the range bends it back
        number = float("inf") if isinstance(value, int) and value > 0 else float("-inf")
    if number != number or (isinstance(like, int) and number not in (float("inf"), float("-inf")) and number != int(number)):
        return None
    if isinstance(like, float):
        return number
    return int(max(min(number, 2.0**53), -(2.0**53)))


def unknown(name: str) -> str:
    """Say why a name that is not in the table is none: it is fixed by now, or there never was such a setting."""
    if name in FIXED:
        return f"{name} is no longer a setting: its value is fixed"
    import difflib  # late: for a mistake alone

    close = difflib.get_close_matches(name, TABLE, n=1)
    return f"there is no setting {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")


def usable(changes: Mapping[str, object], *, origin: str) -> tuple[dict[str, Value], list[str]]:
    """What `changes` come to as their settings hold them, and the warnings that came up."""
    good: dict[str, Value] = {}
    warnings: list[str] = []
    for name, value in changes.items():
        if name not in TABLE:
            ignored = "; remove it, it changes nothing" if name in FIXED else ""
            warnings.append(f"{origin}: {unknown(name)}{ignored}")
            continue
        good[name], warning = coerce(name, value)
        if warning:
            warnings.append(f"{origin}: {warning}")
    return good, warnings


def consistent(settings: Settings) -> tuple[Settings, list[str]]:
    """Rules between settings, applied once all sources are merged: critical pressure lies above the warning (§34.6)."""
    critical = settings.ram_warning_mib + 50
    if settings.ram_critical_mib >= critical:
        return settings, []
    warning = f"ram_critical_mib = {settings.ram_critical_mib} must be 50 above ram_warning_mib; using {critical}"
    return replace(settings, ram_critical_mib=critical), [warning]


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """The configuration file: `ENGRAM_CONFIG`, else the platform's configuration folder."""
    named = (os.environ if environ is None else environ).get("ENGRAM_CONFIG")
    return Path(named).expanduser().absolute() if named else own_folder("config") / "config.toml"


def key_folder() -> Path:
    """Where key files live: outside every vault."""
    return config_path().parent / "keys"


def home(environ: Mapping[str, str] | None = None) -> Path:
    """The vault when none is named: `ENGRAM_HOME`, else `home` in the configuration file, else the platform's data folder."""
    named = (os.environ if environ is None else environ).get("ENGRAM_HOME") or _home_in_file(environ)
    try:
        return Path(named).expanduser().absolute() if named else data_folder() / "vault"
    except RuntimeError:  # ~somebody who is not there
        raise ConfigInvalid("ENGRAM_HOME can be no folder.", way_out="Name a folder; it is made if missing.") from None


def data_folder() -> Path:
    """Where a program's data usually lies, and where one would look for a vault first."""
    return own_folder("data")


def hidden_home(random: Callable[[int], bytes]) -> Path:
    """A folder for a vault whose name says nothing, beside those of other programs and out of plain listings (§10.2.1)."""
    return data_folder().parent / f".state-{random(4).hex()}"


def _home_in_file(environ: Mapping[str, str] | None) -> str:
    try:
        told = _parsed(_file_text(config_path(environ))).get("home", "")
    except _Unreadable:
        return ""
    return told if isinstance(told, str) else ""


def model_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Where installed models lie: `ENGRAM_MODELS`, else the platform's cache folder. Shared by all vaults."""
    named = (os.environ if environ is None else environ).get("ENGRAM_MODELS")
    return Path(named).expanduser() if named else own_folder("cache") / "models"


def host_folder(variable: str, usual: str) -> Path:
    """Where another program keeps its own settings: what its variable names, else a folder in the user's home."""
    named = os.environ.get(variable, "").strip()
    return Path(named).expanduser() if named else Path.home() / usual


@contextlib.contextmanager
def environment_variable(variable: str, value: str) -> Iterator[None]:
    """Set an environment variable that a library reads while it is imported, and restore it afterwards."""
    before = os.environ.get(variable)
    os.environ[variable] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[variable]
        else:
            os.environ[variable] = before


def passphrase() -> str | None:
    """The passphrase from the environment, if one is there."""
    return os.environ.get("ENGRAM_PASSPHRASE")


def completing() -> bool:
    """Does a shell ask how a command line goes on?"""
    return "_ENGRAM_COMPLETE" in os.environ


def secret(name: str) -> str:
    """What an environment variable that a setting names holds, if it can be sent as a key; empty if not."""
    value = os.environ.get(name, "").strip() if name else ""
    return value if value.isascii() and value.isprintable() else ""


class _Unreadable(Exception):
    """The configuration file is there but says nothing that can be used."""


def _file_text(path: Path) -> str:
    """The file as it stands, line ends included; empty if there is none."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise _Unreadable(type(error).__name__) from error


def _parsed(text: str) -> dict[str, object]:
    if not text:
        return {}
    import tomllib  # late: most have no configuration file, and a hook is kept waiting

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _Unreadable(type(error).__name__) from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, object]:
    named = {name.removeprefix("ENGRAM_").lower(): name for name in environ if name.startswith("ENGRAM_") and name.isupper()}
    return {name: environ[said] for name, said in named.items() if name in TABLE or name in FIXED}


class LiveSettings:
    """The settings of one open vault: a snapshot that is swapped whole when something changes.

    The configuration file is looked at again at most once a second, so `engram config set` reaches running processes.

    `tuning`: `Weights` and `Limits` of rooms to use instead of the classes' defaults. Users set none of them: benchmarks sweep
    them, and tests shorten a pause or lower a limit.
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
            if name not in TABLE:
                raise ConfigInvalid(unknown(name) + ".")
            if name in IDENTITY and (warning := coerce(name, value)[1]):
                raise ConfigInvalid(warning.split(";")[0] + ".")
        self._path = config_path()
        self._monotonic = monotonic
        self._lock = allocate_lock()
        self._stamp: tuple[int, ...] | None = None
        self._looked = monotonic()
        self._from_file: dict[str, object] = {}
        self.warnings: tuple[str, ...] = ()
        self._now = self._load()
        self._require_identity()

    @property
    def now(self) -> Settings:
        """The values to use for the operation that starts now."""
        moment = self._monotonic()
        if moment - self._looked >= 1.0:
            self._looked = moment
            if self._file_stamp() != self._stamp:
                with self._lock:
                    self._now = self._load()
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

    def tuned(self, kind: type[T]) -> T:
        """Return the value of a room's `Weights` or `Limits` class that is in force: its defaults unless it was tuned."""
        value = self._tuning.get(kind)
        if value is None:
            value = self._tuning[kind] = kind()
        return value  # type: ignore[return-value]  # each value stands under its own class

    def tune(self, *values: object) -> None:
        """Use these `Weights` and `Limits` from the next operation on."""
        self._tuning.update((type(value), value) for value in values)

    def again(self) -> Settings:
        """Look at the file now, for who has just written it."""
        with self._lock:
            self._now = self._load()
        return self._now

    def origin(self, name: str) -> str:
        """Where the value in force comes from: default, file, environment or program."""
        if name in self._arguments:
            return "program"
        if f"ENGRAM_{name.upper()}" in os.environ:
            return "environment"
        return "file" if name in self._from_file else "default"

    def _require_identity(self) -> None:
        """Refuse to begin as somebody else than the file or the environment names."""
        said = {**self._from_file, **_from_environment(os.environ), **self._arguments}
        for name in IDENTITY:
            if name in said and (warning := coerce(name, said[name])[1]):
                raise ConfigInvalid(warning.split(";")[0] + ".", way_out=f"Mend ENGRAM_{name.upper()} or {self._path}.")

    def _load(self) -> Settings:
        self._stamp = self._file_stamp()
        warnings: list[str] = []
        try:
            self._from_file = _parsed(_file_text(self._path))
        except _Unreadable as error:
            # A running process must not fall back to the default identity or limits because an editor is half done.
            warnings.append(f"{self._path}: not read ({error}); it changes nothing until it is mended")
        values: dict[str, Any] = {}
        for origin, changes in (
            (str(self._path), self._from_file),
            ("environment", _from_environment(os.environ)),
            ("argument", self._arguments),
        ):
            good, more = usable(changes, origin=origin)
            values |= good
            warnings += more
        settings, more = consistent(Settings(**values))
        warnings += more
        for warning in warnings:
            if warning not in self.warnings:
                log.warning("%s", warning)
        self.warnings = tuple(warnings)
        return settings

    def _file_stamp(self) -> tuple[int, ...] | None:
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_ino, stat.st_mtime_ns, stat.st_size


def save(name: str, value: object) -> tuple[Path, Value, str]:
    """Write one setting into the configuration file; returns where, what was kept, and a warning if it was bent.

    Only the line of that setting is touched: comments, order and whatever else stands there stay byte for byte.
    """
    if name not in TABLE:
        raise ConfigInvalid(unknown(name) + ".")
    kept, warning = coerce(name, value)
    path = config_path()
    try:
        text = _file_text(path)
        edited = with_line(text, name, kept)
    except _Unreadable as error:
        raise ConfigInvalid(f"{path} cannot be edited ({error}), so it was left alone.", way_out="Mend it by hand.") from error
    try:
        if edited != text:
            _replace_file(path, edited.encode("utf-8"))
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be written ({error.strerror}).", way_out="Make its folder writable.") from error
    return path, kept, warning


def with_line(text: str, name: str, value: Value) -> str:
    """TOML `text` in which `name` has `value`, every other byte kept.

    The edit is found by trying: it counts only if it parses to the old content with this one value changed, so that
    what merely looks like the line (inside a multi-line string, under a table header) is never taken for it.
    """
    wanted = {**_parsed(text), name: value}
    for edited in _edits(text, name, _toml(value)):
        try:
            if _parsed(edited) == wanted:
                return edited
        except _Unreadable:
            continue
    raise _Unreadable(f"{name} has no line of its own")


def _edits(text: str, name: str, value: str) -> Iterator[str]:
    """Ways to give `name` its value: on a line that looks like its own, after the last top-level line, at the top."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if own := re.match(rf"""[ \t]*(?:{name}|"{name}"|'{name}')[ \t]*=[ \t]*""", line):
            yield "\n".join([*lines[:i], own.group() + value + _remark(line), *lines[i + 1 :]])
    ending = "\r" if lines[0].endswith("\r") else ""
    if lines[-1]:
        lines = [*lines[:-1], lines[-1] + ending, ""]
    header = next((i for i, line in enumerate(lines) if line.lstrip(" \t").startswith("[")), len(lines) - 1)
    statements = [i for i in range(header) if lines[i].strip() and not lines[i].lstrip(" \t").startswith("#")]
    for place in (statements[-1] + 1 if statements else header, 0):
        yield "\n".join([*lines[:place], f"{name} = {value}{ending}", *lines[place:]])


def _remark(line: str) -> str:
    """What follows the value on its line: a comment, the carriage return of a foreign line end."""
    for sign in re.finditer("[ \t]*#", line):
        try:
            _parsed(line[: sign.start()])
        except _Unreadable:
            continue  # this sign stands inside the value
        return line[sign.start() :]
    return "\r" if line.endswith("\r") else ""


def _replace_file(path: Path, content: bytes) -> None:
    """Put a file in place whole or not at all, for its owner only. A link keeps pointing to what it points to."""
    import tempfile  # here for start-up time: only `engram config set` comes this way

    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened, and the rename is logged by the file system
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    plain = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04X}" for c in text)
    return f'"{plain}"'
