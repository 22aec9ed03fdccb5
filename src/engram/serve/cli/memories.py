"""Display of memories on a terminal: listed, shown, changed, forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.memories import ForgetInput, MemoryDetails, RememberInput
from engram.text.metadata import Metadata
from engram.text.terms import digest_of
from engram.types import NEUTRAL, Affect, Memory, Page
from engram.values.frozen import fields

if TYPE_CHECKING:
    from engram.engine import Engram


def _remember(result: CommandResult) -> None:
    for memory in (result.value, *result.value.others):
        terminal.line(memory.id)


def _notes(mem: Engram, given: RememberInput, stored: Memory) -> Iterator[str]:
    """Yield remarks on a stored memory that differs from the text given, or that has no vector yet."""
    memories = (stored, *stored.others)
    if any("[secret: " in memory.text for memory in memories) and "[secret: " not in given.text:
        yield "a key, token or password in it was left out."
    elif stored.others:
        yield f"it holds {len(memories)} statements, each a memory of its own (--whole keeps it as one)."
    elif digest_of(stored.text) != digest_of(given.text) and "<private>" not in given.text:
        yield _KNOWN if _is_known(given.text, stored.text) else _CORRECTED
    if any(mem.lacks_vector(memory) for memory in memories):
        trouble = mem.encoder().trouble
        yield f"it is found by its words alone until it has a vector{f' ({trouble})' if trouble else ''}."


def _is_known(text: str, stored: str) -> bool:
    from engram.rules.wording import adds_nothing  # late: most commands do without

    return adds_nothing(text, stored)


_KNOWN = "this is known already: the id is that of the memory that says so."
_CORRECTED = "this was corrected or taken back, so it was not stored: the id is that of the memory that stands for it."


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


def _list(page: Page, *, places: bool, states: bool) -> None:
    def row(memory: Memory) -> list[str]:
        more = [memory.status.value] * states + [terminal.place(memory.scope)] * places
        return [memory.id, terminal.when(memory.learned_at), memory.category, *more, memory.text]

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
    "list": CommandSpec(show=_listed),
    "get": CommandSpec(show=_get),
    "show": CommandSpec(show=_show),
    "update": CommandSpec(show=_updated),
    "forget": CommandSpec(show=_forgotten, confirmation=_erase_question),
    "restore": CommandSpec(show=_restored),
    "pin": CommandSpec(show=_pinned),
}
