"""What a text is about, as fields (C6)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import open_engram

from engram.serve.operations import OPERATIONS
from engram.serve.operations.schema import read
from engram.text.metadata import metadata

SAID = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday


def test_each_field_is_found() -> None:
    text = (
        "Yesterday Tom fixed src/app/main.py with PostgreSQL in Berlin, see https://example.org/a?b=1. "
        "The deploy of the server broke and he is furious about the database."
    )
    found = metadata(text, SAID)
    assert found.people == ("Tom",)
    assert [name.lower() for name in found.technologies] == ["postgresql"]
    assert found.places == ("Berlin",)
    assert found.paths == ("src/app/main.py",)
    assert found.dates == ("2026-03-03",)
    assert found.urls == ("https://example.org/a?b=1",)
    assert found.language == "python"
    assert found.sentiment < -0.4
    assert found.topics[0] == "software"


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("The review is on 2026-05-06.", ("2026-05-06",)),
        ("We met last week.", ("2026-02-23/2026-03-01",)),
        ("It happened on March 1st. Two days ago it rained.", ("2026-03-01", "2026-03-02")),
        ("Nothing is dated here.", ()),
    ],
)
def test_dates_are_resolved_against_when_it_was_said(text: str, dates: tuple[str, ...]) -> None:
    assert metadata(text, SAID).dates == dates
    assert metadata(text).dates == ()


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("```rust\nfn main() {}\n```", "rust"),
        ("Look at lib/parser.ts", "typescript"),
        ("We write Kotlin", "kotlin"),
        ("Go home", ""),
    ],
)
def test_the_language_of_code(text: str, language: str) -> None:
    assert metadata(text).language == language


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("My sister and her husband had a baby", "family"),
        ("The doctor says it is an allergy", "health"),
        ("The flight to Rome and the hotel are booked for the trip", "travel"),
        ("The puppy has to see the vet", "pets"),
    ],
)
def test_what_it_is_about(text: str, topic: str) -> None:
    assert metadata(text).topics[0] == topic


@given(st.text(max_size=300))
def test_any_text_has_its_fields(text: str) -> None:
    found = metadata(text, SAID, "user")
    assert -1.0 <= found.sentiment <= 1.0
    assert len(found.topics) <= 3


def test_show_tells_it(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = mem.remember("Tom writes src/app/main.py in Berlin.")
        shown = OPERATIONS["show"].run(mem, read(OPERATIONS["show"], {"id": kept.id}))
        assert (shown.metadata.people, shown.metadata.places) == (("Tom",), ("Berlin",))
