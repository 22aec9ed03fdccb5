"""The public header of a vault, `vault.toml`: read, verified and replaced as a whole.

It holds what is needed to find the key and to open the database (format, cipher, key source, KDF parameters) and no secret.
It carries a checksum, so that damage to it is not mistaken for a wrong key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from engram.crypto.digests import sha256
from engram.crypto.key_sources import KeyHeader, from_table, is_hex, to_table
from engram.errors import VaultDamaged, VaultTooNew
from engram.store.folder import write_private
from engram.values.frozen import frozen, replace

FORMAT = 1

_HEADER_COPIES = "Run `engram doctor --repair`, which takes the newest sound copy from backups/."
_DIGITS = 19  # a number of this many digits may exceed TOML's 64 bits


@frozen
class Header:
    """The content of `vault.toml`. During a change of keys it also names the `next` key, and `handover` holds that key sealed
    under the present one."""

    cipher: str
    key: KeyHeader
    format: int = FORMAT
    next: KeyHeader | None = None
    handover: bytes = b""


def read_header(path: Path) -> Header:
    """Read and verify the header. Raises VaultDamaged, or VaultTooNew for a format of a later release."""
    try:
        table = _table(_read_quietly(path).decode("utf-8"))
    except FileNotFoundError as error:
        raise VaultDamaged(f"{path} is missing.", way_out=_HEADER_COPIES) from error
    except (ValueError, RecursionError) as error:  # no UTF-8, or no TOML
        raise _damaged(path) from error
    except OSError as error:
        raise VaultDamaged(f"{path} cannot be read ({error.strerror}).") from error
    version = table.get("format")
    if isinstance(version, int) and version > FORMAT and table.get("check") == _checksum(table):
        raise VaultTooNew(f"this vault has format {version}; this release reads formats up to {FORMAT}.")
    key = table.get("key")
    if version != FORMAT or table.get("check") != _checksum(table) or not isinstance(key, dict):
        raise _damaged(path)
    header = Header(cipher=str(table.get("cipher")), key=from_table(key), format=version)
    following = table.get("next")
    if not isinstance(following, dict):
        return header
    handover = following.get("handover")
    if not isinstance(handover, str) or not is_hex(handover):
        raise _damaged(path)
    return replace(header, next=from_table(following), handover=bytes.fromhex(handover))


def _table(text: str) -> dict[str, object]:
    """Parse TOML. Text as `write_header` writes it is parsed here, to save a hook the time to import `tomllib`."""
    table: dict[str, object] = {}
    current = table
    for line in text.split("\n"):
        name, equals, literal = line.partition(" = ")
        section = line[1:-1]
        if _is_plain(section) and line == f"[{section}]" and section not in table:
            table[section] = current = {}
        elif equals and _is_plain(name) and name not in current and (value := _value(literal)) is not None:
            current[name] = value
        elif line and not (line.startswith("# ") and line.isprintable()):
            break
    else:
        return table
    import tomllib

    return tomllib.loads(text)


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and name.islower()


def _value(literal: str) -> int | str | None:
    """Return the value of a plain number or text; None for other TOML. No regular expression: compiling one takes time."""
    if literal.isascii() and literal.isdecimal() and len(literal) < _DIGITS and (literal == "0" or literal[0] != "0"):
        return int(literal)
    text = literal[1:-1]
    return text if literal == f'"{text}"' and text.isprintable() and not ('"' in text or "\\" in text) else None


def _read_quietly(path: Path) -> bytes:
    """Read a file without changing its access time, on systems that offer this to the owner (§10.4.4)."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_NOATIME", 0))
    except PermissionError:
        descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def write_header(path: Path, header: Header) -> None:
    """Replace the header in one step; a crash leaves the old one or the new one."""
    tables: dict[str, dict[str, str | int]] = {"key": to_table(header.key)}
    if header.next is not None:
        tables["next"] = to_table(header.next) | {"handover": header.handover.hex()}
    table: dict[str, object] = {"format": header.format, "cipher": header.cipher, **tables}
    lines = [
        "# Engram vault. Nothing in this file is secret, but without it the vault cannot be opened.",
        f"format = {header.format}",
        f'cipher = "{header.cipher}"',
        f'check = "{_checksum(table)}"',
    ]
    for name, values in tables.items():
        lines += ["", f"[{name}]"]
        lines += [f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"' for key, value in values.items()]
    write_private(path, ("\n".join(lines) + "\n").encode())


def _checksum(table: Mapping[str, object]) -> str:
    """Return the checksum of a header: over every value but the checksum, in sorted order."""

    def flat(prefix: str, values: Mapping[str, object]) -> list[str]:
        lines: list[str] = []
        for name, value in sorted(values.items()):
            lines += flat(f"{prefix}{name}.", value) if isinstance(value, dict) else [f"{prefix}{name}={value!r}"]
        return lines

    rest = {name: value for name, value in table.items() if name != "check"}
    return sha256("\n".join(flat("", rest)).encode()).hex()[:32]


def _damaged(path: Path) -> VaultDamaged:
    return VaultDamaged(f"{path} is damaged.", way_out=_HEADER_COPIES)
