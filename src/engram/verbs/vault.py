"""The verbs that look things up, and those that care for the vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from engram.capture.embeddings import SPACE
from engram.errors import NotFound
from engram.recall.selection import without_flagged
from engram.rules.edges import EdgeWeights, confidence_at, traverse
from engram.rules.inference import Relation, infer
from engram.rules.lifecycle import LifecycleState, lifecycle_state
from engram.store.ports import Filter
from engram.types import (
    AuditEntry,
    Backup,
    Edge,
    EncoderState,
    Finding,
    Health,
    Kind,
    LanguageModelState,
    Memory,
    Page,
    Status,
    StatusChange,
    Turn,
    Version,
)
from engram.values.episodes import Box, ReachedMemory
from engram.verbs.view import View, require_positive

_REACHED = 1000  # memories that one walk over links tells of


class Looking(View):
    """Mixed into `Engram`."""

    def get(self, memory_id: str) -> Memory | None:
        """The memory, or None if there is none of that id that this identity may see."""
        found = self._vault.store.memories.get(self._reader, [memory_id])
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
        attributes: Mapping[str, str] | None = None,
        cursor: str | None = None,
        filters: Filter | None = None,
    ) -> Page:
        """Memories newest first; `status=None` for all of them. The page's cursor fetches the next page.

        filters: stands for kind, category, since, until and status, and can say more.
        """
        where = filters or Filter(
            kinds=(kind,) if kind else (),
            categories=(category,) if category else (),
            statuses=(status,) if status else (),
            since=since,
            until=until,
            attributes=attributes or None,
        )
        return self._vault.store.memories.page(self._reader, limit=limit, cursor=cursor, where=where)

    def lacks_vector(self, memory: Memory) -> bool:
        """Is this memory found by its words alone as yet?"""
        first = self._vault.store.vectors.missing(self._reader, SPACE, after=memory.key - 1, limit=1)
        return bool(first) and first[0][0] == memory.key

    def words(self, memory_id: str) -> Sequence[Turn]:
        """The turns a memory came from, verbatim."""
        return self._vault.store.turns.of(self._reader, memory_id)

    def edges(self, *ids: str) -> Sequence[Edge]:
        return self._vault.store.edges.of(self._reader, ids)

    def traverse(self, memory_id: str, *, depth: int = 2, kinds: Sequence[str] = ()) -> Sequence[ReachedMemory]:
        """What the memory is linked to, up to `depth` links away, the strongest first; by links of these kinds, or of any.

        Where a link follows from those in between, it says so (`infer`): a part of a part is a part. 1,000 at most are told.
        """
        store, env, settings = self._vault.store, self._vault.env, self._vault.live.now
        require_positive("depth", depth)
        if not store.memories.get(self._reader, [memory_id]):
            raise NotFound("there is no memory of that id that this identity may see.")
        passed: dict[Edge, None] = {}

        def edges_of(ids: Sequence[str]) -> Sequence[Edge]:
            found = store.edges.of(self._reader, ids)
            passed.update(dict.fromkeys(found))
            return found

        weights = self._vault.live.tuned(EdgeWeights)
        ways = traverse([memory_id], edges_of, env.now(), weights, depth=min(depth, 6), kinds=kinds)
        links = [Relation(e.source, e.kind, e.target, confidence_at(e, env.now(), weights), e.source) for e in passed]
        follows = {one.target: one.kind.replace(" ", "_") for one in reversed(infer(links, memory_id))}
        first = sorted(ways, key=lambda one: (-ways[one].strength, ways[one].distance, one))[:_REACHED]
        found = {memory.id: memory for memory in without_flagged(store.memories.get(self._reader, first), settings)}
        return tuple(
            ReachedMemory(found[one], ways[one].distance, ways[one].strength, ways[one].by, follows.get(one, ""))
            for one in first
            if one in found
        )

    def standing(self, memory_id: str) -> LifecycleState:
        """Where a memory stands now: layer, lifecycle, verification, how long it is kept, how warm it is and how far faded."""
        found = self._vault.store.memories.get(self._reader, [memory_id])
        if not found:
            raise NotFound("there is no memory of that id that this identity may see.")
        return lifecycle_state(found[0], self._vault.env.now(), self._vault.live.now)

    def boxes(self, *, trace: int | None = None, limit: int = 50) -> Sequence[Box]:
        """Stretches of what was kept, each about one thing, the latest first; or those of one trace, which are about the same."""
        self._vault.fill_boxes()
        return tuple(self._vault.store.boxes.select(self._reader, trace=trace, limit=limit))

    def box(self, key: int) -> Sequence[Memory]:
        """The memories in a box, in the order they were kept."""
        return tuple(without_flagged(self._vault.store.boxes.get(self._reader, key), self._vault.live.now))

    def versions(self, memory_id: str) -> Sequence[Version]:
        return self._vault.store.memories.versions(self._reader, memory_id)

    def status_history(self, memory_id: str) -> Sequence[StatusChange]:
        return self._vault.store.memories.status_history(self._reader, memory_id)

    def encoder(self) -> EncoderState:
        """Which encoder is in use, and whether it answers."""
        return self._vault.encoder()

    def language(self) -> LanguageModelState:
        """Which language model reads what is said, whether it answers, and what it cost."""
        return self._vault.language()

    def backup(self) -> Backup:
        return self._made_once(
            ("backup",),
            lambda once: self._vault.store.health.backup(self._reader, once=once),
            lambda made: made.path.name,
            self._backup_called,
        )

    def _backup_called(self, name: str) -> Backup:
        for one in self.backups():
            if one.path.name == name:
                return one
        raise NotFound("this backup was made before, and has been removed since.", way_out="See `engram backups`.")

    def backups(self) -> Sequence[Backup]:
        return self._vault.store.health.backups(self._reader)

    def health(self) -> Health:
        return self._vault.health(self._reader)

    def doctor(self) -> Sequence[Finding]:
        """What is wrong with the vault, how bad it is and what to do, worst first. For its owner; it changes nothing: mending
        needs the vault to itself (`engram doctor --repair`)."""
        return self._vault.store.health.doctor(self._reader)

    def check(self) -> Sequence[str]:
        """Verify the whole file; what is wrong with it, or nothing."""
        return self._vault.store.health.check(self._reader)

    def audit(self, *, limit: int = 50) -> Sequence[AuditEntry]:
        """Who did what, newest first; never what was said."""
        return self._vault.store.audit.select(self._reader, limit=limit)
