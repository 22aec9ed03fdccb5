"""From turns to kept memories: statements, duplicates, surprise, vectors, one transaction; and a report of every piece.

Comes in: turns and their reader. Goes out: a report in which every piece of every turn is kept, merged or dropped, and why.
Durable when it returns. Without an embedder statements are kept all the same; their vectors are made later.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from contextvars import copy_context
from datetime import datetime
from typing import Any

from engram.capture import imports as admitting
from engram.capture import redaction
from engram.capture.chunks import in_parts
from engram.capture.corrections import Said, heirs_of
from engram.capture.drafts import drafts, weighed
from engram.capture.duplicates import MOST_SURPRISING, Candidate, Compared, compared, known_as, sift
from engram.capture.embeddings import SPACE, Tools, encoded, fill, give_vectors, passage, space_of
from engram.capture.extraction import Distiller, Reading
from engram.capture.limits import CaptureLimits
from engram.capture.pairs import comparison_of
from engram.capture.pieces import PieceWeights
from engram.capture.reports import Batch, Sum, alone, reported
from engram.capture.screen import REFUSED, is_sound, screened, tier_after, tier_of, version
from engram.capture.spoken_corrections import carrying, corrected_memory, takes_back, with_corrections
from engram.capture.statements import (
    JOINT,
    Statement,
    StatementWeights,
    mentions_of,
    statement_by_hand,
    statement_to_remember,
    statements_to_remember,
)
from engram.capture.statements import Reading as StatementReading
from engram.capture.turns import Heard, Previous, hear, muse
from engram.deadline import deadline_passed, future_result, if_time_allows, without_deadline
from engram.errors import Conflict, EmbeddingError, EngramError, InvalidContent, NotFound, SearchTimeout, WriteFailed
from engram.guard.visibility import writable
from engram.index.vectors.live import LiveIndex
from engram.index.vectors.matrix import encode
from engram.log import Log
from engram.models.embedders import Embedder, Vectors
from engram.models.language_models import Extractor
from engram.models.statement_reader import shared_reader
from engram.store.ports import DuplicateTurns
from engram.store.receipts import ReceiptRequest
from engram.store.validation import check_attributes, check_memory, check_memory_text, check_name, check_turn, check_turn_types
from engram.text import tokens
from engram.text.dates import began
from engram.text.english.facts import Fact
from engram.text.terms import identity_of
from engram.types import (
    Draft,
    DroppedPiece,
    Fate,
    Memory,
    Policy,
    Proposition,
    Reader,
    Report,
    Sensitivity,
    Status,
    Turn,
    Verdict,
)
from engram.values.frozen import replace
from engram.values.identity import strictest
from engram.values.memories import CORRECTED_BY_SPEAKER, TAKEN_BACK, Correction, Mention, Replacement

log = Log("engram")
Progress = Callable[[int], None]
_PIECE = re.compile(r"(\d{1,18}):(\d{1,9})-(\d{1,9})")
_REFUSED = "refused: it reads as an attack on the model"
_CORRECTED = 0.9
"""The least confidence of a correction: whoever made it has looked at the memory."""


class Observer:
    """Turns words into memories. Made once for an open vault; `embedder` and `index` may be missing."""

    def __init__(self, tools: Tools, extractor: Extractor | None = None) -> None:
        self._tools = tools
        self._store, self._live = tools.store, tools.live
        self._statements = shared_reader()
        self._distiller = None if extractor is None else Distiller(tools, extractor)
        # Reading the tables of the counter takes as long as loading the encoder: side by side, the first write waits for one.
        threading.Thread(target=tokens.load, name="engram-tokens", daemon=True).start()

    def _reading(self) -> tuple[StatementReading, tuple[str, ...]]:
        """Return the model and the thresholds that turns are read with, and a note if the model is missing."""
        weights, borders = self._live.tuned(StatementWeights), self._live.tuned(PieceWeights)
        try:
            self._statements.load()
        except EngramError as error:
            note = f"{error.code}: {error.message} Sentences are kept whole until it is there."
            return StatementReading(None, weights, borders), (note,)
        return StatementReading(self._statements, weights, borders), ()

    def preview(self, turns: Sequence[Turn]) -> Heard:
        """Return what would be kept of turns, and what not; each has its time."""
        return hear(turns, {}, self._live.now, self._reading()[0])

    def dropped(self, reader: Reader, session: str | None, limit: int) -> list[DroppedPiece]:
        """Return the pieces of the last stored turns of which nothing is kept, with the reason of each, newest turn first."""
        stored = self._store.turns.recent(reader, session, limit=limit)
        found = []
        for (key, turn), verdicts in zip(reversed(stored), reversed(self._drops_of(reader, stored)), strict=True):
            kept = {memory.words for memory in self._store.turns.derived(reader, [key])} if verdicts else set()
            for verdict in verdicts:
                words = turn.text[verdict.start : verdict.end].strip()
                if words not in kept:
                    place = f"{key}:{verdict.start}-{verdict.end}"
                    found.append(DroppedPiece(place, words, verdict.reason, turn.speaker, turn.at, turn.session or ""))
        return found

    def _drops_of(self, reader: Reader, stored: Sequence[tuple[int, Turn]]) -> list[list[Verdict]]:
        """Return the verdicts on the pieces of each of these turns that state nothing, last piece first."""
        previous: Previous = {}
        for key, turn in stored:
            if turn.session and turn.session not in previous:  # the turn before decides what an answer says
                before = self._store.turns.before(reader, turn.session, key, limit=1)
                previous[turn.session] = before[-1] if before and before[-1].text != REFUSED else None
        heard = hear([turn for _, turn in stored], previous, self._live.now, self._reading()[0])
        found: list[list[Verdict]] = [[] for _ in stored]
        for verdict in sorted(heard.verdicts, key=lambda one: one.start, reverse=True):
            turn = stored[verdict.turn][1]
            if turn.text != REFUSED and verdict.reason != JOINT and turn.text[verdict.start : verdict.end].strip():
                found[verdict.turn].append(verdict)
        for number, (_, turn) in enumerate(stored):
            if turn.text == REFUSED:
                found[number] = [Verdict(Fate.DROPPED, _REFUSED, number, 0, len(REFUSED))]
        return found

    def keep(self, reader: Reader, piece: str, receipt: ReceiptRequest | None = None) -> Memory:
        """Keep a piece of a stored turn that capture dropped, given as `dropped` names it."""
        match = _PIECE.fullmatch(piece) if isinstance(piece, str) else None  # type: ignore[redundant-expr]
        turn = self._store.turns.stored(reader, int(match[1])) if match else None
        key, start, end = map(int, match.groups()) if match else (0, 0, 0)
        drops = self._drops_of(reader, [(key, turn)])[0] if turn is not None else []
        if turn is None or (start, end) not in {(verdict.start, verdict.end) for verdict in drops}:
            raise NotFound("there is no such piece of a stored turn.", way_out="List the pieces with `engram dropped`.")
        if turn.text == REFUSED:
            raise InvalidContent("this reads as an attack on the model, and its words were not stored.")
        kept = statement_by_hand(turn, turn.text[start:end].strip(), self._reading()[0])
        for memory in self._store.turns.derived(reader, [key]):
            if identity_of(memory) == identity_of(kept):
                return memory
        flagged = bool(screened(kept.text, self._live.now)["flagged"])
        heard = Heard([turn], [Candidate(Statement(kept, ()), 0, flagged=flagged)], [], (), ())
        give_vectors(self._tools, heard.candidates)
        (draft,) = drafts(heard.turns, heard.candidates, self._live.now)
        draft = replace(draft, memory=replace(draft.memory, tier=strictest(draft.memory.tier, turn.tier)))
        space, only = space_of(self._tools.embedder), receipt and receipt.mapped(lambda memories: memories[0])
        made = self._store.capture.write(reader, reader.scope, [], [draft], space=space, sources=[key], receipt=only)
        with without_deadline():  # it is durable
            return self._store.memories.get(reader, [made[0].id])[0]

    def equip(self, embedder: Embedder | None, index: LiveIndex | None) -> None:
        """Go on with an encoder, or an index, that has come since."""
        self._tools.embedder, self._tools.index = embedder, index

    def observe(self, reader: Reader, turns: Sequence[Turn], session: str, receipt: ReceiptRequest | None = None) -> Report:
        """Keep what these turns say. Turns without a time or session get the present ones; those that are known are left."""
        batch = self._new_of(reader, turns, session, {}, frozenset())
        sum_ = Sum("observe")
        self._keep(reader, batch, give_vectors(self._tools, batch.heard.candidates), sum_, receipt)
        return self._read_now(sum_, reader, batch.heard.urgent)

    def _read_now(self, sum_: Sum, reader: Reader, urgent: Collection[str] = (), *, all_of_it: bool = False) -> Report:
        """Return the report on stored turns, with the reading of a model if there is one and time for it; else it reads later."""
        report = sum_.report()
        if self._distiller is None:
            return report
        with if_time_allows():
            return _with(report, self._distiller.heed(reader, list(sum_.sessions), urgent, all_of_it=all_of_it))
        return replace(report, notes=(*report.notes, "time ran out before a model could read these turns; it does so later."))

    def read_waiting(self) -> Report:
        """Have the turns read by a model that have waited for it long enough, of all sessions of the vault."""
        report = Report(operation="extract")
        return report if self._distiller is None else _with(report, self._distiller.tend())

    def ingest(
        self, reader: Reader, turns: Iterator[Turn], session: str, progress: Progress | None = None, *, imported: bool = False
    ) -> Report:
        """The same for many turns, in batches. What was ingested before, by its `ref`, is passed over.

        `imported`: they come from a file, and what they say is believed no more than that deserves.

        The vectors of a batch are made while the one before it is stored. However it ends, what was taken up is stored.
        """
        sum_ = Sum("ingest")
        try:
            self._take_all(reader, turns, session, sum_, progress, imported)
        except (SearchTimeout, WriteFailed) as error:
            if not deadline_passed():
                raise
            raise _cut_short(error, sum_) from None
        return self._read_now(sum_, reader, all_of_it=True)

    def ingest_all(
        self,
        reader: Reader,
        turns: Iterable[Turn] | str,
        session: str,
        progress: Progress | None = None,
        *,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Ingest turns or a long text. With a request for a receipt each turn gets a ref, so that a repeated call continues."""
        digest = self._store.turns.digest
        said = in_parts(turns, self._live.now.turn_bytes, digest) if isinstance(turns, str) else turns
        said = said if receipt is None else _with_refs(said, f"once:{digest(receipt.key)}")
        return self.ingest(reader, iter(said), session, progress)

    def _take_all(
        self,
        reader: Reader,
        turns: Iterator[Turn],
        session: str,
        sum_: Sum,
        progress: Progress | None,
        imported: bool,
    ) -> None:
        previous: Previous = {}
        waiting: tuple[Batch, Future[tuple[str, ...]]] | None = None
        with ThreadPoolExecutor(1, "engram-ingest") as beside:
            try:
                limits = self._live.tuned(CaptureLimits)
                for some in _batches(turns, limits.ingest_batch, limits.ingest_characters):
                    batch = self._new_of(reader, some, session, previous, waiting[0].refs if waiting else frozenset())
                    batch.heard.imported = imported
                    coming = batch, beside.submit(copy_context().run, give_vectors, self._tools, batch.heard.candidates)
                    done, waiting = waiting, None  # if storing it fails, nothing that comes after it is stored
                    self._finish(reader, done, sum_, progress)
                    waiting = coming
            finally:
                self._finish(reader, waiting, sum_, progress)

    def _new_of(self, reader: Reader, turns: Sequence[Turn], session: str, previous: Previous, coming: Collection[str]) -> Batch:
        """Read those turns that are not known by their ref; `coming` are refs of turns that are about to be."""
        check_turn_types(turns)
        here = replace(reader, policy=Policy.OWN)  # what was said elsewhere is not known here
        now = self._tools.env.now()
        said = [replace(turn, at=turn.at or now, session=session if turn.session is None else turn.session) for turn in turns]
        for turn in said:
            check_turn(turn, self._live.now)  # before its words are read and encoded; the store checks what is kept of it
        asked = [turn.ref for turn in said if turn.ref]
        known = {*coming, *(self._store.turns.known_refs(here, asked) if asked else ())}
        places, refs = [], set()
        for number, turn in enumerate(said):
            if not turn.ref or turn.ref not in known:
                places.append(number)
                if turn.ref:
                    known.add(turn.ref)
                    refs.add(turn.ref)
        return Batch(len(turns), places, refs, self._hear(reader, [said[n] for n in places], previous))

    def _finish(
        self,
        reader: Reader,
        waiting: tuple[Batch, Future[tuple[str, ...]]] | None,
        sum_: Sum,
        progress: Progress | None,
    ) -> None:
        if waiting is None:
            return
        batch, vectors = waiting
        self._keep(reader, batch, future_result(vectors, "vectors were made"), sum_)
        if progress is not None:
            progress(batch.size)

    def _keep(
        self, reader: Reader, batch: Batch, notes: tuple[str, ...], sum_: Sum, receipt: ReceiptRequest | None = None
    ) -> None:
        """Store a batch. What another thread or process has heard meanwhile is left out, and the rest looked at anew."""
        while batch.heard.turns:
            try:
                report = self._store_all(reader, batch.heard, notes, receipt, batch)
            except DuplicateTurns as known:
                batch = batch.without(known.refs)
                continue
            sum_.add(batch, report)
            sum_.sessions |= dict.fromkeys(_sessions(batch.heard))
            return
        sum_.add(batch, Report(operation="observe"))

    def _hear(self, reader: Reader, said: Sequence[Turn], previous: Previous) -> Heard:
        """Read turns; `previous` holds the last turns of sessions, and is asked of the store where it lacks one."""
        for name in {turn.session or "" for turn in said} - set(previous):
            previous[name] = self._store.turns.last(reader, name) if name else None
        reading, notes = self._reading()
        heard = hear(said, previous, self._live.now, reading, scan=self._distiller is not None)
        heard.notes += notes
        return heard

    def _store_all(
        self,
        reader: Reader,
        heard: Heard,
        notes: tuple[str, ...],
        receipt: ReceiptRequest | None = None,
        batch: Batch | None = None,
    ) -> Report:
        """Tell new from known, store all of it at once, and report."""
        settings = self._live.now
        comparison = comparison_of(self._live, self._tools.embedder, trusted=not heard.imported)
        reading = self._reading()[0]
        heard, reworded = with_corrections(self._store, reader, heard, reading, settings, comparison)
        if reworded:
            give_vectors(self._tools, reworded)
        sifted = sift(self._store, self._tools.index, reader, heard.candidates, comparison)
        retracted = [place for place in map(sifted.place, heard.retracted) if place is not None]
        made = drafts(heard.turns, sifted.fresh, settings)
        made = made if heard.said else [replace(draft, turns=()) for draft in made]
        if heard.imported:
            now = self._tools.env.now()
            made = [replace(draft, memory=admitting.believed(draft.memory, now, settings)) for draft in made]
        again: dict[str, list[int]] = {}
        for candidate, twin in sifted.merged:
            if candidate.is_echo or heard.imported:
                continue  # an echo of what was recalled; or a file, which anyone can write
            if candidate.turn not in again.setdefault(twin, []):  # who repeats himself is one witness
                again[twin].append(candidate.turn)
        space, wait = space_of(self._tools.embedder), self._distiller is not None
        said = heard.turns if heard.said else []
        if receipt is not None and batch is not None:
            receipt = receipt.mapped(lambda kept: alone(batch, reported(heard, sifted, made, kept, notes)))
        kept = self._store.capture.write(
            reader, reader.scope, said, made, space=space, again=again, wait=wait, retracted=retracted, receipt=receipt
        )
        return reported(heard, sifted, made, kept, notes)

    def admit(
        self, reader: Reader, arrivals: Sequence[admitting.Arrival], said: Sequence[Turn] = (), *, trusted: bool = False
    ) -> admitting.Admitted:
        """Keep statements from a file that another memory had kept."""
        return admitting.admit(self._tools, reader, arrivals, said, trusted=trusted)

    def retire(
        self, reader: Reader, arrivals: Sequence[tuple[admitting.Arrival, Correction]], *, trusted: bool = False
    ) -> admitting.Retired:
        """Keep statements from an archive that were corrected where it was made."""
        return admitting.retire(self._tools, reader, arrivals, trusted=trusted)

    def take_in(self, reader: Reader, thoughts: Sequence[Turn]) -> Report:
        """Keep statements that were in mind, as they stand, if they are new here and say something. They are no witnesses."""
        heard = muse(thoughts, self._live.now, self._reading()[0])
        notes = give_vectors(self._tools, heard.candidates)
        return self._store_all(reader, heard, notes)

    def remember_statements(
        self,
        reader: Reader,
        memory: Memory,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
        *,
        tier: Sensitivity | None = None,
        weigh: bool = False,
        whole: bool = False,
    ) -> Memory:
        """Keep each statement of a text as a memory of its own; the answer is the first, with `others`. `whole`: as one memory.

        The first is stored last and takes the receipt along: a request that was cut off finds the others when it is repeated.
        """
        check_memory(memory, self._live.now)  # before anything of it is stored
        first, *rest = self._statements_of(memory, whole=whole)
        if rest and not writable(reader).admits(memory.scope):
            rest = []  # refused below
        others: list[Memory] = []
        for part, named in rest:
            with without_deadline() if others else nullcontext():  # once something of it is stored, the rest is
                others.append(self.remember(reader, part, None if others else timeout, tier=tier, weigh=weigh, mentions=named))
        answered = receipt and receipt.mapped(lambda kept: _with_others(kept, others))
        part, named = first
        with without_deadline() if others else nullcontext():
            kept = self.remember(reader, part, None if others else timeout, answered, tier=tier, weigh=weigh, mentions=named)
        return _with_others(kept, others)

    def _statements_of(self, memory: Memory, *, whole: bool) -> list[tuple[Memory, tuple[Mention, ...] | None]]:
        """Return the statements of a text as memories, each with the time that its words name and the things that it names; the
        text itself if it is one."""
        text, now = memory.text, self._tools.env.now()
        clean = self._clean(text).text.strip()
        reading, _ = self._reading()
        if not clean or reading.reader is None:
            return [(memory, None)]
        found = statements_to_remember(clean, now, reading)
        sound = all(is_sound(said, self._live.now) for said in (clean, *(part.text for part in found)))
        if len(found) == 1 or whole or not sound:
            event = found[0] if len(found) == 1 else statement_to_remember(clean, now, reading)
            return [(memory if memory.happened_at or event.happened_at is None else _dated(memory, event), event.mentions)]
        parts = [replace(memory, text=part.text, words_at=part.words_at) for part in found]
        return [
            (part if memory.happened_at else _dated(part, event), event.mentions)
            for part, event in zip(parts, found, strict=True)
        ]

    def remember(
        self,
        reader: Reader,
        memory: Memory,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
        *,
        tier: Sensitivity | None = None,
        stated: Sequence[Fact] | None = None,
        weigh: bool = False,
        mentions: tuple[Mention, ...] | None = None,
    ) -> Memory:
        """Keep what was said to be kept, as it stands; said or heard there before, it is one memory that is surer. `tier`: how
        closely, if its words are not to decide that; `stated`: the facts it stands for, if its words are not to be read for them;
        `weigh`: nobody said how important it is, so that how new it is moves that (C5).

        What was corrected there is not kept again, not even on request: what stands in its place is returned. A correction
        is taken back by correcting that.
        """
        check_memory(memory, self._live.now)  # before its words are cleaned and encoded; the store checks what is left of them
        check_name("category", memory.category, self._live.now)
        attributes = {name: self._clean(value).text for name, value in memory.attributes.items()}
        words = self.worth_keeping(memory.text)
        memory = replace(memory, text=words, attributes=attributes, words_at=memory.words_at if words == memory.text else (0, 0))
        here = replace(reader, scope=memory.scope)
        said = Said.of(memory, None)
        comparison = comparison_of(self._live, self._tools.embedder)
        names = known_as(memory, said) if memory.scope == reader.scope else []
        spoken = corrected_memory(self._store, reader, memory, self._tools.env.now(), comparison) if names else None
        if takes_back(memory.text):
            if spoken is None:
                raise NotFound("nothing was found to take back.", way_out="`forget` or `review` a memory by its id.")
            return self._store.memories.set_status(
                reader, spoken[0].id, Status.INVALIDATED, TAKEN_BACK, timeout=timeout, receipt=receipt
            )
        if spoken is not None and spoken[1].elliptic:
            memory = carrying(memory, spoken[0].words)
            said = Said.of(memory, None)
            names = known_as(memory, said)
        held = self._store.memories.by_digest(here, names) if names else {}
        if held:
            known = next(held[name] for name in names if name in held)
            return self._remember_again(reader, memory, known, timeout, receipt, tier, stated)
        vector = self._vector(memory)
        said = replace(said, vector=vector)
        if writable(reader).admits(memory.scope):  # else it is refused below, and nothing of that place is told
            heirs = heirs_of(self._store, self._tools.index, here, [said], comparison) if spoken is None else {}
            if heirs:
                return heirs[0]
        beside = compared(self._store, self._tools.index, reader, memory, said, comparison, stated) if names else Compared()
        for note in beside.notes:
            log.warning("%s", note)
        twin, surprise, replaces = beside.twin, beside.surprise, beside.replaces
        if spoken is not None:
            old, found = spoken
            twin, others = None, (one for one in replaces if one.earlier != old.id)
            replaces = (Replacement(old.id, found.sure, CORRECTED_BY_SPEAKER, corrects=True), *others)
        if twin is not None and stated is None:
            return self._remember_again(reader, memory, twin, timeout, receipt, tier, stated)
        weight = min(max(memory.importance + surprise, 0.0), 1.0) if weigh else memory.importance
        new = replace(memory, importance=weight, surprise=surprise)
        draft = self._drafted(new, vector, tier, mentions, novelty=max(surprise, 0.0) / MOST_SURPRISING)
        if stated is not None:
            replaces = ()  # the rules on facts decide
        draft = replace(draft, facts=None if stated is None else tuple(stated), replaces=replaces)
        space = space_of(self._tools.embedder)
        only = receipt and receipt.mapped(lambda kept: kept[0])
        return self._store.capture.write(reader, memory.scope, [], [draft], space=space, timeout=timeout, receipt=only)[0]

    def _remember_again(
        self,
        reader: Reader,
        memory: Memory,
        known: str,
        timeout: float | None,
        receipt: ReceiptRequest | None,
        tier: Sensitivity | None,
        stated: Sequence[Fact] | None,
    ) -> Memory:
        """Corroborate a memory that is known, and add the importance, attributes and tier that came with it now."""
        same = receipt and receipt.mapped(lambda _: replace(memory, id=known))
        self._store.capture.write(reader, memory.scope, [], [], again={known: []}, stated=stated, timeout=timeout, receipt=same)
        with without_deadline():  # it is durable
            old = self._store.memories.get(reader, [known])[0]
            news = {"importance": max(old.importance, memory.importance), "attributes": {**old.attributes, **memory.attributes}}
            news["tier"] = old.tier if tier is None else strictest(tier, old.tier)  # repeating never lowers it
            unchanged = (*news.values(),) == (old.importance, dict(old.attributes), old.tier)
            return old if unchanged else self._store.memories.update(reader, known, news)

    def refuse_corrected(self, reader: Reader, memory_id: str) -> None:
        """Raise `Conflict` if a memory that is to be restored was corrected, or says what another did that was (M19).

        What its speaker corrected in talk may be restored by its id.
        """
        found = self._store.memories.get(reader, [memory_id])
        if not found or found[0].status is Status.ACTIVE:
            return
        history = self._store.memories.status_history(reader, memory_id)
        if history and history[-1].reason == CORRECTED_BY_SPEAKER:
            return
        here, comparison = replace(reader, scope=found[0].scope), comparison_of(self._live, self._tools.embedder)
        said = Said.of(found[0], self._vector(found[0]))
        if heirs_of(self._store, self._tools.index, here, [said], comparison):
            raise Conflict("this was corrected.", way_out="If it holds all the same, `review` it and confirm it.")

    def correct(self, reader: Reader, memory_id: str, text: str) -> Memory:
        """Keep what is true in the place of a memory, of the same sort and in the same place, and retire that one."""
        check_memory_text(text, self._live.now)  # before the words are cleaned and encoded
        found = self._store.memories.get(reader, [memory_id])
        if not found:
            raise NotFound("there is no memory of that id that this identity may see.")
        old = found[0]
        new = Memory(
            text=self.worth_keeping(text),
            kind=old.kind,
            category=old.category,
            scope=old.scope,
            speaker=old.speaker,
            importance=old.importance,
            confidence=max(old.confidence, _CORRECTED),
            pinned=old.pinned,
            attributes=old.attributes,
        )
        draft = self._drafted(new, self._vector(new), strictest(old.tier, tier_of(new.text, self._live.now)), correction=True)
        return self._store.feedback.correct(reader, memory_id, draft, space=space_of(self._tools.embedder))

    @property
    def tools(self) -> Tools:
        return self._tools

    def draft(self, memory: Memory, **how: Any) -> Draft:
        """A memory as it would be kept: without what must not be, with its tiers, tokens and vector. `how` it came about:
        what its words do not tell of what it feels like (`text/english/affect.py`)."""
        attributes = {name: self._clean(value).text for name, value in memory.attributes.items()}
        clean = replace(memory, text=self.worth_keeping(memory.text), attributes=attributes)
        return self._drafted(clean, self._vector(clean), strictest(clean.tier, tier_of(clean.text, self._live.now)), **how)

    def _drafted(
        self,
        memory: Memory,
        vector: Vectors | None,
        tier: Sensitivity | None = None,
        mentions: tuple[Mention, ...] | None = None,
        **how: Any,
    ) -> Draft:
        made = None if vector is None else encode(vector)[0]
        settings = self._live.now
        mark: dict[str, Any] = {**screened(memory.text, settings), "tier": tier or tier_of(memory.text, settings)}
        since = memory.valid_from or began(memory.text, memory.happened_at or self._tools.env.now())
        ready = replace(memory, valid_from=since, **weighed(memory.text, settings, **how), **mark)
        named = mentions_of(memory.words, memory.speaker, self._reading()[0]) if mentions is None else mentions
        return Draft(memory=ready, vector=made, mentions=named)

    def update(
        self,
        reader: Reader,
        memory_id: str,
        changes: dict[str, Any],
        *,
        since: datetime | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Change a memory. New words are cleaned like all that is kept, and get their own tiers and vector."""
        if "text" in changes:
            check_memory_text(changes["text"], self._live.now)  # before the words are cleaned and judged
            text = self.worth_keeping(changes["text"])
            old = self._store.memories.get(reader, [memory_id])  # one that is not there is refused by the store
            closely = {"tier": tier_after(old[0], text, self._live.now)} if old else {}
            changes = {**closely, **changes, "text": text, **weighed(text, self._live.now), **screened(text, self._live.now)}
        if "flagged" in changes:
            changes["screened"] = version(self._live.now)  # whoever says so has looked at it
        if "attributes" in changes:
            check_attributes(changes["attributes"], self._live.now)  # before they are cleaned
            changes = {**changes, "attributes": {name: self._clean(value).text for name, value in changes["attributes"].items()}}
        new = self._store.memories.update(reader, memory_id, changes, since=since, receipt=receipt)
        if "text" in changes:
            with if_time_allows():  # else it is made later, as all that are missing
                self._give_vector(reader, new)
        return new

    def _give_vector(self, reader: Reader, memory: Memory) -> None:
        vector, space = self._vector(memory), space_of(self._tools.embedder)
        if space is not None and vector is not None:
            said, made = {memory.key: memory.text}, encode(vector)[0]
            self._store.vectors.put(reader, SPACE, {memory.key: made}, model=space.model, dimensions=space.dimensions, said=said)

    def _clean(self, text: str) -> redaction.Cut:
        return redaction.cut(text, catch_secrets=self._live.now.catch_secrets)

    def cleaned(self, text: str) -> str:
        """Return a text without secrets and without what must not be kept."""
        return self._clean(text).text

    def worth_keeping(self, text: str) -> str:
        """The text without what must not be kept; an error if nothing of it is left."""
        left = self._clean(text)
        if any(text[start : start + length].strip() for _, start, length in left.origins):
            return left.text
        if any(piece.secret for piece in left.removed):
            raise InvalidContent(
                "this is nothing but a secret (a key, a token or a password), and secrets are not kept.",
                way_out="Say what it is for without it; or switch `catch_secrets` off.",
            )
        raise InvalidContent("nothing of this may be kept: it is private or was recalled.", way_out="Pass some other text.")

    def _vector(self, memory: Memory) -> Vectors | None:
        if self._tools.embedder is None:
            return None
        try:
            made: Vectors = encoded(self._store, self._tools.embedder, [passage(memory.speaker, memory.text)])[0]
        except EmbeddingError:
            return None  # it is made later
        return made

    def backfill(self, reader: Reader) -> int:
        """Make the vectors that are missing; how many were made."""
        return 0 if self._tools.embedder is None else fill(self._store, reader, self._tools.embedder, page=256)


def _with_others(kept: Memory, others: Sequence[Memory]) -> Memory:
    """Return the answer of `remember`: a memory with the others of its text, each once."""
    return replace(kept, others=tuple({other.id: other for other in others if other.id != kept.id}.values()))


def _dated(memory: Memory, event: Proposition) -> Memory:
    return replace(memory, happened_at=event.happened_at, happened_until=event.happened_until)


def _with(report: Report, reading: Reading) -> Report:
    """A report, and what a model read besides."""
    return replace(
        report,
        ids=(*report.ids, *reading.ids),
        counts={**report.counts, "read": reading.turns, "extracted": len(reading.ids)},
        notes=tuple(dict.fromkeys((*report.notes, *reading.notes))),
    )


def _sessions(heard: Heard) -> list[str]:
    return list(dict.fromkeys(turn.session or "" for turn in heard.turns))


def _cut_short(error: EngramError, sum_: Sum) -> EngramError:
    done = sum_.counts["turns"] + sum_.counts["known"]
    way_out = "What was stored stays. Run it again: turns whose ref is known are passed over."
    return type(error)(f"time ran out after {done} of these turns were stored.", way_out=way_out)


def _with_refs(turns: Iterable[Turn], prefix: str) -> Iterator[Turn]:
    """Yield the turns, with a ref for those that have none. Values that are no turns are refused later, by name."""
    for number, turn in enumerate(turns):
        bare = isinstance(turn, Turn) and not turn.ref  # type: ignore[redundant-expr]
        yield replace(turn, ref=f"{prefix}:{number}") if bare else turn


def _batches(turns: Iterator[Turn], size: int, characters: int) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    length = 0
    for turn in turns:
        batch.append(turn)
        said: object = getattr(turn, "text", None)
        length += len(said) if isinstance(said, str) else 0  # what is none is refused by name
        if len(batch) >= size or length >= characters:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch
