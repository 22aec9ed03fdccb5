"""Operations on the health of the vault: status, check, doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.serve.operations.operation import NoInput, Operation
from engram.types import EncoderState, Finding, Health, LanguageModelState, Role, Severity
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
        name="check",
        help="Verify every page of the vault.",
        input=NoInput,
        output=CheckResult,
        run=check,
        role=Role.OWNER,
    ),
)
