"""Display of entities and timelines on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.types import Memory, Status
from engram.values.entities import Belief, EntityAction, EntityDecision, Profile, RoleTenure, Timeline


def _entity(result: CommandResult) -> None:
    profile: Profile = result.value
    entity = profile.entity
    named = terminal.many(entity.mentions, "memory", "memories")
    terminal.line(entity.name, style="bold")
    terminal.line()
    terminal.pairs(
        [
            ("kind", entity.kind),
            ("also", ", ".join(entity.also)),
            *(("role", _tenure(role.role, role)) for role in profile.roles),
            *((one.role, _tenure(one.holder, one)) for one in profile.holders if one.holder != entity.name),
            ("named in", f"{named}, {' to '.join(dict.fromkeys(map(terminal.when, (entity.first, entity.last))))}"),
            ("with", ", ".join(f"{name} ({count})" for name, count in profile.relations)),
        ]
    )
    _facts((*profile.facts, *profile.former, *profile.object_of))
    _statements(profile.timeline)
    if entity.mentions > len(profile.timeline):
        result.caller.remark(f"{len(profile.timeline)} of {entity.mentions} memories are shown; `--limit` shows more.")


def _tenure(what: str, tenure: RoleTenure) -> str:
    """Return a role or its holder with the time: "Ada, 2026-03-01 to 2026-06-01"."""
    if tenure.until is None:
        return f"{what}, since {terminal.when(tenure.since)}" if tenure.since else what
    return (
        f"{what}, {terminal.when(tenure.since)} to {terminal.when(tenure.until)}"
        if tenure.since
        else (f"{what}, until {terminal.when(tenure.until)}")
    )


def _facts(facts: Sequence[Belief]) -> None:
    """Print facts, each with the memory that states it."""
    if facts:
        rows = [
            [
                fact.memory,
                fact.status,
                terminal.when(fact.since),
                terminal.when(fact.until),
                f"{fact.subject} {fact.predicate} {fact.object}",
            ]
            for fact in facts
        ]
        terminal.line()
        terminal.table(["memory", "held", "since", "until", "fact"], rows)


def _statements(memories: Sequence[Memory]) -> None:
    """Print memories, each with its date and who said it."""
    if memories:
        rows = [
            [memory.id, terminal.when(memory.happened_at or memory.learned_at), memory.speaker, memory.text]
            for memory in memories
        ]
        terminal.line()
        terminal.table(["id", "happened", "said by", "text"], rows)


def _entities(result: CommandResult) -> None:
    entities = result.value.entities
    if entities:
        rows = [[entity.name, entity.kind, str(entity.mentions), terminal.when(entity.last)] for entity in entities]
        terminal.table(["name", "kind", "memories", "last"], rows)
    else:
        result.caller.remark("Nothing is named here yet.")


def _timeline(result: CommandResult) -> None:
    timeline: Timeline = result.value
    marks: dict[str, list[str]] = {}
    for revision in timeline.revisions:
        marks.setdefault(revision.memory, []).append(f"{_REVISED[revision.kind]} {revision.other}")
    if not timeline.memories:
        result.caller.remark("Nothing is known about that.")
        return
    terminal.table(
        ["id", "happened", "note", "text"],
        [
            [
                memory.id,
                terminal.when(memory.happened_at or memory.learned_at),
                "; ".join([*_state(memory), *marks.get(memory.id, [])]),
                memory.text,
            ]
            for memory in timeline.memories
        ],
    )
    _bars(timeline)


_REVISED = {"supersedes": "corrects", "outdates": "outdates a part of", "contradicts": "contradicts"}
_BAR_WIDTH, _BAR_ROWS = 40, 60


def _state(memory: Memory) -> list[str]:
    return [] if memory.status is Status.ACTIVE else [memory.status.value]


def _bars(timeline: Timeline) -> None:
    """Draw the number of memories per period as bars; a star marks a peak. A long timeline leaves out empty periods."""
    buckets = timeline.buckets
    if len(buckets) < 2:
        return
    most = max(bucket.count for bucket in buckets)
    shown = [bucket for bucket in buckets if bucket.count] if len(buckets) > _BAR_ROWS else buckets
    date_format = {"month": "%Y-%m", "year": "%Y"}.get(timeline.width, "%Y-%m-%d")
    terminal.line()
    for bucket in shown[-_BAR_ROWS:]:
        bar = "#" * max(round(_BAR_WIDTH * bucket.count / most), bucket.count > 0)
        terminal.line(f"{bucket.start:{date_format}}  {bar} {bucket.count}{' *' if bucket.peak else ''}")


def _decided(result: CommandResult) -> None:
    decision: EntityDecision = result.value
    result.caller.say(_told(decision))
    result.caller.remark(f"`engram undo-entity-decision {decision.id}` takes it back.")


def _undone(result: CommandResult) -> None:
    result.caller.say(f"Taken back: {_told(result.value)}")


def _decisions(result: CommandResult) -> None:
    decisions: Sequence[EntityDecision] = result.value.decisions
    if not decisions:
        result.caller.remark("Nothing was decided on entities by hand.")
        return
    rows = [
        [
            decision.id,
            terminal.when(decision.at),
            terminal.when(decision.undone_at),
            _told(decision),
            decision.reason,
        ]
        for decision in decisions
    ]
    terminal.table(["id", "when", "taken back", "decision", "reason"], rows)


_TOLD = {
    EntityAction.ALIAS: "{name} is called {other} too.",
    EntityAction.UNALIAS: "{other} is not a name of {name}.",
    EntityAction.MERGE: "{name} is {other}.",
    EntityAction.SPLIT: "{what} {other}, not {name}.",
    EntityAction.RENAME: "{name} is called {other}.",
    EntityAction.KIND: "{name} is of the kind {other}.",
    EntityAction.APART: "{name} is not {other}.",
}


def _told(decision: EntityDecision) -> str:
    """Return a decision as a sentence."""
    return _TOLD[decision.action].format(name=decision.name, other=decision.other, what=_split_off(decision))


def _split_off(decision: EntityDecision) -> str:
    """Return the beginning of a sentence on the memories, or else the names, that a split gives to another entity."""
    parts = decision.memories or decision.names
    one, several = (
        ("Memory {} is about", "Memories {} are about") if decision.memories else ("The name {} means", "The names {} mean")
    )
    return (one if len(parts) == 1 else several).format(", ".join(parts))


COMMANDS = {
    "entity": CommandSpec(show=_entity),
    "entities": CommandSpec(show=_entities),
    "timeline": CommandSpec(show=_timeline),
    "decide_entity": CommandSpec(show=_decided),
    "undo_entity_decision": CommandSpec(show=_undone),
    "entity_decisions": CommandSpec(show=_decisions),
}
