"""Working memory as bytes and back; the vault stores them, encrypted, between two runs.

Vectors are stored as 16-bit floats: the cosine with the original is .9999998. Bytes in a format of another release are read as
None, not as an error: only the thread of one conversation is lost.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from engram.env import from_micros, to_micros
from engram.rules.checkpoints import from_json_bytes, to_json_bytes
from engram.rules.topics import Momentum, Vector
from engram.rules.working import LastTurns, Slot, SlotSource, WorkingMemory, WorkingState


def state_to_bytes(state: WorkingState, model: str) -> bytes:
    """Return working memory as bytes. `model`: fingerprint of the encoder that made its vectors."""
    momentum, ticked = state.momentum, state.working.ticked_at
    return to_json_bytes(
        {
            "slots": [_slot(slot) for slot in state.working.slots],
            "ticked": None if ticked is None else to_micros(ticked),
            "model": model,
            "vectors": [_vector(vector) for vector in (momentum.centroid, momentum.velocity, momentum.last, momentum.course)],
            "way": [momentum.confidence, momentum.turns, momentum.asked, momentum.words],
        }
    )


def state_from_bytes(body: bytes, model: str) -> WorkingState | None:
    """Return stored working memory; None if it cannot be read. Vectors of another encoder are dropped."""
    try:
        stored = from_json_bytes(body)
        ticked = None if stored["ticked"] is None else from_micros(stored["ticked"])
        vectors = [_numbers(vector) if stored["model"] == model else None for vector in stored["vectors"]]
        centroid, velocity, last, course, *_ = (*vectors, None)  # older formats have no course
        confidence, turns, asked, words = stored["way"]
        mentioned = tuple(tuple(turn) for turn in words)
        momentum = Momentum(centroid, velocity, last, float(confidence), int(turns), bool(asked), mentioned, course)
        return WorkingState(LastTurns(), WorkingMemory(tuple(_slot_of(slot) for slot in stored["slots"]), ticked), momentum)
    except (ValueError, KeyError, TypeError):
        return None


def _slot(slot: Slot) -> list[Any]:
    moments = to_micros(slot.entered_at), to_micros(slot.touched_at)
    return [slot.text, slot.source.value, slot.activation, *moments, slot.tokens, slot.memory_id, slot.known]


def _slot_of(row: list[Any]) -> Slot:
    text, source, activation, entered, touched, tokens, memory_id, *known = row  # older formats have no `known`
    moments = from_micros(entered), from_micros(touched)
    return Slot(text, SlotSource(source), float(activation), *moments, int(tokens), memory_id, bool(known and known[0]))


def _vector(vector: Vector | None) -> str | None:
    return None if vector is None else b64encode(vector.astype(np.float16).tobytes()).decode("ascii")


def _numbers(text: str | None) -> Vector | None:
    return None if text is None else np.frombuffer(b64decode(text), np.float16).astype(np.float32)
