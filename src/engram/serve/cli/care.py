"""The vault as a whole: commands that make it, mend it and bring copies back, and how its figures and its audit look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import typer

from engram import settings as settings_room
from engram.errors import ConfigInvalid
from engram.frozen import replace
from engram.passes import Pass
from engram.serve.cli import caller, show
from engram.serve.cli.caller import BadCall, Caller, Json, Yes
from engram.serve.cli.commands import Done, Face
from engram.serve.operations.caring import BackupList, CheckResult, PurgeInput
from engram.store.folder import Header, VaultFolder, hide, read_header
from engram.store.sqlite import maintenance
from engram.store.sqlite.decoy import leave
from engram.types import AuditEntry, Backup, EncoderState, Finding, Health, Role, Severity

_PANEL = "Vault"
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: ""}


def add_to(app: typer.Typer) -> None:
    commands: dict[str, Callable[..., None]] = {
        "init": init,
        "doctor": doctor,
        "backups": list_backups,
        "restore-backup": restore_backup,
    }
    for name, command in commands.items():
        app.command(name, rich_help_panel="Vault")(command)


# ── making ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    asked = caller.of(ctx, as_json)
    if hidden or decoy:
        asked = _out_of_sight(asked, hidden)
    made, notice = not caller.exists(asked.path), ""
    if made:
        notice = _make(asked, cipher, passphrase)
    if hidden:
        _remember_where(asked, decoy)
    header = read_header(VaultFolder(asked.path).header)
    if not made:
        _require_same(asked, header, cipher, passphrase)
    if asked.json:
        show.data({"path": asked.path, "made": made, "cipher": header.cipher, "key": _key(header), "notice": notice})
    elif made:
        show.line(f"The vault is at {asked.path}.")
        show.line(notice)
    else:
        show.line(f"There is a vault at {asked.path} already. Nothing was changed.")


def _out_of_sight(asked: Caller, hidden: bool) -> Caller:
    """The caller with a vault in a folder of no telling name; the one that is hidden already, if there is one."""
    if not hidden:
        raise BadCall("A decoy hides nothing if the vault lies where one would look. Pass --hidden too.")
    if asked.vault is not None:
        raise BadCall("--hidden chooses the folder itself. Leave out --vault, or name a folder of your own without --hidden.")
    usual, known = settings_room.data_folder() / "vault", asked.path
    if caller.exists(known):
        if known.name.startswith("."):
            return replace(asked, vault=str(known))
        raise ConfigInvalid(
            f"there is a vault at {known} already.",
            way_out=f"Close it, move the folder to {settings_room.hidden_home(asked.env.random)}, and set `home` to that.",
        )
    if known != usual:
        raise ConfigInvalid(f"ENGRAM_HOME or `home` names {known}.", way_out="Unset it: --hidden chooses the folder itself.")
    return replace(asked, vault=str(settings_room.hidden_home(asked.env.random)))


def _remember_where(asked: Caller, decoy: bool) -> None:
    """Only now that the vault is there: the configuration file says where, so that every command finds it."""
    hide(asked.path)
    settings_room.save("home", str(asked.path))
    if decoy and (left := leave(settings_room.data_folder())) is not None:
        asked.remark(f"A decoy lies at {left}.")


def _make(asked: Caller, cipher: str | None, passphrase: bool) -> str:
    chosen: dict[str, object] = {"cipher": cipher} if cipher else {}
    if passphrase:
        chosen["key_source"] = "passphrase"
    mute = replace(asked, quiet=True)  # the notice is the answer here, not a remark
    with mute.open(make=True, settings=chosen) as vault:
        return vault.notice


def _require_same(asked: Caller, header: Header, cipher: str | None, passphrase: bool) -> None:
    """Making a vault that is there is fine, unless another one was asked for."""
    if cipher not in (None, header.cipher) or (passphrase and header.key.source != "passphrase"):
        raise ConfigInvalid(
            f"there is a vault at {asked.path} already, with the cipher {header.cipher} and its key in: {header.key.source}.",
            way_out="It was left as it is. Name another folder with --vault, or move its key with `engram key import --to`.",
        )


def _key(header: Header) -> Mapping[str, str]:
    return {"source": header.key.source, "fingerprint": header.key.fingerprint, "vault_id": header.key.vault_id}


# ── looking ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _status(done: Done) -> None:
    show.pairs(
        [
            *figures(done.value),
            ("encoder", _encoder(done.value.encoder)),
            ("language", show.language(done.value.language)),
            ("at rest", _last(done.value.last_dream) + ("" if done.value.dreams_alone else "; not by itself: `dream` is off")),
        ]
    )
    for warning in done.value.warnings:
        show.line(f"warning: {warning}", style="yellow")


def _last(one: Pass | None) -> str:
    if one is None:
        return "nothing was done yet"
    return f"{one.verb} on {show.when(one.began_at)}: {one.ending.value}, {show.many(one.changed, 'change')}"


def _encoder(encoder: EncoderState) -> str:
    if encoder.trouble:
        return encoder.trouble
    length = f", {encoder.dimensions} dimensions" if encoder.dimensions else ""
    return encoder.name + length + (f", answers at {encoder.place}" if encoder.place else "")


def figures(health: Health) -> list[tuple[str, str]]:
    counts = health.counts
    tallies = "; ".join(_tally(each) for each in (counts.by_status, counts.by_kind) if each)
    backups = f"{health.backups}, the last on {show.when(health.last_backup)}" if health.last_backup else f"{health.backups}"
    return [
        ("vault", health.path),
        ("format", f"{health.format}, {health.cipher}"),
        ("size", f"{show.size(health.vault_bytes)}, log {show.size(health.wal_bytes)}"),
        ("memories", f"{counts.memories:,}" + (f" ({tallies})" if tallies else "")),
        ("links", f"{counts.edges:,}"),
        ("vectors", f"{counts.embeddings:,}, {health.pending_embeddings:,} pending"),
        ("index", _index(health)),
        ("backups", backups),
        ("writes", f"{health.writes}, {health.queue_depth} of {health.queue_limit} waiting"),
        ("readers", f"{health.readers_open} open, {health.readers_idle} idle"),
        ("memory", f"{show.size(health.rss_bytes)} resident, pressure {health.pressure}" + _shed(health)),
        ("latency", _latencies(health)),
        ("recall", health.degradation),
        ("last close", "not in order" if health.crashed_before else "in order"),
    ]


def _index(health: Health) -> str:
    index = health.index
    if index is None or not index.started:
        return "not loaded: nothing was asked yet" if health.degradation == "full" else "none"
    if not index.ready:
        return f"loading, {index.loaded:,} of about {index.total:,}"
    return f"{index.backend}, {index.loaded:,} from the {index.origin}, {show.size(index.memory_bytes)}"


def _shed(health: Health) -> str:
    return f"; let go of {', '.join(health.shed)}" if health.shed else ""


def _tally(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counted.items()))


def _latencies(health: Health) -> str:
    return "\n".join(
        f"{operation}: p50 {one.p50_ms:.2f} ms, p99 {one.p99_ms:.2f} ms over {show.many(one.calls, 'call')}"
        for operation, one in health.latencies.items()
    )


def doctor(
    ctx: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Put right what can be put right.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is wrong with the vault, how bad it is and what to do. Works on vaults that cannot be opened."""
    asked = caller.of(ctx, as_json)
    live = asked.live()
    notes = asked.harden(live)
    found = list(maintenance.examine(asked.path, live, asked.env, asked.credentials, mend=repair))
    found += [Finding("process", Severity.INFO, note) for note in notes]
    bad = any(finding.severity is Severity.ERROR and not finding.mended for finding in found)
    if asked.json:
        show.data({"ok": not bad, "findings": found})
    else:
        _findings(found)
    if bad:
        raise typer.Exit(1)


def _findings(found: Sequence[Finding]) -> None:
    for finding in found:
        word = "mended" if finding.mended else finding.severity.value
        show.line(f"{word:<8} {finding.check}: {finding.what}", style=_STYLES[finding.severity])
        if finding.way_out:
            show.line(f"{'':<8} {finding.way_out}")
    if not any(finding.severity is not Severity.INFO for finding in found):
        show.line("Nothing is wrong.")


def _audit(done: Done) -> None:
    columns = ("when", "operation", "result", "count", "scope", "subject")
    show.table(columns, [_entry(entry) for entry in done.value.entries])


def _entry(entry: AuditEntry) -> list[str]:
    result = "done" if entry.ok else "refused"
    return [show.when(entry.at), entry.operation, result, str(entry.count), show.place(entry.scope), entry.subject]


# ── copies ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _made(done: Done) -> None:
    made: Backup = done.value
    done.asked.say(f"Backup {made.number} holds {show.many(made.memories, 'memory', 'memories')}: {made.path}")


def list_backups(ctx: typer.Context, as_json: Json = False) -> None:
    """Show the backups there are, of a vault that cannot be opened too."""
    asked = caller.of(ctx, as_json)
    live = asked.live()
    asked.harden(live)
    known = BackupList(tuple(maintenance.list_backups(asked.path, live, asked.env, asked.credentials)))
    if asked.json:
        show.data(known)
        return
    show.table(("number", "made", "memories", "state", "file"), [_backup(one) for one in known.backups], wrap=True)
    if not known.backups:
        asked.remark("There is no backup yet.")


def _backup(one: Backup) -> list[str]:
    state = "intact" if one.intact else "damaged"
    return [str(one.number), show.when(one.made_at), str(one.memories), state, str(one.path)]


def restore_backup(
    ctx: typer.Context,
    number: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Which one; the newest intact one if none is named.")
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the vault's database, which is kept beside the backups."""
    asked = caller.of(ctx, as_json)
    live = asked.live()
    asked.harden(live)
    maintenance.key_facts(asked.path)  # say that there is no vault before asking what to do with it
    which = "the newest intact backup" if number is None else f"backup {number}"
    asked.confirm(f"Put {which} in the place of what {asked.path} holds now?", yes)
    restored = maintenance.restore_backup(asked.path, live, asked.env, asked.credentials, number)
    if asked.json:
        show.data(restored)
    else:
        made = f" of {show.when(restored.made_at)}" if restored.made_at else ""
        asked.say(f"Backup {restored.number}{made} is in place, with {show.many(restored.memories, 'memory', 'memories')}.")
        asked.remark("What was there before is kept in backups/.")


def _checked(done: Done) -> None:
    found: CheckResult = done.value
    for problem in found.problems:
        show.line(f"error: {problem}", style="bold red")
    if found.ok:
        done.asked.say("Every page is whole.")


def _purges(given: PurgeInput) -> str:
    return "" if given.dry_run else f"Remove everything of {given.dimension} {given.name!r}, for good?"


def _purged(done: Done) -> None:
    counts = done.value.counts
    if not counts:
        show.line("Nothing of that name is here.")
        return
    show.pairs([(table, f"{count:,}") for table, count in counts.items()])
    for note in done.value.notes:
        done.asked.remark(f"note: {note}")


FACES = {
    "status": Face(panel=_PANEL, show=_status, wide=True, more="All of it, or what an identity given as an option can see."),
    "audit": Face(
        panel=_PANEL, show=_audit, wide=True, narrow=Role.AGENT, more="With an identity as an option, only what it did."
    ),
    "check": Face(panel=_PANEL, show=_checked, wide=True, everywhere=False),
    "purge": Face(panel=_PANEL, show=_purged, wide=True, everywhere=False, asks=_purges),
    # Not one more, because it happens to be due.
    "backup": Face(panel=_PANEL, show=_made, wide=True, everywhere=False, settings={"backup_hours": 0}),
}
