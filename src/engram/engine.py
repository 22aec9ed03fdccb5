"""The Engram class: opens the rooms, hands over, decides nothing.

Comes in: what a program, a command or a server asks for. Goes out: values. Identity is fixed when the vault is opened
(or by `as_reader`, for servers that establish it themselves) and is never an argument of a verb.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from engram.capture.parts import in_parts
from engram.context.plan import planned
from engram.context.window import ContextWindow, build
from engram.env import Env
from engram.errors import NotFound
from engram.models.embed import Embedder
from engram.models.rerank import Reranker
from engram.recall.search import Asked
from engram.settings import LiveSettings, Settings
from engram.store.protocol import Filter
from engram.store.sqlite.care import Backup
from engram.store.sqlite.vault import Ask
from engram.types import (
    AuditEntry,
    Edge,
    Encoder,
    Explanation,
    Health,
    Kind,
    Memory,
    Mode,
    Page,
    Policy,
    Reader,
    Recall,
    Report,
    Scope,
    Source,
    Status,
    StatusChange,
    Turn,
    Version,
    Warmth,
)
from engram.vault import OpenVault, credentials_from

log = logging.getLogger("engram")


class Engram:
    """One open vault as one reader sees it. Use it as a context manager, or call `close`."""

    def __init__(self, vault: OpenVault, reader: Reader) -> None:
        self._vault = vault
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
        reranker: Reranker | None = None,
    ) -> Self:
        """Open the vault for a reader whose identity the caller has established; `engram.open` is the plain way."""
        vault = OpenVault(
            path,
            credentials_from(key, ask),
            settings=settings,
            env=env or Env(),
            session=session,
            embedder=embedder,
            reranker=reranker,
        )
        return cls(vault, reader or Reader(scope_of(vault.live.now), Policy(vault.live.now.policy)))

    def close(self) -> None:
        """Finish queued writes, fold the log in, wipe the keys. Closing twice is closing once."""
        self._vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engram {'closed' if self._vault.closed else 'open'} as {self._reader.role.value}>"

    def as_reader(self, reader: Reader) -> Self:
        """The same open vault as someone else sees it. For code that establishes identities, such as a server."""
        return type(self)(self._vault, reader)

    @property
    def reader(self) -> Reader:
        return self._reader

    @property
    def notice(self) -> str:
        """If opening made the vault: where its key is, and what losing it means."""
        return self._vault.notice

    @property
    def settings(self) -> LiveSettings:
        """The values in force (`.now`) and the way to change them while running (`.set`)."""
        return self._vault.live

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
        return self._vault.observer.remember(self._reader, draft, timeout)

    def observe(self, *turns: Turn, user: str | None = None, assistant: str | None = None) -> Report:
        """Hear turns, or one exchange, and keep what matters of it. The report says what became of every piece."""
        exchange = [Turn(text, who) for who, text in (("user", user), ("assistant", assistant)) if text is not None]
        return self._vault.observer.observe(self._reader, [*turns, *exchange], self._vault.session)

    def ingest(self, turns: Iterable[Turn] | str, *, progress: Callable[[int], None] | None = None) -> Report:
        """Hear many turns, or a long text. Turns with a `ref` that is known are passed over, so it can be run again."""
        said = in_parts(turns, self._vault.live.now.turn_bytes) if isinstance(turns, str) else turns
        return self._vault.observer.ingest(self._reader, iter(said), self._vault.session, progress)

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        budget: int | None = None,
        now: datetime | None = None,
        as_of: datetime | None = None,
        mode: Mode | str | None = None,
        filters: Filter | None = None,
        explain: bool = False,
    ) -> Recall:
        """What is known about this, best first, each with its trust and its reasons. No fixed number of hits.

        limit, budget: hits and tokens at most. as_of: answer as the memory stood then. mode: `facts_only`,
        `facts_plus_rules` or `full_context`. explain: say of each candidate that is no hit why (`left_out`).
        """
        asked = self._asked(query, limit, budget, now, as_of, mode, filters)
        return self._vault.searcher.recall(self._reader, asked, account=explain)

    def explain(
        self,
        query: str,
        memory_id: str,
        *,
        limit: int | None = None,
        budget: int | None = None,
        now: datetime | None = None,
        as_of: datetime | None = None,
        mode: Mode | str | None = None,
        filters: Filter | None = None,
    ) -> Explanation:
        """Why this memory is, or is not, in the answer to this question: the stage that dropped it, and by how much."""
        found = self._vault.store.get(self._reader, [memory_id])
        if not found:
            raise NotFound("there is no memory of that id that this reader may see.")
        asked = self._asked(query, limit, budget, now, as_of, mode, filters)
        return self._vault.searcher.explain(self._reader, asked, found[0])

    def _asked(
        self,
        query: str,
        limit: int | None,
        budget: int | None,
        now: datetime | None,
        as_of: datetime | None,
        mode: Mode | str | None,
        filters: Filter | None,
    ) -> Asked:
        return Asked(
            text=query,
            now=now or self._vault.env.now(),
            limit=limit,
            budget=budget,
            as_of=as_of,
            mode=mode,  # type: ignore[arg-type]  # a word for it is as good: `checked` knows them
            where=filters or Filter(),
        )

    def context(
        self,
        message: str,
        *,
        model: str,
        budget: int | None = None,
        history: Sequence[Turn] = (),
        now: datetime | None = None,
        profile: str = "chat",
    ) -> ContextWindow:
        """What an agent should read for this message: memories and history within a budget, every token accounted for.

        model: whose window and tokenizer count. budget: tokens of the whole, else what the model has room for. profile: how it
        is divided (chat, task, cron, orchestrator, swarm, flow).
        """
        settings = self._vault.live.now
        plan = planned(message, model, budget, profile, models_file=settings.models_file or None)
        found = self.recall(message, limit=min(plan.hits, settings.page_limit // 2), now=now)
        return build(message, found, budget=plan.budget, profile=plan.profile, count=plan.count, history=history)

    def feedback(self, memory_id: str, helpful: bool, *, query: str | None = None) -> Memory:
        """Say whether a memory helped; with the question it was recalled for, recall learns which way of finding helps."""
        judged = self._vault.store.judge(self._reader, memory_id, bool(helpful))
        if query is not None:
            asked = self._asked(query, None, None, None, None, None, None)
            self._vault.searcher.learn(self._reader, asked, judged, bool(helpful))
        return judged

    def backfill(self, *, anew: bool = False) -> int:
        """Make the vectors that are missing, of what this reader may write; or, as its owner, all anew. How many were made."""
        return self._vault.fill_anew(self._reader) if anew else self._vault.observer.backfill(self._reader)

    def encoder(self) -> Encoder:
        """Which encoder is in use, and whether it answers."""
        return self._vault.encoder()

    def warm(self, timeout: float | None = None, *, progress: Callable[[Warmth], None] | None = None) -> bool:
        """Wait until the vector index has loaded; False if it has not in time, or there is no model to have one for."""
        index = self._vault.index
        return index is not None and index.warm(timeout, progress)

    def words(self, memory_id: str) -> Sequence[Turn]:
        """The turns a memory came from, verbatim."""
        return self._vault.store.turns_of(self._reader, memory_id)

    def update(self, memory_id: str, *, text: str | None = None, importance: float | None = None) -> Memory:
        """Change a memory; its earlier wording stays reachable through `versions`."""
        wanted = {"text": text, "importance": None if importance is None else _between_0_and_1(importance)}
        changes = {name: value for name, value in wanted.items() if value is not None}
        return self._vault.observer.update(self._reader, memory_id, changes)

    def pin(self, memory_id: str, pinned: bool = True) -> Memory:
        """Protect a memory from being forgotten with time."""
        return self._vault.store.update(self._reader, memory_id, {"pinned": pinned})

    def forget(self, *ids: str, erase: bool = False, reason: str = "forgotten on request") -> Report:
        """Archive memories (`restore` brings them back), or with `erase` remove every trace of them for good."""
        if erase:
            return self._vault.store.erase(self._reader, ids)
        done = self._vault.store.set_statuses(self._reader, ids, Status.ARCHIVED, reason)
        return Report(operation="forget", ids=tuple(memory.id for memory in done), counts={"memories": len(done)})

    def restore(self, memory_id: str) -> Memory:
        return self._vault.store.set_status(self._reader, memory_id, Status.ACTIVE, "restored on request")

    def relate(self, source_id: str, target_id: str, kind: str = "related_to", *, weight: float = 1.0) -> int:
        return self._vault.store.relate(self._reader, [Edge(source_id, target_id, kind, weight)])

    # ── looking ────────────────────────────────────────────────────────────────────────────────────────────────────

    def get(self, memory_id: str) -> Memory | None:
        """The memory, or None if there is none of that id that this reader may see."""
        found = self._vault.store.get(self._reader, [memory_id])
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
        return self._vault.store.page(self._reader, limit=limit, cursor=cursor, where=where)

    def edges(self, *ids: str) -> Sequence[Edge]:
        return self._vault.store.edges(self._reader, ids)

    def versions(self, memory_id: str) -> Sequence[Version]:
        return self._vault.store.versions(self._reader, memory_id)

    def status_history(self, memory_id: str) -> Sequence[StatusChange]:
        return self._vault.store.status_history(self._reader, memory_id)

    # ── care ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def backup(self) -> Backup:
        return self._vault.store.back_up(self._reader)

    def backups(self) -> Sequence[Backup]:
        return self._vault.store.backups(self._reader)

    def health(self) -> Health:
        return self._vault.health(self._reader)

    def check(self) -> Sequence[str]:
        """Verify the whole file; what is wrong with it, or nothing."""
        return self._vault.store.check(self._reader)

    def audit(self, *, limit: int = 50) -> Sequence[AuditEntry]:
        """Who did what, newest first; never what was said."""
        return self._vault.store.audit(self._reader, limit=limit)


def _between_0_and_1(importance: float) -> float:
    """Bent into its range; what is no number is left for the store to refuse by name."""
    return min(max(importance, 0.0), 1.0) if isinstance(importance, int | float) else importance  # type: ignore[redundant-expr]


def scope_of(settings: Settings) -> Scope:
    return Scope(settings.project, settings.squad, settings.agent, settings.channel, settings.user)


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
    reranker: Reranker | None = None,
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
    return Engram.open(
        path,
        key=key,
        settings={**(settings or {}), **given},
        env=env,
        session=session,
        embedder=embedder,
        reranker=reranker,
    )
