"""The hosts that can start the MCP server: the settings file of each, and edits that add or remove our entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

from engram import settings as settings_room
from engram.errors import ConfigInvalid
from engram.hosts import edits
from engram.hosts.edits import Edit
from engram.values.frozen import field, frozen

NAME = "engram"


@frozen
class Client:
    """A host of MCP servers.

    file: the settings file of a person. project: that of a project, relative to its folder; "" if the host has none. place: keys
    that lead to the servers in the file. more: fields of an entry besides the command. after: advice to print after installing.
    """

    title: str
    file: Callable[[], Path]
    place: tuple[str, ...]
    project: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    after: str = ""


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _own(variable: str, folder: str, file: str) -> Callable[[], Path]:
    """Return the path of a file in the host's own folder, which an environment variable may move."""
    return lambda: settings_room.host_folder(variable, folder) / file


def _config(folder: str, *parts: str) -> Callable[[], Path]:
    """Return the path of a file under `~/.config`, `~/Library/Application Support` or `%APPDATA%`."""
    return lambda: platformdirs.user_config_path(folder, appauthor=False, roaming=True).joinpath(*parts)


_STDIO = {"type": "stdio"}
CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        "Claude Code", _own("CLAUDE_CONFIG_DIR", "", ".claude.json"), ("mcpServers",), ".mcp.json", _STDIO, "Check it with /mcp."
    ),
    "claude-desktop": Client(
        "Claude Desktop", _config("Claude", "claude_desktop_config.json"), ("mcpServers",), after="Restart Claude Desktop."
    ),
    "cursor": Client("Cursor", _home(".cursor", "mcp.json"), ("mcpServers",), ".cursor/mcp.json"),
    "vscode": Client("VS Code", _config("Code", "User", "mcp.json"), ("servers",), ".vscode/mcp.json", _STDIO),
    # Codex gives up after 10 s by default, and the first start on a laptop that just woke may take that long.
    "codex": Client(
        "Codex", _own("CODEX_HOME", ".codex", "config.toml"), ("mcp_servers",), ".codex/config.toml", {"startup_timeout_sec": 30}
    ),
    "openclaw": Client("OpenClaw", _home(".openclaw", "openclaw.json"), ("mcp", "servers")),
}


def entry(client: Client, arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry that makes this host start the server."""
    command = edits.program()
    start = {"command": command[0], "args": [*command[1:], "mcp", *arguments]}
    return {**client.more, **start, **({"env": dict(environment)} if environment else {})}


def path_of(client: Client, project: Path | None) -> Path:
    """Return the host's settings file, of the person or of a project."""
    if project is None:
        return client.file()
    if not client.project:
        raise ConfigInvalid(f"{client.title} has no settings file per project.", way_out="Leave `--project` out.")
    return project / client.project


def installed(client: Client, project: Path | None, wanted: Mapping[str, Any]) -> Edit:
    """Return the edit that adds our entry to the host's settings file."""
    path, place = path_of(client, project), (*client.place, NAME)
    put = edits.put_toml if path.suffix == ".toml" else edits.put_json
    return put(path, edits.read(path), place, wanted)


def uninstalled(client: Client, project: Path | None) -> Edit:
    """Return the edit that removes our entry; it restores the file byte for byte if nothing else changed since the entry came."""
    path, place = path_of(client, project), (*client.place, NAME)
    text, toml = edits.read(path), path.suffix == ".toml"
    put, take = (edits.put_toml, edits.take_toml) if toml else (edits.put_json, edits.take_json)
    removal = take(path, text, place)
    for before in edits.backups(path) if removal.changes else ():
        with suppress(ConfigInvalid):  # the backup was edited and no longer parses
            if (
                not take(path, before, place).changes
                and take(path, put(path, before, place, {}).after, place).after == removal.after
            ):
                return Edit(path, text, before)
    return removal


def shown(client: Client, wanted: Mapping[str, Any]) -> str:
    """Return a settings file that holds our entry alone, for people who add it by hand."""
    path, place = client.file(), (*client.place, NAME)
    put = edits.put_toml if path.suffix == ".toml" else edits.put_json
    return put(path, None, place, wanted).after or ""
