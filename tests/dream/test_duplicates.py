"""K1: duplicates are merged, and memories that are only similar are not."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from dream.vaults import keep
from recall.vaults import KEY, MODELS, NO_MODEL, real_encoder

import engram
from engram.dream.duplicates import is_duplicate
from engram.engine import Engram
from engram.types import Memory, Policy, Reader, Role, Scope, Status, Turn


def labelled(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((Path(__file__).parents[1] / "labelled" / f"{name}.csv").read_text("utf-8").splitlines()))


PAIRS = [(row["one"], row["other"], row["same"] == "1") for row in labelled("merges")]
ALIKE = [
    f"{who} {does} {what} in room {room}"
    for who in ("Ada", "Ben", "Cleo", "Dov")
    for does in ("keeps", "sells")
    for what in ("maps", "lamps", "bikes")
    for room in (11, 12, 21)
]


@pytest.mark.parametrize(("one", "other", "alike"), PAIRS)
def test_words_decide_whether_two_statements_are_duplicates(one: str, other: str, alike: bool) -> None:
    assert is_duplicate(Memory(text=one), Memory(text=other)) is alike


def test_updates_and_corrections_are_not_duplicates() -> None:
    told = [(row["old"], row["new"]) for row in labelled("updates") + labelled("rewordings")]
    assert [pair for pair in told if is_duplicate(Memory(text=pair[0]), Memory(text=pair[1]))] == []


def test_among_similar_memories_only_duplicates_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_MODELS", MODELS)
    encoder = real_encoder() if MODELS else None
    if encoder is None:
        pytest.skip(NO_MODEL)
    given = {"backup_hours": 0, "harden_process": False, "close_on_sigterm": False, "dream": False}
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings={**given, "model": "none"}) as mem:
        keep(mem, *dict.fromkeys([text for one, other, _ in PAIRS for text in (one, other)] + ALIKE))
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=given, embedder=encoder) as mem:
        mem.backfill()
        mem.warm(120)
        before = {one.id: one for one in mem.list(limit=1000, status=None)}
        report = mem.consolidate(jobs=["merge"])
        gone = {before[one].text for one in report.changes["merge.merged"]}

    assert all((one in gone) != (other in gone) for one, other, alike in PAIRS if alike)
    wrong = len(gone) - sum(alike for *_, alike in PAIRS)
    assert wrong <= 2, "the pair model takes two of the others for rewordings"
    assert report.after == report.before


def test_the_kept_memory_inherits_from_the_merged_one(mem: Engram) -> None:
    old = mem.observe(Turn("My boat repairs at the dock in Ulm start at nine.", session="a")).ids[0]
    new = mem.observe(Turn("My boat repairs at the dock in Ulm begin at nine.", session="b")).ids[0]
    other = mem.remember("The boat is called Daisy")
    mem.relate(new, other.id, "about")

    report = mem.consolidate()

    assert report.counts["merge.merged"] == 1
    [gone] = [one for one in (old, new) if one in report.ids]
    stays = old if gone == new else new
    survivor = mem.get(stays)
    assert survivor.corroborations == 1
    assert survivor.confidence > mem.get(gone).confidence
    assert len(mem.words(stays)) == 2, "the words of both are the words it came from"
    assert {(edge.kind, edge.target) for edge in mem.edges(stays) if edge.source == stays} >= {("about", other.id)}
    assert mem.get(gone).status is Status.MERGED


def test_a_users_words_and_pinned_memories_are_kept(mem: Engram) -> None:
    pinned = mem.remember("The API runs on Fly in Frankfurt")
    mem.pin(pinned.id)
    mem.remember("The API also runs on Fly in Frankfurt")
    mem.consolidate()
    assert [one.id for one in mem.list()] == [pinned.id]


def test_nothing_is_merged_across_scopes(mem: Engram) -> None:
    owner = Reader(policy=Policy.ALL, role=Role.OWNER)
    ada, rex = (mem.as_reader(Reader(Scope(agent=name))) for name in ("ada", "rex"))
    ada.remember("The API runs on Fly in Frankfurt")
    rex.remember("The API also runs on Fly in Frankfurt")
    assert not mem.as_reader(owner).dream().ids

    ada.remember("The API runs on Fly in Frankfurt now")
    assert not rex.dream().ids, "what is another's is not touched"
    assert mem.as_reader(owner).dream().ids
    assert len(rex.list()) == 1


def test_erasing_a_merged_memory_erases_its_duplicates(mem: Engram) -> None:
    for text in ("The API runs on Fly in Frankfurt", "The API also runs on Fly in Frankfurt"):
        mem.remember(text)
    mem.consolidate()
    [survivor] = mem.list()
    mem.forget(survivor.id, erase=True)
    assert len(mem.list(status=None)) == 0
