"""How much a statement tells: its names, deeds and dates."""

from __future__ import annotations

from engram.text.english.informativeness import told


def test_a_deed_with_a_name_tells_more_than_a_remark() -> None:
    deed, names = told('Ada: I read "Middlemarch" in Lisbon with Tom.', "Ada")
    remark, none = told("Ada to Tom: Books are such a joy, you know!", "Ada")
    assert deed > 0 > remark
    assert (names, none) == (3, 0)
    assert told("Honesty matters.", "Ada", "principle")[0] < told("Honesty matters.", "Ada")[0]


def test_the_names_of_speaker_and_listener_do_not_count() -> None:
    assert told("Ada to Tom: I met Tom and then Ada left.", "Ada")[1] == 0
