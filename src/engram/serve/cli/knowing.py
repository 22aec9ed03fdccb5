"""How what is known of the world looks on a terminal: profiles, names, timelines, facts."""

from __future__ import annotations

from collections.abc import Sequence

from engram.known import Belief, Knowledge, KnowledgeLevel, Profile, Timeline
from engram.serve.cli import show
from engram.serve.cli.commands import Done, Face
from engram.serve.operations.knowing import KnowledgeReport
from engram.types import Memory, Status


def _entity(done: Done) -> None:
    profile: Profile = done.value
    entity = profile.entity
    show.line(entity.name, style="bold")
    show.line()
    show.pairs(
        [
            ("kind", entity.kind),
            ("also", ", ".join(entity.also)),
            ("named in", f"{entity.mentions} memories, {show.when(entity.first)} to {show.when(entity.last)}"),
            ("with", ", ".join(f"{name} ({count})" for name, count in profile.relations)),
        ]
    )
    _facts(profile.facts)
    _memories(profile.timeline)


def _entities(done: Done) -> None:
    found = done.value.entities
    if found:
        rows = [[one.name, one.kind, str(one.mentions), show.when(one.last)] for one in found]
        show.table(["name", "kind", "memories", "last"], rows)
    else:
        done.asked.remark("Nothing is named here yet.")


def _timeline(done: Done) -> None:
    told: Timeline = done.value
    marks: dict[str, list[str]] = {}
    for one in told.revisions:
        marks.setdefault(one.memory, []).append(f"{_REVISED[one.kind]} {one.other}")
    if not told.memories:
        done.asked.remark("Nothing is known of that.")
        return
    show.table(
        ["id", "happened", "note", "text"],
        [
            [one.id, show.when(one.happened_at or one.learned_at), "; ".join([*_state(one), *marks.get(one.id, [])]), one.text]
            for one in told.memories
        ],
    )
    _drawn(told)


_REVISED = {"supersedes": "corrects", "outdates": "outdates a part of", "contradicts": "contradicts"}
_BAR, _ROWS = 40, 60


def _state(memory: Memory) -> list[str]:
    return [] if memory.status is Status.ACTIVE else [memory.status.value]


def _drawn(told: Timeline) -> None:
    """How much there is of each time, as bars; a star marks a peak. Times of which there is nothing stand only between others."""
    if len(told.buckets) < 2:
        return
    most = max(one.count for one in told.buckets)
    full = [one for one in told.buckets if one.count] if len(told.buckets) > _ROWS else told.buckets
    shape = {"month": "%Y-%m", "year": "%Y"}.get(told.width, "%Y-%m-%d")
    show.line()
    for one in full[-_ROWS:]:
        bar = "#" * max(round(_BAR * one.count / most), one.count > 0)
        show.line(f"{one.start:{shape}}  {bar} {one.count}{' *' if one.peak else ''}")


def _learned(done: Done) -> None:
    show.line(done.value.id)


def _beliefs(done: Done) -> None:
    _facts(done.value.beliefs)
    if not done.value.beliefs:
        done.asked.remark("No fact of that is known here.")


def _facts(facts: Sequence[Belief]) -> None:
    if facts:
        rows = [[one.subject, one.predicate, one.object, one.status, show.when(one.since), show.when(one.until)] for one in facts]
        show.table(["of", "what", "is", "held", "since", "until"], rows)


def _memories(found: Sequence[Memory]) -> None:
    if found:
        show.table(
            ["id", "happened", "text"], [[one.id, show.when(one.happened_at or one.learned_at), one.text] for one in found]
        )


_TENTHS = 10
_COLOURS = {KnowledgeLevel.CONFIDENT: "green", KnowledgeLevel.UNCERTAIN: "yellow", KnowledgeLevel.UNKNOWN: "red"}


def _knows(done: Done) -> None:
    found: KnowledgeReport = done.value
    if done.given.subject is not None:
        _known(found.domains[0])
        return
    if found.domains:
        rows = [[one.subject, bar(one), one.level.value, one.kind, _from(one)] for one in found.domains]
        show.table(["subject", "known", "level", "kind", "from"], rows)
    done.asked.remark(f"{show.many(found.memories, 'memory', 'memories')}. {found.said}")


def _known(one: Knowledge) -> None:
    show.line(f"{one.subject}  {bar(one)}  {one.level.value}", style=_COLOURS[one.level])
    show.line(one.said)
    rows = [("strong", "\n".join(one.strong)), ("holes", "\n".join(gap.text for gap in one.holes))]
    show.pairs([*rows, ("evidence", " ".join(one.evidence))])


def bar(one: Knowledge) -> str:
    """Confidence in tenths."""
    full = round(_TENTHS * one.confidence)
    return "#" * full + "." * (_TENTHS - full)


def _from(one: Knowledge) -> str:
    figures = one.figures
    marks = ((figures.contested, "in dispute"), (figures.stale, "old"), (len(one.holes), "open"))
    told = [f"{number} {what}" for number, what in marks if number]
    return ", ".join([show.many(figures.memories, "memory", "memories"), f"last {show.when(figures.last)[:10]}", *told])


FACES = {
    "entity": Face(show=_entity),
    "entities": Face(show=_entities),
    "timeline": Face(show=_timeline),
    "learn": Face(show=_learned, more="Prints the id of the memory that holds it."),
    "beliefs": Face(show=_beliefs),
    "knows": Face(show=_knows, warms=True),
}
