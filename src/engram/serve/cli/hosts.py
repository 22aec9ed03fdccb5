"""`engram hook`: put hooks into a coding agent's settings and take them out; and the shared way to edit such a file on a
terminal, which shows the difference, asks, writes and names the backup. The events are commands too, for their help: normally
`engram.serve.hook` handles them before typer loads."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from engram import settings as settings_room
from engram.hosts import HOOK_EVENTS, edits
from engram.hosts.edits import Edit
from engram.hosts.hooks import HOOK_FILES, with_hooks, without_hooks
from engram.serve import hook
from engram.serve.cli import terminal
from engram.serve.cli.caller import BadCall, Caller, Json, Yes, caller_of, complete_from


def apply(caller: Caller, edit: Edit, *, unchanged: str, done: str, yes: bool, dry_run: bool = False) -> bool:
    """Show an edit, ask and write it. Return whether the file was written. unchanged: why there was nothing to do; done: the
    confirmation."""
    if not edit.changes:
        _answer(caller, edit, f"Nothing to do: {edit.path} {unchanged}.")
        return False
    terminal.remark(edit.diff().rstrip("\n"))
    if dry_run:
        _answer(caller, edit)
        return False
    caller.confirm(f"Write {edit.path}?", yes)
    backup = edits.write(edit, caller.env.now())
    _answer(caller, edit, done.rstrip(), written=True, backup=backup)
    if backup is not None:
        caller.remark(f"The earlier file is kept as {backup}.")
    return True


def print_entry(caller: Caller, path: Path, text: str) -> None:
    """Print the text that an empty file would get, for somebody who edits the file by hand."""
    if caller.json:
        terminal.data({"path": str(path), "text": text})
    else:
        terminal.line(text.rstrip("\n"))


def _answer(caller: Caller, edit: Edit, message: str = "", *, written: bool = False, backup: Path | None = None) -> None:
    if caller.json:
        terminal.data({"path": str(edit.path), "written": written, "backup": None if backup is None else str(backup)})
    elif message:
        caller.say(message)


app = typer.Typer(help="Hooks of coding agents: what they read before they answer, and what is kept of it.", add_completion=False)


@app.command("install")
def install(
    ctx: typer.Context,
    client: Annotated[str, typer.Option(autocompletion=complete_from(HOOK_FILES), help=f"The agent: {' or '.join(HOOK_FILES)}.")],
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take out what was put in, and nothing else.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Only show what would stand there.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put hooks into an agent's settings, or take them out: shows the difference, asks, keeps a backup.

    Who they read and write as, and which vault, are the options before the command (`engram --agent rex hook install …`).
    """
    caller = caller_of(ctx, as_json)
    if client not in HOOK_FILES:
        raise BadCall(f"There is no such client; there are {', '.join(HOOK_FILES)}.")
    path = settings_room.host_folder(*HOOK_FILES[client][:2]) / HOOK_FILES[client][2]
    if only_print:
        print_entry(caller, path, with_hooks(path, None, client, _program(caller)).after or "")
        return
    old = edits.read(path)
    edit = without_hooks(path, old, client, edits.backups(path)) if uninstall else with_hooks(path, old, client, _program(caller))
    unchanged = "has no hooks of Engram" if uninstall else "has them already"
    done = f"{'Taken out of' if uninstall else 'Put into'} {path}."
    written = apply(caller, edit, unchanged=unchanged, done=done, yes=yes, dry_run=dry_run)
    if written and client == "codex" and not uninstall:
        caller.remark(
            "Codex asks once whether these hooks are trusted; if it does not, put `hooks = true` under [features] in config.toml."
        )


def _program(caller: Caller) -> str:
    """Return the shell command that runs this installation with the caller's vault and identity, from any folder."""
    where = {} if caller.path == settings_room.home({}) else {"vault": str(caller.path)}
    return shlex.join([*edits.program(), *(f"--{name}={value}" for name, value in {**where, **caller.identity}.items())])


def _event(event: str) -> None:
    def run(
        ctx: typer.Context,
        client: Annotated[str, typer.Option(help="Who calls.")] = "claude-code",
        wait: Annotated[bool, typer.Option("--wait", help="Take in what was said before returning.")] = False,
    ) -> None:
        caller = caller_of(ctx)
        named = {name: str(value) for name, value in caller.identity.items()} | ({"vault": caller.vault} if caller.vault else {})
        hook.run([event, "--client", client, *(["--wait"] if wait else [])], named)

    run.__doc__ = f"For agents: the event {HOOK_EVENTS[event]}, with its JSON on standard input."
    app.command(event)(run)


for _name in HOOK_EVENTS:
    _event(_name)
