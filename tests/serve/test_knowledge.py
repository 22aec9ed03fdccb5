"""The command that says how well something is known."""

from __future__ import annotations

from serve.console import Engram


def test_knows_prints_one_subject_or_a_table_of_all(engram: Engram) -> None:
    for text in ("Carla lives in Lisbon", "Carla speaks four languages", "Carla repairs violins"):
        engram("remember", text)
    shown = engram("knows", "Carla").lines
    assert shown[0] == "Carla  ########..  confident"
    assert shown[1].startswith("Well known: 3 memories")
    assert engram("knows", "kubernetes").lines == ["kubernetes  ..........  unknown", "Nothing is known of this."]
    listed = engram("knows")
    assert listed.lines[0].split("\t")[:4] == ["Carla", "########..", "confident", "person"]
    assert "Best known: Carla." in listed.err
    (found,) = engram("knows", "Carla", "--json").json["domains"]
    assert (found["level"], found["figures"]["memories"], len(found["evidence"])) == ("confident", 3, 3)
