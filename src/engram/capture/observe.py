"""From turns to kept memories: statements, duplicates, surprise, vectors, one transaction; and a report of every piece.

Comes in: turns and their reader. Goes out: a report in which every piece of every turn is kept, merged or dropped, and why.
Durable when it returns. Without an embedder statements are kept all the same; their vectors are made later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from engram.capture import marks
from engram.capture.backfill import SPACE, encoded, fill, passage, space_of
from engram.capture.propositions import Statement, propositions
from engram.capture.tiers import tiers
from engram.env import Env
from engram.errors import EmbeddingError, InvalidContent
from engram.index.lexical import STOP_WORDS
from engram.index.vectors.encoding import encode
from engram.index.vectors.live import LiveIndex
from engram.models.embed import Embedder, Vectors
from engram.settings import LiveSettings, Settings
from engram.store.admission import check_memory, check_turn
from engram.store.protocol import Filter
from engram.store.sqlite.store import SqliteStore
from engram.text.person import is_assistant
from engram.text.terms import digest_of, terms
from engram.types import Draft, Fate, Memory, Policy, Reader, Report, Source, Turn, Verdict

Progress = Callable[[int], None]


@dataclass(slots=True)
class _Candidate:
    """A statement on its way: where it came from, and what was found out about it."""

    statement: Statement
    turn: int
    digest: bytes
    vector: Vectors | None = None
    echoes: list[_Candidate] = field(default_factory=list)  # the same, said again in the same batch


class Observer:
    """What hears. Made once for an open vault; `embedder` and `index` may be missing."""

    def __init__(
        self, store: SqliteStore, embedder: Embedder | None, index: LiveIndex | None, live: LiveSettings, env: Env
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._index = index
        self._live = live
        self._env = env

    def equip(self, embedder: Embedder | None, index: LiveIndex | None) -> None:
        """Go on with an encoder, or an index, that has come since."""
        self._embedder, self._index = embedder, index

    def observe(self, reader: Reader, turns: Sequence[Turn], session: str) -> Report:
        """Keep what these turns say. Turns without a time or session get the present ones."""
        if not all(isinstance(turn, Turn) for turn in turns):
            raise InvalidContent("a turn must be a Turn.")
        now = self._env.now()
        said = [replace(turn, at=turn.at or now, session=session if turn.session is None else turn.session) for turn in turns]
        for turn in said:
            check_turn(turn, self._live.now)
        candidates, verdicts = self._statements(reader, said)
        notes = self._embed(candidates)
        fresh, merged = self._sift(reader, candidates)
        drafts = [self._draft(reader, said, candidate) for candidate in fresh]
        again: dict[str, list[int]] = {}
        for candidate, twin in merged:
            if candidate.turn not in again.setdefault(twin, []):  # who repeats himself is one witness
                again[twin].append(candidate.turn)
        # What is private, or was put into the conversation by Engram itself, is not archived either.
        archived = [replace(turn, text=marks.cut(turn.text).text) for turn in said]
        kept = self._store.capture(reader, reader.scope, archived, drafts, space=space_of(self._embedder), again=again)
        late = [(c, m.id) for c, d, m in zip(fresh, drafts, kept, strict=True) if m.corroborations > d.memory.corroborations]
        merged += [(echo, memory.id) for candidate, memory in zip(fresh, kept, strict=True) for echo in candidate.echoes] + late
        told = {id(candidate) for candidate, _ in late}
        both = [(c, m) for c, m in zip(fresh, kept, strict=True) if id(c) not in told]
        fresh, kept = [c for c, _ in both], [m for _, m in both]
        verdicts += _verdicts(fresh, [memory.id for memory in kept], Fate.KEPT)
        verdicts += _verdicts([candidate for candidate, _ in merged], [twin for _, twin in merged], Fate.MERGED)
        dropped = sum(verdict.fate is Fate.DROPPED for verdict in verdicts)
        counts = {"turns": len(said), "kept": len(kept), "merged": len(merged), "dropped": dropped}
        order = sorted(verdicts, key=lambda verdict: (verdict.turn, verdict.start))
        return Report(
            operation="observe", ids=tuple(memory.id for memory in kept), counts=counts, notes=notes, verdicts=tuple(order)
        )

    def remember(self, reader: Reader, memory: Memory, timeout: float | None = None) -> Memory:
        """Keep what was said to be kept, as it stands; said twice in one place, it is one memory that is surer."""
        check_memory(memory, self._live.now)
        memory = replace(memory, text=marks.cut(memory.text).text)
        check_memory(memory, self._live.now)  # nothing may be left of it
        summary, key_fact, tag = _tiers(memory.text, self._live.now)
        whole = replace(memory, summary=summary, key_fact=key_fact, tag=tag)
        here = replace(reader, scope=memory.scope)
        twin = self._store.digests(here, [digest_of(memory.text)]) if memory.scope == reader.scope else {}
        if twin:
            known = next(iter(twin.values()))
            self._store.capture(reader, memory.scope, [], [], again={known: []}, timeout=timeout)
            old = self._store.get(reader, [known])[0]
            news = {"importance": max(old.importance, memory.importance), "attributes": {**old.attributes, **memory.attributes}}
            same = news["importance"] == old.importance and news["attributes"] == dict(old.attributes)
            return old if same else self._store.update(reader, known, news)
        draft = Draft(memory=whole, vector=self._vector(whole))
        return self._store.capture(reader, memory.scope, [], [draft], space=space_of(self._embedder), timeout=timeout)[0]

    def _vector(self, memory: Memory) -> bytes | None:
        if self._embedder is None:
            return None
        try:
            return encode(encoded(self._store, self._embedder, [passage(memory.speaker, memory.text)]))[0]
        except EmbeddingError:
            return None  # it is made later

    def shorter(self, text: str) -> dict[str, str]:
        """The shorter tiers of a text that is about to be kept."""
        check_memory(Memory(text=text), self._live.now)
        return dict(zip(("summary", "key_fact", "tag"), _tiers(text, self._live.now), strict=True))

    def refresh(self, reader: Reader, memory: Memory) -> None:
        """Make the vector of one memory anew, now that its words are new."""
        vector, space = self._vector(memory), space_of(self._embedder)
        if space is not None and vector is not None:
            said = {memory.key: memory.text}
            self._store.put_vectors(
                reader, SPACE, {memory.key: vector}, model=space.model, dimensions=space.dimensions, said=said
            )

    def ingest(self, reader: Reader, turns: Iterator[Turn], session: str, progress: Progress | None = None) -> Report:
        """The same for many turns, in batches. What was ingested before, by its `ref`, is passed over."""
        total: dict[str, int] = {"turns": 0, "kept": 0, "merged": 0, "dropped": 0, "known": 0}
        ids: list[str] = []
        notes: dict[str, None] = {}
        verdicts: list[Verdict] = []
        here = replace(reader, policy=Policy.OWN)  # what was said elsewhere is not known here
        before = 0
        for batch in _batches(turns, self._live.now.ingest_batch):
            if not all(isinstance(turn, Turn) for turn in batch):
                raise InvalidContent("a turn must be a Turn.")
            known = self._store.known_refs(here, [turn.ref for turn in batch if turn.ref])
            places = []
            for number, turn in enumerate(batch):
                if not turn.ref or turn.ref not in known:
                    places.append(number)
                    known |= {turn.ref} if turn.ref else set()
            fresh = [batch[n] for n in places]
            total["known"] += len(batch) - len(fresh)
            if fresh:
                report = self.observe(reader, fresh, session)
                ids += report.ids
                verdicts += [replace(verdict, turn=before + places[verdict.turn]) for verdict in report.verdicts]
                notes |= dict.fromkeys(report.notes)
                for name, count in report.counts.items():
                    total[name] += count
            before += len(batch)
            if progress is not None:
                progress(len(batch))
        return Report(operation="ingest", ids=tuple(ids), counts=total, notes=tuple(notes), verdicts=tuple(verdicts))

    def backfill(self, reader: Reader) -> int:
        """Make the vectors that are missing; how many were made."""
        return 0 if self._embedder is None else fill(self._store, reader, self._embedder, page=256)

    def _statements(self, reader: Reader, said: Sequence[Turn]) -> tuple[list[_Candidate], list[Verdict]]:
        previous: dict[str, Turn | None] = {}
        candidates: list[_Candidate] = []
        verdicts: list[Verdict] = []
        for number, turn in enumerate(said):
            session = turn.session or ""
            if session not in previous:
                previous[session] = self._store.last_turn(reader, session) if session else None
            found, dropped = propositions(turn, previous=previous[session], number=number)
            previous[session] = turn
            verdicts += dropped
            candidates += [_Candidate(one, number, digest_of(one.proposition.text)) for one in found]
        return candidates, verdicts

    def _embed(self, candidates: Sequence[_Candidate]) -> tuple[str, ...]:
        if not candidates:
            return ()
        if self._embedder is None:
            return ("no model is installed, so these memories have no vectors yet (`engram model install`).",)
        try:
            said = [passage(c.statement.proposition.speaker, c.statement.proposition.text) for c in candidates]
            made = encoded(self._store, self._embedder, said)
        except EmbeddingError as error:
            return (f"{error.code}: {error.message} These memories are kept and have no vectors yet.",)
        for candidate, vector in zip(candidates, made, strict=True):
            candidate.vector = vector
        return ()

    def _sift(self, reader: Reader, candidates: Sequence[_Candidate]) -> tuple[list[_Candidate], list[tuple[_Candidate, str]]]:
        """What is new, and what says again what is known, with the id of that."""
        known = self._store.digests(reader, [candidate.digest for candidate in candidates])
        fresh: dict[bytes, _Candidate] = {}
        merged: list[tuple[_Candidate, str]] = []
        for candidate in candidates:
            twin = known.get(candidate.digest) or self._rephrased(reader, candidate)
            if twin is not None:
                merged.append((candidate, twin))
            elif candidate.digest in fresh:
                fresh[candidate.digest].echoes.append(candidate)
            else:
                fresh[candidate.digest] = candidate
        return list(fresh.values()), merged

    def _rephrased(self, reader: Reader, candidate: _Candidate) -> str | None:
        """The id of a memory of the same place that says the same in other words, if there is one."""
        if candidate.vector is None or self._index is None:
            return None
        settings = self._live.now
        here = replace(reader, policy=Policy.OWN)
        near = self._index.search(here, candidate.vector, 1)
        if near is None or not len(near.keys) or near.scores[0] < settings.duplicate_cosine:
            return None
        twin = self._store.fetch(here, [int(near.keys[0])])
        said = candidate.statement.proposition.text
        if not twin or _overlap(twin[0].text, said) < settings.duplicate_overlap or not _adds_nothing(said, twin[0].text):
            return None
        return twin[0].id

    def _draft(self, reader: Reader, said: Sequence[Turn], candidate: _Candidate) -> Draft:
        proposition, turn = candidate.statement.proposition, said[candidate.turn]
        surprise = self._surprise(reader, candidate)
        summary, key_fact, tag = _tiers(proposition.text, self._live.now)
        memory = Memory(
            text=_within(proposition.text, self._live.now),
            summary=summary,
            key_fact=key_fact,
            tag=tag,
            kind=proposition.kind,
            category=proposition.category,
            source=Source.ASSISTANT if is_assistant(turn.speaker) else Source.USER,
            confidence=proposition.confidence,
            importance=min(max(proposition.importance + surprise, 0.0), 1.0),
            happened_at=proposition.happened_at or turn.at,
            happened_until=proposition.happened_until,
            session=turn.session or "",
            speaker=turn.speaker,
            surprise=surprise,
        )
        vector = None if candidate.vector is None else encode(candidate.vector[None, :])[0]
        sources = tuple(dict.fromkeys((candidate.turn, *(echo.turn for echo in candidate.echoes))))
        again = len(sources) - 1
        memory = replace(memory, corroborations=again, confidence=1.0 - (1.0 - memory.confidence) * 0.8**again)
        return Draft(memory=memory, turns=sources, vector=vector)

    def _surprise(self, reader: Reader, candidate: _Candidate) -> float:
        """How far from what is known (k = 5): novel up to +0.3, redundant down to -0.1 (C5)."""
        if candidate.vector is None or self._index is None:
            return 0.0
        near = self._index.search(reader, candidate.vector, 5, where=Filter())
        if near is None or len(near.keys) < 5:
            return 0.0
        return float(np.clip((0.75 - float(near.scores.mean())) * 1.2, -0.1, 0.3))


def in_parts(text: str, most: int) -> Iterator[Turn]:
    """A long text as turns of at most `most` bytes, cut between paragraphs where that is possible."""
    part = ""
    for paragraph in text.split("\n\n"):
        joined = f"{part}\n\n{paragraph}" if part else paragraph
        if len(joined.encode("utf-8", "replace")) <= most:
            part = joined
            continue
        if part:
            yield Turn(part)
        step = max(most // 4, 1)  # a character has at most four bytes
        pieces = [paragraph[at : at + step] for at in range(0, len(paragraph), step)] or [""]
        yield from (Turn(piece) for piece in pieces[:-1])
        part = pieces[-1]
    yield Turn(part)


def _within(text: str, settings: Settings) -> str:
    return _cut(text, settings.content_bytes)


def _tiers(text: str, settings: Settings) -> list[str]:
    return [_cut(tier, settings.summary_bytes) for tier in tiers(text)]


def _cut(text: str, most: int) -> str:
    encoded = text.encode()
    return text if len(encoded) <= most else encoded[:most].decode("utf-8", "ignore")


def _overlap(one: str, other: str) -> float:
    a, b = set(terms(one)), set(terms(other))
    return len(a & b) / len(a | b) if a | b else 0.0


def _adds_nothing(said: str, known: str) -> bool:
    """Is every telling word of `said` in `known`, its names and numbers in the same order, and both or neither denied?

    The encoder does not tell "May 5" from "May 6" or "allergic" from "not allergic" (cosine .92 to .97): what differs in a
    number, a name, a direction, a sign or any word of content is news, and a second row is better than a lost truth.
    """
    new, old = set(terms(said)), set(terms(known))
    if new & _DENIALS != old & _DENIALS or new - old - STOP_WORDS - _EMPHASIS:
        return False
    rest = iter(_NAMED.findall(known))
    return all(name in rest for name in _NAMED.findall(said))


_DENIALS = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "nothing",
        "nobody",
        "neither",
        "nor",
        "cannot",
        "don",
        "doesn",
        "didn",
        "isn",
        "aren",
        "wasn",
        "weren",
        "won",
        "can",
        "t",
        "without",
    ]
)
_EMPHASIS = frozenset(["really", "very", "so", "just", "truly", "quite", "actually", "totally"])
_NAMED = re.compile(r"\b(?:[^\W\d_a-z]\w*|\d[\w.,:]*)")


def _verdicts(candidates: Sequence[_Candidate], ids: Sequence[str], fate: Fate) -> list[Verdict]:
    why = "states something" if fate is Fate.KEPT else "says again what is known"
    return [
        Verdict(fate, why, candidate.turn, start, end, memory)
        for candidate, memory in zip(candidates, ids, strict=True)
        for start, end in candidate.statement.spans
    ]


def _batches(turns: Iterator[Turn], size: int) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    for turn in turns:
        batch.append(turn)
        if len(batch) >= size:
            yield batch
            batch = []
    if batch:
        yield batch
