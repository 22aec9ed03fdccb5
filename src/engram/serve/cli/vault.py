"""Commands on the vault as a whole (`init`, `doctor`, `backups`, `restore-backup`), and the display of status, audit, check and
purge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Literal

import typer

from engram import settings as settings_room
from engram.errors import ConfigInvalid
from engram.serve.cli import terminal
from engram.serve.cli.caller import BadCall, Caller, Json, Yes, caller_of, vault_exists
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.vault import BackupList, CheckResult, PurgeInput
from engram.store import maintenance
from engram.store.folder import VaultFolder, hide
from engram.store.header import Header, read_header
from engram.store.maintenance import write_decoy
from engram.types import AuditEntry, Backup, EncoderState, Finding, Health, Role, Severity
from engram.values.dreams import Pass
from engram.values.frozen import replace

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


# ── looking ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _status(result: CommandResult) -> None:
    terminal.pairs(
        [
            *_figures(result.value),
            ("encoder", _encoder(result.value.encoder)),
            ("language", terminal.language(result.value.language)),
            (
                "at rest",
                _last(result.value.last_dream) + ("" if result.value.dreams_alone else "; not by itself: `dream` is off"),
            ),
        ]
    )
    for warning in result.value.warnings:
        terminal.line(f"warning: {warning}", style="yellow")


def _last(last: Pass | None) -> str:
    if last is None:
        return "nothing was done yet"
    return f"{last.verb} on {terminal.when(last.began_at)}: {last.ending.value}, {terminal.many(last.changed, 'change')}"


def _encoder(encoder: EncoderState) -> str:
    if encoder.trouble:
        return encoder.trouble
    length = f", {encoder.dimensions} dimensions" if encoder.dimensions else ""
    return encoder.name + length + (f", answers at {encoder.place}" if encoder.place else "")


def _figures(health: Health) -> list[tuple[str, str]]:
    counts = health.counts
    tallies = "; ".join(_tally(counted) for counted in (counts.by_status, counts.by_kind) if counted)
    backups = f"{health.backups}, the last on {terminal.when(health.last_backup)}" if health.last_backup else f"{health.backups}"
    return [
        ("vault", health.path),
        ("format", f"{health.format}, {health.cipher}"),
        ("size", f"{terminal.size(health.vault_bytes)}, log {terminal.size(health.wal_bytes)}"),
        ("memories", f"{counts.memories:,}" + (f" ({tallies})" if tallies else "")),
        ("links", f"{counts.edges:,}"),
        ("vectors", f"{counts.embeddings:,}, {health.pending_embeddings:,} pending"),
        ("index", _index(health)),
        ("backups", backups),
        ("writes", f"{health.writes}, {health.queue_depth} of {health.queue_limit} waiting"),
        ("readers", f"{health.readers_open} open, {health.readers_idle} idle"),
        ("memory", f"{terminal.size(health.rss_bytes)} resident, pressure {health.pressure}" + _shed(health)),
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
    return f"{index.backend}, {index.loaded:,} from the {index.origin}, {terminal.size(index.memory_bytes)}"


def _shed(health: Health) -> str:
    return f"; let go of {', '.join(health.shed)}" if health.shed else ""


def _tally(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counted.items()))


def _latencies(health: Health) -> str:
    return "\n".join(
        f"{operation}: p50 {latency.p50_ms:.2f} ms, p99 {latency.p99_ms:.2f} ms over {terminal.many(latency.calls, 'call')}"
        for operation, latency in health.latencies.items()
    )


def doctor(
    ctx: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Put right what can be put right.")] = False,
    as_json: Json = False,
) -> None:
    """Say what is wrong with the vault, how bad it is and what to do. Works on vaults that cannot be opened."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    notes = caller.harden(live)
    findings = list(maintenance.examine(caller.path, live, caller.env, caller.credentials, mend=repair))
    findings += [Finding("process", Severity.INFO, note) for note in notes]
    failed = any(finding.severity is Severity.ERROR and not finding.mended for finding in findings)
    if caller.json:
        terminal.data({"ok": not failed, "findings": findings})
    else:
        _print_findings(findings)
    if failed:
        raise typer.Exit(1)


def _print_findings(findings: Sequence[Finding]) -> None:
    for finding in findings:
        word = "mended" if finding.mended else finding.severity.value
        terminal.line(f"{word:<8} {finding.check}: {finding.what}", style=_STYLES[finding.severity])
        if finding.way_out:
            terminal.line(f"{'':<8} {finding.way_out}")
    if not any(finding.severity is not Severity.INFO for finding in findings):
        terminal.line("Nothing is wrong.")


def _audit(result: CommandResult) -> None:
    columns = ("when", "operation", "result", "count", "scope", "subject")
    terminal.table(columns, [_entry(entry) for entry in result.value.entries])


def _entry(entry: AuditEntry) -> list[str]:
    result = "done" if entry.ok else "refused"
    return [terminal.when(entry.at), entry.operation, result, str(entry.count), terminal.place(entry.scope), entry.subject]


# ── copies ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _made(result: CommandResult) -> None:
    made: Backup = result.value
    result.caller.say(f"Backup {made.number} holds {terminal.many(made.memories, 'memory', 'memories')}: {made.path}")


def list_backups(ctx: typer.Context, as_json: Json = False) -> None:
    """Show the backups there are, of a vault that cannot be opened too."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    listed = BackupList(tuple(maintenance.list_backups(caller.path, live, caller.env, caller.credentials)))
    if caller.json:
        terminal.data(listed)
        return
    terminal.table(("number", "made", "memories", "state", "file"), [_backup(backup) for backup in listed.backups], wrap=True)
    if not listed.backups:
        caller.remark("There is no backup yet.")


def _backup(backup: Backup) -> list[str]:
    state = "intact" if backup.intact else "damaged"
    return [str(backup.number), terminal.when(backup.made_at), str(backup.memories), state, str(backup.path)]


def restore_backup(
    ctx: typer.Context,
    number: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Which one; the newest intact one if none is named.")
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the vault's database, which is kept beside the backups."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    maintenance.key_facts(caller.path)  # raises for a missing vault before the question is asked
    which = "the newest intact backup" if number is None else f"backup {number}"
    caller.confirm(f"Put {which} in the place of what {caller.path} holds now?", yes)
    restored = maintenance.restore_backup(caller.path, live, caller.env, caller.credentials, number)
    if caller.json:
        terminal.data(restored)
    else:
        made = f" of {terminal.when(restored.made_at)}" if restored.made_at else ""
        caller.say(f"Backup {restored.number}{made} is in place, with {terminal.many(restored.memories, 'memory', 'memories')}.")
        caller.remark("The replaced database is kept in backups/.")


def _checked(result: CommandResult) -> None:
    check: CheckResult = result.value
    for problem in check.problems:
        terminal.line(f"error: {problem}", style="bold red")
    if check.ok:
        result.caller.say("Every page is intact.")


def _purge_question(given: PurgeInput) -> str:
    return "" if given.dry_run else f"Remove everything of {given.dimension} {given.name!r}, for good?"


def _purged(result: CommandResult) -> None:
    counts = result.value.counts
    if not counts:
        terminal.line("Nothing of that name is here.")
        return
    terminal.pairs([(table, f"{count:,}") for table, count in counts.items()])
    for note in result.value.notes:
        result.caller.remark(f"note: {note}")


COMMANDS = {
    "status": CommandSpec(
        panel=_PANEL, show=_status, whole_vault=True, extra_help="All of it, or what an identity given as an option can see."
    ),
    "audit": CommandSpec(
        panel=_PANEL,
        show=_audit,
        whole_vault=True,
        narrowed_role=Role.AGENT,
        extra_help="With an identity as an option, only what it did.",
    ),
    "check": CommandSpec(panel=_PANEL, show=_checked, whole_vault=True, offers_all=False),
    "purge": CommandSpec(panel=_PANEL, show=_purged, whole_vault=True, offers_all=False, confirmation=_purge_question),
    # No scheduled backup beside the one that was asked for.
    "backup": CommandSpec(panel=_PANEL, show=_made, whole_vault=True, offers_all=False, settings={"backup_hours": 0}),
}
