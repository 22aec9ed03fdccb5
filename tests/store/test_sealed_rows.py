"""Sensitive and confidential memories are ciphertext in their rows, absent from the text index, and still found (C8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from recall.vaults import open_engram, settle

from engram.engine import Engram
from engram.errors import InvalidContent
from engram.types import Sensitivity, Turn
from engram.values.query import Filter

CARD = "Pay the tuning with 4111 1111 1111 1111 for the piano"
MAIL = "Write to ann.quist@mail.example about the piano"


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault") as mem:
        yield mem


def raw(mem: Engram, word: str) -> bool:
    """Does a word stand in any table, or in the text index, for whoever lacks the field key?"""
    with mem._vault.store.gate.readers.use("test") as connection:
        for table in ("contents", "versions", "attributes", "turns", "working_snapshots", "episodes", "events"):
            if word in str(connection.execute(f"SELECT * FROM {table}").fetchall()):
                return True
        return bool(connection.execute("SELECT count(*) FROM lexicon WHERE lexicon MATCH ?", (f'"{word}"',)).get)


def test_the_words_of_a_memory_decide_its_confidentiality_tier(mem: Engram) -> None:
    assert mem.remember(CARD).tier is Sensitivity.CONFIDENTIAL
    assert mem.remember(MAIL).tier is Sensitivity.SENSITIVE
    assert mem.remember("The piano is black").tier is Sensitivity.CLEARTEXT


def test_personal_words_are_nowhere_in_the_database_in_plaintext(mem: Engram) -> None:
    mem.remember(CARD, attributes={"what": "card 4111 1111 1111 1111"})
    kept = mem.remember(MAIL)
    mem.update(kept.id, text="Write to ann.quist@mail.example about the organ")
    mem.observe(Turn("You can reach me at ann.quist@mail.example or +44 20 7946 0958.", session="s"), Turn("Fine.", session="s"))
    mem.working.suspend()
    assert not [word for word in ("4111", "quist", "7946") if raw(mem, word)]
    assert raw(mem, "organ"), "the rest of a sensitive memory can be searched"


def test_a_sealed_memory_reads_as_it_was_written(tmp_path: Path) -> None:
    with open_engram(tmp_path / "other") as mem:
        ids = [mem.remember(CARD, attributes={"what": "card"}).id, mem.remember(MAIL).id]
        mem.update(ids[1], text="Write to ann.quist@mail.example about the organ")
        mem.observe(Turn("You can reach me at ann.quist@mail.example tomorrow.", session="s"))
    with open_engram(tmp_path / "other") as mem:
        assert mem.get(ids[0]).text == CARD
        assert mem.get(ids[0]).summary
        assert mem.versions(ids[1])[0].text == MAIL
        assert [memory.id for memory in mem.list(filters=Filter(attributes={"what": "card"}))] == [ids[0]]
        said = [turn.text for memory in mem.list() for turn in mem.words(memory.id)]
        assert "You can reach me at ann.quist@mail.example tomorrow." in said


def test_a_sensitive_memory_is_found_by_its_other_words_and_a_confidential_one_by_meaning(mem: Engram) -> None:
    sensitive, confidential = mem.remember(MAIL), mem.remember(CARD)
    settle(mem)
    arms = {hit.memory.id: {one.arm for one in hit.why.signals if one.rank} for hit in mem.recall("piano", limit=10)}
    assert "words" in arms[sensitive.id]
    assert arms[confidential.id] == {"vectors"}


def test_a_tier_given_by_the_owner_overrides_the_detected_one(mem: Engram) -> None:
    kept = mem.remember(CARD, tier="cleartext")
    assert kept.tier is Sensitivity.CLEARTEXT
    assert raw(mem, "4111")
    mem.update(kept.id, tier="confidential")
    assert not raw(mem, "4111")
    assert mem.get(kept.id).text == CARD
    hidden = mem.remember("The piano was a gift from the mayor", tier=Sensitivity.SENSITIVE)
    assert not raw(mem, "mayor")
    mem.update(hidden.id, tier="cleartext")
    assert raw(mem, "mayor")
    with pytest.raises(InvalidContent):
        mem.remember("x y z", tier="secret")


def test_the_vector_of_a_memory_is_stored_as_its_tier_asks(mem: Engram) -> None:
    kept = mem.remember(CARD)

    def stored() -> bytes:
        with mem._vault.store.gate.readers.use("test") as connection:
            return bytes(connection.execute("SELECT vector FROM embeddings WHERE memory = ?", (kept.key,)).get)

    hidden = stored()
    mem.update(kept.id, tier="cleartext")
    assert stored() != hidden
    mem.update(kept.id, tier="confidential")
    settle(mem)
    assert kept.id in [hit.memory.id for hit in mem.recall("tuning the piano", limit=3)]


def test_erasing_a_memory_removes_its_sealed_words(mem: Engram) -> None:
    kept = mem.remember(MAIL)
    mem.forget(kept.id, erase=True)
    assert not raw(mem, "piano")


def test_sealing_can_be_switched_off(tmp_path: Path) -> None:
    with open_engram(tmp_path / "open", guard_personal=False) as mem:
        assert mem.remember(CARD).tier is Sensitivity.CLEARTEXT


def test_a_given_tier_is_exported_with_an_archive(tmp_path: Path) -> None:
    with open_engram(tmp_path / "one") as mem:
        mem.remember("The piano was a gift from the mayor", tier="confidential")
        mem.export(tmp_path / "out.engram", passphrase="a few words that nobody knows")
    with open_engram(tmp_path / "two") as mem:
        mem.import_(tmp_path / "out.engram", passphrase="a few words that nobody knows")
        assert [memory.tier for memory in mem.list()] == [Sensitivity.CONFIDENTIAL]


def test_a_given_tier_survives_an_update_of_the_words(mem: Engram) -> None:
    """C8: a stricter tier stays; a looser one stays as long as the new words need no stricter tier than the old."""
    plain, card = mem.remember("The piano was a gift"), mem.remember(CARD)
    mem.update(plain.id, tier="confidential")
    assert mem.update(plain.id, text="The piano was a gift from the mayor").tier is Sensitivity.CONFIDENTIAL
    assert not raw(mem, "mayor")
    assert mem.update(card.id, text="Pay the tuning in cash").tier is Sensitivity.CLEARTEXT  # nobody said otherwise
    lowered = mem.remember(MAIL, tier="cleartext")
    assert mem.update(lowered.id, text="Write to ben.quist@mail.example about the organ").tier is Sensitivity.CLEARTEXT
    assert mem.update(lowered.id, text=CARD).tier is Sensitivity.CONFIDENTIAL
