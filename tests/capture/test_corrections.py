"""A correction takes effect at once and never comes back: not by saying it again, nor in other words (M19)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.vaults import KEY, hashing_encoder, open_engram, store_of, texts

import engram
from engram.engine import Engram
from engram.errors import AccessDenied, Conflict, EngramError, InvalidContent, InvalidQuery, NotFound
from engram.rules.duplicates import DuplicateWeights, says_again
from engram.types import Draft, Edge, Fate, Kind, Memory, Reader, Role, Scope, Source, Status, Turn

OLD, NEW = "My sister lives in Porto", "My sister lives in Lisbon"
ASKED = "Where does my sister live?"


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault") as mem:
        yield mem


def said(mem: Engram) -> list[str]:
    return texts(mem.recall(ASKED, limit=9))


def fates(mem: Engram, text: str, speaker: str = "user") -> list[tuple[Fate, str, str]]:
    report = mem.observe(Turn(text, speaker))
    return [(one.fate, one.reason, one.memory) for one in report.verdicts]


# ── taking effect ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_new_fact_is_kept_and_the_old_one_retired(mem: Engram) -> None:
    old = mem.remember(OLD, category="family", importance=0.8, attributes={"about": "Ann"}, kind=Kind.FACT)
    new = mem.feedback(old.id, False, correction=NEW)
    assert (new.text, new.category, new.importance, new.kind) == (NEW, "family", 0.8, Kind.FACT)
    assert (new.source, new.scope, dict(new.attributes)) == (Source.USER, old.scope, {"about": "Ann"})
    assert new.tokens[0] > 0
    assert said(mem) == [NEW]
    gone = mem.get(old.id)
    assert gone is not None
    assert (gone.status, gone.text, gone.unhelpful) == (Status.SUPERSEDED, OLD, 1)
    assert [(one.old, one.new, one.reason) for one in mem.status_history(old.id)] == [
        (Status.ACTIVE, Status.SUPERSEDED, "corrected")
    ]
    assert [(e.source, e.target, e.kind) for e in mem.edges(old.id)] == [(new.id, old.id, "supersedes")]
    assert {entry.operation for entry in mem.audit() if entry.subject in (old.id, new.id)} >= {"correct", "add"}


def test_a_correction_is_made_whole_or_not_at_all(mem: Engram) -> None:
    old, owner = mem.remember(OLD), replace(mem.reader, role=Role.OWNER)
    refuse = "CREATE TRIGGER refuse BEFORE INSERT ON edges BEGIN SELECT RAISE(ABORT, 'refused'); END"
    store_of(mem).gate.write(owner, "test", lambda connection: connection.execute(refuse))  # its last step fails
    with pytest.raises(EngramError):
        mem.feedback(old.id, False, correction=NEW)
    assert texts(mem.list(status=None)) == [OLD]
    kept = mem.get(old.id)
    assert kept is not None
    assert (kept.status, kept.unhelpful) == (Status.ACTIVE, 0)
    store_of(mem).gate.write(owner, "test", lambda connection: connection.execute("DROP TRIGGER refuse"))
    assert mem.feedback(old.id, False, correction=NEW).text == NEW
    assert said(mem) == [NEW]


def test_the_new_fact_has_its_vector_at_once(mem: Engram) -> None:
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    vectors = dict(store_of(mem).vectors.visible(mem.reader, "text"))
    assert new.key in vectors
    assert mem.backfill() == 0


def test_as_of_before_the_correction_the_old_one_answers(tmp_path: Path, clock: HandClock) -> None:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    with engram.open(tmp_path / "v", key=KEY, agent="rex", embedder=hashing_encoder(), settings=settings, clock=clock.now) as mem:
        old = mem.remember(OLD)
        before = clock.now() + timedelta(seconds=1)
        clock.advance(10)
        mem.feedback(old.id, correction=NEW)
        assert texts(mem.recall(ASKED, as_of=before, limit=9)) == [OLD]
        assert texts(mem.recall(ASKED, as_of=clock.now(), limit=9)) == [NEW]
        assert said(mem) == [NEW]


def test_what_is_corrected_twice_is_corrected_once(mem: Engram) -> None:
    old = mem.remember(OLD)
    new = mem.feedback(old.id, correction=NEW)
    assert mem.feedback(old.id, correction=NEW) == new
    with pytest.raises(InvalidQuery, match="superseded"):
        mem.feedback(old.id, correction="My sister lives in Faro")
    assert said(mem) == [NEW]


def test_a_correction_to_what_is_known_makes_that_surer(mem: Engram) -> None:
    old, known = mem.remember("My sister is a nurse"), mem.remember("My sister is a doctor")
    new = mem.feedback(old.id, correction="MY SISTER IS A DOCTOR")
    assert new.id == known.id
    assert new.confidence > known.confidence
    assert said(mem) == ["My sister is a doctor"]


def test_a_correction_is_taken_back_by_correcting_it(mem: Engram) -> None:
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    back = mem.feedback(new.id, correction=OLD)
    assert said(mem) == [OLD]
    assert mem.remember(OLD).id == back.id
    assert mem.remember(NEW).id == back.id
    assert said(mem) == [OLD]


def test_what_is_no_correction_changes_nothing(mem: Engram) -> None:
    old = mem.remember(OLD)
    for wrong in (OLD.upper() + "!", "", "  ", "<private>Lisbon</private>"):
        with pytest.raises(InvalidContent):
            mem.feedback(old.id, correction=wrong)
    with pytest.raises(NotFound):
        mem.feedback("nothing", correction=NEW)
    assert mem.get(old.id) == old
    assert said(mem) == [OLD]


def test_secrets_are_left_out_of_a_correction(mem: Engram) -> None:
    old = mem.remember("The deploy key is kept by Ann")
    new = mem.feedback(old.id, correction="The deploy key ghp_" + "a1B2" * 9 + " is kept by Bob")
    assert "ghp_" not in new.text
    assert "kept by Bob" in new.text


# ── never coming back ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_said_again_it_is_dropped_and_says_what_stands_in_its_place(mem: Engram) -> None:
    mem.observe(Turn("My sister lives in Porto.", "Ann"))
    old = mem.list()[0]
    new = mem.feedback(old.id, correction=old.text.replace("Porto", "Lisbon"))
    assert fates(mem, "My sister lives in Porto.", "Ann") == [(Fate.DROPPED, "was corrected", new.id)]
    report = mem.ingest([Turn("My sister lives in Porto.", "Ann", ref=f"r{n}") for n in range(3)])
    assert (report.counts["kept"], report.counts["merged"], report.counts["dropped"]) == (0, 0, 3)
    assert len(mem.list()) == 1
    assert len(mem.words(new.id)) == 0


def test_nor_is_it_kept_by_remembering_it(mem: Engram) -> None:
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    assert mem.remember(f"  {OLD.upper()}! ") == new
    assert len(mem.list(status=None)) == 2


@pytest.mark.parametrize(
    ("old", "again", "speaker", "dropped"),
    [
        ("I use vim as my editor", "I use vim as my editor.", "user", True),
        ("The user: I use vim as my editor.", "I use vim as my editor.", "user", True),
        ("The API runs on Heroku", "The API runs on Heroku.", "Ann", True),
        ("My sister lives in Porto", "My sister lives in Porto.", "Ann", False),
        ("I use vim as my editor", "I use vim as my editor.", "Ann", False),
    ],
)
def test_whose_word_it_is_matters_where_it_is_about_them(mem: Engram, old: str, again: str, speaker: str, dropped: bool) -> None:
    """Another's sister is another sister; where the API runs is the same from anyone."""
    mem.feedback(mem.remember(old).id, correction="Something else is true here")
    assert [one[0] for one in fates(mem, again, speaker)] == [Fate.DROPPED if dropped else Fate.KEPT]


def test_what_was_kept_in_the_third_person_is_known_when_the_user_says_it(mem: Engram) -> None:
    """Vaults of earlier releases hold statements about the user in the third person."""
    new = mem.feedback(mem.remember("The user uses vim as their editor").id, correction="The user uses Helix as their editor")
    assert fates(mem, "I use vim as my editor.") == [(Fate.DROPPED, "was corrected", new.id)]


def test_what_was_heard_and_corrected_is_not_remembered_again(mem: Engram) -> None:
    (old,) = mem.observe(user=f"{OLD}.").ids
    new = mem.feedback(old, correction=NEW)
    assert mem.remember(OLD) == new
    assert said(mem) == [NEW]


def test_one_corrected_fact_among_several_is_left_out_and_the_others_are_kept(mem: Engram) -> None:
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    made = mem.remember(f"{OLD}. I am allergic to peanuts. The API runs on Heroku in Frankfurt.")
    assert {memory.id for memory in (made, *made.others)} == {memory.id for memory in mem.list()}
    assert new.id in {memory.id for memory in mem.list()}
    assert not any("Porto" in memory.words for memory in mem.list())
    assert len(mem.list()) == 3


def test_nor_without_an_encoder(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        new = mem.feedback(mem.remember(OLD).id, correction=NEW)
        assert mem.remember(OLD).id == new.id
        mem.observe(Turn(OLD))
        assert texts(mem.list()) == [NEW]


@pytest.mark.parametrize(
    ("old", "new", "again", "dropped"),
    [
        ("The office is owned by Ann.", "The office is owned by Bert.", "Ann owns the office.", True),
        ("The API runs on port 8080.", "The API runs on port 9090.", "The API is listening on port 8080.", True),
        ("My sister lives in Porto.", "My sister lives in Lisbon.", "My sister is based in Porto.", True),
        ("My sister lives in Porto.", "My sister lives in Lisbon.", "My sister moved to Porto.", False),
        ("The office is owned by Ann.", "The office is owned by Bert.", "Ann owns the garage.", False),
        ("The API runs on port 8080.", "The API runs on port 9090.", "The API runs on port 7070.", False),
    ],
)
def test_nor_the_same_fact_in_other_words_even_without_an_encoder(
    tmp_path: Path, old: str, new: str, again: str, dropped: bool
) -> None:
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        true = mem.feedback(mem.remember(old).id, correction=new)
        assert (mem.remember(again).id == true.id) == dropped


def test_nor_after_what_took_its_place_is_gone(mem: Engram) -> None:
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    mem.forget(new.id, erase=True)
    mem.observe(Turn(OLD))
    assert mem.remember(OLD).status is Status.SUPERSEDED
    assert said(mem) == []


def test_nor_by_restoring_it_or_what_said_the_same(mem: Engram) -> None:
    twin, other, old = (mem.remember(text) for text in ("My sister is living in Porto", "My brother lives in Porto", OLD))
    mem.forget(twin.id)
    mem.forget(other.id)
    mem.feedback(old.id, correction=NEW)
    for gone in (old, twin):
        with pytest.raises(Conflict, match="corrected"):
            mem.restore(gone.id)
    assert mem.restore(other.id).status is Status.ACTIVE
    assert mem.review(old.id, "confirm").status is Status.ACTIVE


def test_nor_what_a_review_invalidated(mem: Engram) -> None:
    old = mem.remember(OLD)
    mem.review(old.id, "invalidate")
    assert fates(mem, OLD)[0] == (Fate.DROPPED, "was corrected", old.id)
    mem.review(old.id, "confirm")
    assert fates(mem, OLD)[0][0] is Fate.MERGED


def test_nor_by_one_who_looked_before_it_was_corrected(mem: Engram) -> None:
    """Between the look and the write another process may correct it: the transaction that writes looks again."""
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    drafts = [Draft(memory=Memory(text=text)) for text in (OLD, "My brother lives in Faro")]
    kept = store_of(mem).capture.write(mem.reader, mem.reader.scope, [], drafts)
    assert kept[0] == new
    assert sorted(texts(mem.list())) == ["My brother lives in Faro", NEW]


def test_in_another_place_it_was_never_corrected(mem: Engram) -> None:
    zoe = mem.as_reader(Reader(Scope(agent="zoe")))
    theirs = zoe.remember(OLD)
    new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    assert zoe.get(theirs.id) == theirs
    assert zoe.remember(OLD).id == theirs.id
    assert said(zoe) == [OLD]
    with pytest.raises(NotFound):
        zoe.feedback(new.id, correction=OLD)
    with pytest.raises(AccessDenied):
        zoe.remember(OLD, scope=Scope(agent="rex"))
    assert said(mem) == [NEW]


def test_what_was_superseded_otherwise_may_be_said_again(mem: Engram) -> None:
    """Who moved away may move back: only a correction says that it was wrong."""
    old, new = mem.remember(OLD), mem.remember(NEW)
    store_of(mem).edges.put(mem.reader, [Edge(new.id, old.id, "supersedes")])
    store_of(mem).memories.set_status(mem.reader, old.id, Status.SUPERSEDED, "moved")
    assert mem.remember(OLD).status is Status.ACTIVE


def test_it_is_known_after_the_vault_was_closed(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        new = mem.feedback(mem.remember(OLD).id, correction=NEW)
    with open_engram(tmp_path / "vault") as mem:
        assert fates(mem, OLD)[0][::2] == (Fate.DROPPED, new.id)
        assert said(mem) == [NEW]


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("My sister is living in Porto", True),
        ("My sister really lives in Porto", True),
        ("My sister lived in Porto", False),
        ("My sister used to live in Porto", False),
        ("My sister does not live in Porto", False),
        ("My sister lives in Faro", False),
        ("In Porto lives my sister", False),
        ("My little sister lives in Porto", False),
        ("Porto", False),
    ],
)
def test_other_words_are_the_same_only_if_nothing_in_them_is_new(words: str, same: bool) -> None:
    assert says_again(words, OLD, DuplicateWeights()) is same


@pytest.mark.parametrize(
    ("old", "new", "again", "same"),
    [
        ("My sister Carla lives in Porto", "My sister Carla lives in Faro", "Carla, my sister, lives in Porto", True),
        (
            "My sister Carla lives in Porto",
            "My sister Carla lives in Faro",
            "My sister Carla is living in Porto these days",
            True,
        ),
        ("The API calls the ledger", "The API calls the archive", "The ledger calls the API", False),
        ("Tea tastes better than coffee", "Coffee tastes better than tea", "Coffee tastes better than tea", False),
        ("My sister Carla lives in Porto", "My sister Carla lives in Faro", "My sister Carla works in Porto", False),
    ],
)
def test_what_the_correction_left_alone_may_change_places(old: str, new: str, again: str, same: bool) -> None:
    assert says_again(again, old, DuplicateWeights(), instead=new) is same


def test_it_does_not_come_back_by_importing_the_same_talk_again(mem: Engram) -> None:
    talk = [Turn(OLD, session="s1", ref="r1"), Turn("The garage door is green", session="s1", ref="r2")]
    mem.ingest(talk)
    old = next(memory for memory in mem.list() if "Porto" in memory.text)
    mem.feedback(old.id, correction=NEW)
    for again in (talk, [replace(turn, session="s2", ref=f"again {turn.ref}") for turn in talk]):
        mem.ingest(again)
        assert not [memory.text for memory in mem.list() if "Porto" in memory.text]
