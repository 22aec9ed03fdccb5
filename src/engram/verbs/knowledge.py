"""The verb on how well things are known (§38): a subject, a question, or all that there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import overload

from engram.env import from_micros
from engram.errors import InvalidQuery
from engram.recall.plan import Query
from engram.recall.selection import without_flagged
from engram.recall.trust import accuracy, adjusted_confidence
from engram.rules.duplicates import stems
from engram.rules.gaps import question_in
from engram.rules.knowledge import KnowledgeWeights, confidence, knowledge_map, level, summary_sentence
from engram.types import Hit, Outcome, Reader
from engram.values.entities import Gap, Knowledge, KnowledgeFigures, KnowledgeMap, KnownSubject, SubjectTally
from engram.values.frozen import replace
from engram.verbs.view import View, require_positive

_HOLES = 10  # disputes, old notes and questions of one subject that are told

_QUESTIONS = 100  # that are looked through for those about a subject

_PLAIN = frozenset({"", "fact", "moment", "event", "episode", "entity", "general"})
"""Categories that say nothing of what a memory is about."""
_EVIDENCE, _STRONG = 5, 3


def figured(tally: SubjectTally) -> KnowledgeFigures:
    """Figures as they are told, from those that were counted."""
    doubt = (tally.contested or 0) / max(tally.memories, 1)
    sure = adjusted_confidence(
        tally.confidence or 0.0, tally.witnesses or 0.0, tally.helpful or 0.0, tally.unhelpful or 0.0, doubt
    )
    dates = _moment(tally.first), _moment(tally.last)
    return KnowledgeFigures(tally.memories, tally.sessions, tally.speakers, sure, tally.contested or 0, tally.stale or 0, *dates)


def _about(questions: Sequence[Gap], names: Iterable[str]) -> list[Gap]:
    """Those that have all the telling words of a name, the most asked first."""
    wanted = [found for name in names if (found := stems(name))]
    return [one for one in questions if any(found <= stems(one.text) for found in wanted)][:_HOLES]


def _moment(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)


@overload
def knows(view: View, subject: str, *, limit: int = 20, now: datetime | None = None) -> Knowledge: ...


@overload
def knows(view: View, subject: None = None, *, limit: int = 20, now: datetime | None = None) -> KnowledgeMap: ...


def knows(view: View, subject: str | None = None, *, limit: int = 20, now: datetime | None = None) -> Knowledge | KnowledgeMap:
    """How well a subject, or the answer to a question, is known: confident, uncertain or unknown, and why.

    Without a subject the map of what is known: names and categories that several memories have, `limit` at most.
    """
    if subject is None:
        return _map(view, limit, now or view.vault.env.now())
    if not isinstance(subject, str) or not subject.strip():  # type: ignore[redundant-expr]
        raise InvalidQuery("a subject is a text with a word.", way_out="Leave it out to see all that is known.")
    return _assessed(view, subject.strip(), now or view.vault.env.now())


def _assessed(view: View, subject: str, now: datetime) -> Knowledge:
    store, weights, searcher = view.vault.store, view.vault.live.tuned(KnowledgeWeights), view.vault.searcher
    found = searcher.recall_uncounted(view.reader, Query(text=subject, now=now))
    named = store.entities.get(view.reader, subject)
    covered = 1.0 if named is not None else found.quality.covered
    about = [hit for hit in found if searcher.is_relevant(hit)] if covered >= weights.known_unknown else []
    keys = list(dict.fromkeys([*(named[1] if named else ()), *(hit.memory.key for hit in about)]))
    figures = figured(store.knowledge.tally(view.reader, keys))
    sure = confidence(covered, figures, now, weights, asked=bool(question_in(subject)))
    known = level(sure, weights)
    names = (subject, *(named[0].names if named else ()))
    holes = (*_open_about(view, names), *(store.knowledge.doubts(view.reader, keys=keys, limit=_HOLES) if keys else ()))[:_HOLES]
    best = _best(view, about, keys)
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


def _best(view: View, about: Sequence[Hit], keys: Sequence[int]) -> list[tuple[str, str]]:
    """Ids and words of the memories to rely on: hits that are sure enough, else the latest that name the subject."""
    memories = [hit.memory for hit in about] or without_flagged(
        view.vault.store.memories.fetch(view.reader, keys[:_EVIDENCE]), view.vault.live.now
    )
    ordered = sorted(memories[: 2 * _EVIDENCE], key=lambda one: -round(accuracy(one), 1))  # of equals the nearer one first
    return [(one.id, " ".join(one.text.split())) for one in ordered]


def _map(view: View, limit: int, now: datetime) -> KnowledgeMap:
    require_positive("limit", limit)
    store, weights = view.vault.store, view.vault.live.tuned(KnowledgeWeights)
    subjects = store.knowledge.subjects(view.reader, limit=limit, without=_PLAIN)
    questions = store.gaps.select(view.reader, limit=_QUESTIONS)
    about = {one.name: _about(questions, (one.name,)) for one in subjects}
    still = set(_open_still(view, list(dict.fromkeys(gap for some in about.values() for gap in some))))

    def domain(one: KnownSubject) -> Knowledge:
        figures = figured(one.tally)
        sure = confidence(1.0, figures, now, weights)
        known = level(sure, weights)
        holes = [gap for gap in about[one.name] if gap in still]
        return Knowledge(
            one.name, known, sure, 1.0, figures, one.kind, holes=tuple(holes), said=summary_sentence(known, figures, holes)
        )

    return knowledge_map([domain(one) for one in subjects], store.memories.counts(view.reader).memories)


def _open_about(view: View, names: Iterable[str]) -> list[Gap]:
    """Questions about something of these names that nothing answers."""
    return _open_still(view, _about(view.vault.store.gaps.select(view.reader, limit=_QUESTIONS), names))


def gaps(view: View, *, limit: int = 20) -> Sequence[Gap]:
    """What is not known, each as a question to ask: questions that nothing here answers, the most asked first, none that has
    an answer now, where it was asked or for this reader; memories that disagree; and what is much used and old."""
    store = view.vault.store
    asked = _open_still(view, store.gaps.select(view.reader, limit=limit))
    return [*asked, *store.knowledge.doubts(view.reader, limit=limit - len(asked))] if len(asked) < limit else asked


def _open_still(view: View, gaps: Sequence[Gap]) -> list[Gap]:
    """Those of these questions that have no answer still; of the others it is noted that they have."""
    left = []
    for gap in gaps:
        asker = replace(view.reader, scope=gap.scope)
        if not question_in(gap.text) or _answers(view, asker, gap):
            view.vault.store.gaps.put(asker, gap.text, answered=True)
        elif asker == view.reader or not _answers(view, view.reader, gap):
            left.append(gap)
    return left


def _answers(view: View, reader: Reader, gap: Gap) -> bool:
    found = view.vault.searcher.recall_uncounted(reader, Query(text=gap.text, now=view.vault.env.now()))
    return found.outcome is Outcome.ANSWERED
