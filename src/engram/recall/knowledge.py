"""Assess how well something is known (§38): a subject, a question, or all that is stored; and the gaps.

Each question that counts as a gap is searched again before it is reported; an answered one is recorded as answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from engram.env import Env, from_micros
from engram.recall.plan import Query
from engram.recall.searcher import Searcher
from engram.recall.selection import without_flagged
from engram.recall.trust import accuracy, adjusted_confidence
from engram.rules.duplicates import stems
from engram.rules.gaps import question_in
from engram.rules.knowledge import KnowledgeWeights, confidence, knowledge_map, level, summary_sentence
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.types import Hit, Outcome, Reader
from engram.values.entities import Gap, Knowledge, KnowledgeFigures, KnowledgeMap, KnownSubject, SubjectTally
from engram.values.frozen import replace

_GAPS = 10  # most gaps of one subject
_QUESTIONS = 100  # unanswered questions searched for those about a subject
_EVIDENCE, _QUOTED = 5, 3  # memories that an assessment names, and those whose text it quotes

_GENERIC = frozenset({"", "fact", "moment", "event", "episode", "entity", "general"})
"""Categories that do not tell the subject of a memory."""


class KnowledgeAssessor:
    """Assesses the knowledge of a vault as one reader sees it."""

    def __init__(self, store: Store, searcher: Searcher, reader: Reader, live: LiveSettings, env: Env) -> None:
        self._store = store
        self._searcher = searcher
        self._reader = reader
        self._live = live
        self._env = env

    def assess(self, subject: str, now: datetime) -> Knowledge:
        """Return how well a subject, or the answer to a question, is known, with the evidence and the gaps."""
        weights = self._live.tuned(KnowledgeWeights)
        recall = self._searcher.recall_uncounted(self._reader, Query(text=subject, now=now))
        named = self._store.entities.get(self._reader, subject)
        covered = 1.0 if named is not None else recall.quality.covered
        hits = [hit for hit in recall if self._searcher.is_relevant(hit)] if covered >= weights.known_unknown else []
        keys = list(dict.fromkeys([*(named[1] if named else ()), *(hit.memory.key for hit in hits)]))
        figures = _figures(self._store.knowledge.tally(self._reader, keys))
        sure = confidence(covered, figures, now, weights, asked=bool(question_in(subject)))
        known = level(sure, weights)
        gaps = self._gaps_of((subject, *(named[0].names if named else ())), keys)
        best = self._best(hits, keys)
        return Knowledge(
            subject=named[0].name if named else subject,
            level=known,
            confidence=sure,
            covered=covered,
            figures=figures,
            kind=named[0].kind if named else "",
            evidence=tuple(memory_id for memory_id, _ in best[:_EVIDENCE]),
            strong=tuple(text for _, text in best[:_QUOTED]),
            holes=gaps,
            said=summary_sentence(known, figures, gaps),
        )

    def _gaps_of(self, names: Sequence[str], keys: Sequence[int]) -> tuple[Gap, ...]:
        """Return unanswered questions about something of these names, then doubts about these memories."""
        asked = self._unanswered(_about(self._store.gaps.select(self._reader, limit=_QUESTIONS), names))
        doubts = self._store.knowledge.doubts(self._reader, keys=keys, limit=_GAPS) if keys else ()
        return (*asked, *doubts)[:_GAPS]

    def _best(self, hits: Sequence[Hit], keys: Sequence[int]) -> list[tuple[str, str]]:
        """Return ids and texts of the most accurate memories: of the hits, else of the latest that name the subject."""
        memories = [hit.memory for hit in hits] or without_flagged(
            self._store.memories.fetch(self._reader, keys[:_EVIDENCE]), self._live.now
        )
        # Rounded, so that of about equally accurate memories the more relevant one comes first.
        ordered = sorted(memories[: 2 * _EVIDENCE], key=lambda memory: -round(accuracy(memory), 1))
        return [(memory.id, " ".join(memory.text.split())) for memory in ordered]

    def map(self, limit: int, now: datetime) -> KnowledgeMap:
        """Return the names and categories that several memories have, at most `limit`, each with its assessment."""
        weights = self._live.tuned(KnowledgeWeights)
        subjects = self._store.knowledge.subjects(self._reader, limit=limit, without=_GENERIC)
        questions = self._store.gaps.select(self._reader, limit=_QUESTIONS)
        asked = {subject.name: _about(questions, (subject.name,)) for subject in subjects}
        unanswered = set(self._unanswered(list(dict.fromkeys(gap for gaps in asked.values() for gap in gaps))))

        def domain(subject: KnownSubject) -> Knowledge:
            figures = _figures(subject.tally)
            sure = confidence(1.0, figures, now, weights)
            known = level(sure, weights)
            gaps = tuple(gap for gap in asked[subject.name] if gap in unanswered)
            sentence = summary_sentence(known, figures, gaps)
            return Knowledge(subject.name, known, sure, 1.0, figures, subject.kind, holes=gaps, said=sentence)

        return knowledge_map([domain(subject) for subject in subjects], self._store.memories.counts(self._reader).memories)

    def gaps(self, limit: int) -> list[Gap]:
        """Return unanswered questions, the most asked first, then doubts about stored memories."""
        asked = self._unanswered(self._store.gaps.select(self._reader, limit=limit))
        if len(asked) >= limit:
            return asked
        return [*asked, *self._store.knowledge.doubts(self._reader, limit=limit - len(asked))]

    def _unanswered(self, gaps: Sequence[Gap]) -> list[Gap]:
        """Return the questions that neither their asker's scope nor this reader can answer; record the others as answered."""
        left = []
        for gap in gaps:
            asker = replace(self._reader, scope=gap.scope)
            if not question_in(gap.text) or self._is_answered(asker, gap):
                self._store.gaps.put(asker, gap.text, answered=True)
            elif asker == self._reader or not self._is_answered(self._reader, gap):
                left.append(gap)
        return left

    def _is_answered(self, reader: Reader, gap: Gap) -> bool:
        recall = self._searcher.recall_uncounted(reader, Query(text=gap.text, now=self._env.now()))
        return recall.outcome is Outcome.ANSWERED


def _figures(tally: SubjectTally) -> KnowledgeFigures:
    contested = (tally.contested or 0) / max(tally.memories, 1)
    sure = adjusted_confidence(
        tally.confidence or 0.0, tally.witnesses or 0.0, tally.helpful or 0.0, tally.unhelpful or 0.0, contested
    )
    dates = _moment(tally.first), _moment(tally.last)
    return KnowledgeFigures(tally.memories, tally.sessions, tally.speakers, sure, tally.contested or 0, tally.stale or 0, *dates)


def _about(questions: Sequence[Gap], names: Iterable[str]) -> list[Gap]:
    """Return the questions that contain all content words of one of the names."""
    wanted = [words for name in names if (words := stems(name))]
    return [question for question in questions if any(words <= stems(question.text) for words in wanted)][:_GAPS]


def _moment(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)
