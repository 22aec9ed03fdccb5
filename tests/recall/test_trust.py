"""The judgement whether the first hits answer the question, and the trust of a hit."""

from __future__ import annotations

from pathlib import Path

from recall.vaults import open_engram

from engram.recall.trust import about, chance_related, likeness, names_stranger, share_held, support

WORDS = frozenset(["ana", "i", "played", "the", "cello", "in", "lisbon", "bo", "my", "sister", "carla", "likes", "it"])


def test_words_are_compared_by_their_stems() -> None:
    assert share_held({"ana", "sing"}, WORDS) == 0.5
    assert share_held({"cellos"}, WORDS) == 1.0
    assert share_held({"harp"}, WORDS) == 0.0
    assert share_held(set(), WORDS) == 1.0  # no content word that could be missing


def test_a_stranger_is_a_person_whom_no_hit_names() -> None:
    assert names_stranger("Where does Marta live?", WORDS)
    assert not names_stranger("Where does Carla live?", WORDS)
    assert not names_stranger("where does she live?", WORDS)
    assert not names_stranger("Who is my boss?", {"user", "my", "manager", "is", "carol"})
    assert not names_stranger("Where does our accountant live?", WORDS)


def test_likeness_shared_words_known_names_and_few_candidates_make_hits_related() -> None:
    sure = chance_related(0.4, 1.0, False, 10)
    assert sure > 0.95
    assert chance_related(0.1, 0.0, False, 10) < 0.1
    for less in (chance_related(0.3, 1.0, False, 10), chance_related(0.4, 0.5, False, 10), chance_related(0.4, 1.0, True, 10)):
        assert less < sure
    assert chance_related(0.4, 1.0, False, 200) < sure
    assert chance_related(0.4, 1.0, False, 200) == chance_related(0.4, 1.0, False, 100_000)  # beyond these are not all memories


def test_a_recall_reports_the_chance_that_its_hits_are_related(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        mem.remember("The kiln of the pottery is fired on Mondays")
        assert mem.recall("When is the kiln fired?", limit=3).quality.covered > 0.9
        assert mem.recall("Which kiln did Ursula sell in Ghent?", limit=3).quality.covered < 0.5
        assert mem.recall("xylophone", limit=3).quality.covered < 0.1


def said(speaker: str, text: str) -> tuple[str, frozenset[str]]:
    return speaker, frozenset(text.lower().split())


def test_an_answer_is_about_the_person_the_question_names() -> None:
    people = ["Ann", "Bob Stone", "assistant"]
    by_ann, naming_ann, of_bob = said("Ann", "Ann sails"), said("Bob Stone", "Ann sails"), said("Bob Stone", "Bob Stone sails")
    asked = {"ann", "sail"}
    assert about(asked, people, [by_ann] * 5) == 1.0
    assert about(asked, people, [naming_ann] * 5) == 0.5
    assert about(asked, people, [of_bob] * 5) == 0.0
    assert about(asked, people, [by_ann, of_bob]) > about(asked, people, [of_bob, by_ann])
    assert about({"stone", "sail"}, people, [of_bob]) == 1.0


def test_a_question_that_names_nobody_is_about_anyone() -> None:
    assert about({"sails"}, ["Ann", "Bob"], [said("Bob", "Bob sails")]) == 1.0
    assert about({"assistant", "say"}, ["assistant"], [said("user", "Hm")]) == 1.0
    assert about({"ann", "sail"}, ["Ann"], []) == 1.0
    assert about({"rain"}, ["Will"], [said("Bob", "It rains")]) == 1.0  # a name that is a common word tells nothing


def test_support_is_likeness_and_subject_alike() -> None:
    assert support(likeness(1.0, 0.5), 1.0) == 1.0
    assert support(likeness(0.75, 0.5), 1.0) == 0.75
    assert support(likeness(0.75, 0.5), 0.0) == 0.25
    assert support(likeness(0.2, 0.5), 0.0) == 0.0
