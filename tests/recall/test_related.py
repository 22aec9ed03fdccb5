"""Whether what was found has to do with the question at all."""

from __future__ import annotations

from pathlib import Path

from recall.minds import open_mind

from engram.recall.related import held, names_stranger, related

SAID = [("Ana", "I played the cello in Lisbon"), ("Bo", "My sister Carla likes it")]


def test_words_are_held_by_their_stems_and_speakers_count() -> None:
    assert held("Does Ana sing?", SAID) == 0.5
    assert held("Which cellos?", SAID) == 1.0
    assert held("Which harp?", SAID) == 0.0
    assert held("who is it?", SAID) == 1.0  # no telling word that could be missing


def test_a_stranger_is_somebody_whom_no_hit_names() -> None:
    assert names_stranger("Where does Marta live?", SAID)
    assert not names_stranger("Where does Carla live?", SAID)
    assert not names_stranger("where does she live?", SAID)
    assert not names_stranger("Who is my boss?", [("user", "My manager is Carol")])
    assert not names_stranger("Where does our accountant live?", SAID)


def test_what_is_like_it_holds_its_words_and_was_no_pick_of_many_is_related() -> None:
    sure = related(0.4, 1.0, False, 10)
    assert sure > 0.95
    assert related(0.1, 0.0, False, 10) < 0.1
    for less in (related(0.3, 1.0, False, 10), related(0.4, 0.5, False, 10), related(0.4, 1.0, True, 10)):
        assert less < sure
    assert related(0.4, 1.0, False, 200) < sure
    assert related(0.4, 1.0, False, 200) == related(0.4, 1.0, False, 100_000)  # candidates beyond these are not all there is


def test_a_recall_tells_the_chance_and_without_vectors_the_share_of_words(tmp_path: Path) -> None:
    with open_mind(tmp_path / "vault") as mem:
        mem.remember("The kiln of the pottery is fired on Mondays")
        assert mem.recall("When is the kiln fired?", limit=3).quality.covered > 0.9
        assert mem.recall("Which kiln did Ursula sell in Ghent?", limit=3).quality.covered < 0.5
        assert mem.recall("xylophone", limit=3).quality.covered < 0.1
