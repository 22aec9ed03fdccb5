"""The verb on how well things are known (§38): a subject, a question, or all that there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import overload

from engram.errors import InvalidQuery
from engram.recall.plan import Query
from engram.recall.selection import without_flagged
from engram.recall.trust import accuracy, adjusted_confidence
from engram.rules.duplicates import stems
from engram.rules.gaps import question_in
from engram.rules.knowledge import KnowledgeWeights, confidence, knowledge_map, level, summary_sentence
from engram.store.sqlite.knowledge import Subject, Tally, moment
from engram.types import Hit
from engram.values.entities import Gap, Knowledge, KnowledgeFigures, KnowledgeMap
from engram.verbs.context import Minding
from engram.verbs.recall import Asking
from engram.verbs.view import require_positive

_EVIDENCE, _STRONG = 5, 3
_HOLES = 10  # disputes, old notes and questions of one subject that are told
_QUESTIONS = 100  # that are looked through for those about a subject
_PLAIN = frozenset({"", "fact", "moment", "event", "episode", "entity", "general"})
"""Categories that say nothing of what a memory is about."""


class Assessing(Asking, Minding):
    """Mixed into `Engram`."""

    @overload
    def knows(self, subject: str, *, limit: int = 20, now: datetime | None = None) -> Knowledge: ...

    @overload
    def knows(self, subject: None = None, *, limit: int = 20, now: datetime | None = None) -> KnowledgeMap: ...

    def knows(self, subject: str | None = None, *, limit: int = 20, now: datetime | None = None) -> Knowledge | KnowledgeMap:
        """How well a subject, or the answer to a question, is known: confident, uncertain or unknown, and why.

        Without a subject the map of what is known: names and categories that several memories have, `limit` at most.
        """
        if subject is None:
            return self._map(limit, now or self._vault.env.now())
        if not isinstance(subject, str) or not subject.strip():  # type: ignore[redundant-expr]
            raise InvalidQuery("a subject is a text with a word.", way_out="Leave it out to see all that is known.")
        return self._assessed(subject.strip(), now or self._vault.env.now())

    def _assessed(self, subject: str, now: datetime) -> Knowledge:
        store, weights, searcher = self._vault.store, self._vault.live.tuned(KnowledgeWeights), self._vault.searcher
        found = searcher.recall_uncounted(self._reader, Query(text=subject, now=now))
        named = store.entities.get(self._reader, subject)
        covered = 1.0 if named is not None else found.quality.covered
        about = [hit for hit in found if searcher.is_relevant(hit)] if covered >= weights.known_unknown else []
        keys = list(dict.fromkeys([*(named[1] if named else ()), *(hit.memory.key for hit in about)]))
        figures = figured(store.knowledge.tally(self._reader, keys))
        sure = confidence(covered, figures, now, weights, asked=bool(question_in(subject)))
        known = level(sure, weights)
        names = (subject, *(named[0].names if named else ()))
        holes = (*self._open_about(names), *(store.knowledge.doubts(self._reader, keys=keys, limit=_HOLES) if keys else ()))[
            :_HOLES
        ]
        best = self._best(about, keys)
        return Knowledge(
            subject=named[0].name if named else subject,
            level=known,
            confidence=sure,
            covered=covered,
            figures=figures,
            kind=named[0].kind if named else "",
            evidence=tuple(hit_id for hit_id, _ in best[:_EVIDENCE]),
            strong=tuple(text for _, text in best[:_STRONG]),
            holes=holes,
            said=summary_sentence(known, figures, holes),
        )

    def _best(self, about: Sequence[Hit], keys: Sequence[int]) -> list[tuple[str, str]]:
        """Ids and words of the memories to rely on: hits that are sure enough, else the latest that name the subject."""
        memories = [hit.memory for hit in about] or without_flagged(
            self._vault.store.memories.fetch(self._reader, keys[:_EVIDENCE]), self._vault.live.now
        )
        ordered = sorted(memories[: 2 * _EVIDENCE], key=lambda one: -round(accuracy(one), 1))  # of equals the nearer one first
        return [(one.id, " ".join(one.text.split())) for one in ordered]

    def _map(self, limit: int, now: datetime) -> KnowledgeMap:
        require_positive("limit", limit)
        store, weights = self._vault.store, self._vault.live.tuned(KnowledgeWeights)
        subjects = store.knowledge.subjects(self._reader, limit=limit, without=_PLAIN)
        questions = store.gaps.select(self._reader, limit=_QUESTIONS)
        about = {one.name: _about(questions, (one.name,)) for one in subjects}
        still = set(self._open_still(list(dict.fromkeys(gap for some in about.values() for gap in some))))

        def domain(one: Subject) -> Knowledge:
            figures = figured(one.tally)
            sure = confidence(1.0, figures, now, weights)
            known = level(sure, weights)
            holes = [gap for gap in about[one.name] if gap in still]
            return Knowledge(
                one.name, known, sure, 1.0, figures, one.kind, holes=tuple(holes), said=summary_sentence(known, figures, holes)
            )

        return knowledge_map([domain(one) for one in subjects], store.memories.counts(self._reader).memories)

    def _open_about(self, names: Iterable[str]) -> list[Gap]:
        """Questions about something of these names that nothing answers."""
        return self._open_still(_about(self._vault.store.gaps.select(self._reader, limit=_QUESTIONS), names))


def figured(tally: Tally) -> KnowledgeFigures:
    """Figures as they are told, from those that were counted."""
    doubt = (tally.contested or 0) / max(tally.memories, 1)
    sure = adjusted_confidence(
        tally.confidence or 0.0, tally.witnesses or 0.0, tally.helpful or 0.0, tally.unhelpful or 0.0, doubt
    )
    dates = moment(tally.first), moment(tally.last)
    return KnowledgeFigures(tally.memories, tally.sessions, tally.speakers, sure, tally.contested or 0, tally.stale or 0, *dates)


def _about(questions: Sequence[Gap], names: Iterable[str]) -> list[Gap]:
    """Those that have all the telling words of a name, the most asked first."""
    wanted = [found for name in names if (found := stems(name))]
    return [one for one in questions if any(found <= stems(one.text) for found in wanted)][:_HOLES]
