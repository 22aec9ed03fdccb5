"""The Engram class: opens the rooms, hands over, decides nothing.

Comes in: what a program, a command or a server asks for. Goes out: values. Identity is fixed when the vault is opened
(or by `as_reader`, for servers that establish it themselves) and is never an argument of a verb.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from engram import settings as settings_room
from engram.env import Env
from engram.errors import EngramError, NotFound, VaultLocked
from engram.guard.keys import MasterKey
from engram.guard.process import harden
from engram.mind import Mind
from engram.models.embed import Embedder
from engram.recall.search import Asked
from engram.settings import LiveSettings, Settings
from engram.store.protocol import Filter
from engram.store.sqlite.care import Backup
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import Ask, Credentials, open_vault
from engram.types import (
    AuditEntry,
    Edge,
    Health,
    Kind,
    Memory,
    Page,
    Policy,
    Reader,
    Recall,
    Report,
    Role,
    Scope,
    Source,
    Status,
    StatusChange,
    Turn,
    Version,
)

log = logging.getLogger("engram")


@dataclass(slots=True, eq=False)
class _Shared:
    """What all views of one open vault share."""

    store: SqliteStore
    live: LiveSettings
    env: Env
    notice: str
    mind: Mind
    session: str
    care: threading.Thread | None = None
    closed: bool = False
    closing: Any = field(default_factory=threading.RLock)


class Engram:
    """One open vault as one reader sees it. Use it as a context manager, or call `close`."""

    def __init__(self, shared: _Shared, reader: Reader) -> None:
        self._shared = shared
        self._reader = reader

    # ── opening and closing ────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        reader: Reader | None = None,
        key: bytes | bytearray | str | None = None,
        ask: Ask | None = None,
        settings: Mapping[str, object] | None = None,
        env: Env | None = None,
        session: str | None = None,
        embedder: Embedder | None = None,
    ) -> Self:
        """Open the vault for a reader whose identity the caller has established; `engram.open` is the plain way."""
        env = env or Env()
        live = LiveSettings(settings, monotonic=env.monotonic)
        if live.now.harden_process:
            for note in harden():
                log.info("%s", note)
        where = settings_room.home() if path is None else vault_path(path)
        store, notice = open_vault(where, live, env, credentials_from(key, ask))
        shared = _Shared(store, live, env, notice, Mind(store, live, env, embedder), session or env.new_id())
        _OPEN.add(shared)
        if live.now.close_on_sigterm:
            _heed_sigterm()
        shared.care = threading.Thread(target=_take_care, args=(shared,), name="engram-care", daemon=True)
        shared.care.start()
        return cls(shared, reader or Reader(scope_of(live.now), Policy(live.now.policy)))

    def close(self) -> None:
        """Finish queued writes, fold the log in, wipe the keys. Closing twice is closing once."""
        _close(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engram {'closed' if self._shared.closed else 'open'} as {self._reader.role.value}>"

    def as_reader(self, reader: Reader) -> Self:
        """The same open vault as someone else sees it. For code that establishes identities, such as a server."""
        return type(self)(self._shared, reader)

    @property
    def reader(self) -> Reader:
        return self._reader

    @property
    def notice(self) -> str:
        """If opening made the vault: where its key is, and what losing it means."""
        return self._shared.notice

    @property
    def settings(self) -> LiveSettings:
        """The values in force (`.now`) and the way to change them while running (`.set`)."""
        return self._shared.live

    # ── keeping ────────────────────────────────────────────────────────────────────────────────────────────────────

    def remember(
        self,
        text: str,
        *,
        kind: Kind = Kind.PROPOSITION,
        category: str = "fact",
        importance: float = 0.5,
        source: Source = Source.USER,
        scope: Scope | None = None,
        happened_at: datetime | None = None,
        attributes: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> Memory:
        """Keep one statement; durable when this returns. Its scope is where this reader stands, or `scope`."""
        draft = Memory(
            text=text,
            kind=kind,
            category=category,
            importance=_between_0_and_1(importance),
            source=source,
            scope=self._reader.scope if scope is None else scope,
            happened_at=happened_at,
            attributes=dict(attributes or {}),
        )
        return self._shared.store.add(self._reader, [draft], timeout=timeout)[0]

    def observe(self, *turns: Turn, user: str | None = None, assistant: str | None = None) -> Report:
        """Hear turns, or one exchange, and keep what matters of it. The report says what became of every piece."""
        exchange = [Turn(text, who) for who, text in (("user", user), ("assistant", assistant)) if text is not None]
        return self._shared.mind.observer.observe(self._reader, [*turns, *exchange], self._shared.session)

    def ingest(self, turns: Iterable[Turn] | str, *, progress: Callable[[int], None] | None = None) -> Report:
        """Hear many turns, or a long text. Turns with a `ref` that is known are passed over, so it can be run again."""
        said = [Turn(turns)] if isinstance(turns, str) else turns
        return self._shared.mind.observer.ingest(self._reader, iter(said), self._shared.session, progress)

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        budget: int | None = None,
        now: datetime | None = None,
        filters: Filter | None = None,
    ) -> Recall:
        """What is known about this, best first, each with its trust and its reasons. No fixed number of hits."""
        moment = now or self._shared.env.now()
        asked = Asked(text=query, limit=limit, budget=budget, now=moment, where=filters or Filter())
        return self._shared.mind.searcher.recall(self._reader, asked)

    def words(self, memory_id: str) -> Sequence[Turn]:
        """The turns a memory came from, verbatim."""
        return self._shared.store.turns_of(self._reader, memory_id)

    def update(self, memory_id: str, *, text: str | None = None, importance: float | None = None) -> Memory:
        """Change a memory; its earlier wording stays reachable through `versions`."""
        wanted = {"text": text, "importance": None if importance is None else _between_0_and_1(importance)}
        changes = {name: value for name, value in wanted.items() if value is not None}
        return self._shared.store.update(self._reader, memory_id, changes)

    def pin(self, memory_id: str, pinned: bool = True) -> Memory:
        """Protect a memory from being forgotten with time."""
        return self._shared.store.update(self._reader, memory_id, {"pinned": pinned})

    def forget(self, *ids: str, erase: bool = False, reason: str = "forgotten on request") -> Report:
        """Archive memories (`restore` brings them back), or with `erase` remove every trace of them for good."""
        if erase:
            return self._shared.store.erase(self._reader, ids)
        done = self._shared.store.set_statuses(self._reader, ids, Status.ARCHIVED, reason)
        return Report(operation="forget", ids=tuple(memory.id for memory in done), counts={"memories": len(done)})

    def restore(self, memory_id: str) -> Memory:
        return self._shared.store.set_status(self._reader, memory_id, Status.ACTIVE, "restored on request")

    def relate(self, source_id: str, target_id: str, kind: str = "related_to", *, weight: float = 1.0) -> int:
        return self._shared.store.relate(self._reader, [Edge(source_id, target_id, kind, weight)])

    # ── looking ────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, memory_id: str) -> Memory | None:
        """The memory, or None if there is none of that id that this reader may see."""
        found = self._shared.store.get(self._reader, [memory_id])
        return found[0] if found else None

    def list(
        self,
        *,
        limit: int = 50,
        kind: Kind | None = None,
        category: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        status: Status | None = Status.ACTIVE,
        cursor: str | None = None,
    ) -> Page:
        """Memories newest first; `status=None` for all of them. The page's cursor fetches the next page."""
        where = Filter(
            kinds=(kind,) if kind else (),
            categories=(category,) if category else (),
            statuses=(status,) if status else (),
            since=since,
            until=until,
        )
        return self._shared.store.page(self._reader, limit=limit, cursor=cursor, where=where)

    def edges(self, *ids: str) -> Sequence[Edge]:
        return self._shared.store.edges(self._reader, ids)

    def versions(self, memory_id: str) -> Sequence[Version]:
        return self._shared.store.versions(self._reader, memory_id)

    def status_history(self, memory_id: str) -> Sequence[StatusChange]:
        return self._shared.store.status_history(self._reader, memory_id)

    # ── care ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def backup(self) -> Backup:
        return self._shared.store.back_up(self._reader)

    def backups(self) -> Sequence[Backup]:
        return self._shared.store.backups(self._reader)

    def health(self) -> Health:
        return self._shared.store.health(self._reader)

    def check(self) -> Sequence[str]:
        """Verify the whole file; what is wrong with it, or nothing."""
        return self._shared.store.check(self._reader)

    def audit(self, *, limit: int = 50) -> Sequence[AuditEntry]:
        """Who did what, newest first; never what was said."""
        return self._shared.store.audit(self._reader, limit=limit)


def _between_0_and_1(importance: float) -> float:
    """Bent into its range; what is no number is left for the store to refuse by name."""
    return min(max(importance, 0.0), 1.0) if isinstance(importance, int | float) else importance  # type: ignore[redundant-expr]


def vault_path(path: str | Path) -> Path:
    """The folder that was named, absolute; what can be no folder's name is refused."""
    name = str(path)
    try:
        name.encode()
        if not name or "\0" in name:
            raise ValueError
        where = Path(name).expanduser().absolute()
        where.exists()
    except (ValueError, RuntimeError, OSError):
        problem = NotFound("the vault's path can be no folder.", way_out="Name a folder; it is made if missing.")
    else:
        return where
    raise problem


def scope_of(settings: Settings) -> Scope:
    return Scope(settings.project, settings.squad, settings.agent, settings.channel, settings.user)


def credentials_from(key: bytes | bytearray | str | None, ask: Ask | None) -> Credentials:
    """A key as 32 raw bytes or as recovery text; a fresh copy each time it is needed, because it is wiped after use."""
    if key is None:
        return Credentials(None, ask)
    if isinstance(key, str):
        text = key
        return Credentials(lambda: MasterKey.from_recovery_text(text), ask)
    if len(key) != 32:
        raise VaultLocked(f"a key has 32 bytes, not {len(key)}.")
    raw = bytes(key)
    return Credentials(lambda: MasterKey(bytearray(raw)), ask)


def _take_care(shared: _Shared) -> None:
    """Beside the first use: the check that a large vault did not wait for, and the daily backup."""
    owner = Reader(policy=Policy.ALL, role=Role.OWNER)
    store = shared.store
    try:
        if store.unchecked:
            store.check(owner)
        if store.backup_due():
            store.back_up(owner)
    except EngramError as error:
        log.warning("care of the vault was put off: %s", error.code)


def _close(shared: _Shared) -> None:
    with shared.closing:  # whoever comes second returns when it is done
        if shared.closed:
            return
        shared.closed = True
        if shared.care is not None and shared.care is not threading.current_thread():
            shared.care.join()
        shared.mind.close()
        shared.store.close()
        _OPEN.discard(shared)


_OPEN: set[_Shared] = set()
"""Vaults this process has open, so that an exit that forgets them still closes them in order."""


@atexit.register
def _close_all() -> None:
    for shared in list(_OPEN):
        _close(shared)


def _close_and_end(number: int) -> None:
    _close_all()
    os.kill(os.getpid(), number)


def _heed_sigterm() -> None:
    """Only where nobody else does: in the main thread, and if the signal would simply end the process."""
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        return

    def end(number: int, frame: FrameType | None) -> None:
        # The main thread may hold a lock that closing needs: it goes on, and another thread closes and ends the process.
        signal.signal(number, signal.SIG_DFL)
        threading.Thread(target=_close_and_end, args=(number,), name="engram-end", daemon=True).start()

    signal.signal(signal.SIGTERM, end)


def open_engram(
    path: str | Path | None = None,
    *,
    agent: str | None = None,
    project: str | None = None,
    squad: str | None = None,
    channel: str | None = None,
    user: str | None = None,
    session: str | None = None,
    key: bytes | bytearray | str | None = None,
    settings: Mapping[str, object] | None = None,
    embedder: Embedder | None = None,
    clock: Callable[[], datetime] | None = None,
) -> Engram:
    """Open the vault at `path` (else `ENGRAM_HOME`, else the platform's data folder); it is made if missing.

    agent, project, squad, channel, user: who this program is. They decide what it sees and where it writes.
    key: the vault's key as 32 bytes or recovery text, if it is not in the keychain, a key file or a passphrase.
    settings: values that go over the configuration file and the environment. clock: tells the time in tests.
    """
    named = {"agent": agent, "project": project, "squad": squad, "channel": channel, "user": user}
    given = {name: value for name, value in named.items() if value is not None}
    env = Env() if clock is None else replace(Env(), now=clock)
    return Engram.open(path, key=key, settings={**(settings or {}), **given}, env=env, session=session, embedder=embedder)
