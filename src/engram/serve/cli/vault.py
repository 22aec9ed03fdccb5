"""`engram init`: make a vault, on request in a hidden folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import typer

from engram import settings as settings_room
from engram.errors import ConfigInvalid
from engram.serve.cli import terminal
from engram.serve.cli.caller import BadCall, Caller, Json, caller_of, vault_exists
from engram.store.folder import VaultFolder, hide
from engram.store.header import Header, read_header
from engram.store.maintenance import write_decoy
from engram.values.frozen import replace


def add_to(app: typer.Typer) -> None:
    app.command("init", rich_help_panel="Vault")(init)


def init(
    ctx: typer.Context,
    cipher: Annotated[
        Literal["aegis", "sqlcipher"] | None,
        typer.Option(show_default=False, help="Page cipher; sqlcipher is the format that SQLCipher 4 tools open."),
    ] = None,
    passphrase: Annotated[bool, typer.Option("--passphrase", help="Keep the key under a passphrase.")] = False,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Make it in a folder whose name says nothing; `home` names it.")
    ] = False,
    decoy: Annotated[
        bool, typer.Option("--decoy", help="With --hidden: leave a harmless file where one would look first.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a vault, and say where it and its key are."""
    caller = caller_of(ctx, as_json)
    if hidden or decoy:
        caller = _with_hidden_vault(caller, hidden)
    made, notice = not vault_exists(caller.path), ""
    if made:
        notice = _make(caller, cipher, passphrase)
    if hidden:
        _save_hidden_home(caller, decoy)
    header = read_header(VaultFolder(caller.path).header)
    if not made:
        _require_same(caller, header, cipher, passphrase)
    if caller.json:
        terminal.data({"path": caller.path, "made": made, "cipher": header.cipher, "key": _key(header), "notice": notice})
    elif made:
        terminal.line(f"The vault is at {caller.path}.")
        terminal.line(notice)
    else:
        terminal.line(f"There is a vault at {caller.path} already. Nothing was changed.")


def _with_hidden_vault(caller: Caller, hidden: bool) -> Caller:
    """Return the caller with a vault in a folder whose name says nothing, or with the hidden vault that exists already."""
    if not hidden:
        raise BadCall("A decoy hides nothing while the vault is in the usual folder. Pass --hidden too.")
    if caller.vault is not None:
        raise BadCall("--hidden chooses the folder itself. Leave out --vault, or name a folder of your own without --hidden.")
    usual, current = settings_room.data_folder() / "vault", caller.path
    if vault_exists(current):
        if current.name.startswith("."):
            return replace(caller, vault=str(current))
        raise ConfigInvalid(
            f"there is a vault at {current} already.",
            way_out=f"Close it, move the folder to {settings_room.hidden_home(caller.env.random)}, and set `home` to that.",
        )
    if current != usual:
        raise ConfigInvalid(f"ENGRAM_HOME or `home` names {current}.", way_out="Unset it: --hidden chooses the folder itself.")
    return replace(caller, vault=str(settings_room.hidden_home(caller.env.random)))


def _save_hidden_home(caller: Caller, decoy: bool) -> None:
    """Hide the new vault's folder and save its path as the setting `home`, so that every command finds it; leave a decoy if
    asked."""
    hide(caller.path)
    settings_room.save("home", str(caller.path))
    if decoy and (path := write_decoy(settings_room.data_folder())) is not None:
        caller.remark(f"A decoy is at {path}.")


def _make(caller: Caller, cipher: str | None, passphrase: bool) -> str:
    chosen: dict[str, object] = {"cipher": cipher} if cipher else {}
    if passphrase:
        chosen["key_source"] = "passphrase"
    quiet = replace(caller, quiet=True)  # `init` prints the notice itself, as its answer
    with quiet.open(make=True, settings=chosen) as vault:
        return vault.notice


def _require_same(caller: Caller, header: Header, cipher: str | None, passphrase: bool) -> None:
    """Raise if the existing vault differs from the one asked for in cipher or key source."""
    if cipher not in (None, header.cipher) or (passphrase and header.key.source != "passphrase"):
        raise ConfigInvalid(
            f"there is a vault at {caller.path} already, with the cipher {header.cipher} and its key in: {header.key.source}.",
            way_out="It was left as it is. Name another folder with --vault, or move its key with `engram key import --to`.",
        )


def _key(header: Header) -> Mapping[str, str]:
    return {"source": header.key.source, "fingerprint": header.key.fingerprint, "vault_id": header.key.vault_id}
