"""Import a file, a folder or a zip into a vault, page by page, with a report of what was stored and what was refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from engram.errors import AccessDenied, InvalidContent, InvalidQuery
from engram.files import archive, formats, records
from engram.files.records import FiledMemory
from engram.settings import Settings
from engram.types import Edge, Memory, Reader, Report, Role, Scope, Status, Turn
from engram.values.entities import EntityDecision
from engram.values.frozen import field, frozen, mutable, replace
from engram.values.memories import VALID, CorrectionFate

_PAGE = 200

Progress = Callable[[int], None]
"""Called with the number of memories or turns of each page."""


@frozen
class Refusal:
    """A piece of a file that was not imported: its line or record, and the reason. Holds none of its words."""

    file: str
    line: int
    reason: str


@mutable
class Imported:
    """The result of an import: counts, the ids of new memories, notes, and the pieces that were refused."""

    file: str
    form: str
    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: list[Refusal] = field(default_factory=list)

    def add(self, counts: Mapping[str, int], ids: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> None:
        """Add the result of one page."""
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.ids += ids
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))

    def refuse(self, file: str, line: int, reason: str) -> None:
        self.refused.append(Refusal(file, line, reason))


class Admission(Protocol):
    """The result of a page of memories, by their numbers in the page."""

    @property
    def kept(self) -> Mapping[int, Memory]:
        """New memories."""

    @property
    def known(self) -> Mapping[int, str]:
        """Ids of memories that say the same already."""

    @property
    def refused(self) -> Mapping[int, str]:
        """Reasons of refusals."""

    @property
    def notes(self) -> tuple[str, ...]: ...

    @property
    def waiting(self) -> int:
        """The number of pairs of near statements that are compared at rest."""

    @property
    def facts(self) -> int:
        """The number of facts that known memories state now."""


class Retirement(Protocol):
    """The result of a page of corrected memories, by their numbers in the page."""

    @property
    def fates(self) -> Mapping[int, CorrectionFate]: ...

    @property
    def refused(self) -> Mapping[int, str]:
        """Reasons of refusals."""

    @property
    def notes(self) -> tuple[str, ...]: ...


class ImportTarget(Protocol):
    """The vault that an import goes to, as one reader."""

    @property
    def reader(self) -> Reader: ...

    def ingest(self, turns: Iterator[Turn], progress: Progress | None) -> Report:
        """Capture the turns of a conversation."""

    def preview(self, turns: Sequence[Turn]) -> Mapping[str, int]:
        """Return the counts of a dry run: turns, known, kept, dropped."""

    def admit(self, memories: Sequence[FiledMemory], said: Sequence[Turn], *, trusted: bool) -> Admission:
        """Store memories with their source turns, by their numbers in `said`. `trusted`: each keeps its scope, dates and
        confidence."""

    def retire(self, memories: Sequence[FiledMemory], *, trusted: bool) -> Retirement:
        """Store corrected memories as retired ones. Their heirs are ids of the target."""

    def link(self, edges: Sequence[Edge]) -> int:
        """Store edges; return how many."""

    def decide(self, scope: Scope, decisions: Sequence[EntityDecision]) -> int:
        """Store decisions on entities by hand in a scope; return how many are new."""


def import_files(
    target: ImportTarget,
    path: str | Path,
    settings: Settings,
    *,
    form: str | None = None,
    passphrase: str | None = None,
    trusted: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import a file, a folder or a zip. form: one of `formats.FORMATS`, by default recognized by name and content."""
    source = Path(path).expanduser()
    form = formats.checked(source, form)
    if trusted and (form != "archive" or target.reader.role is not Role.OWNER):
        raise AccessDenied(
            "only an archive can be trusted, and only by the owner of the vault.",
            way_out='Open it with `engram.open(role="owner")`, or import it without `trusted`.',
        )
    run = _Import(target, Imported(str(source), form, dry_run), progress, trusted)
    if form == "archive":
        if not passphrase:
            raise InvalidQuery("an archive needs its passphrase.", way_out="Give the one that it was made with.")
        with formats.opened(source) as file:
            run.records(archive.read(file, passphrase))
    elif form == "json":
        run.records(formats.own_records(source, settings, run.done.refuse))
    else:
        run.pieces(formats.read(source, form, settings, run.done.refuse))
    return run.done


@frozen
class _Import:
    """An import under way: its target and its report so far."""

    target: ImportTarget
    done: Imported
    progress: Progress | None
    trusted: bool

    def pieces(self, pieces: Iterator[formats.Piece]) -> None:
        """Import what a file of another program holds: turns or memories, as its first piece is."""
        first = next(pieces, None)
        if isinstance(first, Turn):
            self._turns(piece for piece in chain((first,), pieces) if isinstance(piece, Turn))
        elif first is not None:
            memories = (piece for piece in chain((first,), pieces) if isinstance(piece, Memory))
            while page := list(islice(memories, _PAGE)):
                self._admit([FiledMemory(memory) for memory in page], [])

    def _turns(self, turns: Iterator[Turn]) -> None:
        if not self.done.dry_run:
            report = self.target.ingest(turns, self.progress)
            self.done.add(report.counts, report.ids, report.notes)
            return
        while page := list(islice(turns, _PAGE)):
            self.done.add(self.target.preview(page))
            self._report_progress(len(page))

    def records(self, lines: Iterator[dict[str, Any]]) -> None:
        """Import the records of one of our own exports: memories with their turns, then the edges between those stored, the
        corrections and the decisions on entities."""
        ids: dict[str, str] = {}  # ids in this vault by ids in the file
        edges: list[Edge] = []
        decisions: list[tuple[Scope, EntityDecision]] = []
        corrected: list[FiledMemory] = []
        for page, turns in self._record_pages(lines, edges, decisions, corrected):
            places = {number: place for place, number in enumerate(turns)}
            memories = [replace(one, turns=tuple(places[number] for number in one.turns if number in places)) for one in page]
            admitted = self._admit(memories, list(turns.values()))
            ids |= {page[number].memory.id: memory_id for number, memory_id in admitted.items()}
        both = [
            replace(edge, source=ids[edge.source], target=ids[edge.target])
            for edge in edges
            if edge.source in ids and edge.target in ids
        ]
        for start in range(0, len(both), _PAGE):
            self.done.add({"links": self.target.link(both[start : start + _PAGE])})
        self._retire(corrected, ids)
        self._decide(decisions, ids)

    def _retire(self, corrected: Sequence[FiledMemory], ids: Mapping[str, str]) -> None:
        """Take over the corrections of an archive, after all of its memories: what stands there is not taken for a repetition."""
        if not corrected or not self._takes_over(f"{len(corrected)} corrections"):
            return
        by_scope: dict[Scope, list[FiledMemory]] = {}
        for one in corrected:
            if one.correction is not None:
                here = replace(one, turns=(), correction=replace(one.correction, heir=ids.get(one.correction.heir, "")))
                by_scope.setdefault(one.memory.scope if self.trusted else self.target.reader.scope, []).append(here)
        left = 0
        for filed in by_scope.values():
            for start in range(0, len(filed), _PAGE):
                done = self.target.retire(filed[start : start + _PAGE], trusted=self.trusted)
                for why in done.refused.values():
                    self.done.refuse(self.done.file, 0, why)
                fates = list(done.fates.values())
                left += fates.count(CorrectionFate.LEFT)
                self.done.add({"corrections": fates.count(CorrectionFate.NEW)}, notes=done.notes)
        if left:
            self.done.add({}, notes=(f"{left} corrections were left out: what they correct stands here by somebody's own word.",))

    def _takes_over(self, what: str) -> bool:
        """Return True if this import takes over more than words: that of an archive, whose maker is known by its passphrase."""
        if self.done.form != "archive":
            self.done.add({}, notes=(f"{what} were left out: only those of an archive are taken over.",))
        return self.done.form == "archive" and not self.done.dry_run

    def _decide(self, decisions: Sequence[tuple[Scope, EntityDecision]], ids: Mapping[str, str]) -> None:
        """Make the decisions on entities of an archive; `ids`: of memories, as stored."""
        if not decisions or not self._takes_over(f"{len(decisions)} decisions on entities"):
            return
        by_scope: dict[Scope, list[EntityDecision]] = {}
        for scope, decision in decisions:
            here = replace(decision, memories=tuple(ids[one] for one in decision.memories if one in ids))
            if here.memories or not decision.memories:
                by_scope.setdefault(scope if self.trusted else self.target.reader.scope, []).append(here)
        for scope, made in by_scope.items():
            self.done.add({"decisions": self.target.decide(scope, made)})

    def _record_pages(
        self,
        lines: Iterator[dict[str, Any]],
        edges: list[Edge],
        decisions: list[tuple[Scope, EntityDecision]],
        corrected: list[FiledMemory],
    ) -> Iterator[tuple[list[FiledMemory], dict[int, Turn]]]:
        """Yield pages of memories with their source turns. Edges, decisions and corrected memories go to the lists, invalid
        records are refused."""
        page: list[FiledMemory] = []
        turns: dict[int, Turn] = {}
        for number, record in enumerate(lines, 1):
            try:
                if record.get("type") == "turn":
                    turns.update([records.turn_of(record)])
                elif record.get("type") == "edge":
                    edges.append(records.edge_of(record))
                elif record.get("type") == "entity_decision":
                    decisions.append(records.decision_of(record))
                elif record.get("type") == "memory":
                    filed = records.memory_of(record)
                    if filed.memory.status not in VALID:
                        self.done.add({"not active": 1})
                        if filed.correction is not None and filed.memory.status in (Status.SUPERSEDED, Status.INVALIDATED):
                            corrected.append(filed)
                        continue
                    if page and self._is_full(page, filed):
                        yield page, turns
                        page, turns = [], {key: turn for key, turn in turns.items() if key in filed.turns}
                    page.append(filed if self.done.form == "archive" else replace(filed, facts=None))
            except InvalidContent as problem:
                self.done.refuse(self.done.file, number, f"{problem.code}: {problem.message.rstrip('.')}")
        if page:
            yield page, turns

    def _is_full(self, page: list[FiledMemory], following: FiledMemory) -> bool:
        """Return True if the page ends before this memory: not between memories of one turn, unless the page is very long."""
        if self.trusted and page[0].memory.scope != following.memory.scope:
            return True
        return len(page) >= _PAGE and (set(page[-1].turns).isdisjoint(following.turns) or len(page) >= 5 * _PAGE)

    def _admit(self, memories: list[FiledMemory], said: list[Turn]) -> dict[int, str]:
        """Store memories of the file; return their ids in this vault by number."""
        done = self.done
        self._report_progress(len(memories))
        if done.dry_run:
            done.add({"memories": len(memories)})
            return {}
        admitted = self.target.admit(memories, said, trusted=self.trusted)
        for number, why in admitted.refused.items():
            done.refuse(done.file, done.counts.get("memories", 0) + number + 1, why)
        kept = {number: memory.id for number, memory in admitted.kept.items()}
        counts = {"memories": len(memories), "kept": len(kept), "known": len(admitted.known)}
        if admitted.waiting:
            counts["pairs to compare at rest"] = admitted.waiting
        if admitted.facts:
            counts["facts"] = admitted.facts
        done.add(counts, tuple(kept.values()), admitted.notes)
        return {**kept, **admitted.known}

    def _report_progress(self, count: int) -> None:
        if self.progress is not None:
            self.progress(count)
