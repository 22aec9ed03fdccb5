"""Display of the audit trail on a terminal."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.types import AuditEntry, Role

_PANEL = "Vault"


def _audit(result: CommandResult) -> None:
    columns = ("when", "operation", "result", "count", "scope", "subject")
    terminal.table(columns, [_entry(entry) for entry in result.value.entries])


def _entry(entry: AuditEntry) -> list[str]:
    result = "done" if entry.ok else "refused"
    return [terminal.when(entry.at), entry.operation, result, str(entry.count), terminal.place(entry.scope), entry.subject]


COMMANDS = {
    "audit": CommandSpec(
        panel=_PANEL,
        show=_audit,
        whole_vault=True,
        narrowed_role=Role.AGENT,
        extra_help="With an identity as an option, only what it did.",
    ),
}
