"""What a new statement does to earlier ones of its scope and owner: it corroborates, supersedes or challenges them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from recall.vaults import open_engram

from engram.capture.duplicates import Candidate, Sifted
from engram.capture.reports import reported
from engram.capture.statements import Statement
from engram.capture.turns import Heard
from engram.engine import Engram
from engram.models.pair_reader import PairReader
from engram.rules.pairs import PairWeights
from engram.types import Draft, Memory, Proposition, Replacement, Status, Turn
from engram.values.frozen import replace

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
EAGER = PairWeights(least_likeness=0.2)
"""The encoder of these tests knows words only, so that statements are nearer or farther than they mean."""
OLD, NEW = "I work at the Harbour bakery as a baker", "I quit my job at the Harbour bakery, no longer a baker"


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault", tuning=[EAGER]) as mem:
        yield mem


def say(mem: Engram, text: str, day: int, speaker: str = "user") -> None:
    mem.observe(Turn(text, speaker, at=START + timedelta(days=day), session=f"s{day}", ref=f"r{day}"))


def standing(mem: Engram, status: Status) -> list[str]:
    return [memory.words for memory in mem.list(limit=100, status=status)]


def only(memories: list[Memory]) -> Memory:
    (memory,) = memories
    return memory


def test_a_statement_in_other_words_corroborates_the_known_one(mem: Engram) -> None:
    say(mem, "our team standup is at nine every morning", 0)
    say(mem, "the team meets for standup each morning, nine o'clock", 5)
    kept = only(list(mem.list()))
    assert kept.corroborations == 1
    assert set(kept.refs) == {"r0", "r5"}


def test_a_change_retires_the_earlier_statement_and_keeps_it_linked(mem: Engram) -> None:
    say(mem, OLD, 0)
    say(mem, NEW, 9)
    gone = [*mem.list(status=Status.SUPERSEDED), *mem.list(status=Status.CHALLENGED)]
    assert [memory.words for memory in gone] == [OLD]
    assert "replaces it" in mem.status_history(gone[0].id)[-1].reason
    newer = next(memory for memory in mem.list() if memory.words == NEW)
    assert {(edge.source, edge.target) for edge in mem.edges(newer.id)} == {(newer.id, gone[0].id)}


def test_a_change_within_one_batch_is_seen(mem: Engram) -> None:
    turns = [Turn(text, "user", START + timedelta(days=n), f"s{n}", f"r{n}") for n, text in enumerate((OLD, NEW))]
    report = mem.ingest(turns)
    assert report.counts.get("replaced", 0) + report.counts.get("challenged", 0) == 1
    assert OLD not in standing(mem, Status.ACTIVE)


def test_a_challenged_statement_is_recalled_behind_the_one_that_may_replace_it(tmp_path: Path) -> None:
    unsure = PairWeights(least_likeness=0.2, replaces=1.1, challenges=0.3)
    with open_engram(tmp_path / "vault", tuning=[unsure]) as mem:
        say(mem, OLD, 0)
        say(mem, NEW, 9)
        assert standing(mem, Status.CHALLENGED) == [OLD]
        found = [hit.memory.words for hit in mem.recall("work at the Harbour bakery as a baker", limit=5)]
        assert found == [NEW, OLD]


def test_another_persons_statement_changes_nothing(mem: Engram) -> None:
    say(mem, OLD, 0, "Ana")
    say(mem, NEW, 9, "Ben")
    assert sorted(standing(mem, Status.ACTIVE)) == sorted([OLD, NEW])


def test_what_was_said_before_outdates_nothing(mem: Engram) -> None:
    say(mem, OLD, 20)
    say(mem, NEW, 3)
    assert OLD in standing(mem, Status.ACTIVE)


def test_a_pinned_statement_is_never_superseded(mem: Engram) -> None:
    say(mem, OLD, 0)
    mem.pin(only(list(mem.list())).id)
    say(mem, NEW, 9)
    assert standing(mem, Status.SUPERSEDED) == []


def test_other_scopes_are_not_touched(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", agent="rex", tuning=[EAGER]) as mem:
        say(mem, OLD, 0)
    with open_engram(tmp_path / "vault", agent="eve", tuning=[EAGER]) as mem:
        say(mem, NEW, 9)
    with open_engram(tmp_path / "vault", agent="rex", tuning=[EAGER]) as mem:
        assert standing(mem, Status.ACTIVE) == [OLD]


def test_remembering_a_change_retires_what_it_replaces(mem: Engram) -> None:
    old = mem.remember(OLD)
    mem.remember(NEW)
    assert mem.get(old.id).status in (Status.SUPERSEDED, Status.CHALLENGED)  # type: ignore[union-attr]


def test_rest_compares_what_capture_left_out_and_undoes_it(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", tuning=[PairWeights(most_at_once=0)]) as mem:
        say(mem, OLD, 0)
        say(mem, NEW, 9)
        assert sorted(standing(mem, Status.ACTIVE)) == sorted([OLD, NEW])
    with open_engram(tmp_path / "vault", tuning=[EAGER]) as mem:
        report = mem.consolidate(jobs=["merge"])
        assert standing(mem, Status.ACTIVE) == [NEW]
        mem.undo_dream(report.pass_id)
        assert sorted(standing(mem, Status.ACTIVE)) == sorted([OLD, NEW])
        assert mem.consolidate(jobs=["merge"]).ids == (), "what was undone is not done again"


def test_a_statement_that_two_new_ones_replace_counts_once() -> None:
    drafts = [Draft(memory=Memory(text=NEW), replaces=(Replacement("old", sure, "r"),)) for sure in (False, True)]
    candidates = [Candidate(Statement(Proposition(text=NEW, speaker="", category="fact", confidence=0.8), ()), 0) for _ in drafts]
    kept = [replace(draft.memory, id=f"new{number}") for number, draft in enumerate(drafts)]
    report = reported(Heard([], [], [], (), ()), Sifted(candidates, [], []), drafts, kept, ())
    assert (report.counts["replaced"], report.counts.get("challenged")) == (1, None)


def import_memories(mem: Engram, folder: Path, *texts: str) -> dict[str, int]:
    file = folder / "memories.json"
    file.write_text(json.dumps([{"memory": text} for text in texts]), encoding="utf-8")
    return mem.import_(file, form="mem0").counts


def test_an_imported_statement_that_is_known_in_other_words_is_passed_over(mem: Engram, tmp_path: Path) -> None:
    mem.remember("our team standup is at nine every morning")
    counts = import_memories(mem, tmp_path, "the team meets for standup each morning, nine o'clock")
    assert counts == {"memories": 1, "kept": 0, "known": 1}
    assert only(list(mem.list())).corroborations == 0, "a file is no witness"


def test_an_imported_change_challenges_at_most(mem: Engram, tmp_path: Path) -> None:
    mem.remember(OLD)
    assert import_memories(mem, tmp_path, NEW)["kept"] == 1
    assert standing(mem, Status.CHALLENGED) == [OLD]


def test_an_import_says_how_many_pairs_are_left_to_rest(mem: Engram, tmp_path: Path) -> None:
    assert import_memories(mem, tmp_path, OLD, NEW, "Lemon trees need sunlight") == {
        "memories": 3,
        "kept": 3,
        "known": 0,
        "pairs to compare at rest": 1,
    }


def test_talk_says_how_many_pairs_are_left_to_rest(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault", tuning=[PairWeights(least_likeness=0.2, most_at_once=0)]) as mem:
        assert "pairs to compare at rest" not in mem.observe(Turn(OLD)).counts
        assert mem.observe(Turn(NEW)).counts["pairs to compare at rest"] == 1


def test_without_the_pair_model_every_way_in_and_rest_say_so(
    mem: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for place in ("engram.capture.pairs", "engram.dream.duplicates"):
        monkeypatch.setattr(f"{place}.shared_pair_reader", lambda: PairReader(tmp_path / "nowhere"))
    mem.remember(OLD)
    report = mem.observe(Turn(NEW))
    assert any("pair model" in note for note in report.notes)
    assert report.counts["pairs to compare at rest"] == 1
    mem.remember("I quit my job at the Harbour bakery as a baker")
    assert "pair model" in caplog.text
    assert any("pair model" in note for note in mem.consolidate(jobs=["merge"]).notes)


def test_a_plan_that_moves_to_another_day_is_not_compared_by_its_day(mem: Engram) -> None:
    say(mem, "the security audit is on April 14", 0)
    say(mem, "the security audit was moved, it is on April 21 now", 5)
    assert "the security audit is on April 14" not in standing(mem, Status.ACTIVE)
