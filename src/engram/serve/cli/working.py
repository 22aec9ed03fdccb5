"""Display of working memory and checkpoints on a terminal."""

from __future__ import annotations

from engram.rules.resume import Morning
from engram.rules.working import Resumed, SavedAge, Slot
from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.working.export import Exported

_PANEL = "At work"
_AGES = {
    SavedAge.NOTHING: "nothing was put away here",
    SavedAge.FRESH: "as it was left",
    SavedAge.DECAYED: "fainter than it was left",
    SavedAge.DROPPED: "what was in mind is too old to go on with",
}


def _in_mind(result: CommandResult) -> None:
    export: Exported = result.value
    if result.given.form is not None or result.given.budget is not None:
        terminal.line(export.text)
    elif export.slots:
        terminal.table(["active", "source", "since", "id", "text"], [_row(slot) for slot in export.slots], wrap=True)
    else:
        result.caller.remark("Nothing is in mind here.")


def _row(slot: Slot) -> list[str]:
    return [f"{slot.activation:.2f}", slot.source.value, terminal.when(slot.entered_at), slot.memory_id, slot.text]


def _attended(result: CommandResult) -> None:
    result.caller.say("It is in mind.")
    for evicted in result.value.gone:
        result.caller.remark(f"gone ({evicted.reason.value}): {terminal.one_line(evicted.slot.text)}")


def _cleared(result: CommandResult) -> None:
    result.caller.say(f"{terminal.many(result.value.slots, 'slot')} cleared.")


def _noted(result: CommandResult) -> None:
    result.caller.say("Noted.")


def _resumed(result: CommandResult) -> None:
    resumed: Resumed = result.value
    terminal.pairs(
        [
            ("doing", resumed.goal),
            ("decided", "\n".join(resumed.decided)),
            ("open", "\n".join(resumed.open)),
            ("noted", terminal.when(resumed.noted_at)),
            ("in mind", "\n".join(terminal.one_line(slot.text) for slot in resumed.slots)),
        ]
    )
    result.caller.remark(_outcome(resumed))


def _outcome(resumed: Resumed) -> str:
    left = f" (left {terminal.when(resumed.saved_at)})" if resumed.saved_at is not None else ""
    return f"{resumed.age.value}: {_AGES[resumed.age]}{left}."


def _morning(result: CommandResult) -> None:
    morning: Morning = result.value
    terminal.line(morning.text) if morning.text else result.caller.remark("There is nothing to go on with here.")


COMMANDS = {
    "working": CommandSpec(panel=_PANEL, show=_in_mind, offers_all=False),
    "attend": CommandSpec(
        panel=_PANEL, show=_attended, creates_vault=True, offers_all=False, extra_help="A vault that is missing is made."
    ),
    "clear_working": CommandSpec(panel=_PANEL, show=_cleared, offers_all=False),
    "checkpoint": CommandSpec(
        panel=_PANEL, show=_noted, creates_vault=True, offers_all=False, extra_help="A vault that is missing is made."
    ),
    "resume": CommandSpec(panel=_PANEL, show=_resumed, offers_all=False),
    "morning": CommandSpec(panel=_PANEL, show=_morning, offers_all=False),
}
