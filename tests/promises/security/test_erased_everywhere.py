"""§10.6, §10.18.2, §10.20, V12, S8: of every table, that a word put there by everyday use is gone after an erasure or a purge,
that the report counts it, and that the proof in the report is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from promises.security.canaries import CANARY, EXEMPT, LOOKS, in_pages, live, shown_in, tables
from promises.vaults_at_hand import OWNER, inside, open_vault, store_of
from recall.vaults import open_engram
from serve.served import Api, serving

from engram.engine import Engram
from engram.errors import InvalidQuery
from engram.store.sqlite import erasure
from engram.types import Reader, Role, Scope

NEIGHBOUR = "The harbour is closed on Sundays"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def lived(path: Path) -> Iterator[Engram]:
    """A vault in which the word stands in every table that can hold one."""
    with open_engram(path) as mem:
        mem.remember(NEIGHBOUR)
        live(mem)
        answered_over_the_wire(mem.as_reader(OWNER))
        yield mem


def answered_over_the_wire(mem: Engram) -> None:
    """An answer that is kept for whoever asks again under the same key."""
    secret = mem.grant("rex's", scope=Scope(agent="rex"), writes=True).secret
    with serving(mem) as server:
        api = Api(server.port, secret)
        kept = api.post("/v1/memories", {"text": f"{CANARY} is on leave"}).json["id"]
        assert api("PUT", f"/v1/memories/{kept}/pin", {}, idempotency_key="k").status == 200


def everything_of_it(mem: Engram) -> list[str]:
    return [memory.id for memory in mem.list(limit=200) if memory.text != NEIGHBOUR]


def test_every_table_has_a_canary_or_a_reason_to_have_none(path: Path) -> None:
    """A new table fails here until it gets a canary or an exemption."""
    with open_vault(path) as mem, store_of(mem).gate.readers.use("test") as connection:
        assert tables(connection) == LOOKS.keys() | EXEMPT.keys()


def test_the_canary_is_in_every_table_before_the_erasure(lived: Engram, path: Path) -> None:
    """Else the tests below prove nothing."""
    with inside(path) as connection:
        assert LOOKS.keys() - shown_in(connection) == set()
    assert in_pages(path)


def test_after_an_erasure_the_canary_is_nowhere(lived: Engram, path: Path) -> None:
    """V12, §10.6, §10.18.2: no table, no term of the text index, no page, no file, no later backup."""
    mem = lived.as_reader(OWNER)
    ids = everything_of_it(mem)
    told = mem.forget(*ids, erase=True, dry_run=True)
    assert told.notes == ("nothing was removed.",)
    assert mem.audit()[0].operation == "erase:trial", "who counts is seen too"
    with inside(path) as connection:
        assert LOOKS.keys() - shown_in(connection) == set(), "a trial run removed something"
    done = mem.forget(*ids, erase=True)
    assert done.counts == told.counts
    assert set(done.ids) == set(told.ids) >= set(ids)
    assert LOOKS.keys() - done.counts.keys() == {"audit"}, "a place that the report does not count"
    assert [note for note in done.notes if "none is left" in note], done.notes
    with inside(path) as connection:
        left = shown_in(connection)
    assert left == {"audit"}  # of the neighbour
    assert not in_pages(path)
    assert not in_pages(path, mem.backup().path)
    assert [memory.text for memory in mem.list(limit=200)] == [NEIGHBOUR]
    lived.close()
    assert not in_pages(path)
    assert not [file for file in path.rglob("*") if file.is_file() and CANARY.lower().encode() in file.read_bytes().lower()]


def test_after_a_purge_the_canary_is_nowhere(lived: Engram, path: Path) -> None:
    """S8, §10.20: all of one agent."""
    mem = lived.as_reader(OWNER)
    told = mem.purge(agent="rex", dry_run=True)
    assert mem.audit()[0].operation == "purge:trial"
    with inside(path) as connection:
        assert LOOKS.keys() - shown_in(connection) == set(), "a trial run removed something"
    done = mem.purge(agent="rex")
    assert done.counts.keys() == told.counts.keys()
    assert LOOKS.keys() - done.counts.keys() == set()
    assert [note for note in done.notes if "none is left" in note], done.notes
    with inside(path) as connection:
        assert shown_in(connection) == set()
    assert not in_pages(path)
    assert b"rex" not in [bytes(place, "utf-8") for place in named(path)]


def named(path: Path) -> list[str]:
    with inside(path) as connection:
        return [str(row[0]) for row in connection.execute("SELECT agent FROM scopes")]


def test_the_check_after_an_erasure_finds_and_names_what_is_left(path: Path) -> None:
    """A word, a vector or a digest that is put back is found, and its place is named."""
    with open_engram(path) as mem:
        kept = mem.remember(f"{CANARY} prefers the window seat")
        with inside(path) as connection:
            held = erasure.Traces()
            erasure.record_traces(connection, held, kept)
            vector = connection.execute("SELECT vector FROM embeddings WHERE memory = ?", (kept.key,)).get
        assert len(held.marks) == 1
        owner = mem.as_reader(OWNER)
        assert "none is left" in owner.forget(kept.id, erase=True).notes[0]
        with inside(path) as connection:
            wanted = erasure.unique_traces(connection, held)
            assert CANARY in wanted.words
            assert len(wanted.marks) == 2
            assert erasure.find_remainders(connection, wanted) == {}
        owner.remember("nothing of it")
    with inside(path, write=True) as connection:
        connection.execute("INSERT INTO padding (bytes) VALUES (?)", (vector,))
        assert erasure.find_remainders(connection, wanted) == {"pages that no row uses": 1}
        connection.execute("DELETE FROM padding")
        connection.execute("UPDATE contents SET tag = ?", (f"so {CANARY} said",))
        assert erasure.find_remainders(connection, wanted) == {"contents.tag": 1}
        connection.execute("UPDATE contents SET tag = ''")
        connection.execute("INSERT INTO lexicon (rowid, words, around) VALUES (999, ?, '')", (CANARY,))
        assert erasure.find_remainders(connection, wanted) == {"the text index": 1}


def test_words_that_other_memories_contain_are_not_reported_as_left(path: Path) -> None:
    with open_engram(path) as mem:
        mem.remember(NEIGHBOUR)
        gone = mem.remember(f"{NEIGHBOUR}, {CANARY} says")
        notes = mem.as_reader(OWNER).forget(gone.id, erase=True).notes
        assert [note for note in notes if note.startswith("1 of its words") and "none is left" in note], notes


def test_a_reader_who_is_not_the_owner_learns_nothing_of_others_by_erasing(path: Path) -> None:
    """Else erasing a word would be an oracle over memories that the reader may not see."""
    with open_engram(path, agent="ada") as mem:
        mem.remember(f"{CANARY} is on leave")
        rex = mem.as_reader(Reader(Scope(agent="rex"), role=Role.AGENT))
        planted = rex.remember(f"{CANARY} is here")
        mem.working.attend("the harbour is closed")
        mem.working.suspend()
        done = rex.forget(planted.id, erase=True)
        assert done.notes == ()
        assert done.counts["memories"] == 1
        assert "working_snapshots" not in done.counts


def test_an_erasure_names_the_backups_that_hold_the_words_and_the_way_out(path: Path) -> None:
    with open_engram(path) as mem:
        owner = mem.as_reader(OWNER)
        kept = mem.remember(f"{CANARY} is on leave")
        older = owner.backup().path
        notes = owner.forget(kept.id, erase=True).notes
        assert [note for note in notes if older.name in note and "delete it" in note], notes
        assert in_pages(path, older)


def test_only_erasing_can_be_tried_with_dry_run(path: Path) -> None:
    with open_engram(path) as mem:
        kept = mem.remember("x y z")
        with pytest.raises(InvalidQuery):
            mem.forget(kept.id, dry_run=True)
        assert mem.get(kept.id) is not None


def test_a_checkpoint_without_the_erased_words_stays(path: Path) -> None:
    with open_engram(path) as mem:
        kept = mem.remember(f"{CANARY} is on leave")
        mem.working.checkpoint("Paint the fence")
        mem.forget(kept.id, erase=True)
        assert mem.resume().goal == "Paint the fence"
