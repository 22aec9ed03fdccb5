"""A mind as bytes and back: what the vault keeps of it, encrypted, between two runs.

Vectors are half as long as in use (16-bit floats): the cosine of one with itself is .9999998. What another release wrote in a
way that this one does not know is nothing, not an error: it is one conversation's thread, and it starts anew.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from engram.env import from_micros, to_micros
from engram.rules.checkpoints import packed, unpacked
from engram.rules.topics import Momentum, Vector
from engram.rules.working import Mind, Ring, Slot, SlotSource, WorkingMemory


def of_mind(mind: Mind, model: str) -> bytes:
    """`model`: the fingerprint of the encoder whose vectors these are."""
    way, ticked = mind.momentum, mind.working.ticked_at
    return packed(
        {
            "slots": [_slot(slot) for slot in mind.working.slots],
            "ticked": None if ticked is None else to_micros(ticked),
            "model": model,
            "vectors": [_vector(one) for one in (way.centroid, way.velocity, way.last, way.course)],
            "way": [way.confidence, way.turns, way.asked, way.words],
        }
    )


def to_mind(body: bytes, model: str) -> Mind | None:
    """None if it cannot be read. Another encoder's vectors are left behind."""
    try:
        found = unpacked(body)
        ticked = None if found["ticked"] is None else from_micros(found["ticked"])
        vectors = [_numbers(one) if found["model"] == model else None for one in found["vectors"]]
        centroid, velocity, last, course, *_ = (*vectors, None)  # the course is not in older ones
        confidence, turns, asked, words = found["way"]
        said = tuple(tuple(turn) for turn in words)
        way = Momentum(centroid, velocity, last, float(confidence), int(turns), bool(asked), said, course)
        return Mind(Ring(), WorkingMemory(tuple(_slot_of(slot) for slot in found["slots"]), ticked), way)
    except (ValueError, KeyError, TypeError):
        return None


def _slot(slot: Slot) -> list[Any]:
    moments = to_micros(slot.entered_at), to_micros(slot.touched_at)
    return [slot.text, slot.source.value, slot.activation, *moments, slot.tokens, slot.memory_id, slot.known]


def _slot_of(row: list[Any]) -> Slot:
    text, source, activation, entered, touched, tokens, memory_id, *known = row  # the last is not in older ones
    moments = from_micros(entered), from_micros(touched)
    return Slot(text, SlotSource(source), float(activation), *moments, int(tokens), memory_id, bool(known and known[0]))


def _vector(vector: Vector | None) -> str | None:
    return None if vector is None else b64encode(vector.astype(np.float16).tobytes()).decode("ascii")


def _numbers(text: str | None) -> Vector | None:
    return None if text is None else np.frombuffer(b64decode(text), np.float16).astype(np.float32)
