"""Integrity checks, backups and the health report of an open vault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import apsw

from engram.crypto.hardening import rss_bytes
from engram.deadline import check_deadline, without_deadline
from engram.env import from_micros, to_micros
from engram.errors import DiskFull, SearchTimeout, StorageError, VaultBusy, VaultDamaged
from engram.guard.limits import pressure_at
from engram.guard.visibility import readable, require_owner
from engram.log import Log
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import backups, maintenance, memory_rows, migrations, vectors
from engram.store.sqlite.locks import VaultLock
from engram.types import Backup, Finding, Health, Reader

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


log = Log("engram.store")


class HealthCheck:
    """Integrity checks, backups and the state of the vault."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    @property
    def unchecked(self) -> bool:
        """True if the vault was too large to be verified when it was opened."""
        return self._gate.opened.unchecked

    def check(self, reader: Reader) -> list[str]:
        """Read and verify the whole file; return its problems. Damage makes the vault read-only."""
        with self._gate.watched(reader, "check"):
            require_owner(reader, "checking the vault")
        problems: list[str] = []
        try:
            with self._gate.read(reader, "check") as connection:
                self._gate.checking = connection
                if not self._gate.stopped:
                    problems = backups.check(connection) or backups.unread_pages(connection)
        except SearchTimeout:
            if not self._gate.stopped:
                raise
        finally:
            self._gate.checking = None
        if self._gate.stopped:
            return []
        if problems:
            self._gate.writer.damage = VaultDamaged(f"the vault is damaged: {problems[0]}")
            log.error("%s: a check found %d problems; the vault is read-only", self._gate.writer.damage.code, len(problems))
        return problems

    def stop_check(self) -> None:
        """Interrupt a check that is running, so that closing does not wait for it."""
        self._gate.stopped = True
        if (connection := self._gate.checking) is not None:
            with suppress(apsw.Error):  # the connection may just have been closed
                connection.interrupt()

    @contextmanager
    def filling(self, patience_s: float) -> Iterator[bool]:
        """Hold the backfill of missing vectors against all other threads and processes; False if another holds it too long."""
        lock = VaultLock(self._gate.opened.folder.fill, self._gate.env)
        try:
            lock.acquire_exclusive(patience_s)
        except VaultBusy:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def backup(self, reader: Reader, *, receipt: ReceiptRequest | None = None) -> Backup:
        """Make a backup. Its receipt is written with its time: a kill between the two leaves a backup without receipt."""
        with self._gate.backing_up:
            return self._backup(reader, receipt)

    def backup_if_due(self, reader: Reader) -> None:
        with self._gate.backing_up:  # tested inside: a backup just made on request counts
            if self.backup_due():
                self._backup(reader)

    def _backup(self, reader: Reader, receipt: ReceiptRequest | None = None) -> Backup:
        with self._gate.watched(reader, "backup"):
            require_owner(reader, "making a backup")
            with self._gate.read(reader, "backup") as connection:
                upto = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get
                connection.execute("ROLLBACK")  # a backup brings its own transaction
                try:
                    path = backups.back_up(
                        self._gate.opened.folder, connection, self._gate.opened.key, self._gate.live.now, self._gate.env
                    )
                except OSError as error:
                    raise DiskFull(f"the backup could not be written ({error.strerror}).") from error
            with without_deadline():  # the backup exists, so its note must be written
                return self._record_backup(reader, path, upto, receipt)

    def _record_backup(self, reader: Reader, path: FilePath, upto: int, receipt: ReceiptRequest | None) -> Backup:
        """Write the time of the backup and the last change in it; return the backup."""
        made = next(backup for backup in self.backups(reader) if backup.path == path)
        self._gate.write(
            reader,
            "backup",
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('last_backup', ?), ('last_backup_seq', ?)",
                (to_micros(made.made_at or self._gate.env.now()), upto),
            ).fetchall(),
            receipt=receipt and receipt.mapped(lambda _: made),
        )
        return made

    def backup_due(self) -> bool:
        """Return True if the last backup is older than `backup_hours` and the vault has changed since."""
        hours = self._gate.live.now.backup_hours
        if not hours or self._gate.opened.read_only:
            return False
        with self._gate.readers.use("looking up the last backup") as connection:
            made = _meta(connection, "last_backup")
            upto = _meta(connection, "last_backup_seq") or 0
            latest = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get
        # The absolute difference: a clock that was set back must not delay the next backup for years.
        old = made is None or abs(to_micros(self._gate.env.now()) - made) >= hours * 3_600_000_000
        return old and int(latest) > upto

    def backups(self, reader: Reader) -> list[Backup]:
        require_owner(reader, "listing backups")
        if self._gate.closed:
            raise StorageError("the vault is closed.", way_out="Open it again.")
        check_deadline("backups were listed")
        return backups.backups(self._gate.opened.folder, self._gate.opened.key)

    def doctor(self, reader: Reader) -> list[Finding]:
        """Return the findings about the vault, worst first; nothing is changed. Repair needs the vault closed (`maintenance`)."""
        with self._gate.watched(reader, "doctor"):
            require_owner(reader, "examining the vault")
            if self._gate.closed:
                raise StorageError("the vault is closed.", way_out="Open it again.")
            check_deadline("the vault was examined")
            return maintenance.examine_open(self._gate.opened.folder, self._gate.live, self._gate.env, self._gate.opened.key)

    def report(self, reader: Reader) -> Health:
        """Return the figures of V19 as this process sees them. The index, which the store does not know, is left out."""
        settings = self._gate.live.now
        with self._gate.read(reader, "counts") as connection:
            counts = memory_rows.counts(connection, readable(reader))
            pending = vectors.pending(connection, readable(reader))
        with self._gate.readers.use("health") as connection:
            made = _meta(connection, "last_backup")
        folder = self._gate.opened.folder
        rss = rss_bytes()
        pressure = pressure_at(rss, settings)
        return Health(
            path=str(folder.path),
            format=migrations.VERSION,
            cipher=self._gate.opened.key.cipher,
            counts=counts,
            latencies=self._gate.latency.latencies(),
            queue_depth=self._gate.writer.depth,
            queue_limit=self._gate.writer.limit,
            readers_idle=self._gate.readers.idle,
            readers_open=self._gate.readers.open,
            rss_bytes=rss,
            pressure=pressure,
            vault_bytes=folder.database.stat().st_size,
            wal_bytes=folder.wal.stat().st_size if folder.wal.exists() else 0,
            pending_embeddings=pending,
            degradation="degraded" if self._gate.writer.damage is not None else "words",
            writes=self._gate.write_state(),
            index=None,
            shed=(),
            crashed_before=self._gate.opened.crashed_before,
            last_backup=None if made is None else from_micros(made),
            backups=sum(1 for path in folder.backups.glob("*.db") if path.stem.isdigit()),
            warnings=self._gate.warnings(pressure),
        )

    def relieve(self) -> int:
        """Close idle connections to free their page caches; return how many were closed."""
        idle = self._gate.readers.idle
        self._gate.readers.renew()
        return idle


def _meta(connection: apsw.Connection, name: str) -> int | None:
    value = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return None if value is None else int(value)
