"""The operation of the audit trail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Operation
from engram.types import AuditEntry, Role
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class AuditInput:
    limit: Annotated[int, Arg("How many at most.", low=1, high=1_000_000, flags=("--limit", "-n"))] = 50


@frozen
class AuditTrail:
    """Entries of the audit log, newest first. They name operations and identities, and hold no stored text."""

    entries: tuple[AuditEntry, ...]


def audit(mem: Engram, given: AuditInput) -> AuditTrail:
    return AuditTrail(tuple(mem.audit(limit=given.limit)))


OPERATIONS = (
    Operation(
        name="audit",
        help="Show who did what, newest first; never what was said.",
        input=AuditInput,
        output=AuditTrail,
        run=audit,
        role=Role.AGENT,
    ),
)
