"""Judgements of memories by their readers, with the question they were about, and corrections.

Of a question the vector and a keyed digest of its content words are stored, never the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import InvalidContent, InvalidQuery
from engram.guard.visibility import Visibility, readable, require_writable, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import edges, facts, memory_rows, vectors
from engram.store.sqlite.rows import intern
from engram.store.sqlite.visibility import predicate
from engram.store.validation import check_memory, check_scope
from engram.text.terms import digest_of, identity_of
from engram.types import Draft, Edge, Fact, Memory, Policy, Reader, Scope, Source, Space, Status
from engram.values.facts import ParsedText
from engram.values.frozen import replace
from engram.values.memories import CORRECTED, CORRECTED_BY_SPEAKER, INVALIDATED_BY_HAND, Correction, CorrectionFate
from engram.values.query import JudgedQuestion, Judgement

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation


SUPERSEDES = "supersedes"


def put(
    connection: apsw.Connection,
    memory: int,
    scope: Scope,
    at: datetime,
    helpful: bool,
    digest: str,
    space: int | None,
    vector: bytes | None,
    forget_before: datetime,
) -> None:
    """Store one judgement, and delete those of the memory that no longer count. The vector gets the tier of the memory."""
    connection.execute("DELETE FROM feedback WHERE memory = ? AND at < ?", (memory, to_micros(forget_before)))
    stored_vector = (b"" if space is None or vector is None else vector, space if vector else None)
    connection.execute(
        """
        INSERT INTO feedback (memory, scope, at, helpful, digest, vector, space)
        SELECT key, ?2, ?3, ?4, ?5, CASE WHEN tier = 'confidential' AND ?6 <> x'' THEN project(?6) ELSE ?6 END, ?7
          FROM memories WHERE key = ?1
        """,
        (memory, intern(connection, scope), to_micros(at), int(helpful), digest, *stored_vector),
    )


def of(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], digest: str, space: Space | None) -> list[Judgement]:
    """Return the judgements of these memories from scopes that `seen` admits, oldest first."""
    visible, values = predicate(seen, "f.scope")
    model = ("", 0) if space is None else (space.model, space.dimensions)
    sql = f"""
        SELECT f.memory, f.at, f.helpful, f.digest = ?,
               CASE WHEN (s.model, s.dimensions) <> (?, ?) OR f.space IS NULL THEN x''
                    WHEN m.tier = 'confidential' THEN straighten(f.vector) ELSE f.vector END
          FROM feedback AS f JOIN memories AS m ON m.key = f.memory LEFT JOIN spaces AS s ON s.key = f.space
         WHERE f.memory IN ({", ".join("?" * len(keys))}) AND {visible} ORDER BY f.at, f.key
    """
    found: list[Any] = connection.execute(sql, (digest, *model, *keys, *values)).fetchall()
    return [Judgement(key, from_micros(at), bool(good), bool(same), bytes(vector)) for key, at, good, same, vector in found]


def corrected(connection: apsw.Connection, seen: Visibility, digests: Sequence[bytes]) -> dict[bytes, Memory]:
    """Map those of these digests whose wording was corrected to its replacement; uses the index, as `memory_rows.by_digest`."""
    visible, values = predicate(seen, "m.scope")
    found: dict[bytes, Memory] = {}
    forms = sealed.digests(connection, digests)
    stored = list(forms)
    for start in range(0, len(stored), _AT_ONCE):
        page = stored[start : start + _AT_ONCE]
        sql = f"""
            SELECT c.digest, m.key FROM contents AS c CROSS JOIN memories AS m ON m.key = c.memory
             WHERE c.digest IN ({", ".join("?" * len(page))}) AND {_IS_CORRECTED} AND {visible}
        """
        rows: list[Any] = connection.execute(sql, (*page, *values)).fetchall()
        found |= {forms[bytes(digest)]: replacement(connection, seen, key) for digest, key in rows}
    return found


def by_facts(connection: apsw.Connection, seen: Visibility, wanted: Sequence[Fact]) -> list[Memory]:
    """Return the corrected memories that have a fact of the same subject and predicate as one of these."""
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT m.key FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.subject = ? AND f.predicate = ? AND {_IS_CORRECTED} AND {visible}
    """
    found: dict[int, None] = {}
    for fact in wanted:
        rows: list[Any] = connection.execute(sql, (fact.subject, fact.predicate, *values)).fetchall()
        found |= dict.fromkeys(row[0] for row in rows)
    return memory_rows.by_keys(connection, seen, list(found))


def all_corrected(connection: apsw.Connection, seen: Visibility) -> list[int]:
    """Return the keys of corrected memories."""
    visible, values = predicate(seen, "m.scope")
    rows: list[Any] = connection.execute(
        f"SELECT m.key FROM memories AS m WHERE {visible} AND {_IS_CORRECTED}", values
    ).fetchall()
    return [row[0] for row in rows]


def replacement(connection: apsw.Connection, seen: Visibility, key: int) -> Memory:
    """Return the memory that replaced a corrected one, through all later corrections; the memory itself if that was erased."""
    visible, values = predicate(seen, "m.scope")
    last = connection.execute(
        f"""
        WITH RECURSIVE line (key, far) AS (
            SELECT ?, 0 UNION
            SELECT e.source, line.far + 1 FROM line JOIN edges AS e ON e.target = line.key
             WHERE e.kind = '{SUPERSEDES}' AND line.far < {_LONGEST_LINE})
        SELECT m.key FROM line JOIN memories AS m ON m.key = line.key
         WHERE m.status = 'active' AND {visible} ORDER BY line.far LIMIT 1
        """,
        (key, *values),
    ).get
    return memory_rows.by_keys(connection, seen, [key if last is None else int(last)])[0]


def marks(connection: apsw.Connection, seen: Visibility, keys: Sequence[int]) -> dict[int, Correction]:
    """Return the marks of those of these memories that were corrected, by key."""
    visible, values = predicate(seen, "m.scope")
    found: dict[int, Correction] = {}
    for start in range(0, len(keys), _AT_ONCE):
        page = keys[start : start + _AT_ONCE]
        rows: list[Any] = connection.execute(
            f"""
            SELECT m.key, m.id, {_REASON}, h.at FROM memories AS m JOIN status_history AS h ON h.memory = m.key
             WHERE m.key IN ({", ".join("?" * len(page))}) AND {visible} AND {_RETIRED} AND {_BY_CORRECTION} ORDER BY h.number
            """,
            (*page, *values),
        ).fetchall()
        for key, memory_id, reason, at in rows:
            heir = replacement(connection, seen, key).id
            found[key] = Correction(reason, from_micros(at), "" if heir == memory_id else heir)
    return found


_AT_ONCE = 500

_LONGEST_LINE = 64

_REASON = sealed.read_side("status_history", "reason", "h")
_RETIRED = "m.status IN ('superseded', 'invalidated')"
_BY_CORRECTION = f"""h.new = m.status
    AND ({_REASON} IN ('{CORRECTED}', '{CORRECTED_BY_SPEAKER}') OR {_REASON} LIKE '{INVALIDATED_BY_HAND}%')"""
_IS_CORRECTED = f"{_RETIRED} AND EXISTS (SELECT 1 FROM status_history AS h WHERE h.memory = m.key AND {_BY_CORRECTION})"


class Feedback:
    """Judgements of answers, and corrections of memories."""

    def __init__(self, gate: Gate, reconciliation: Reconciliation) -> None:
        self._gate = gate
        self._reconciliation = reconciliation

    def judge(
        self,
        reader: Reader,
        memory_id: str,
        helpful: bool,
        question: JudgedQuestion | None = None,
        *,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Count a reader's judgement of a memory and, if given, store the question it was about."""
        with self._gate.watched(reader, "feedback", memory_id):

            def work(connection: apsw.Connection) -> Memory:
                old = memory_rows.required(connection, writable(reader), memory_id)
                new = replace(old, helpful=old.helpful + helpful, unhelpful=old.unhelpful + (not helpful))
                memory_rows.rewrite(connection, old, new)
                if question is not None:
                    self._put(connection, reader, old, helpful, question)
                return new

            return self._gate.write(reader, "feedback", work, subject=memory_id, timeout=timeout, receipt=receipt)

    def _put(self, connection: apsw.Connection, reader: Reader, memory: Memory, helpful: bool, question: JudgedQuestion) -> None:
        now = self._gate.env.now()
        space = vectors.own_space(connection, question.space) if question.vector else None
        oldest = now - timedelta(days=self._gate.live.now.suppress_days)
        digest = self._gate.audit.digest(question.words)
        put(connection, memory.key, reader.scope, now, helpful, digest, space, question.vector, oldest)

    def judgements(self, reader: Reader, keys: Sequence[int], question: JudgedQuestion) -> list[Judgement]:
        """Return the judgements on these memories made from the reader's own scope, oldest first.

        Judgements of other scopes are left out, also for a reader who sees every memory.
        """
        here = readable(replace(reader, policy=Policy.AGENT_GLOBAL))
        with self._gate.read(reader, "judgements") as connection:
            return of(connection, here, keys, self._gate.audit.digest(question.words), question.space)

    def correct(
        self, reader: Reader, memory_id: str, draft: Draft, *, space: Space | None = None, timeout: float | None = None
    ) -> Memory:
        """Store a correction and retire the memory that it corrects, all or none. A memory that says the same already is used."""
        with self._gate.watched(reader, "correct", memory_id):
            check_memory(draft.memory, self._gate.live.now)
            now, new_id = self._gate.env.now(), self._gate.env.new_id()
            reading = self._gate.rules.read(draft.memory, draft.facts, draft.mentions)

            def work(connection: apsw.Connection) -> Memory:
                owned = writable(reader)
                old = memory_rows.required(connection, owned, memory_id)
                draft_memory = replace(self._gate.new_memory(draft.memory, old.scope, now), id=new_id)
                known = self._known(connection, reader, old, draft_memory, now)
                is_active = old.status is not Status.SUPERSEDED
                if is_active:  # first, so that the correction does not outdate the memory by its facts as well
                    superseded = replace(old, status=Status.SUPERSEDED, unhelpful=old.unhelpful + 1, updated_at=now)
                    self._retire(connection, old, superseded, CORRECTED, now)
                new = known or self._store(connection, reader, draft_memory, reading, draft.vector, space, now)
                if is_active:
                    edges.put(connection, owned, [Edge(new.id, old.id, SUPERSEDES)], now, self._gate.rules)
                return new

            entries = [
                self._gate.audit.entry(reader, "correct", subject=memory_id, count=1),
                self._gate.audit.entry(reader, "add", subject=new_id, count=1, digest=self._gate.audit.digest(draft.memory.text)),
            ]
            return self._gate.write(reader, "correct", work, entries=entries, timeout=timeout)

    def _retire(self, connection: apsw.Connection, old: Memory, retired: Memory, reason: str, at: datetime) -> None:
        memory_rows.rewrite(connection, old, retired, reason)
        facts.end(connection, old.key, at)
        self._reconciliation.invalidate_inferences(connection, old.key, at)

    def _known(self, connection: apsw.Connection, reader: Reader, old: Memory, new: Memory, now: datetime) -> Memory | None:
        """Return the memory that says already what `new` says, None if there is none: a repeated correction changes nothing."""
        digest = identity_of(new)
        if digest_of(new.text) == digest_of(old.text):
            raise InvalidContent("the correction says what the memory says.", way_out="Say what is true instead.")
        here = readable(replace(reader, scope=old.scope, policy=Policy.OWN))
        twin = memory_rows.by_digest(connection, here, [digest]).get(digest)
        if old.status is Status.SUPERSEDED:
            replaced_by = replacement(connection, here, old.key)
            if replaced_by.id != twin:
                raise InvalidQuery("this memory has been superseded already.", way_out="Correct the memory that took its place.")
            return replaced_by
        if twin is not None:
            self._reconciliation.corroborate(connection, reader, twin, [], now)
            return memory_rows.required(connection, here, twin)
        return None

    def _store(
        self,
        connection: apsw.Connection,
        reader: Reader,
        memory: Memory,
        reading: ParsedText,
        vector: bytes | None,
        space: Space | None,
        now: datetime,
    ) -> Memory:
        stored = memory_rows.insert(connection, memory)
        vectors.put_new(connection, stored.key, space, vector)
        return self._reconciliation.reconcile(connection, reader, [stored], now, {memory.id: reading})[0]

    def corrected(self, reader: Reader, wanted: Sequence[bytes]) -> dict[bytes, Memory]:
        """Map those of these digests whose wording was corrected to its replacement."""
        with self._gate.read(reader, "digests") as connection:
            return corrected(connection, readable(reader), wanted)

    def corrected_facts(self, reader: Reader, wanted: Sequence[Fact]) -> list[Memory]:
        """Return the corrected memories that have a fact of the same subject and predicate as one of these."""
        with self._gate.read(reader, "digests") as connection:
            return by_facts(connection, readable(reader), wanted)

    def corrections(self, reader: Reader) -> list[int]:
        """Return the keys of corrected memories."""
        with self._gate.read(reader, "digests") as connection:
            return all_corrected(connection, readable(reader))

    def replacement(self, reader: Reader, key: int) -> Memory:
        """Return the memory that replaced a corrected one; the memory itself if that was erased."""
        with self._gate.read(reader, "get") as connection:
            return replacement(connection, readable(reader), key)

    def correction_marks(self, reader: Reader, keys: Sequence[int]) -> dict[int, Correction]:
        """Return the marks of those of these memories that were corrected, by key."""
        with self._gate.read(reader, "export") as connection:
            return marks(connection, readable(reader), keys)

    def adopt_corrections(
        self,
        reader: Reader,
        scope: Scope,
        corrections: Sequence[tuple[Draft, Correction]],
        *,
        space: Space | None = None,
        trusted: bool = False,
    ) -> list[CorrectionFate]:
        """Store corrected memories of another vault in a scope, retired as they were there; return the fate of each.

        The heirs are ids of this vault. A memory that stands here with the same words is retired if it came from an import, or if
        the caller is `trusted`; a pinned one and one that was restored here stays.
        """
        with self._gate.watched(reader, "correct"):
            check_scope(scope)
            require_writable(reader, scope)
            for draft, _ in corrections:
                check_memory(draft.memory, self._gate.live.now)
            now, rules = self._gate.env.now(), self._gate.rules
            own = readable(replace(reader, scope=scope, policy=Policy.OWN))

            def adopt(connection: apsw.Connection, draft: Draft, mark: Correction) -> CorrectionFate:
                arrived = self._gate.new_memory(draft.memory, scope, now)
                digest = identity_of(arrived)
                if corrected(connection, own, [digest]):
                    return CorrectionFate.KNOWN
                twin = memory_rows.by_digest(connection, own, [digest]).get(digest)
                if twin is not None and twin != mark.heir:
                    old = memory_rows.required(connection, writable(reader), twin)
                    replaceable = trusted or old.source is Source.IMPORT
                    if not replaceable or old.pinned or memory_rows.was_reinstated(connection, old.key):
                        return CorrectionFate.LEFT
                else:
                    old = memory_rows.insert(connection, replace(arrived, status=Status.ACTIVE, pinned=False))
                    vectors.put_new(connection, old.key, space, draft.vector)
                    table = facts.SqliteFacts(connection, intern(connection, scope), rules)
                    rules.record_derived_facts(table, old, rules.read(old, draft.facts, ()).facts)
                self._retire(connection, old, replace(old, status=arrived.status, updated_at=mark.at), mark.reason, mark.at)
                if mark.heir and memory_rows.by_ids(connection, writable(reader), [mark.heir]):
                    edges.put(connection, writable(reader), [Edge(mark.heir, old.id, SUPERSEDES)], now, rules)
                return CorrectionFate.NEW

            def work(connection: apsw.Connection) -> list[CorrectionFate]:
                return [adopt(connection, draft, mark) for draft, mark in corrections]

            return self._gate.write(reader, "correct", work, count=len(corrections))
