"""Background passes: memories for a job to look at, a page of its changes applied in one transaction, and undo of a pass.

A pass is a row with a lease, which every page renews. One pass runs at a time in all processes; a pass whose lease has run out is
resumed by the next process. The cursor of a job moves in the transaction of its page. Readers of the policy `all` share one
cursor per job; others have their own, under a keyed digest of their identity.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import Conflict, NotFound
from engram.guard.visibility import readable, require_writer, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import facts, memory_rows, undo
from engram.store.sqlite import proposals as proposal_rows
from engram.store.sqlite.erasure import DryRun
from engram.store.sqlite.visibility import predicate
from engram.store.validation import bounded
from engram.types import Memory, Policy, Reader, Report, scope_values
from engram.values.dreams import AppliedProposals, Cursor, Pass, PassStatus, Proposal, Touched
from engram.values.edges import MERGED_FROM

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.proposals import Proposals
    from engram.store.sqlite.reconciliation import Reconciliation


_LATEST = "SELECT coalesce(max(seq), 0) FROM changes"

_SELECT = "SELECT id, verb, began_at, ended_at, ending, counts, before, after FROM passes"

_LONGEST_CHAIN = 64


class Dreams:
    """Background passes: their lease, the pages they read, the changes they apply, and undo."""

    def __init__(self, gate: Gate, reconciliation: Reconciliation, proposals: Proposals) -> None:
        self._gate = gate
        self._reconciliation = reconciliation
        self._proposals = proposals

    def begin(self, reader: Reader, verb: str) -> Pass | None:
        """Begin a pass, or resume one whose process ended; None while another pass runs."""
        with self._gate.watched(reader, verb):
            require_writer(reader)
            self._gate.flush_audit(wait=True)  # writes the access counts so far, which jobs read
            walker, now = self._walker(reader), self._gate.env.now()
            holder, new_id = self._gate.env.new_id(), self._gate.env.new_id()
            lease = timedelta(seconds=self._gate.limits.dream_lease_s)
            # A heartbeat in the future comes from a wrong clock and must not hold the lease for years.
            stopped, ahead = to_micros(now - lease), to_micros(now + lease)

            def work(connection: apsw.Connection) -> Pass | None:
                alive = "SELECT 1 FROM passes WHERE ending = 'running' AND beat_at > ? AND beat_at < ?"
                if connection.execute(alive, (stopped, ahead)).get:
                    return None
                mine = "SELECT id FROM passes WHERE ending = 'running' AND walker = ? ORDER BY key DESC LIMIT 1"
                left = connection.execute(mine, (walker,)).get
                connection.execute(
                    "UPDATE passes SET ending = 'done', ended_at = beat_at WHERE ending = 'running' AND id IS NOT ?", (left,)
                )
                if left is not None:
                    sql = "UPDATE passes SET holder = ?, beat_at = ?, verb = ? WHERE id = ?"
                    connection.execute(sql, (holder, to_micros(now), verb, left))
                else:
                    connection.execute(
                        """
                        INSERT INTO passes (id, verb, walker, holder, began_at, beat_at, ending, counts, probes)
                        VALUES (?, ?, ?, ?, ?, ?, 'running', '{}', '')
                        """,
                        (new_id, verb, walker, holder, to_micros(now), to_micros(now)),
                    )
                return _one(connection, str(left or new_id))

            begun = self._gate.write(reader, verb, work, subject=new_id)
            if begun is not None:
                self._gate.held_passes[begun.id] = holder
            return begun

    def cursor(self, reader: Reader, job: str) -> Cursor:
        """Return the cursor of a job for this reader."""
        require_writer(reader)
        with self._gate.read(reader, "dream") as connection:
            return _cursor(connection, job, self._walker(reader))

    def touched(self, reader: Reader, cursor: Cursor, limit: int) -> Touched:
        """Return the memories, retired ones too, that a job should look at next, the cursor after them, whether there are more,
        the latest change, and how many rows were read.

        First all memories by key, then those in the change log. If the log no longer reaches back to the cursor, all again.
        """
        with self._gate.read(reader, "dream") as connection:
            latest = int(connection.execute(_LATEST).get)
            oldest = int(connection.execute("SELECT coalesce(min(seq), 0) FROM changes").get)
            if cursor.change < 0 or (cursor.row < 0 and oldest > cursor.change + 1):
                cursor = Cursor(0, latest)
            if cursor.row >= 0:
                return _page_by_key(connection, reader, cursor, limit, latest)
            return _page_of_changes(connection, reader, cursor, limit, latest)

    def due(self, reader: Reader, job: str, now: datetime, limit: int) -> list[Memory]:
        """Return active memories whose recheck by this job is due, the longest due first."""
        visible, values = predicate(writable(reader), "m.scope")
        with self._gate.read(reader, "dream") as connection:
            found: list[Any] = connection.execute(
                f"""
                SELECT d.memory FROM dues AS d JOIN memories AS m ON m.key = d.memory
                 WHERE d.job = ? AND d.at <= ? AND m.status = 'active' AND {visible} ORDER BY d.at LIMIT ?
                """,
                (job, to_micros(now), *values, limit),
            ).fetchall()
            return memory_rows.by_keys(connection, writable(reader), [key for (key,) in found])

    def contested(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Return those of these memories that have an open contradiction."""
        with self._gate.read(reader, "dream") as connection:
            return {key for key in keys if facts.is_contested(connection, key)}

    def apply(
        self, reader: Reader, pass_id: str, job: str, proposals: Sequence[Proposal], *, start: Cursor, upto: Cursor, since: int
    ) -> AppliedProposals | None:
        """Apply one page of a job: its changes, their undo, and the job's cursor. None, and no change, if another process has
        moved the cursor from `start`."""
        with self._gate.watched(reader, "dream"):
            require_writer(reader)
            walker, now = self._walker(reader), self._gate.env.now()

            def work(connection: apsw.Connection) -> AppliedProposals | None:
                number = self._renew_lease(connection, pass_id, now)
                if _cursor(connection, job, walker) != start:
                    return None
                applied = self._apply(connection, reader, number, job, proposals, since, now)
                connection.execute(
                    "INSERT OR REPLACE INTO jobs (name, walker, row, change) VALUES (?, ?, ?, ?)",
                    (job, walker, upto.row, upto.change),
                )
                _count(connection, number, {f"{job}.{what}": len(ids) for what, ids in applied.ids.items()})
                return applied

            return self._gate.write(reader, f"dream:{job}", work, subject=pass_id, count=len(proposals))

    def preview(self, reader: Reader, job: str, proposals: Sequence[Proposal], *, since: int) -> AppliedProposals:
        """Return what a page would change; nothing is stored."""
        with self._gate.watched(reader, "dream"):
            require_writer(reader)
            found: list[AppliedProposals] = []

            def work(connection: apsw.Connection) -> None:
                found.append(self._apply(connection, reader, None, job, proposals, since, self._gate.env.now()))
                raise DryRun({})

            with suppress(DryRun):
                self._gate.writer.run(work, "a trial")
            return found[0]

    def _apply(
        self,
        connection: apsw.Connection,
        reader: Reader,
        number: int | None,
        job: str,
        proposals: Sequence[Proposal],
        since: int,
        now: datetime,
    ) -> AppliedProposals:
        round = proposal_rows.gather(connection, reader, job, proposals, since, now)
        keys = proposal_rows.affected(round, proposals)
        before = undo.shape(connection, keys)
        for proposal in proposals:
            self._proposals.apply(round, proposal)
        if number is not None:
            after = undo.shape(connection, keys | set(round.made))
            undo.put(connection, number, undo.difference(before, after, round.made))
        return AppliedProposals({what: tuple(ids) for what, ids in round.ids.items()}, round.skipped)

    def heartbeat(self, reader: Reader, pass_id: str, *, before: float | None = None, probes: Sequence[str] = ()) -> None:
        """Renew the lease of a pass. `probes`: ids of the memories that measure it; `before`: the share found before it."""
        with self._gate.watched(reader, "dream"):
            require_writer(reader)
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> None:
                number = self._renew_lease(connection, pass_id, now)
                if before is not None:
                    sql = "UPDATE passes SET before = ?, probes = ? WHERE key = ?"
                    connection.execute(sql, (before, " ".join(probes), number))

            self._gate.writer.run(work, "a heartbeat")

    def probes(self, reader: Reader, pass_id: str) -> tuple[str, ...]:
        """Return the ids of the memories that measure a pass."""
        with self._gate.read(reader, "dream") as connection:
            found = connection.execute("SELECT probes FROM passes WHERE id = ?", (pass_id,)).get
        return tuple(str(found or "").split())

    def release(self, reader: Reader, pass_id: str) -> None:
        """Release a pass before its end, so that another process can resume it at once."""
        with self._gate.watched(reader, "dream"):
            holder = self._gate.held_passes.pop(pass_id, "")
            sql = "UPDATE passes SET beat_at = 0 WHERE id = ? AND holder = ? AND ending = 'running'"
            self._gate.writer.run(lambda connection: connection.execute(sql, (pass_id, holder)).get, "a pass that stops")

    def end(self, reader: Reader, pass_id: str, *, after: float | None = None) -> Pass:
        """End a pass. Earlier passes without changes and the undo of expired passes are deleted."""
        with self._gate.watched(reader, "dream"):
            require_writer(reader)
            now = self._gate.env.now()
            old = to_micros(now - timedelta(days=self._gate.live.now.dream_undo_days))

            def work(connection: apsw.Connection) -> Pass:
                number = self._renew_lease(connection, pass_id, now)
                sql = "UPDATE passes SET ending = 'done', ended_at = ?, after = ? WHERE key = ?"
                connection.execute(sql, (to_micros(now), after, number))
                connection.execute("DELETE FROM passes WHERE key <> ? AND counts = '{}' AND ending = 'done'", (number,))
                spent = "SELECT key FROM passes WHERE ending = 'done' AND ended_at < ?"
                connection.execute(f"DELETE FROM undoing WHERE pass IN ({spent})", (old,))
                return _one(connection, pass_id)

            ended = self._gate.write(reader, "dream", work, subject=pass_id)
            self._gate.held_passes.pop(pass_id, None)
            return ended

    def undo(self, reader: Reader, pass_id: str, *, after: float | None = None, receipt: ReceiptRequest | None = None) -> Report:
        """Restore each row that a pass changed and nobody has changed since; corrected memories are not restored."""
        with self._gate.watched(reader, "undo", pass_id):
            require_writer(reader)
            walker, now = self._walker(reader), self._gate.env.now()

            def work(connection: apsw.Connection) -> Report:
                sql = "SELECT key, walker, ending, began_at, holder FROM passes WHERE id = ?"
                found: list[Any] = connection.execute(sql, (pass_id,)).fetchall() if memory_rows.is_text(pass_id) else []
                if not found or (reader.policy is not Policy.ALL and found[0][1] != walker):
                    raise NotFound("there is no pass of that id that this identity may undo.", way_out="See `engram dreams`.")
                number, _, ending, began, holder = found[0]
                if ending == PassStatus.UNDONE:
                    raise Conflict("this pass is undone already.", way_out="Nothing more needs to be done.")
                if ending == PassStatus.RUNNING and holder != self._gate.held_passes.get(pass_id):
                    raise Conflict("this pass is still running.", way_out="Undo it when it has ended; `dream` finishes it.")
                back, left = undo.back(connection, self._gate.rules, writable(reader), number, from_micros(began), now)
                self._reconciliation.invalidate_unfounded(connection, back, now)
                sql = "UPDATE passes SET ending = 'undone', ended_at = ?, after = coalesce(?, after) WHERE key = ?"
                connection.execute(sql, (to_micros(now), after, number))
                notes = (f"{left} changes were left: their memories were changed or corrected since.",) if left else ()
                return Report(
                    operation="undo", ids=tuple(back.values()), counts={"restored": len(back), "left": left}, notes=notes
                )

            done = self._gate.write(reader, "undo", work, subject=pass_id, receipt=receipt)
            self._gate.held_passes.pop(pass_id, None)
            return done

    def select(self, reader: Reader, *, limit: int) -> list[Pass]:
        """Return passes, the latest first: all for readers of the policy `all`, else the reader's own."""
        bounded(limit, self._gate.limits.page_limit, "a list of passes")
        everyones = reader.policy is Policy.ALL
        with self._gate.read(reader, "passes") as connection:
            readable(reader)
            mine = "" if everyones else " WHERE walker = ?"
            values = () if everyones else (self._walker(reader),)
            found: list[Any] = connection.execute(f"{_SELECT}{mine} ORDER BY key DESC LIMIT ?", (*values, limit)).fetchall()
        return [_pass(row) for row in found]

    def unfinished(self, reader: Reader) -> str:
        """Return the verb of this reader's unfinished pass, or ""."""
        sql = "SELECT verb FROM passes WHERE ending = 'running' AND walker = ? ORDER BY key DESC LIMIT 1"
        with self._gate.read(reader, "passes") as connection:
            return str(connection.execute(sql, (self._walker(reader),)).get or "")

    def successors(self, reader: Reader, ids: Sequence[str]) -> dict[str, str]:
        """Map each id to the active memory it was merged into, or superseded or challenged by, or to itself; ids without one are
        left out."""
        visible, values = predicate(readable(reader), "m.scope")
        sql = f"""
            WITH RECURSIVE line (key, far) AS (
                SELECT key, 0 FROM memories WHERE id = ? UNION
                SELECT e.source, line.far + 1 FROM line JOIN edges AS e ON e.target = line.key
                 WHERE e.kind IN ('{MERGED_FROM}', 'supersedes', 'outdates', 'contradicts') AND line.far < {_LONGEST_CHAIN})
            SELECT m.id FROM line JOIN memories AS m ON m.key = line.key
             WHERE m.status = 'active' AND {visible} ORDER BY line.far LIMIT 1
        """
        with self._gate.read(reader, "dream") as connection:
            successors = {memory_id: connection.execute(sql, (memory_id, *values)).get for memory_id in ids}
        return {memory_id: str(successor) for memory_id, successor in successors.items() if successor is not None}

    def sample(self, reader: Reader, count: int) -> list[Memory]:
        """Return active memories spread evenly over all keys, with one index look-up each."""
        visible, values = predicate(writable(reader), "scope")
        sql = f"SELECT key FROM memories WHERE key >= ? AND status = 'active' AND {visible} ORDER BY key LIMIT 1"
        with self._gate.read(reader, "dream") as connection:
            last = int(connection.execute("SELECT coalesce(max(key), 0) FROM memories").get)
            starts = dict.fromkeys(1 + last * place // count for place in range(count))
            keys = [connection.execute(sql, (start, *values)).get for start in starts]
            return memory_rows.by_keys(connection, writable(reader), [int(key) for key in dict.fromkeys(keys) if key is not None])

    def _walker(self, reader: Reader) -> str:
        """Return the name of a reader's cursors: a keyed digest of its identity, or "" for the policy `all`."""
        if reader.policy is Policy.ALL:
            return ""
        return self._gate.keyed_digest("\0".join(("walker", *scope_values(reader.scope), reader.policy, reader.role))).hex()

    def _renew_lease(self, connection: apsw.Connection, pass_id: str, now: datetime) -> int:
        """Renew the lease of this process's pass and return its number; raise Conflict if another process took it over."""
        sql = "UPDATE passes SET beat_at = ? WHERE id = ? AND holder = ? AND ending = 'running' RETURNING key"
        found = connection.execute(sql, (to_micros(now), pass_id, self._gate.held_passes.get(pass_id, ""))).get
        if found is None:
            raise Conflict("another process has resumed this pass.", way_out="Nothing was changed; wait for it to end.")
        return int(found)


def _page_by_key(connection: apsw.Connection, reader: Reader, cursor: Cursor, limit: int, latest: int) -> Touched:
    found = memory_rows.export_rows(connection, writable(reader), after=cursor.row, limit=limit)
    more = len(found) == limit
    after = Cursor(found[-1].key, cursor.change) if more else Cursor(-1, cursor.change)
    return found, after, more or cursor.change < latest, latest, len(found)


def _page_of_changes(connection: apsw.Connection, reader: Reader, cursor: Cursor, limit: int, latest: int) -> Touched:
    rows: list[Any] = connection.execute(
        "SELECT seq, memory FROM changes WHERE seq > ? ORDER BY seq LIMIT ?", (cursor.change, limit)
    ).fetchall()
    if not rows:
        return [], cursor, False, latest, 0
    found = memory_rows.by_keys(connection, writable(reader), [int(memory) for _, memory in rows])
    return found, Cursor(-1, int(rows[-1][0])), len(rows) == limit, latest, len(rows)


def _cursor(connection: apsw.Connection, job: str, walker: str) -> Cursor:
    found: list[Any] = connection.execute("SELECT row, change FROM jobs WHERE name = ? AND walker = ?", (job, walker)).fetchall()
    return Cursor(*found[0]) if found else Cursor()


def _count(connection: apsw.Connection, number: int, counts: Mapping[str, int]) -> None:
    """Add to the counts of a pass."""
    stored = str(connection.execute("SELECT counts FROM passes WHERE key = ?", (number,)).get)
    total = dict(Counter(json.loads(stored)) + Counter(counts))
    connection.execute("UPDATE passes SET counts = ? WHERE key = ?", (json.dumps(total, separators=(",", ":")), number))


def _one(connection: apsw.Connection, pass_id: str) -> Pass:
    return _pass(connection.execute(f"{_SELECT} WHERE id = ?", (pass_id,)).fetchall()[0])


def _pass(row: Sequence[Any]) -> Pass:
    pass_id, verb, began, ended, ending, counts, before, after = row
    return Pass(
        id=pass_id,
        verb=verb,
        began_at=from_micros(began),
        ended_at=None if ended is None else from_micros(ended),
        ending=PassStatus(ending),
        counts=json.loads(counts),
        before=before,
        after=after,
    )
