"""Whatever is said: kept, split or refused by name; and where it is refused, nothing has changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from capture.test_observer import covered
from hypothesis import given, settings
from hypothesis import strategies as st
from recall.vaults import last_change, open_engram

from engram.capture.drafts import weighed
from engram.capture.limits import CaptureLimits
from engram.engine import Engram
from engram.errors import ContentTooLarge, EngramError, InvalidContent
from engram.settings import Settings
from engram.types import Turn


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        yield mem


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    with open_engram(tmp_path_factory.mktemp("limits") / "vault", words_only=True) as mem:
        yield mem


@settings(max_examples=60)
@given(
    said=st.lists(
        st.text(max_size=120) | st.sampled_from(["I live in Oslo. ", "password: hunter22 ", "<private>x", "# T\n- a\n"]),
        max_size=5,
    ),
    speaker=st.sampled_from(["user", "assistant", "Ann", ""]),
)  # fmt: skip
def test_every_character_of_anything_has_one_verdict(heard: Engram, said: list[str], speaker: str) -> None:
    turn = Turn("".join(said), speaker)
    try:
        report = heard.observe(turn)
    except InvalidContent:
        assert any("\ud800" <= c <= "\udfff" for c in turn.text)
        return
    covered(report, turn)
    assert all(verdict.reason for verdict in report.verdicts)


def test_content_of_eight_kibibytes_is_kept_and_one_byte_more_is_not(mem: Engram) -> None:
    kept = mem.remember("é" * 4096)
    assert len(kept.text.encode()) == 8192
    before = last_change(mem)
    with pytest.raises(ContentTooLarge, match="8193 bytes"):
        mem.remember("é" * 4096 + "a")
    with pytest.raises(ContentTooLarge):
        mem.update(kept.id, text="é" * 4096 + "a")
    assert last_change(mem) == before


@given(st.text(min_size=1, max_size=3000))
def test_shorter_tiers_fit_into_half_a_kibibyte(text: str) -> None:
    text = text.encode("utf-8", "ignore").decode()
    tiers = weighed(text, Settings())
    assert all(len(tiers[name].encode()) <= 512 for name in ("summary", "key_fact", "tag"))
    assert len(tiers["tokens"]) == 4


def test_a_long_document_is_kept_in_statements_that_fit(mem: Engram) -> None:
    text = "\n\n".join(f"## Part {n}\n\nThe valve {n} of the pump is opened with key {n} before noon." for n in range(3000))
    report = mem.ingest(text)
    assert report.counts["kept"] > 1000
    assert max(len(memory.text.encode()) for memory in mem.list(limit=1000)) <= 8192


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\t", "<private>all of it</private>", b"bytes", None, 7, "a\ud800", "word " * 2_000_000]
)
def test_what_cannot_be_remembered_changes_nothing(mem: Engram, text: object) -> None:
    known = mem.remember("The API runs on Heroku")
    before = last_change(mem)
    with pytest.raises((InvalidContent, ContentTooLarge)):
        mem.remember(text)  # type: ignore[arg-type]
    if text is not None:
        with pytest.raises((InvalidContent, ContentTooLarge)):
            mem.update(known.id, text=text)  # type: ignore[arg-type]
    assert last_change(mem) == before
    assert mem.get(known.id) == known


@pytest.mark.parametrize("text", ["", " \n ", "\x00\x01\x02\x7f" * 300, "‮שלום‬ עולם גדול", "🙂" * 5000, "a" * 3_000_000])
def test_any_text_can_be_ingested(mem: Engram, text: str) -> None:
    report = mem.ingest(text)
    assert report.operation == "ingest"
    assert all(len(memory.text.encode()) <= 8192 for memory in mem.list(limit=1000))


def test_half_a_character_stops_an_ingest_before_it_begins(mem: Engram) -> None:
    before = last_change(mem)
    with pytest.raises(EngramError):
        mem.ingest("I like tea.\n\n" + "\udc00 and coffee")
    assert last_change(mem) == before


def test_what_an_ingest_took_up_before_a_turn_that_is_none_is_kept(tmp_path: Path) -> None:
    with open_engram(tmp_path / "v", words_only=True, tuning=[CaptureLimits(ingest_batch=2)]) as mem:
        turns = [Turn(f"I visited town{n}.") for n in range(4)]
        with pytest.raises(InvalidContent):
            mem.ingest([*turns, Turn("x\ud800")])
        assert len(mem.list()) == 4


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_any_time_may_be_remembered(mem: Engram, moment: datetime) -> None:
    kept = mem.remember("The comet came by", happened_at=moment)
    assert kept.happened_at == moment
    assert mem.get(kept.id) == kept
