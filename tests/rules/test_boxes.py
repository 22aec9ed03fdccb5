"""Boxes and traces (M14)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from hand_clock import HandClock
from patience import wait_until
from promises.test_erasure import traces
from promises.vaults_at_hand import KEY, image, store_of
from rules.stories import START, open_story

from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.models.embedders import CallableEmbedder, Vectors, hashing_embedder
from engram.rules.boxes import BoxItem, BoxLimits, OpenBox, centred, fill, trace_of, words_of
from engram.types import Policy, Reader, Role, Scope, Turn
from engram.values.episodes import FilledBox, SealReason

LIMITS = BoxLimits()
HERE = (1, "s")


def items(*texts: str, minutes: float = 1.0, stream: tuple[int, str] = HERE) -> list[BoxItem]:
    return [BoxItem(n, stream, START + timedelta(minutes=n * minutes), words_of(text, "")) for n, text in enumerate(texts, 1)]


def shown(boxes: list[OpenBox]) -> list[tuple[list[int], SealReason]]:
    return [(box.fresh, box.sealed) for box in boxes]


TEA = ("green tea from Japan", "tea from Japan and China", "black tea from China")
SHIP = ("the sailing ship left harbour", "a sailing ship needs wind", "harbour wind and sailing")


def test_a_change_of_subject_seals_a_box() -> None:
    assert shown(fill(items(*TEA, *SHIP), {}, LIMITS)) == [([1, 2, 3], SealReason.SHIFT), ([4, 5, 6], SealReason.OPEN)]


def test_a_pause_of_half_an_hour_seals_a_box() -> None:
    assert shown(fill(items(*TEA, minutes=30), {}, LIMITS)) == [([1, 2, 3], SealReason.OPEN)]
    assert shown(fill(items(*TEA, minutes=30.1), {}, LIMITS)) == [
        ([1], SealReason.GAP),
        ([2], SealReason.GAP),
        ([3], SealReason.OPEN),
    ]


def test_a_box_is_sealed_at_fifty_memories() -> None:
    boxes = fill(items(*(TEA[0] for _ in range(101))), {}, LIMITS)
    assert [(len(box.fresh), box.sealed) for box in boxes] == [(50, SealReason.SIZE), (50, SealReason.SIZE), (1, SealReason.OPEN)]


def test_vectors_decide_the_box_when_words_do_not_overlap() -> None:
    encode = hashing_embedder(64).passages
    said = ("tea leaves", "leaves tea", "ship sails")
    told = [BoxItem(n, HERE, START, words_of(text, ""), encode([text])[0]) for n, text in enumerate(said)]
    assert shown(fill(told, {}, LIMITS)) == [([0, 1], SealReason.SHIFT), ([2], SealReason.OPEN)]
    assert (
        len(fill([BoxItem(one.memory, HERE, START, one.words) for one in told], {}, LIMITS)) == 1
    )  # without vectors, two content words change no subject


def test_box_similarity_is_relative_to_the_mean_vector() -> None:
    """A component that all vectors share, here the first dimension, must not make them similar."""
    voice = np.array([[9, 1, 0], [9, 0.9, 0.1], [9, 0, 1]], np.float32)
    told = [BoxItem(n, HERE, START, ("x",), vector) for n, vector in enumerate(centred(voice, voice.mean(axis=0)))]
    assert shown(fill(told, {}, LIMITS)) == [([0, 1], SealReason.SHIFT), ([2], SealReason.OPEN)]
    bare = [BoxItem(n, HERE, START, ("x",), vector) for n, vector in enumerate(voice)]
    assert len(fill(bare, {}, LIMITS)) == 1


def test_scopes_and_sessions_have_separate_boxes_and_open_boxes_continue() -> None:
    mixed = [*items(TEA[0]), *items(SHIP[0], stream=(2, "s")), *items(TEA[1])]
    boxes = fill(mixed, {}, LIMITS)
    assert [box.stream for box in boxes] == [HERE, (2, "s")]
    again = fill(items(TEA[2]), {boxes[0].stream: boxes[0]}, LIMITS)
    assert again == [boxes[0]]
    assert boxes[0].size == 3
    assert {"tea", "china"} <= set(boxes[0].topic)


def test_boxes_of_a_recurring_topic_share_a_trace() -> None:
    known = [(3, ("tea", "green", "japan")), (7, ("ship", "wind"))]
    assert trace_of(("tea", "japan", "cup"), known) == 3
    assert trace_of(("oven", "bread"), known) is None
    assert trace_of((), []) is None


# ── a vault ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def said(*texts: str, at: datetime, session: str = "one") -> list[Turn]:
    return [Turn(text, "ann", at=at + timedelta(seconds=n), session=session) for n, text in enumerate(texts)]


TALK = (
    "I brew green tea from Japan every morning.",
    "The green tea from Japan is brewed at seventy degrees.",
    "My sailing boat needs a new mast before summer.",
    "The mast of the sailing boat broke in a storm.",
)


def test_observed_turns_are_boxed_and_recurring_topics_share_a_trace(tmp_path: Path, clock: HandClock) -> None:
    with open_story(tmp_path, clock) as mem:
        mem.observe(*said(*TALK, at=clock.now()))
        boxes = mem.boxes()[::-1]
        assert [(box.size, box.sealed) for box in boxes] == [(2, SealReason.SHIFT), (2, SealReason.OPEN)]
        assert "tea" in boxes[0].topic
        assert "mast" in boxes[1].topic
        assert [memory.text for memory in mem.box(boxes[0].key)] == [one.text for one in list(mem.list())[::-1][:2]]
        clock.advance(86_400)
        mem.observe(*said("Green tea from Japan was brewed too hot today.", at=clock.now(), session="two"))
        back = mem.boxes()[0]
        assert (back.session, back.trace) == ("two", boxes[0].trace)
        assert {box.key for box in mem.boxes(trace=back.trace)} == {boxes[0].key, back.key}
        assert boxes[1].trace != back.trace
        mem.observe(*said("The mast is varnished now, said the boat builder.", at=clock.now(), session="one"))
        assert {box.sealed for box in mem.boxes() if box.key == boxes[1].key} == {SealReason.GAP}
        assert mem.as_reader(Reader(Scope(agent="ada"))).boxes() == ()
        assert mem.as_reader(Reader(Scope(agent="ada"))).box(back.key) == ()


def one_voice(texts: Sequence[str]) -> list[Vectors]:
    """An encoder with a constant first dimension, and one dimension each for tea and boats."""
    return [np.array([9.0, "tea" in text.lower(), "boat" in text.lower()], np.float32) for text in texts]


def test_a_vault_with_an_encoder_boxes_by_meaning(tmp_path: Path, clock: HandClock) -> None:
    with open_story(tmp_path, clock, embedder=CallableEmbedder(one_voice, name="voice", dimensions=3)) as mem:
        for number in range(70):  # enough for a mean vector
            mem.remember(f"page {number} is written in ledger {number * 7}")
        mem.observe(*said(*TALK, at=clock.now()))
        assert [box.size for box in mem.boxes(limit=500) if box.session == "one"][::-1] == [2, 2]


def test_boxes_are_the_same_however_often_they_are_filled(tmp_path: Path, clock: HandClock) -> None:
    with open_story(tmp_path / "a", clock) as once, open_story(tmp_path / "b", clock) as often:
        for turn in said(*TALK, *TALK[:1], at=clock.now()):
            once.observe(turn)
            often.observe(turn)
            often.boxes()
        assert [(box.size, box.sealed, box.topic) for box in often.boxes()] == [
            (box.size, box.sealed, box.topic) for box in once.boxes()
        ]


def test_the_topic_of_a_box_drops_words_of_erased_memories(tmp_path: Path, clock: HandClock) -> None:
    with open_story(tmp_path, clock) as mem:
        kept = mem.remember("The lamp in the hall is broken")
        gone = mem.remember("The lamp in the zqcellarsx is broken")
        assert "zqcellarsx" in mem.boxes()[0].topic
        mem.forget(gone.id, erase=True)
        assert traces(image(tmp_path / "vault"), ["zqcellarsx"]) == []
        assert [(box.size, "zqcellarsx" in box.topic, "lamp" in box.topic) for box in mem.boxes()] == [(1, False, True)]
        mem.forget(kept.id, erase=True)
        assert mem.boxes() == ()


def test_background_upkeep_fills_boxes(tmp_path: Path) -> None:
    given = {"model": "none", "backup_hours": 0}
    soon = DreamLimits(care_pause_s=0.05, warm_after_s=0.05)
    with Engram.open(tmp_path / "vault", key=KEY, settings=given, tuning=[soon]) as mem:
        mem.remember("The lamp in the hall is broken")
        wait_until(lambda: store_of(mem).boxes.select(mem.reader))
        assert len(store_of(mem).boxes.select(mem.reader)) == 1


def test_memories_erased_while_boxes_are_filled_are_in_no_topic(tmp_path: Path, clock: HandClock) -> None:
    """V12: boxes are filled in the background; memories read before an erasure must not be written after it."""
    with open_story(tmp_path, clock) as mem:
        for text in TEA:
            mem.remember(text)
        owner, store = Reader(policy=Policy.ALL, role=Role.OWNER), store_of(mem)
        since = store.changes.latest(owner)
        start, rows = store.boxes.pending(owner, "none", 10)
        mem.forget(mem.list()[0].id, erase=True)
        made = FilledBox(
            0, rows[0].scope, "", clock.now(), clock.now(), SealReason.OPEN, ("china",), tuple(row.key for row in rows)
        )
        assert not store.boxes.put(owner, [made], start=start, upto=rows[-1].key, since=since)
        assert store.boxes.put(owner, [made], start=start, upto=rows[-1].key, since=store.changes.latest(owner))
        key = store.boxes.select(owner)[0].key
        store.boxes.relabel(owner, {key: ("japan",)}, since=since)
        assert store.boxes.select(owner)[0].topic == ("china",)
