"""Applies a page of proposals of a background pass to the rows, in one transaction. A proposal is applied whole or skipped.

A proposal is skipped if its memory was changed since the page was read, is not writable for this reader or no longer active, is
pinned (and would be retired), if it would join two scopes, or if it changes nothing: a second run changes nothing more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import to_micros
from engram.guard.visibility import readable, writable
from engram.store.sqlite import edges as links
from engram.store.sqlite import facts, feedback, gaps, memory_rows, turns, undo
from engram.store.sqlite.reconciliation import INFERRED_FROM
from engram.store.sqlite.rows import intern
from engram.store.validation import check_memory
from engram.text.terms import identity_of
from engram.types import Draft, Edge, Memory, Policy, Reader, Replacement, Source, Status
from engram.values.dreams import (
    LAYERS,
    AddLink,
    Archive,
    Derive,
    Merge,
    Proposal,
    ProposedChange,
    Recapture,
    Recheck,
    RecordGap,
    Rehearse,
    RemoveLink,
    Replace,
    Reweigh,
    SetLayer,
    SettleContradiction,
    proposal_ids,
)
from engram.values.edges import DERIVED, LASTING, MERGED_FROM
from engram.values.episodes import REHEARSED, rehearsal_attributes, rehearsals_of
from engram.values.facts import CONTRADICTS, Occasion
from engram.values.frozen import field, mutable, replace
from engram.values.identity import strictest

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation


@mutable
class Round:
    """A page while it is applied: the reader, the time, the memories by id, and the results.

    `stale`: ids changed since the page was read. `spared`: keys that must not be retired again, because that was undone.
    """

    connection: apsw.Connection
    reader: Reader
    now: datetime
    job: str
    known: dict[str, Memory]
    stale: set[str]
    spared: set[int]
    made: list[int] = field(default_factory=list)
    ids: dict[str, list[str]] = field(default_factory=dict)
    skipped: int = 0

    def standing(self, memory_id: str) -> Memory | None:
        """Return the memory if it is active and unchanged since the page was read."""
        memory = self.known.get(memory_id)
        return memory if memory is not None and memory.status is Status.ACTIVE and memory_id not in self.stale else None

    def retirable(self, memory_id: str) -> Memory | None:
        """Return the memory if it may also be retired."""
        memory = self.standing(memory_id)
        return None if memory is None or memory.pinned or memory.key in self.spared else memory

    def rewrite(self, old: Memory, new: Memory, reason: str = "") -> None:
        memory_rows.rewrite(self.connection, old, new, reason)
        self.known[new.id] = new


def gather(
    connection: apsw.Connection, reader: Reader, job: str, proposals: Sequence[Proposal], since: int, now: datetime
) -> Round:
    """Read the present state of the memories that these proposals name."""
    ids = list(dict.fromkeys(one for proposal in proposals for one in proposal_ids(proposal)))
    known = {memory.id: memory for memory in memory_rows.by_ids(connection, writable(reader), ids)}
    keys = [memory.key for memory in known.values()]
    moved = _changed_since(connection, keys, since)
    stale = {memory.id for memory in known.values() if memory.key in moved}
    return Round(connection, reader, now, job, known, stale, undo.spared(connection, keys))


def affected(round: Round, proposals: Sequence[Proposal]) -> set[int]:
    """Return the keys of all memories that these may change: those named, those they contradict, and inferences from them."""
    keys = {memory.key for memory in round.known.values()}
    settled = {
        round.known[one.memory].key for one in proposals if isinstance(one, SettleContradiction) and one.memory in round.known
    }
    settled |= {round.known[one.earlier].key for one in proposals if isinstance(one, Replace) and one.earlier in round.known}
    waiting = list(keys | _beside(round.connection, settled, CONTRADICTS))
    keys.update(waiting)
    while settled and waiting:
        sql = "SELECT source FROM edges WHERE target = ? AND kind = ?"
        found = {int(row[0]) for row in round.connection.execute(sql, (waiting.pop(), INFERRED_FROM))}
        waiting += found - keys
        keys |= found
    return keys


def _unlink(round: Round, proposal: RemoveLink) -> str:
    edge = proposal.edge
    source, target = round.known.get(edge.source), round.known.get(edge.target)
    if source is None or target is None or edge.kind in LASTING or round.stale & {source.id, target.id}:
        return ""
    sql = "DELETE FROM edges WHERE source = ? AND target = ? AND kind = ? RETURNING TRUE"
    return source.id if round.connection.execute(sql, (source.key, target.key, edge.kind)).get else ""


def _archive(round: Round, proposal: Archive) -> str:
    old = round.retirable(proposal.memory)
    if old is None:
        return ""
    round.rewrite(old, replace(old, status=Status.ARCHIVED, updated_at=round.now), proposal.reason)
    return old.id


def _place(round: Round, proposal: SetLayer) -> str:
    old = round.standing(proposal.memory)
    known = ("", *LAYERS)  # a user may use the attribute `layer` for other values, which are left alone
    if old is None or not {held := old.attributes.get(undo.LAYER, ""), proposal.layer} <= set(known) or held == proposal.layer:
        return ""
    rest: Mapping[str, str] = {name: value for name, value in old.attributes.items() if name != undo.LAYER}
    placed = {**rest, undo.LAYER: proposal.layer} if proposal.layer else rest
    round.rewrite(old, replace(old, attributes=placed))
    return old.id


def _weigh(round: Round, proposal: Reweigh) -> str:
    old = round.standing(proposal.memory)
    if old is None:
        return ""
    importance = old.importance if proposal.importance is None else min(max(proposal.importance, 0.0), 1.0)
    confidence = old.confidence if proposal.confidence is None else min(max(proposal.confidence, 0.0), 1.0)
    strength = old.strength if proposal.strength is None else min(max(proposal.strength, 0.0), 1.0)
    if (importance, confidence, strength) == (old.importance, old.confidence, old.strength):
        return ""
    round.rewrite(old, replace(old, importance=importance, confidence=confidence, strength=strength))
    return old.id


def _rehearse(round: Round, proposal: Rehearse) -> str:
    old = round.standing(proposal.memory)
    done = 0 if old is None else rehearsals_of(old)[0]
    foreign = old is not None and REHEARSED in old.attributes and not done  # a user's own attribute of that name
    if old is None or proposal.times != done + 1 or foreign:
        return ""
    round.rewrite(old, replace(old, attributes={**old.attributes, **rehearsal_attributes(proposal.times, round.now)}))
    return old.id


def _put_due(round: Round, proposal: Recheck) -> None:
    memory = round.known.get(proposal.memory)
    if memory is None:
        return
    if proposal.at is None:
        round.connection.execute("DELETE FROM dues WHERE job = ? AND memory = ?", (round.job, memory.key))
        return
    sql = "INSERT OR REPLACE INTO dues (job, memory, at) VALUES (?, ?, ?)"
    round.connection.execute(sql, (round.job, memory.key, to_micros(proposal.at)))


def _changed_since(connection: apsw.Connection, keys: Sequence[int], since: int) -> set[int]:
    """Return those of these memories that changed after `since`. The log after it is short: it grew while a page was prepared."""
    rows: list[Any] = connection.execute("SELECT DISTINCT memory FROM changes WHERE seq > ?", (since,)).fetchall()
    return {row[0] for row in rows} & set(keys)


def _beside(connection: apsw.Connection, keys: set[int], kind: str) -> set[int]:
    sql = (
        "SELECT target FROM edges WHERE source = ?1 AND kind = ?2 UNION SELECT source FROM edges WHERE target = ?1 AND kind = ?2"
    )
    return {int(row[0]) for key in keys for row in connection.execute(sql, (key, kind))}


_DONE = {
    Merge: "merged",
    Replace: "replaced",
    Archive: "archived",
    SetLayer: "placed",
    Reweigh: "weighed",
    Rehearse: "rehearsed",
    AddLink: "linked",
    RemoveLink: "unlinked",
    Derive: "derived",
    Recapture: "recaptured",
    SettleContradiction: "settled",
    RecordGap: "asked",
}


class Proposals:
    """Applies the proposals of a page, one method per kind of proposal."""

    def __init__(self, gate: Gate, reconciliation: Reconciliation) -> None:
        self._gate = gate
        self._reconciliation = reconciliation

    def apply(self, round: Round, proposal: Proposal) -> None:
        """Apply one proposal, or count it as skipped."""
        if isinstance(proposal, Recheck):
            _put_due(round, proposal)
        elif done := self._apply(round, proposal):
            round.ids.setdefault(_DONE[type(proposal)], []).append(done)
        else:
            round.skipped += 1

    def _apply(self, round: Round, proposal: ProposedChange) -> str:
        """Apply one proposal and return the id of its memory, or "" if it was skipped."""
        match proposal:
            case Merge():
                return self._merge(round, proposal)
            case Replace():
                return self._replace(round, proposal)
            case Archive():
                return _archive(round, proposal)
            case SetLayer():
                return _place(round, proposal)
            case Reweigh():
                return _weigh(round, proposal)
            case Rehearse():
                return _rehearse(round, proposal)
            case AddLink():
                return self._link(round, proposal)
            case RemoveLink():
                return _unlink(round, proposal)
            case Derive():
                return self._derive(round, proposal)
            case Recapture():
                return self._recapture(round, proposal)
            case SettleContradiction():
                return self._settled(round, proposal)
            case RecordGap():
                return self._asked(round, proposal)

    def _merge(self, round: Round, proposal: Merge) -> str:
        old, survivor = round.retirable(proposal.memory), round.standing(proposal.into)
        if old is None or survivor is None or old.id == survivor.id or (old.scope, old.tier) != (survivor.scope, survivor.tier):
            return ""
        connection, now = round.connection, round.now
        mine, theirs = turns.sources_of(connection, survivor.key), turns.sources_of(connection, old.key)
        witnesses = len(theirs - mine) if theirs else 1  # memories of the same turns are one witness
        round.rewrite(survivor, self._gate.rules.merged(survivor, old, witnesses, now))
        round.rewrite(old, replace(old, status=Status.MERGED, updated_at=now), proposal.reason)
        turns.link(connection, survivor.key, sorted(theirs - mine))
        edges = links.edges_of(connection, writable(round.reader), [old.id])
        inherited = self._gate.rules.inherited_edges(edges, old, survivor)
        self._put_links(round, [Edge(survivor.id, old.id, MERGED_FROM), *inherited])
        return old.id

    def _replace(self, round: Round, proposal: Replace) -> str:
        old, later = round.retirable(proposal.earlier), round.standing(proposal.memory)
        if old is None or later is None:
            return ""
        one = Replacement(old.id, proposal.sure, proposal.reason)
        self._reconciliation.replace_earlier(round.connection, round.reader, later, [one], round.now)
        for memory in memory_rows.by_ids(round.connection, writable(round.reader), [old.id, later.id]):
            round.known[memory.id] = memory
        return old.id

    def _link(self, round: Round, proposal: AddLink) -> str:
        ends = [round.standing(proposal.edge.source), round.standing(proposal.edge.target)]
        if ends[0] is None or ends[1] is None or ends[0].scope != ends[1].scope or ends[0].id == ends[1].id:
            return ""
        return ends[0].id if self._put_links(round, [proposal.edge]) else ""

    def _put_links(self, round: Round, edges: Sequence[Edge]) -> int:
        """Store edges that are new and close no cycle; return how many."""
        put = 0
        for edge in edges:
            source, target = (self._key(round, end) for end in (edge.source, edge.target))
            if links.known(round.connection, source, target, edge.kind) or links.closes_cycle(
                round.connection, source, target, edge
            ):
                continue
            put += links.put(round.connection, writable(round.reader), [edge], round.now, self._gate.rules)
        return put

    def _key(self, round: Round, memory_id: str) -> int:
        found = round.known.get(memory_id)
        return found.key if found is not None else memory_rows.required(round.connection, writable(round.reader), memory_id).key

    def _derive(self, round: Round, proposal: Derive) -> str:
        found = [round.standing(one) for one in proposal.sources]
        sources = [one for one in found if one is not None]
        if not sources or len(sources) < len(found) or len({one.scope for one in sources}) > 1 or proposal.by not in DERIVED:
            return ""
        tier = reduce(strictest, (one.tier for one in sources), proposal.memory.tier)
        born = self._gate.new_memory(replace(proposal.memory, source=Source.INFERRED, tier=tier), sources[0].scope, round.now)
        check_memory(born, self._gate.live.now)
        here = readable(replace(round.reader, scope=born.scope, policy=Policy.OWN))
        digest = [identity_of(born)]
        known = memory_rows.by_digest(round.connection, here, digest) or feedback.corrected(round.connection, here, digest)
        if known or memory_rows.is_archived(round.connection, here, digest[0]):
            return ""
        made = memory_rows.insert(round.connection, born)
        rules = self._gate.rules
        table = facts.SqliteFacts(round.connection, intern(round.connection, made.scope), rules)
        rules.record_mentions(table.entities, made.key, rules.read(made, ()).mentions)
        rules.record_derived_facts(table, made, proposal.facts)
        round.known[made.id] = made
        round.made.append(made.key)
        self._put_links(round, [Edge(made.id, one.id, proposal.by) for one in sources])
        return made.id

    def _recapture(self, round: Round, proposal: Recapture) -> str:
        old = [memory for one in proposal.memories if (memory := round.retirable(one)) is not None]
        if not proposal.drafts or len(old) < len(proposal.memories) or len({memory.scope for memory in old}) > 1:
            return ""
        connection, scope = round.connection, old[0].scope
        here = readable(replace(round.reader, scope=scope, policy=Policy.OWN))
        sources = sorted(turns.sources_of(connection, old[0].key))
        if set(turns.memories_of(connection, sources)) != {memory.key for memory in old}:
            return ""  # something of the turn was corrected, forgotten, merged or outdated, and must not come back
        if feedback.corrected(connection, here, [identity_of(draft.memory) for draft in proposal.drafts]):
            return ""
        heirs: list[Memory] = []
        for draft in proposal.drafts:
            digest = identity_of(draft.memory)
            known = memory_rows.by_digest(connection, here, [digest])
            if known:
                heirs.append(memory_rows.required(connection, writable(round.reader), known[digest]))
                continue
            heirs.append(self._recaptured(round, draft, old[0], sources))
        for memory, number in zip(old, proposal.heirs, strict=True):
            if heirs[number].id == memory.id:
                continue
            round.rewrite(memory, replace(memory, status=Status.SUPERSEDED, updated_at=round.now), "read again from its turn")
            self._put_links(round, [Edge(heirs[number].id, memory.id, MERGED_FROM)])
        return old[0].id

    def _recaptured(self, round: Round, draft: Draft, old: Memory, sources: Sequence[int]) -> Memory:
        """Insert a statement that was read anew, known since the old one was."""
        born = self._gate.new_memory(draft.memory, old.scope, old.learned_at or round.now)
        check_memory(born, self._gate.live.now)
        around = turns.turn_surroundings(round.connection, sources[0]) if sources else ""
        made = memory_rows.insert(round.connection, born, around, passage=draft.passage)
        turns.link(round.connection, made.key, sources)
        rules = self._gate.rules
        table = facts.SqliteFacts(round.connection, intern(round.connection, made.scope), rules)
        read = rules.read(made, draft.facts, draft.mentions)
        rules.record_mentions(table.entities, made.key, read.mentions)
        rules.record_derived_facts(table, made, read.facts)
        round.known[made.id] = made
        round.made.append(made.key)
        return made

    def _settled(self, round: Round, proposal: SettleContradiction) -> str:
        memory = round.standing(proposal.memory)
        if memory is None or not facts.is_contested(round.connection, memory.key):
            return ""
        rules = self._gate.rules
        table = facts.SqliteFacts(round.connection, intern(round.connection, memory.scope), rules)
        decided = rules.consequences(memory, rules.settle(table, memory), Occasion.SETTLED)
        if not decided.edges:
            return ""
        round.known[memory.id] = self._reconciliation.apply(round.connection, round.reader, memory, decided, round.now)
        others = [edge.target for edge in decided.edges]
        for other in memory_rows.by_ids(round.connection, writable(round.reader), others):
            round.known[other.id] = other
        return memory.id

    def _asked(self, round: Round, proposal: RecordGap) -> str:
        memory = round.standing(proposal.memory)
        if memory is None:
            return ""
        where = intern(round.connection, memory.scope), proposal.text
        put = gaps.put_new(round.connection, *where, to_micros(round.now), self._gate.limits.gap_rows)
        return memory.id if put else ""
