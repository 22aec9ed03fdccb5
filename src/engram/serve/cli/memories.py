"""Display of memories on a terminal: listed, shown, changed, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.memories import ForgetInput, ListInput, MemoryDetails, RememberInput
from engram.text.metadata import Metadata
from engram.text.terms import digest_of
from engram.types import NEUTRAL, Affect, Memory, Page, Status
from engram.values.facts import CONTRADICTS, OUTDATES, SUPERSEDES
from engram.values.frozen import fields
from engram.values.memories import CORRECTED, TAKEN_BACK, VALID

if TYPE_CHECKING:
    from engram.engine import Engram


def _remember(result: CommandResult) -> None:
    for memory in (result.value, *result.value.others):
        if memory.status in VALID:  # else nothing was stored, and a note says so
            terminal.line(memory.id)


def _notes(mem: Engram, given: RememberInput, stored: Memory) -> Iterator[str]:
    """Yield remarks on a stored memory that differs from the text given, or that has no vector yet."""
    memories = (stored, *stored.others)
    if any("[secret: " in memory.text for memory in memories) and "[secret: " not in given.text:
        yield "a key, token or password in it was left out."
    elif stored.others:
        yield f"it holds {len(memories)} statements, each a memory of its own (--whole keeps it as one)."
    elif stored.status not in VALID:
        yield _not_stored(mem, stored)
    elif digest_of(given.text) not in map(digest_of, (stored.text, stored.words)) and "<private>" not in given.text:
        why = "this was corrected" if _is_correction(mem, given.text, stored) else "this is known already"
        yield f"{why}: {stored.words!r}. The id is that of this memory."
    else:
        yield from _replaced(mem, stored)
    if any(mem.lacks_vector(memory) for memory in memories):
        trouble = mem.encoder().trouble
        yield f"it is found by its words alone until it has a vector{f' ({trouble})' if trouble else ''}."


def _replaced(mem: Engram, stored: Memory) -> Iterator[str]:
    """Yield the earlier memories that a new one replaces or challenges."""
    for edge in mem.edges(stored.id) if not stored.corroborations else ():
        earlier = mem.get(edge.target) if edge.source == stored.id and edge.kind in _REPLACES else None
        if earlier is not None:
            yield f"it {_REPLACES[edge.kind]} {earlier.words!r} ({earlier.id})."


_REPLACES = {SUPERSEDES: "replaces", OUTDATES: "may replace", CONTRADICTS: "may contradict"}


def _not_stored(mem: Engram, memory: Memory) -> str:
    """Return the reason why the answer to `remember` is a retired memory, and the way to bring that one back."""
    last = mem.status_history(memory.id)[-1]
    if last.reason == TAKEN_BACK:
        return f"taken back: {memory.words!r} ({memory.id}). `engram restore {memory.id}` brings it back."
    return (
        f"nothing was stored, because {memory.words!r} was {last.reason} on {terminal.when(last.at)}."
        f" If it holds after all: `engram review {memory.id} confirm`."
    )


def _is_correction(mem: Engram, text: str, stored: Memory) -> bool:
    """Return True if a memory stands in the place of a corrected one, and does not say what the text says."""
    from engram.rules.wording import adds_nothing  # late: most commands do without

    retired = [edge.target for edge in mem.edges(stored.id) if edge.kind == SUPERSEDES and edge.source == stored.id]
    histories = map(mem.status_history, retired)
    corrected = any(history and history[-1].reason.startswith(CORRECTED) for history in histories)
    return corrected and not adds_nothing(text, stored.text)


def _listed(result: CommandResult) -> None:
    page: Page = result.value
    _list(page, places=result.everything, states=result.given.status == "any")
    if not page.memories:
        hint = "" if result.everything else " With --all, every scope is looked at."
        result.caller.remark("There is nothing to list here." + hint)
    for note in page.notes:
        result.caller.remark(f"note: {note}")
    if page.cursor is not None:
        result.caller.remark(f"There are more: --cursor {page.cursor}")


def _challenged(mem: Engram, given: ListInput, page: Page) -> Iterator[str]:
    """Yield a remark on each listed memory that may be outdated, with the memories that may replace it."""
    challenged = [memory.id for memory in page if memory.status is Status.CHALLENGED]
    edges = mem.edges(*challenged) if challenged else ()
    for memory_id in challenged:
        linked = [edge.source for edge in edges if edge.target == memory_id and edge.kind in (OUTDATES, CONTRADICTS)]
        rivals = [rival.id for rival in map(mem.get, linked) if rival is not None and rival.status in VALID]
        why = f"{' or '.join(rivals)} may replace it" if rivals else f"`engram show {memory_id}` says why"
        yield f"{memory_id} may be outdated: {why}."


def _list(page: Page, *, places: bool, states: bool) -> None:
    def row(memory: Memory) -> list[str]:
        more = [memory.status.value] * states + [terminal.place(memory.scope)] * places
        text = memory.text if states else terminal.marked(memory)
        return [memory.id, terminal.when(memory.learned_at), memory.category, *more, text]

    if page.memories:
        columns = ["id", "learned", "category", *["status"] * states, *["scope"] * places, "text"]
        terminal.table(columns, [row(memory) for memory in page])


def _get(result: CommandResult) -> None:
    _memory(result.value)


def _show(result: CommandResult) -> None:
    _memory(result.value.memory)
    _about(result.value.metadata)
    _history(result.value)


def _memory(memory: Memory) -> None:
    terminal.line(memory.text, style="bold")
    terminal.line()
    terminal.pairs(_facts(memory))


def _facts(memory: Memory) -> list[tuple[str, str]]:
    return [
        ("id", memory.id),
        ("kind", f"{memory.kind.value}, {memory.category}"),
        ("scope", terminal.place(memory.scope)),
        ("source", ", ".join(filter(None, (memory.source.value, memory.speaker, memory.session)))),
        ("status", memory.status.value + (", pinned" if memory.pinned else "")),
        (
            "flagged",
            "reads as an attack on the model: in no answer until `engram update ID --no-flagged`" if memory.flagged else "",
        ),
        ("weight", f"importance {memory.importance:g}, confidence {memory.confidence:g}, strength {memory.strength:g}"),
        ("novelty", f"{memory.surprise:+.2f}, part of the importance" if memory.surprise else ""),
        ("affect", _felt(memory.affect)),
        ("learned", terminal.when(memory.learned_at)),
        ("updated", terminal.when(memory.updated_at)),
        ("happened", " to ".join(filter(None, (terminal.when(memory.happened_at), terminal.when(memory.happened_until))))),
        ("valid", " to ".join(filter(None, (terminal.when(memory.valid_from), terminal.when(memory.valid_until))))),
        ("summary", memory.summary),
        ("key fact", memory.key_fact),
        ("tag", memory.tag),
        ("attributes", "\n".join(f"{name} = {value}" for name, value in sorted(memory.attributes.items()))),
    ]


def _felt(affect: Affect) -> str:
    """Return the affect as text; "" if it is neutral."""
    if affect == NEUTRAL:
        return ""
    figures = f"valence {affect.valence:g}, arousal {affect.arousal:g}, dominance {affect.dominance:g}"
    return f"{affect.sentiment}: {figures}, surprise {affect.surprise:g}"


def _about(metadata: Metadata) -> None:
    """Print the metadata found in a memory's text, if any."""
    values = [(field.name, getattr(metadata, field.name)) for field in fields(metadata) if field.name != "sentiment"]
    rows = [(name, value if isinstance(value, str) else ", ".join(value)) for name, value in values]
    if any(value for _, value in rows):
        terminal.line()
        terminal.line("About", style="bold")
        terminal.pairs(rows, indent="  ")


def _history(details: MemoryDetails) -> None:
    memory = details.memory
    versions = [(f"v{old.number}", f"{old.text}\n(until {terminal.when(old.replaced_at)})") for old in details.versions]
    if versions:
        versions.append((f"v{memory.version}", memory.text))
    states = [
        (terminal.when(change.at), f"{change.old.value} → {change.new.value}: {change.reason}")
        for change in details.status_history
    ]
    links = [(edge.kind, f"→ {edge.target}" if edge.source == memory.id else f"← {edge.source}") for edge in details.edges]
    said = [
        (terminal.when(turn.at), f"{turn.speaker}: {turn.text}" + (f"\n({turn.ref})" if turn.ref else ""))
        for turn in details.turns
    ]
    for title, rows in (("Said", said), ("Wordings", versions), ("States", states), ("Links", links)):
        if rows:
            terminal.line()
            terminal.line(title, style="bold")
            terminal.pairs(rows, indent="  ")


def _updated(result: CommandResult) -> None:
    result.caller.say(f"{result.value.id} is now version {result.value.version}.")


def _erase_question(given: ForgetInput) -> str:
    erases = given.erase and not given.dry_run
    return f"Erase {terminal.many(len(set(given.ids)), 'memory', 'memories')} for good?" if erases else ""


def _forgotten(result: CommandResult) -> None:
    what = "would be erased" if result.given.dry_run else "erased" if result.given.erase else "archived"
    if result.given.dry_run:
        terminal.pairs([(place, f"{count:,}") for place, count in result.value.counts.items()])
    result.caller.say(f"{terminal.many(len(result.value.ids), 'memory', 'memories')} {what}.")
    for note in result.value.notes:
        result.caller.remark(f"note: {note}")


def _restored(result: CommandResult) -> None:
    result.caller.say(f"{result.value.id} is active.")


def _pinned(result: CommandResult) -> None:
    result.caller.say(f"{result.value.id} is {'pinned' if result.value.pinned else 'no longer pinned'}.")


COMMANDS = {
    "remember": CommandSpec(
        show=_remember,
        notes=_notes,
        extra_help="Prints its id. A vault that is missing is made.",
        creates_vault=True,
        offers_all=False,
    ),
    "list": CommandSpec(show=_listed, notes=_challenged),
    "get": CommandSpec(show=_get),
    "show": CommandSpec(show=_show),
    "update": CommandSpec(show=_updated),
    "forget": CommandSpec(show=_forgotten, confirmation=_erase_question),
    "restore": CommandSpec(show=_restored),
    "pin": CommandSpec(show=_pinned),
}
