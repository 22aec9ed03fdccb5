"""Batches on their way through an ingest, and the report on them: each piece of each turn, kept, merged or dropped, and why."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence

from engram.capture.duplicates import Candidate, Sifted
from engram.capture.turns import Heard
from engram.text.terms import digest_of
from engram.types import Draft, Fate, Memory, Report, Status, Verdict
from engram.values.frozen import field, frozen, mutable, replace


@frozen
class Batch:
    """Turns on their way: how many came, which of them are new, and what was heard in those."""

    size: int
    places: list[int]
    refs: set[str]
    heard: Heard

    def without(self, refs: Collection[str]) -> Batch:
        """The same without turns that turned out to be known, as if they had been so from the start."""
        left = [number for number, turn in enumerate(self.heard.turns) if turn.ref not in refs]
        place = {number: at for at, number in enumerate(left)}
        heard = replace(
            self.heard,
            turns=[self.heard.turns[number] for number in left],
            candidates=[
                Candidate(one.statement, place[one.turn], vector=one.vector, flagged=one.flagged, at=one.at)
                for one in self.heard.candidates
                if one.turn in place
            ],
            verdicts=[replace(one, turn=place[one.turn]) for one in self.heard.verdicts if one.turn in place],
        )
        return replace(self, places=[self.places[number] for number in left], heard=heard)


@mutable
class Sum:
    """The reports of all batches as one."""

    operation: str
    ids: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("turns", "kept", "merged", "dropped", "known"), 0))
    notes: dict[str, None] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    sessions: dict[str, None] = field(default_factory=dict)
    before: int = 0

    def add(self, batch: Batch, report: Report) -> None:
        self.ids += report.ids
        self.verdicts += [replace(one, turn=self.before + batch.places[one.turn]) for one in report.verdicts]
        self.notes |= dict.fromkeys(report.notes)
        for name, count in report.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.counts["known"] += batch.size - len(batch.places)
        self.before += batch.size

    def report(self) -> Report:
        return Report(
            operation=self.operation,
            ids=tuple(self.ids),
            counts=self.counts,
            notes=tuple(self.notes),
            verdicts=tuple(self.verdicts),
        )


def alone(batch: Batch, report: Report) -> Report:
    """The report of what came as one batch."""
    sum_ = Sum(report.operation)
    sum_.add(batch, report)
    return sum_.report()


def report_to_text(report: Report) -> str:
    """A report as text that a vault keeps with a request: ids, places and numbers. Of a very long one, the first verdicts."""
    plain = {
        "operation": report.operation,
        "ids": report.ids,
        "counts": dict(report.counts),
        "notes": report.notes,
        "verdicts": [(one.fate, one.reason, one.turn, one.start, one.end, one.memory) for one in report.verdicts[:_VERDICTS]],
    }
    return json.dumps(plain, separators=(",", ":"))


def report_from_text(told: str) -> Report:
    plain = json.loads(told)
    verdicts = (Verdict(Fate(fate), *rest) for fate, *rest in plain["verdicts"])
    return Report(
        operation=plain["operation"],
        ids=tuple(plain["ids"]),
        counts=plain["counts"],
        notes=tuple(plain["notes"]),
        verdicts=tuple(verdicts),
    )


_VERDICTS = 2_000
"""Of a report that is told again; an import of a million turns is not kept twice."""


def reported(heard: Heard, sifted: Sifted, made: Sequence[Draft], kept: Sequence[Memory], notes: tuple[str, ...]) -> Report:
    """Return the report on every piece. A draft that came back surer than it went was said before by someone else meanwhile."""
    new: list[tuple[Candidate, str]] = []
    merged, corrected = list(sifted.merged), list(sifted.corrected)
    retired_here = {one.earlier for draft in made for one in draft.replaces} | {sifted.place(one) for one in heard.retracted}
    for number, (candidate, draft, memory) in enumerate(zip(sifted.fresh, made, kept, strict=True)):
        echoes = [(echo, memory.id) for echo in candidate.echoes]
        retired = memory.status is not Status.ACTIVE and number not in retired_here
        if retired or digest_of(memory.text) != digest_of(draft.memory.text):
            corrected += [(candidate, memory.id), *echoes]  # meanwhile, by someone else
            continue
        late = memory.corroborations > draft.memory.corroborations
        (merged if late else new).append((candidate, memory.id))
        merged += echoes
    verdicts = [
        *heard.verdicts,
        *_verdicts(new, Fate.KEPT),
        *_verdicts(merged, Fate.MERGED, "says again what is known"),
        *_verdicts(corrected, Fate.DROPPED, "was corrected"),
    ]
    dropped = sum(verdict.fate is Fate.DROPPED for verdict in verdicts)
    return Report(
        operation="observe",
        ids=tuple(memory_id for _, memory_id in new),
        counts={
            "turns": len(heard.turns),
            "kept": len(new),
            "merged": len(merged),
            "dropped": dropped,
            **_replaced(made, new),
            **({"taken back": len(heard.retracted)} if heard.retracted else {}),
            **({"pairs to compare at rest": sifted.waiting} if sifted.waiting else {}),
        },
        notes=(*heard.notes, *notes, *sifted.notes),
        verdicts=tuple(sorted(verdicts, key=lambda verdict: (verdict.turn, verdict.start))),
    )


def _replaced(made: Sequence[Draft], new: Sequence[tuple[Candidate, str]]) -> dict[str, int]:
    """Count the earlier statements that new ones replace, and those that they may replace; nothing where there are none."""
    found: dict[str | int, bool] = {}  # a statement that two new ones replace counts once
    for one in (one for draft in made for one in draft.replaces) if new else ():
        found[one.earlier] = found.get(one.earlier, False) or one.sure
    sure = sum(found.values())
    counts = {"replaced": sure, "challenged": len(found) - sure}
    return {name: count for name, count in counts.items() if count}


def _verdicts(candidates: Sequence[tuple[Candidate, str]], fate: Fate, reason: str = "") -> Iterator[Verdict]:
    for candidate, memory in candidates:
        why = reason or candidate.statement.proposition.reason
        yield from (Verdict(fate, why, candidate.turn, start, end, memory) for start, end in candidate.statement.spans)
