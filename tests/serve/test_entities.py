"""Commands on entities."""

from __future__ import annotations

from serve.console import Engram


def test_a_timeline_is_drawn_with_its_peaks(made: Engram) -> None:
    for number, day in enumerate((1, 9, 9)):
        made("remember", f"Ada painted door {number}", "--happened-at", f"2024-03-0{day}T12:00:00Z")
    drawn = made("timeline", "Ada").lines
    assert f"2024-03-01  {'#' * 20} 1" in drawn
    assert f"2024-03-09  {'#' * 40} 2 *" in drawn
    told = made("timeline", "Ada", "--json").json
    assert (told["width"], len(told["buckets"]), told["buckets"][-1]["peak"]) == ("day", 9, True)
    assert "Nothing is known about that." in made("timeline", "nobody").err
    assert "@ada" not in made("entity", "Ada").out  # no handle was ever mentioned
