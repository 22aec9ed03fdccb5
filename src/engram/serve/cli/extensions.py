"""Commands from outside the command line: typer apps registered as entry points of the group `engram.commands`.

The entry point has the name of its command. An app with a name becomes a group of commands, such as `engram bench`; an app
without a name has one command, such as `engram demo`. Both of these are registered by this distribution, so that nothing in
`serve` imports `bench`; other packages may add their own. An app is imported when its command is called, or when all commands are
listed (help, completion, suggestions), so that the other commands do not pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer
import typer.core
from typer.main import get_group

from engram.errors import ConfigInvalid
from engram.log import Log
from engram.serve.cli.help import with_plain_help

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "engram.commands"
_REGISTERED_HERE = frozenset({"bench", "demo"})
_REINSTALL = "Install Engram again: `pip install --force-reinstall --no-deps engram-local`, or `pip install -e .` in a clone."

log = Log("engram.cli")


class ExtensibleGroup(typer.core.TyperGroup):
    """A group with the registered commands after its own. `Any`: typer's classes of commands and contexts are private."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._loaded: dict[str, Any] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return [*own, *(name for name in _registered() if name not in own)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or None if there is none of that name or it does not load: help and completion then omit it."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        try:
            return self._load(cmd_name)
        except ConfigInvalid as error:
            if not ctx.resilient_parsing:  # a shell that completes would show the remark at its prompt
                log.warning("%s", error.message)
            return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that was called; raise `ConfigInvalid` if it is registered and does not load."""
        name = args[0]
        if name not in self.commands and not ctx.resilient_parsing and self._load(name) is None:
            if name in _REGISTERED_HERE:
                raise ConfigInvalid(f"the command `{name}` is not registered with this installation.", way_out=_REINSTALL)
            for other in _registered():  # typer takes its suggestions from `commands`
                if (command := self.get_command(ctx, other)) is not None:
                    self.commands[other] = command
        return super().resolve_command(ctx, args)

    def _load(self, name: str) -> Any:
        """Return a registered command, importing its app the first time, or None if none is registered under that name."""
        if name not in self._loaded:
            entry = _registered().get(name)
            if entry is None:
                return None
            self._loaded[name] = with_plain_help(_command(entry))
        return self._loaded[name]


def _registered() -> dict[str, EntryPoint]:
    """Return the entry points by name; of several with one name the first on the path."""
    from importlib.metadata import entry_points  # takes 50 ms to import, which the commands of this program do not need

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        found.setdefault(entry.name, entry)
    return found


def _command(entry: EntryPoint) -> Any:
    package = entry.dist.name if entry.dist else "an unknown package"
    try:
        host = typer.Typer()
        host.add_typer(entry.load())
        return get_group(host).commands[entry.name]
    except Exception as error:
        raise ConfigInvalid(
            f"the command `{entry.name}` of {package} does not load ({type(error).__name__}).",
            way_out=f"Update or remove {package}.",
        ) from error
