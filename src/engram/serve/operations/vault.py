"""Operations on the vault as a whole: status, audit, check, doctor, purge, backups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from engram.serve.operations.operation import Arg, Effect, NoInput, Operation
from engram.types import AuditEntry, Backup, EncoderState, Finding, Health, LanguageModelState, Report, Role, Severity
from engram.values.dreams import Pass
from engram.values.frozen import fields, frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class VaultStatus(Health):
    """The figures of a vault, the models in use and the last background pass."""

    encoder: EncoderState
    language: LanguageModelState
    last_dream: Pass | None = None
    dreams_alone: bool = True  # the setting `dream`: passes run without being asked for


def status(mem: Engram, given: NoInput) -> VaultStatus:
    health = mem.health()
    figures = {field.name: getattr(health, field.name) for field in fields(health)}
    last_pass = next(iter(mem.dreams(limit=1)), None)
    return VaultStatus(
        **figures,
        encoder=mem.encoder(),
        language=mem.language(),
        last_dream=last_pass,
        dreams_alone=mem.settings.now.dream,
    )


@frozen(kw_only=True)
class AuditInput:
    limit: Annotated[int, Arg("How many at most.", low=1, high=1_000_000, flags=("--limit", "-n"))] = 50


@frozen
class AuditTrail:
    """Entries of the audit log, newest first. They name operations and identities, and hold no stored text."""

    entries: tuple[AuditEntry, ...]


def audit(mem: Engram, given: AuditInput) -> AuditTrail:
    return AuditTrail(tuple(mem.audit(limit=given.limit)))


@frozen(kw_only=True)
class PurgeInput:
    dimension: Annotated[Literal["user", "agent", "channel", "squad", "project"], Arg("What sort of place.", positional=True)]
    name: Annotated[str, Arg("Its name.", positional=True)]
    dry_run: Annotated[bool, Arg("Only count what would go.")] = False


def purge(mem: Engram, given: PurgeInput) -> Report:
    return mem.purge(dry_run=given.dry_run, **{given.dimension: given.name})


def backup(mem: Engram, given: NoInput) -> Backup:
    return mem.backup()


@frozen
class BackupList:
    backups: tuple[Backup, ...]


def backups(mem: Engram, given: NoInput) -> BackupList:
    return BackupList(tuple(mem.backups()))


@frozen
class CheckResult:
    """Problems of the database file, by page and table; none if the file is intact."""

    ok: bool
    problems: tuple[str, ...]


def check(mem: Engram, given: NoInput) -> CheckResult:
    problems = tuple(mem.check())
    return CheckResult(not problems, problems)


@frozen
class Diagnosis:
    """Findings of the doctor, the most severe first, each with a way out. `ok`: none of them is an error."""

    ok: bool
    findings: tuple[Finding, ...]


def doctor(mem: Engram, given: NoInput) -> Diagnosis:
    findings = tuple(mem.doctor())
    return Diagnosis(all(finding.severity is not Severity.ERROR for finding in findings), findings)


OPERATIONS = (
    Operation(
        name="doctor",
        help="Say what is wrong with the vault, how bad it is and what to do; changes nothing.",
        input=NoInput,
        output=Diagnosis,
        run=doctor,
        role=Role.OWNER,
    ),
    Operation(
        name="status",
        help="Show the figures of the vault, as far as this identity sees it.",
        input=NoInput,
        output=VaultStatus,
        run=status,
        role=Role.AGENT,
    ),
    Operation(
        name="audit",
        help="Show who did what, newest first; never what was said.",
        input=AuditInput,
        output=AuditTrail,
        run=audit,
        role=Role.AGENT,
    ),
    Operation(
        name="check",
        help="Verify every page of the vault.",
        input=NoInput,
        output=CheckResult,
        run=check,
        role=Role.OWNER,
    ),
    Operation(
        name="purge",
        help="Remove everything of one user, agent, channel, squad or project from every table, for good.",
        input=PurgeInput,
        output=Report,
        run=purge,
        effect=Effect.DESTRUCTIVE,
        role=Role.OWNER,
    ),
    Operation(
        name="backup",
        help="Make a backup now; the oldest beyond what `backups_kept` says goes.",
        input=NoInput,
        output=Backup,
        run=backup,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.OWNER,
    ),
    Operation(
        name="backups",
        help="Show the backups there are.",
        input=NoInput,
        output=BackupList,
        run=backups,
        role=Role.OWNER,
    ),
)
