"""`engram key`: show where the vault's key is kept, export and import the recovery key, rotate the key."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from engram.serve.cli import terminal
from engram.serve.cli.caller import Json, caller_of, read_secret
from engram.serve.cli.progress import progress
from engram.store import maintenance
from engram.store.credentials import Credentials

app = typer.Typer(help="Show where the key of the vault is; export and import it.", add_completion=False)


@app.callback(invoke_without_command=True)
def key(ctx: typer.Context, as_json: Json = False) -> None:
    caller = caller_of(ctx, as_json)
    if ctx.invoked_subcommand is not None:
        return
    facts = maintenance.key_facts(caller.path)
    kdf = facts.kdf.name if facts.kdf else ""
    if caller.json:
        terminal.data({"source": facts.source, "fingerprint": facts.fingerprint, "vault_id": facts.vault_id, "kdf": kdf or None})
    else:
        terminal.pairs([("source", facts.source), ("fingerprint", facts.fingerprint), ("vault id", facts.vault_id), ("kdf", kdf)])


@app.command("export")
def export(ctx: typer.Context, as_json: Json = False) -> None:
    """Print the recovery key: the whole key of the vault, to be written down and kept elsewhere."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    text = maintenance.export_key(caller.path, live, caller.env, caller.credentials)
    terminal.remark("Who has this recovery key can read the vault. Write it down, keep it away from this machine, tell nobody.")
    if caller.json:
        terminal.data({"recovery_key": text})
    else:
        terminal.line(text)


@app.command("import")
def import_(
    ctx: typer.Context,
    to: Annotated[
        Literal["auto", "keychain", "file", "passphrase"],
        typer.Option(help="Where the key is to be kept; auto takes the safest place that works."),
    ] = "auto",
    as_json: Json = False,
) -> None:
    """Give the vault its key again, from the recovery key: asked for unseen, or read from standard input."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    maintenance.key_facts(caller.path)  # raises for a missing vault before a secret is asked for
    text = read_secret("Recovery key: ")
    notice = maintenance.import_key(caller.path, live, caller.env, Credentials(None, caller.ask_new_passphrase), text, to)
    if caller.json:
        terminal.data({"source": maintenance.key_facts(caller.path).source, "notice": notice})
    else:
        caller.say(notice)


@app.command("rotate")
def rotate(ctx: typer.Context, as_json: Json = False) -> None:
    """Give the vault another key, in the same place: the database and its backups are encrypted anew.

    Whatever happens meanwhile, the vault opens with the old key or the new one. A recovery key that was written down before
    no longer opens it; under a passphrase, the new one is asked for. The vault must not be open elsewhere.
    """
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    maintenance.key_facts(caller.path)
    with progress(caller) as report:
        notice = maintenance.rotate_key(
            caller.path,
            live,
            caller.env,
            caller.credentials,
            ask_new=caller.ask_new_passphrase,
            tell=lambda stage: report(stage, None),
        )
    facts = maintenance.key_facts(caller.path)
    if caller.json:
        terminal.data({"source": facts.source, "fingerprint": facts.fingerprint, "notice": notice})
    else:
        caller.say(f"The vault has a new key. {notice}")
