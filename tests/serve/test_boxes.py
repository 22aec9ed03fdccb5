"""Commands on boxes."""

from __future__ import annotations

from serve.console import Engram


def test_a_box_is_named_by_its_number(made: Engram) -> None:
    made("remember", "The API runs on Fly.io")
    number = str(made("boxes", "--json").json["boxes"][0]["key"])
    assert "Fly.io" in made("box", number).out
    assert "There is no box of that number" in made("box", "99").err
