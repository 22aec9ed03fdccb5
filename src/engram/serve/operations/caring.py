"""Operations on the vault as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from engram.frozen import fields, frozen
from engram.passes import Pass
from engram.serve.operations.minding import Nothing
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import AuditEntry, Backup, EncoderState, Finding, Health, LanguageModelState, Report, Role, Severity

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class Condition(Health):
    """The figures of a vault, and the models in use."""

    encoder: EncoderState
    language: LanguageModelState
    last_dream: Pass | None = None  # what was done at rest last
    dreams_alone: bool = True  # whether it consolidates by itself when nobody asks


def status(mem: Engram, given: Nothing) -> Condition:
    health = mem.health()
    figures = {one.name: getattr(health, one.name) for one in fields(health)}
    last = next(iter(mem.dreams(limit=1)), None)
    alone = mem.settings.now.dream
    return Condition(**figures, encoder=mem.encoder(), language=mem.language(), last_dream=last, dreams_alone=alone)


@frozen(kw_only=True)
class Audit:
    limit: Annotated[int, Arg("How many at most.", low=1, high=1_000_000, flags=("--limit", "-n"))] = 50


@frozen
class Trail:
    """Who did what, newest first; never what was said."""

    entries: tuple[AuditEntry, ...]


def audit(mem: Engram, given: Audit) -> Trail:
    return Trail(tuple(mem.audit(limit=given.limit)))


@frozen(kw_only=True)
class Purge:
    dimension: Annotated[Literal["user", "agent", "channel", "squad", "project"], Arg("What sort of place.", main=True)]
    name: Annotated[str, Arg("Its name.", main=True)]
    dry_run: Annotated[bool, Arg("Only count what would go.")] = False


def purge(mem: Engram, given: Purge) -> Report:
    return mem.purge(dry_run=given.dry_run, **{given.dimension: given.name})


def backup(mem: Engram, given: Nothing) -> Backup:
    return mem.backup()


@frozen
class Backups:
    backups: tuple[Backup, ...]


def backups(mem: Engram, given: Nothing) -> Backups:
    return Backups(tuple(mem.backups()))


@frozen
class Checked:
    """What is wrong with the file, by page and table; nothing, if it is whole."""

    ok: bool
    problems: tuple[str, ...]


def check(mem: Engram, given: Nothing) -> Checked:
    problems = tuple(mem.check())
    return Checked(not problems, problems)


@frozen
class Examined:
    """What is wrong, worst first, each with what to do; `ok`: nothing that is an error."""

    ok: bool
    findings: tuple[Finding, ...]


def doctor(mem: Engram, given: Nothing) -> Examined:
    found = tuple(mem.doctor())
    return Examined(all(one.severity is not Severity.ERROR for one in found), found)


OPERATIONS = (
    Operation(
        name="doctor",
        help="Say what is wrong with the vault, how bad it is and what to do; changes nothing.",
        input=Nothing,
        output=Examined,
        run=doctor,
        role=Role.OWNER,
    ),
    Operation(
        name="status",
        help="Show the figures of the vault, as far as this identity sees it.",
        input=Nothing,
        output=Condition,
        run=status,
        role=Role.AGENT,
    ),
    Operation(
        name="audit",
        help="Show who did what, newest first; never what was said.",
        input=Audit,
        output=Trail,
        run=audit,
        role=Role.AGENT,
    ),
    Operation(
        name="check",
        help="Verify every page of the vault.",
        input=Nothing,
        output=Checked,
        run=check,
        role=Role.OWNER,
    ),
    Operation(
        name="purge",
        help="Remove everything of one user, agent, channel, squad or project from every table, for good.",
        input=Purge,
        output=Report,
        run=purge,
        effect=Effect.DESTRUCTIVE,
        role=Role.OWNER,
    ),
    Operation(
        name="backup",
        help="Make a backup now; the oldest beyond what `backups_kept` says goes.",
        input=Nothing,
        output=Backup,
        run=backup,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.OWNER,
    ),
    Operation(
        name="backups",
        help="Show the backups there are.",
        input=Nothing,
        output=Backups,
        run=backups,
        role=Role.OWNER,
    ),
)
