"""How what is in mind looks on a terminal: seen, attended to, handed over, taken up again."""

from __future__ import annotations

from engram.known import Gap
from engram.memory.export import Exported
from engram.memory.mind import Age, Resumed
from engram.memory.morning import Morning
from engram.memory.working import Slot
from engram.serve.cli import show
from engram.serve.cli.commands import Done, Face

_PANEL = "At work"
_AGES = {
    Age.NOTHING: "nothing was put away here",
    Age.FRESH: "as it was left",
    Age.DECAYED: "fainter than it was left",
    Age.DROPPED: "what was in mind is too old to go on with",
}


def _in_mind(done: Done) -> None:
    found: Exported = done.value
    if done.given.form is not None or done.given.budget is not None:
        show.line(found.text)
    elif found.slots:
        show.table(["active", "source", "since", "id", "text"], [_row(slot) for slot in found.slots], wrap=True)
    else:
        done.asked.remark("Nothing is in mind here.")


def _row(slot: Slot) -> list[str]:
    return [f"{slot.activation:.2f}", slot.source.value, show.when(slot.entered_at), slot.memory_id, slot.text]


def _attended(done: Done) -> None:
    done.asked.say("It is in mind.")
    for one in done.value.gone:
        done.asked.remark(f"gone ({one.reason.value}): {show.one_line(one.slot.text)}")


def _cleared(done: Done) -> None:
    done.asked.say(f"{show.many(done.value.slots, 'slot')} cleared.")


def _noted(done: Done) -> None:
    done.asked.say("Noted.")


def _resumed(done: Done) -> None:
    found: Resumed = done.value
    show.pairs(
        [
            ("doing", found.goal),
            ("decided", "\n".join(found.decided)),
            ("open", "\n".join(found.open)),
            ("noted", show.when(found.noted_at)),
            ("in mind", "\n".join(show.one_line(slot.text) for slot in found.slots)),
        ]
    )
    done.asked.remark(_outcome(found))


def _outcome(found: Resumed) -> str:
    left = f" (left {show.when(found.saved_at)})" if found.saved_at is not None else ""
    return f"{found.age.value}: {_AGES[found.age]}{left}."


def _morning(done: Done) -> None:
    found: Morning = done.value
    show.line(found.text) if found.text else done.asked.remark("There is nothing to go on with here.")


def _gaps(done: Done) -> None:
    found: tuple[Gap, ...] = done.value.gaps
    if not found:
        done.asked.remark("Nothing is known to be missing here: no open question, no dispute, nothing old that is much used.")
        return
    rows = [[gap.kind.value, str(gap.times), show.when(gap.asked_at), show.when(gap.offered_at), gap.text] for gap in found]
    show.table(["gap", "times", "last", "offered", "question"], rows, wrap=True)


FACES = {
    "working": Face(panel=_PANEL, show=_in_mind, everywhere=False),
    "attend": Face(panel=_PANEL, show=_attended, makes=True, everywhere=False, more="A vault that is missing is made."),
    "clear_working": Face(panel=_PANEL, show=_cleared, everywhere=False),
    "checkpoint": Face(panel=_PANEL, show=_noted, makes=True, everywhere=False, more="A vault that is missing is made."),
    "resume": Face(panel=_PANEL, show=_resumed, everywhere=False),
    "morning": Face(panel=_PANEL, show=_morning, everywhere=False),
    "gaps": Face(panel=_PANEL, show=_gaps, warms=True),
}
