"""What a text feels like (C7), and that it is kept with the memory, as closely as that is."""

from __future__ import annotations

from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import KEY, open_engram

import engram
from engram.errors import InvalidContent
from engram.rules.lifecycle import archive_reason
from engram.rules.strength import retention
from engram.settings import Settings
from engram.text.english.affect import affect
from engram.types import NEUTRAL, Affect, Memory, Sensitivity

FURIOUS = "I am absolutely furious, the migration broke the shop again!!"
PLAIN = "The shop runs on port 8080."

FELT = """
    positive: The launch went well and everybody was delighted.
    positive: I love this tiny bakery, the bread is amazing!
    positive: Thank you, it works now.
    positive: My daughter graduated today and I am so proud of her.
    positive: What a relief, the scan was clear.
    positive: Can't wait for the concert on Friday.
    positive: The new keyboard is not bad.
    positive: He passed the exam.
    positive: The release had no problems. We celebrated all night.
    positive: Honestly, I can't complain.
    positive: this finally works :)
    positive: She is hopeful about the interview.
    negative: The build keeps failing and nobody knows why.
    negative: I'm not happy with the new schedule.
    negative: My uncle passed away on Sunday.
    negative: We lost the whole backup, what a disaster.
    negative: I was embarrassed in front of the client.
    negative: The update crashed my laptop twice.
    negative: He is terrified of flying.
    negative: That talk was boring and way too long.
    negative: I feel overwhelmed by all these meetings.
    negative: she got laid off in March
    negative: UGH, this form is a pain in the neck
    negative: I can't stand the noise upstairs.
    negative: The landlord rejected our request, we are disappointed.
    negative: The food was neither fresh nor good, it was awful.
    neutral: The meeting is on Tuesday at ten.
    neutral: Ana works at the harbour office.
    neutral: The API listens on port 9090.
    neutral: We use PostgreSQL for the reports.
    neutral: The NASA API returns JSON and XML.
    neutral: Her train leaves from platform four.
    neutral: The user has two cats.
    neutral: If it fails, we roll back.
    neutral: The parcel is at the post office.
    neutral: He said that the file is in the drawer.
    neutral: The recipe takes forty minutes.
    neutral: Docker images are built nightly.
"""


def test_labelled_sentences_feel_as_they_should() -> None:
    rows = [line.strip().split(": ", 1) for line in FELT.strip().splitlines()]
    wrong = [text for label, text in rows if affect(text).sentiment != label]
    assert len(wrong) <= 0.05 * len(rows), wrong


@pytest.mark.parametrize(
    ("more", "less"),
    [
        (FURIOUS, "I am furious, the migration broke the shop."),
        ("I am very sad.", "I am sad."),
        ("I am sad.", "I am slightly sad."),
        ("The server is down, fix it ASAP!", "The server is down."),
        ("I HATE this, it is AWFUL", "I hate this, it is awful"),
        ("It is broken!!!", "It is broken."),
        ("I am scared.", "I am not scared."),
        ("It failed.", "It might fail."),
    ],
)
def test_what_stirs_more(more: str, less: str) -> None:
    assert affect(more).arousal > affect(less).arousal


def test_a_denial_turns_it_and_ends_with_its_clause() -> None:
    assert affect("I am happy.").valence > 0 > affect("I am not happy.").valence
    assert affect("I am not sad.").valence > 0
    assert affect("It is not cheap, but I am happy.").valence > 0.4
    assert affect("It is not only great but cheap.").valence > 0.4


def test_who_is_in_control() -> None:
    assert affect("I am proud and confident.").dominance > 0.5
    assert affect("I am terrified and helpless.").dominance < -0.5


def test_surprise_has_its_own_figure() -> None:
    assert affect("Out of nowhere they called.").surprise > 0.5
    assert affect("They called as they always do.").surprise == 0.0
    assert affect(PLAIN, correction=True).surprise > 0.2
    assert affect(PLAIN, novelty=1.0).surprise > 0.2


def test_how_it_came_about_counts_too() -> None:
    assert affect(PLAIN) == NEUTRAL == affect(PLAIN, novelty=0.4)
    assert affect(PLAIN, outcome=0.6).valence > 0.2 > -0.2 > affect(PLAIN, outcome=-0.6).valence
    for how in ({"outcome": -0.6}, {"correction": True}, {"novelty": 1.0}):
        assert affect(PLAIN, **how).arousal > 0.1  # type: ignore[arg-type]


@given(st.text(max_size=400), st.floats(-1, 1), st.booleans(), st.floats(0, 1))
def test_strength_and_importance_stay_within_bounds(text: str, outcome: float, correction: bool, novelty: float) -> None:
    felt = affect(text, outcome=outcome, correction=correction, novelty=novelty)
    assert all(-1.0 <= one <= 1.0 for one in astuple(felt))
    assert felt.arousal >= 0.0 <= felt.surprise
    assert felt == affect(text, outcome=outcome, correction=correction, novelty=novelty)


# ── kept with the memory ───────────────────────────────────────────────────────────────────────────────────────────────


def test_it_is_kept_changed_with_the_words_and_gone_with_them(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = mem.remember(FURIOUS, attributes={"about": "shop"})
        assert kept.affect == affect(FURIOUS)
    with open_engram(tmp_path / "vault") as mem:
        again = mem.get(kept.id)
        assert (again.affect, dict(again.attributes)) == (affect(FURIOUS), {"about": "shop"})
        assert mem.update(kept.id, attributes={"about": "till"}).affect == affect(FURIOUS)
        assert mem.update(kept.id, text=PLAIN).affect == NEUTRAL == mem.get(kept.id).affect
        assert mem.remember("Nobody stirs here.").affect == NEUTRAL


def test_what_is_heard_corrected_and_done_has_it_too(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        report = mem.observe(user="I am terrified of the audit on Friday, it could ruin us!")
        assert mem.get(report.ids[0]).affect.valence < -0.4
        old = mem.remember(PLAIN)
        assert mem.feedback(old.id, False, correction="The shop runs on port 9090.").affect.surprise > 0.2
        with mem.episode("move the shop") as ep:
            ep.outcome("failure", "the disk was full")
        assert mem.get(ep.id).affect.valence < -0.2


def test_it_is_as_closely_kept_as_the_words(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = mem.remember(f"{FURIOUS} Write to ann.quist@mail.example")
        assert kept.tier is Sensitivity.SENSITIVE
        assert mem.get(kept.id).affect.arousal > 0.5
        with mem._vault.store.gate.readers.use("test") as connection:
            rows = str(connection.execute("SELECT value FROM attributes").fetchall())
        assert f"{kept.affect.arousal:g}" not in rows


def test_it_travels_in_an_archive_and_its_name_is_not_free(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        felt = mem.observe(user=FURIOUS).ids[0]
        was = mem.get(felt).affect
        mem.export(tmp_path / "out.engram", passphrase="a long passphrase of words")
        with pytest.raises(InvalidContent):
            mem.remember("A note.", attributes={"engram:affect": "1 1 1 1"})
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with engram.open(tmp_path / "other", key=KEY, role="owner", settings=settings) as mem:
        mem.import_(tmp_path / "out.engram", passphrase="a long passphrase of words", trusted=True)
        assert [one.affect for one in mem.list()] == [was]


def test_what_stirs_fades_more_slowly_and_is_not_let_go() -> None:
    settings, start = Settings(), datetime(2026, 1, 1, tzinfo=UTC)
    later = start.replace(year=2027)
    calm = Memory(text="a", category="moment", importance=0.1, confidence=0.8, learned_at=start)
    stirred = replace(calm, affect=Affect(valence=-0.8, arousal=0.8))
    assert retention(stirred, start.replace(month=3), settings) > retention(calm, start.replace(month=3), settings)
    assert archive_reason(calm, later, settings)
    assert not archive_reason(stirred, later, settings)
