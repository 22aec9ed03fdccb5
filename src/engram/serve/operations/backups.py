"""Operations on backups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.serve.operations.operation import Effect, NoInput, Operation
from engram.types import Backup, Role
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


def backup(mem: Engram, given: NoInput) -> Backup:
    return mem.backup()


@frozen
class BackupList:
    backups: tuple[Backup, ...]


def backups(mem: Engram, given: NoInput) -> BackupList:
    return BackupList(tuple(mem.backups()))


OPERATIONS = (
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
