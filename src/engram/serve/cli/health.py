"""`engram doctor`, which works on a vault that cannot be opened; and the display of status and check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from engram.serve.cli import terminal
from engram.serve.cli.caller import Json, caller_of
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.health import CheckResult
from engram.store import maintenance
from engram.types import EncoderState, Finding, Health, Severity
from engram.values.dreams import Pass

_PANEL = "Vault"
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.INFO: ""}


def add_to(app: typer.Typer) -> None:
    app.command("doctor", rich_help_panel=_PANEL)(doctor)


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


def _checked(result: CommandResult) -> None:
    check: CheckResult = result.value
    for problem in check.problems:
        terminal.line(f"error: {problem}", style="bold red")
    if check.ok:
        result.caller.say("Every page is intact.")


COMMANDS = {
    "status": CommandSpec(
        panel=_PANEL, show=_status, whole_vault=True, extra_help="All of it, or what an identity given as an option can see."
    ),
    "check": CommandSpec(panel=_PANEL, show=_checked, whole_vault=True, offers_all=False),
}
