"""The newest of several statements on the same matter first; skills first where a question asks how to do something."""

from __future__ import annotations

import numpy as np
from recall.vaults import texts

from engram.engine import Engram
from engram.recall.rerank import newest
from engram.types import Kind


def test_the_newest_of_several_statements_on_the_same_matter_ranks_first() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.99, 0.1]], np.float32)
    scores = np.array([3.0, 2.9, 2.8], np.float32)
    assert newest(scores, vectors, [10, 20, 30], ["user"] * 3, 0.9) == [2, 0, 1]
    assert newest(scores, vectors, [30, 20, 10], ["user"] * 3, 0.9) == [0, 1, 2]  # it is the newest already
    assert newest(scores, vectors, [10, 20, 30], ["user", "user", "assistant"], 0.9) == [0, 1, 2]
    assert newest(np.array([3.0, 2.9, 1.0], np.float32), vectors, [10, 20, 30], ["user"] * 3, 0.9) == [0, 1, 2]
    assert newest(scores, vectors, [10, 20, None], ["user"] * 3, 0.9) == [0, 1, 2]


SKILL = "Release the harbour app: tag it, build it, upload it"
WARNING = "Never release the harbour app on a Friday"
NEAR = "How we release the harbour app was told to Tom"


def _teach(mem: Engram) -> None:
    mem.remember(NEAR)
    mem.remember(WARNING, category="principle")
    mem.remember(SKILL, kind=Kind.SKILL, category="skill")
    mem.remember("Knead the dough for ten minutes", kind=Kind.SKILL, category="skill")


def test_how_to_ranks_a_matching_skill_first_and_what_warns_of_it_next(full: Engram) -> None:
    _teach(full)
    assert texts(full.recall("How do I release the harbour app?"))[:2] == [SKILL, WARNING]
    assert texts(full.recall("How do I release the harbour app?", limit=9))[:2] == [SKILL, WARNING]


def test_skills_stand_where_they_match_if_the_question_asks_for_something_else(full: Engram) -> None:
    _teach(full)
    assert texts(full.recall("Who was told how we release the harbour app?", limit=3))[0] == NEAR
    found = texts(full.recall("How do I reach Carla in Lisbon?", limit=9))
    assert found[0] == "My sister Carla lives in Lisbon", "a skill that does not match is not put first"
