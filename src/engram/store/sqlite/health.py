"""The verbs that look after the vault as a whole: check, backup, health."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path as FilePath

import apsw

from engram.crypto.process import rss_bytes
from engram.deadline import check_deadline, without_deadline
from engram.env import from_micros, to_micros
from engram.errors import DiskFull, SearchTimeout, StorageError, VaultBusy, VaultDamaged
from engram.guard.visibility import readable, require_owner
from engram.log import Log
from engram.settings import Settings
from engram.store.ports import Once
from engram.store.sqlite import backups as care
from engram.store.sqlite import maintenance, memories, migrations, vectors
from engram.store.sqlite.gate import Path
from engram.store.sqlite.locks import VaultLock
from engram.types import Backup, Finding, Health, Reader

log = Log("engram.store")


class Caring(Path):
    """Mixed into the store."""

    @property
    def unchecked(self) -> bool:
        """Was the vault too large to be verified before it was opened?"""
        return self._opened.unchecked

    def check(self, reader: Reader) -> list[str]:
        """Read and verify the whole file; what is wrong, or nothing. Damage found stops all writing."""
        with self._watched(reader, "check"):
            require_owner(reader, "checking the vault")
        problems: list[str] = []
        try:
            with self._read(reader, "check") as connection:
                self._checking = connection
                if not self._stopped:
                    problems = care.check(connection) or care.unread_pages(connection)
        except SearchTimeout:
            if not self._stopped:
                raise
        finally:
            self._checking = None
        if self._stopped:
            return []
        if problems:
            self._writer.damage = VaultDamaged(f"the vault is damaged: {problems[0]}")
            log.error("%s: a check found %d problems; the vault is read-only", self._writer.damage.code, len(problems))
        return problems

    def stop_checking(self) -> None:
        """Closing does not wait for a check of the whole file."""
        self._stopped = True
        if (connection := self._checking) is not None:
            with suppress(apsw.Error):  # it may just have been closed
                connection.interrupt()

    @contextmanager
    def filling(self, patience_s: float) -> Iterator[bool]:
        """Have the making of missing vectors to ourselves, among all threads and processes; False if another has it so long."""
        lock = VaultLock(self._opened.folder.fill, self._env)
        try:
            lock.alone(patience_s)
        except VaultBusy:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def back_up(self, reader: Reader, *, once: Once | None = None) -> Backup:
        """Make a backup now. Its receipt goes with the note of it: a kill between file and note leaves a backup to spare."""
        with self._backing_up:
            return self._back_up(reader, once)

    def back_up_if_due(self, reader: Reader) -> None:
        with self._backing_up:  # asked inside: one that was just made by hand counts
            if self.backup_due():
                self._back_up(reader)

    def _back_up(self, reader: Reader, once: Once | None = None) -> Backup:
        with self._watched(reader, "backup"):
            require_owner(reader, "making a backup")
            with self._read(reader, "backup") as connection:
                upto = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get
                connection.execute("ROLLBACK")  # a backup brings its own transaction
                try:
                    path = care.back_up(self._opened.folder, connection, self._opened.key, self._live.now, self._env)
                except OSError as error:
                    raise DiskFull(f"the backup could not be written ({error.strerror}).") from error
            with without_deadline():  # it is made
                return self._noted(reader, path, upto, once)

    def _noted(self, reader: Reader, path: FilePath, upto: int, once: Once | None) -> Backup:
        made = next(b for b in self.backups(reader) if b.path == path)
        if once is not None:
            once.answer = lambda _: made.path.name
        self._write(
            reader,
            "backup",
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO meta (name, value) VALUES ('last_backup', ?), ('last_backup_seq', ?)",
                (to_micros(made.made_at or self._env.now()), upto),
            ).fetchall(),
            once=once,
        )
        return made

    def backup_due(self) -> bool:
        """Is the last backup old, and has anything changed since?"""
        hours = self._live.now.backup_hours
        if not hours or self._opened.read_only:
            return False
        with self._readers.use("looking up the last backup") as connection:
            made = _meta(connection, "last_backup")
            upto = _meta(connection, "last_backup_seq") or 0
            latest = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").get
        # Either way: a clock that was set back must not put the next backup off for years.
        old = made is None or abs(to_micros(self._env.now()) - made) >= hours * 3_600_000_000
        return old and int(latest) > upto

    def backups(self, reader: Reader) -> list[Backup]:
        require_owner(reader, "looking into backups")
        if self._closed:
            raise StorageError("the vault is closed.", way_out="Open it again.")
        check_deadline("backups were looked at")
        return care.backups(self._opened.folder, self._opened.key)

    def doctor(self, reader: Reader) -> list[Finding]:
        """What is wrong, worst first; nothing is changed. Mending needs the vault to itself (`maintenance`)."""
        with self._watched(reader, "doctor"):
            require_owner(reader, "looking the vault over")
            if self._closed:
                raise StorageError("the vault is closed.", way_out="Open it again.")
            check_deadline("the vault was looked over")
            return maintenance.look_over(self._opened.folder, self._live, self._env, self._opened.key)

    def health(self, reader: Reader) -> Health:
        """The figures of V19 as this process sees them. Of an index it knows nothing: whoever has one says more."""
        settings = self._live.now
        with self._read(reader, "counts") as connection:
            counts = memories.counts(connection, readable(reader))
            pending = vectors.pending(connection, readable(reader))
        with self._readers.use("health") as connection:
            made = _meta(connection, "last_backup")
        folder = self._opened.folder
        rss = rss_bytes()
        pressure = pressure_at(rss, settings)
        return Health(
            path=str(folder.path),
            format=migrations.VERSION,
            cipher=self._opened.key.cipher,
            counts=counts,
            latencies=self._meter.latencies(),
            queue_depth=self._writer.depth,
            queue_limit=self._writer.limit,
            readers_idle=self._readers.idle,
            readers_open=self._readers.open,
            rss_bytes=rss,
            pressure=pressure,
            vault_bytes=folder.database.stat().st_size,
            wal_bytes=folder.wal.stat().st_size if folder.wal.exists() else 0,
            pending_embeddings=pending,
            degradation="degraded" if self._writer.damage is not None else "words",
            writes=self._writes(),
            index=None,
            shed=(),
            crashed_before=self._opened.crashed_before,
            last_backup=None if made is None else from_micros(made),
            backups=sum(1 for path in folder.backups.glob("*.db") if path.stem.isdigit()),
            warnings=self._warnings(pressure),
        )

    def relieve(self) -> int:
        """Let go of the pages that idle connections keep; how many connections went."""
        idle = self._readers.idle
        self._readers.renew()
        return idle


def pressure_at(rss: int, settings: Settings) -> str:
    """What so many bytes of resident memory are called."""
    mib = rss / 2**20
    return "critical" if mib >= settings.ram_critical_mib else "elevated" if mib >= settings.ram_warning_mib else "normal"


def _meta(connection: apsw.Connection, name: str) -> int | None:
    value = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).get
    return None if value is None else int(value)
