"""Commands on the key of the vault: where it is, a copy to write down, and the way back from that copy."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from engram.serve.cli import caller, show
from engram.serve.cli.caller import Json
from engram.serve.cli.progress import progress
from engram.store.sqlite import maintenance
from engram.store.sqlite.vault import Credentials

app = typer.Typer(help="Show where the key of the vault is; export and import it.", add_completion=False)


@app.callback(invoke_without_command=True)
def key(ctx: typer.Context, as_json: Json = False) -> None:
    asked = caller.of(ctx, as_json)
    if ctx.invoked_subcommand is not None:
        return
    facts = maintenance.key_facts(asked.path)
    kdf = facts.kdf.name if facts.kdf else ""
    if asked.json:
        show.data({"source": facts.source, "fingerprint": facts.fingerprint, "vault_id": facts.vault_id, "kdf": kdf or None})
    else:
        show.pairs([("source", facts.source), ("fingerprint", facts.fingerprint), ("vault id", facts.vault_id), ("kdf", kdf)])


@app.command("export")
def export(ctx: typer.Context, as_json: Json = False) -> None:
    """Print the recovery key: the whole key of the vault, to be written down and kept elsewhere."""
    asked = caller.of(ctx, as_json)
    live = asked.live()
    asked.harden(live)
    text = maintenance.export_key(asked.path, live, asked.env, asked.credentials)
    show.remark("Who has this recovery key can read the vault. Write it down, keep it away from this machine, tell nobody.")
    if asked.json:
        show.data({"recovery_key": text})
    else:
        show.line(text)


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
    asked = caller.of(ctx, as_json)
    live = asked.live()
    asked.harden(live)
    maintenance.key_facts(asked.path)  # say that there is no vault before asking for a secret
    text = caller.secret_line("Recovery key: ")
    notice = maintenance.import_key(asked.path, live, asked.env, Credentials(None, asked.ask_new), text, to)
    if asked.json:
        show.data({"source": maintenance.key_facts(asked.path).source, "notice": notice})
    else:
        asked.say(notice)


@app.command("rotate")
def rotate(ctx: typer.Context, as_json: Json = False) -> None:
    """Give the vault another key, in the same place: the database and its backups are encrypted anew.

    Whatever happens meanwhile, the vault opens with the old key or the new one. A recovery key that was written down before
    no longer opens it; under a passphrase, the new one is asked for. The vault must not be open elsewhere.
    """
    asked = caller.of(ctx, as_json)
    live = asked.live()
    asked.harden(live)
    maintenance.key_facts(asked.path)
    with progress(asked) as tell:
        notice = maintenance.rotate_key(
            asked.path, live, asked.env, asked.credentials, ask_new=asked.ask_new, tell=lambda what: tell(what, None)
        )
    facts = maintenance.key_facts(asked.path)
    if asked.json:
        show.data({"source": facts.source, "fingerprint": facts.fingerprint, "notice": notice})
    else:
        asked.say(f"The vault has a new key. {notice}")
