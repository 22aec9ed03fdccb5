"""Commands on memories: keep, look, change, forget, link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from engram.errors import NotFound
from engram.serve.cli import caller, show
from engram.serve.cli.caller import All, BadCall, Json, Yes
from engram.types import Edge, Kind, Memory, Page, Report, Status, StatusChange, Turn, Version

Id = Annotated[str, typer.Argument(metavar="ID", show_default=False, help="The id that `engram list` shows.")]
Importance = Annotated[float, typer.Option(min=0.0, max=1.0, help="How much it matters, from 0 to 1.")]
AnyStatus = Literal["active", "challenged", "invalidated", "merged", "superseded", "archived", "any"]


@dataclass(frozen=True, slots=True)
class Whole:
    """A memory with all that the vault knows about it."""

    memory: Memory
    versions: Sequence[Version]
    status_history: Sequence[StatusChange]
    edges: Sequence[Edge]
    turns: Sequence[Turn]


@dataclass(frozen=True, slots=True)
class Linked:
    source: str
    target: str
    kind: str
    edges: int


def add_to(app: typer.Typer) -> None:
    commands: dict[str, Callable[..., None]] = {
        "remember": remember,
        "list": list_,
        "show": show_,
        "update": update,
        "forget": forget,
        "restore": restore,
        "pin": pin,
        "relate": relate,
    }
    for name, command in commands.items():
        app.command(name, rich_help_panel="Memories")(command)


def remember(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(show_default=False, help="What to keep; a single - reads standard input.")],
    importance: Importance = 0.5,
    category: Annotated[str, typer.Option(help="What sort of statement it is.")] = "fact",
    as_json: Json = False,
) -> None:
    """Keep one statement and print its id. A vault that is missing is made."""
    asked = caller.of(ctx)
    words = caller.words(text)
    with asked.open(make=True) as vault:
        memory = vault.remember(words, importance=importance, category=category)
    if "[secret: " in memory.text and "[secret: " not in words:
        asked.remark("note: a key, token or password in it was left out.")
    if asked.json or as_json:
        show.data(memory)
    else:
        show.line(memory.id)


def list_(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 50,
    category: Annotated[str | None, typer.Option(help="Of this category only.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="Of this kind only.")] = None,
    status: Annotated[AnyStatus, typer.Option(help="In this state only.")] = "active",
    everything: All = False,
    cursor: Annotated[str | None, typer.Option(help="Go on where the last page ended.")] = None,
    as_json: Json = False,
) -> None:
    """List memories, newest first."""
    asked = caller.of(ctx)
    state = None if status == "any" else Status(status)
    with asked.open(everything=everything) as vault:
        page = vault.list(limit=limit, category=category, kind=kind, status=state, cursor=cursor)
    if asked.json or as_json:
        show.data(page)
        return
    _list(page, places=everything, states=state is None)
    if not page.memories:
        asked.remark("There is nothing to list here." + ("" if everything else " With --all, every scope is looked at."))
    if page.cursor is not None:
        asked.remark(f"There are more: --cursor {page.cursor}")


def _list(page: Page, *, places: bool, states: bool) -> None:
    def row(memory: Memory) -> list[str]:
        more = [memory.status.value] * states + [show.place(memory.scope)] * places
        return [memory.id, show.when(memory.learned_at), memory.category, *more, memory.text]

    if page.memories:
        columns = ["id", "learned", "category", *["status"] * states, *["scope"] * places, "text"]
        show.table(columns, [row(memory) for memory in page])


def show_(ctx: typer.Context, memory_id: Id, everything: All = False, as_json: Json = False) -> None:
    """Show one memory with the words it came from, its earlier wordings, its states and its links."""
    asked = caller.of(ctx)
    with asked.open(everything=everything) as vault:
        memory = vault.get(memory_id)
        if memory is None:
            raise NotFound(
                "there is no memory of that id that this identity may see.",
                way_out="Check the id with `engram list`; with --all, every scope is looked at.",
            )
        versions, history = vault.versions(memory_id), vault.status_history(memory_id)
        whole = Whole(memory, versions, history, vault.edges(memory_id), vault.words(memory_id))
    if asked.json or as_json:
        show.data(whole)
    else:
        _show(whole)


def _show(whole: Whole) -> None:
    memory = whole.memory
    show.line(memory.text, style="bold")
    show.line()
    show.pairs(_facts(memory))
    _history(whole)


def _facts(memory: Memory) -> list[tuple[str, str]]:
    return [
        ("id", memory.id),
        ("kind", f"{memory.kind.value}, {memory.category}"),
        ("scope", show.place(memory.scope)),
        ("source", ", ".join(filter(None, (memory.source.value, memory.speaker, memory.session)))),
        ("status", memory.status.value + (", pinned" if memory.pinned else "")),
        ("weight", f"importance {memory.importance:g}, confidence {memory.confidence:g}, strength {memory.strength:g}"),
        ("learned", show.when(memory.learned_at)),
        ("updated", show.when(memory.updated_at)),
        ("happened", " to ".join(filter(None, (show.when(memory.happened_at), show.when(memory.happened_until))))),
        ("valid", " to ".join(filter(None, (show.when(memory.valid_from), show.when(memory.valid_until))))),
        ("summary", memory.summary),
        ("key fact", memory.key_fact),
        ("tag", memory.tag),
        ("attributes", "\n".join(f"{name} = {value}" for name, value in sorted(memory.attributes.items()))),
    ]


def _history(whole: Whole) -> None:
    me = whole.memory.id
    wordings = [(f"v{one.number}", f"{one.text}\n(until {show.when(one.replaced_at)})") for one in whole.versions]
    states = [(show.when(one.at), f"{one.old.value} → {one.new.value}: {one.reason}") for one in whole.status_history]
    links = [(e.kind, f"→ {e.target}" if e.source == me else f"← {e.source}") for e in whole.edges]
    said = [
        (show.when(turn.at), f"{turn.speaker}: {turn.text}" + (f"\n({turn.ref})" if turn.ref else "")) for turn in whole.turns
    ]
    now = [(f"v{whole.memory.version}", whole.memory.text)] if wordings else []
    for title, rows in (("Said", said), ("Wordings", wordings + now), ("States", states), ("Links", links)):
        if rows:
            show.line()
            show.line(title, style="bold")
            show.pairs(rows, indent="  ")


def update(
    ctx: typer.Context,
    memory_id: Id,
    text: Annotated[
        list[str] | None, typer.Argument(show_default=False, help="The new wording; a single - reads standard input.")
    ] = None,
    importance: Annotated[float | None, typer.Option(min=0.0, max=1.0, help="How much it matters, from 0 to 1.")] = None,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Change a memory. Its earlier wording stays reachable with `engram show`."""
    asked = caller.of(ctx)
    if not text and importance is None:
        raise BadCall("There is nothing to change: give a new wording, or --importance.")
    words = caller.words(text) if text else None
    with asked.open(everything=everything) as vault:
        memory = vault.update(memory_id, text=words, importance=importance)
    _changed(asked, memory, f"{memory.id} is now version {memory.version}.", as_json)


def forget(
    ctx: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID…", show_default=False, help="Ids that `engram list` shows.")],
    erase: Annotated[bool, typer.Option("--erase", help="Remove every trace, for good, instead of archiving.")] = False,
    yes: Yes = False,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Archive memories (`engram restore` brings them back), or erase them for good."""
    asked = caller.of(ctx)
    if erase:
        asked.confirm(f"Erase {show.many(len(set(ids)), 'memory', 'memories')} for good?", yes)
    with asked.open(everything=everything) as vault:
        report = vault.forget(*dict.fromkeys(ids), erase=erase)
    _reported(asked, report, "erased" if erase else "archived", as_json)


def _reported(asked: caller.Caller, report: Report, done: str, as_json: bool) -> None:
    if asked.json or as_json:
        show.data(report)
        return
    asked.say(f"{show.many(len(report.ids), 'memory', 'memories')} {done}.")
    for note in report.notes:
        asked.remark(f"note: {note}")


def restore(ctx: typer.Context, memory_id: Id, everything: All = False, as_json: Json = False) -> None:
    """Bring a forgotten memory back."""
    asked = caller.of(ctx)
    with asked.open(everything=everything) as vault:
        memory = vault.restore(memory_id)
    _changed(asked, memory, f"{memory.id} is active.", as_json)


def pin(
    ctx: typer.Context,
    memory_id: Id,
    off: Annotated[bool, typer.Option("--off", help="Let it be forgotten with time again.")] = False,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Protect a memory from being forgotten with time."""
    asked = caller.of(ctx)
    with asked.open(everything=everything) as vault:
        memory = vault.pin(memory_id, not off)
    _changed(asked, memory, f"{memory.id} is {'pinned' if memory.pinned else 'no longer pinned'}.", as_json)


def relate(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(show_default=False, help="The id that the link goes out from.")],
    target: Annotated[str, typer.Argument(show_default=False, help="The id that it leads to.")],
    kind: Annotated[str, typer.Option(help="What the link means.")] = "related_to",
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Link one memory to another."""
    asked = caller.of(ctx)
    with asked.open(everything=everything) as vault:
        linked = Linked(source, target, kind, vault.relate(source, target, kind))
    if asked.json or as_json:
        show.data(linked)
    else:
        asked.say(f"{source} → {target} ({kind})")


def _changed(asked: caller.Caller, memory: Memory, sentence: str, as_json: bool) -> None:
    if asked.json or as_json:
        show.data(memory)
    else:
        asked.say(sentence)
