"""Knowledge of subjects: levels, the knowledge map, gaps, and visibility. K6, K8, §38"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import KEY, hashing_encoder

import engram
from engram.engine import Engram
from engram.errors import InvalidQuery
from engram.recall.searcher import Searcher
from engram.rules.knowledge import KnowledgeWeights, buckets, confidence, freshness, level
from engram.types import Edge, Memory, Reader, Scope
from engram.values.entities import GapKind, KnowledgeFigures, KnowledgeLevel

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAIN = KnowledgeWeights()
UNANSWERED = "Which dentist, plumber or accountant of Wellington did Carla pay last winter?"
ADA = Reader(Scope(agent="ada"))


def open_vault(path: Path, clock: HandClock) -> Engram:
    quiet = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    return engram.open(path, key=KEY, agent="rex", embedder=hashing_encoder(), settings=quiet, clock=clock.now)


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOW)


@pytest.fixture
def mem(tmp_path: Path, clock: HandClock) -> Engram:
    return open_vault(tmp_path / "vault", clock)


def figures(memories: int = 8, *, sure: float = 0.8, contested: int = 0, days: float = 1.0) -> KnowledgeFigures:
    return KnowledgeFigures(memories, 2, 1, sure, contested, 0, NOW - timedelta(days=400), NOW - timedelta(days=days))


def test_confidence_in_a_subject_grows_with_memories_and_one_answers_a_question() -> None:
    one, three = (confidence(1.0, figures(number), NOW, PLAIN) for number in (1, 3))
    assert level(one, PLAIN) is KnowledgeLevel.UNCERTAIN
    assert level(three, PLAIN) is KnowledgeLevel.CONFIDENT
    assert level(confidence(0.9, figures(1), NOW, PLAIN, asked=True), PLAIN) is KnowledgeLevel.CONFIDENT
    assert confidence(1.0, KnowledgeFigures(), NOW, PLAIN) == 0.0


@pytest.mark.parametrize("worse", [figures(sure=0.3), figures(contested=4), figures(days=500.0)])
def test_uncertain_contested_or_old_memories_lower_confidence(worse: KnowledgeFigures) -> None:
    assert level(confidence(1.0, figures(), NOW, PLAIN), PLAIN) is KnowledgeLevel.CONFIDENT
    assert level(confidence(1.0, worse, NOW, PLAIN), PLAIN) is KnowledgeLevel.UNCERTAIN


def test_a_month_costs_no_confidence_and_age_alone_never_makes_a_subject_unknown() -> None:
    assert freshness(NOW - timedelta(days=30), NOW, PLAIN) == 1.0
    assert freshness(NOW - timedelta(days=395), NOW, PLAIN) == pytest.approx(0.5)
    assert freshness(NOW - timedelta(days=9999), NOW, PLAIN) > PLAIN.known_unknown


def test_knows_answers_for_names_topics_questions_and_unknown_subjects(mem: Engram) -> None:
    for text in ("Carla lives in Lisbon", "Carla speaks four languages", "Carla repairs violins"):
        mem.remember(text)
    mem.remember("The kiln is fired on Mondays")
    person = mem.knows("carla")
    assert (person.subject, person.kind, person.level, person.figures.memories) == (
        "Carla",
        "person",
        KnowledgeLevel.CONFIDENT,
        3,
    )
    assert len(person.evidence) == 3
    assert "Carla repairs violins" in person.strong
    assert person.said == "Well known: 3 memories, the latest of 2026-03-01."
    assert mem.knows("kiln").level is KnowledgeLevel.UNCERTAIN  # one memory is little for a subject
    assert mem.knows("When is the kiln fired?").level is KnowledgeLevel.CONFIDENT  # but it answers a question
    nothing = mem.knows("kubernetes upgrades")
    assert (nothing.level, nothing.evidence, nothing.figures) == (KnowledgeLevel.UNKNOWN, (), KnowledgeFigures())
    assert nothing.said == "Nothing is known of this."
    for bad in ("  ", 7):
        with pytest.raises(InvalidQuery):
            mem.knows(bad)  # type: ignore[call-overload]


def test_knows_writes_nothing(mem: Engram) -> None:
    kept = mem.remember("Carla lives in Lisbon")
    mem.knows("Carla")
    mem.knows("Which port does the billing service listen on?")
    assert mem.gaps() == []
    after = mem.get(kept.id)
    assert after is not None
    assert after.accesses == 0


def test_gaps_are_open_questions_disputes_and_old_much_used_memories(mem: Engram, clock: HandClock) -> None:
    one = mem.remember("Carla lives in Lisbon")
    two = mem.remember("Carla plays the harp")
    three = mem.remember("Carla hates every harp")
    mem.relate(three.id, two.id, kind="contradicts")
    for _ in range(6):
        mem._vault.store.memories.record_access(mem.reader, [one.key])
        mem.recall("Which port does the billing service listen on?")
    mem.recall(UNANSWERED)
    assert [gap.kind for gap in mem.gaps()] == [GapKind.UNANSWERED, GapKind.UNANSWERED, GapKind.CONTESTED]
    clock.advance(91 * 86_400.0)
    mem.recall(UNANSWERED)
    found = mem.knows("Carla")
    assert found.figures.contested == 2
    assert found.figures.stale == 1
    assert [gap.kind for gap in found.holes] == [GapKind.UNANSWERED, GapKind.CONTESTED, GapKind.STALE]
    assert found.holes[1].memories == (three.id, two.id)
    assert found.holes[2].text == "Is this still so: “Carla lives in Lisbon”?"
    assert "2 in dispute, 1 old. 1 question about it has no answer yet." in found.said


def test_the_knowledge_map_lists_names_and_categories_best_known_first(mem: Engram) -> None:
    for text in ("Carla lives in Lisbon", "Carla speaks four languages", "Carla repairs violins", "Otto lives in Lisbon"):
        mem.remember(text, category="fact")
    for text in ("I prefer dark mode", "I prefer tea"):
        mem.remember(text, category="preference")
    found = mem.knows()
    assert [(one.subject, one.kind, one.figures.memories, one.level) for one in found] == [
        ("Carla", "person", 3, KnowledgeLevel.CONFIDENT),
        ("Lisbon", "place", 2, KnowledgeLevel.UNCERTAIN),
        ("preference", "category", 2, KnowledgeLevel.UNCERTAIN),
    ]
    assert (found.memories, found.best, found.weakest) == (6, found[0], found[2])
    assert found.said == "Best known: Carla; least: preference, Lisbon."
    assert len(mem.knows(limit=1)) == 1


def test_the_knowledge_map_looks_up_a_shared_question_once(mem: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("Carla plays the harp", "Carla keeps bees", "Wellington is windy", "The ferry to Wellington is late"):
        mem.remember(text)
    mem.recall(UNANSWERED)
    asked: list[str] = []
    recall = Searcher.recall_uncounted
    monkeypatch.setattr(Searcher, "recall_uncounted", lambda *given: (asked.append(given[2].text), recall(*given))[1])
    found = mem.knows()
    assert {one.subject: len(one.holes) for one in found} == {"Carla": 1, "Wellington": 1}
    assert asked == [UNANSWERED]


def test_memories_of_another_agent_are_neither_shown_nor_counted(mem: Engram) -> None:
    ada = mem.as_reader(ADA)
    mine = mem.remember("Carla lives in Lisbon")
    hers = [ada.remember(text) for text in ("Carla lives in Oslo", "Carla speaks Basque", "Carla keeps bees")]
    owner = mem.as_reader(Reader(policy=engram.Policy.ALL, role=engram.Role.OWNER))
    owner._vault.store.edges.put(owner.reader, [Edge(hers[0].id, mine.id, "contradicts")])
    found = mem.knows("Carla")
    assert (found.figures.memories, found.figures.contested, found.evidence) == (1, 0, (mine.id,))
    assert list(mem.knows()) == []
    assert mem.gaps() == []
    assert owner.knows("Carla").figures.contested == 2
    assert ada.knows("Carla").level is KnowledgeLevel.CONFIDENT


def test_a_subject_with_many_memories_reads_the_latest_and_counts_all(mem: Engram) -> None:
    drafts = [Memory(text=f"Carla met guest {number}", scope=mem.reader.scope) for number in range(520)]
    mem._vault.store.memories.add(mem.reader, drafts)
    found = mem.knows("Carla")
    assert (found.level, found.figures.memories) == (KnowledgeLevel.CONFIDENT, 520)
    assert mem.knows()[0].figures.memories == 520


START = datetime(2024, 3, 4, 15, 30, tzinfo=UTC)  # a Monday


def test_no_moments_give_no_buckets() -> None:
    assert buckets([]) == ("", ())


@pytest.mark.parametrize(("days", "width", "pieces"), [(0, "day", 1), (30, "day", 31), (60, "week", 9), (400, "month", 14)])
def test_buckets_widen_with_the_length_of_the_timeline(days: int, width: str, pieces: int) -> None:
    got, made = buckets([START, START + timedelta(days=days)])
    assert (got, len(made)) == (width, pieces)


def test_decades_are_counted_by_year() -> None:
    width, made = buckets([datetime(1990, 5, 1, tzinfo=UTC), START])
    assert (width, len(made), made[0].start.year, made[-1].count) == ("year", 35, 1990, 1)


def test_a_peak_exceeds_the_mean_by_one_standard_deviation() -> None:
    moments = [START + timedelta(days=day) for day in (0, 2, 4, 6, 6, 6, 6, 8)]
    _, made = buckets(moments)
    assert [one.start.day for one in made if one.peak] == [10]
    _, even = buckets([START + timedelta(days=day) for day in range(5)])
    assert not any(one.peak for one in even)


@given(st.lists(st.datetimes(), min_size=1, max_size=20))
def test_every_moment_is_in_one_bucket_and_buckets_are_contiguous(moments: list[datetime]) -> None:
    _, made = buckets(moments)
    assert sum(one.count for one in made) == len(moments)
    assert all(one.end == after.start for one, after in pairwise(made))
    assert made[0].start <= min(moments)
