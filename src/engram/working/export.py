"""Working memory as prompt text: plain, structured or XML, within a token budget that includes the markup."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from html import escape

from engram.rules.abridgement import shorten
from engram.rules.working import Slot, WorkingMemory
from engram.text.tokens import count
from engram.values.frozen import frozen, replace


class Form(StrEnum):
    PLAIN = "plain"
    STRUCTURED = "structured"
    XML = "xml"


@frozen
class Exported:
    """The text, its tokens, and the slots in it."""

    text: str
    tokens: int
    slots: tuple[Slot, ...]


def export(memory: WorkingMemory, form: Form = Form.PLAIN, budget: int | None = None) -> Exported:
    """Return the most active slots that fit as text. If not even the first fits, it is shortened, never dropped."""
    chosen: list[Slot] = []
    text = ""
    for slot in memory.slots:
        wider = _rendered([*chosen, slot], form)
        if budget is None or count(wider) <= budget:
            chosen, text = [*chosen, slot], wider
        elif not chosen and (cut := _cut(slot, form, budget)) is not None:
            chosen, text = [cut], _rendered([cut], form)
    return Exported(text, count(text) if text else 0, tuple(chosen))


def _cut(slot: Slot, form: Form, budget: int) -> Slot | None:
    frame = count(_one(replace(slot, text=""), form))
    for room in range(budget - frame, 0, -4):  # tokens of text and markup may merge or split where they meet
        text = shorten(slot.text, room)
        if text and count(_one(cut := replace(slot, text=text, tokens=count(text)), form)) <= budget:
            return cut
    return None


def _rendered(slots: Sequence[Slot], form: Form) -> str:
    return ("\n\n" if form is Form.PLAIN else "\n").join(_one(slot, form) for slot in slots)


def _one(slot: Slot, form: Form) -> str:
    if form is Form.XML:
        head = f'<context relevance="{slot.activation:.2f}" source="{slot.source.value}">'
        return f"{head}\n{escape(slot.text, quote=False)}\n</context>"
    return slot.text if form is Form.PLAIN else f"- ({slot.source.value}, {slot.activation:.2f}) {slot.text}"
