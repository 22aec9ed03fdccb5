"""How memories look on a terminal: kept, listed, shown, changed, forgotten, linked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from engram.frozen import fields
from engram.memory.layers import layer_of
from engram.memory.lifecycle import Standing
from engram.serve.cli import show
from engram.serve.cli.commands import Done, Face
from engram.serve.operations.keeping import ForgetInput, RememberInput
from engram.serve.operations.looking import MemoryDetails
from engram.text.metadata import Metadata
from engram.text.terms import digest_of
from engram.types import NEUTRAL, Affect, Memory, Page

if TYPE_CHECKING:
    from engram.engine import Engram


def _remember(done: Done) -> None:
    show.line(done.value.id)


def _notes(mem: Engram, given: RememberInput, kept: Memory) -> Iterator[str]:
    """What is worth saying of what was kept."""
    if "[secret: " in kept.text and "[secret: " not in given.text:
        yield "a key, token or password in it was left out."
    elif digest_of(kept.text) != digest_of(given.text) and "<private>" not in given.text:
        yield _KNOWN if _is_known(given.text, kept.text) else _CORRECTED
    if mem.lacks_vector(kept):
        trouble = mem.encoder().trouble
        yield f"it is found by its words alone until it has a vector{f' ({trouble})' if trouble else ''}."


def _is_known(said: str, kept: str) -> bool:
    from engram.capture.sift import adds_nothing  # late: most commands do without

    return adds_nothing(said, kept)


_KNOWN = "this is known: the id is that of the memory that says so."
_CORRECTED = "this was corrected before, so it was not kept: the id is that of what stands in its place."


def _listed(done: Done) -> None:
    page: Page = done.value
    _list(page, places=done.everything, states=done.given.status == "any")
    if not page.memories:
        hint = "" if done.everything else " With --all, every scope is looked at."
        done.asked.remark("There is nothing to list here." + hint)
    if page.cursor is not None:
        done.asked.remark(f"There are more: --cursor {page.cursor}")


def _list(page: Page, *, places: bool, states: bool) -> None:
    def row(memory: Memory) -> list[str]:
        more = [memory.status.value] * states + [show.place(memory.scope)] * places
        return [memory.id, show.when(memory.learned_at), memory.category, *more, memory.text]

    if page.memories:
        columns = ["id", "learned", "category", *["status"] * states, *["scope"] * places, "text"]
        show.table(columns, [row(memory) for memory in page])


def _get(done: Done) -> None:
    _memory(done.value)


def _show(done: Done) -> None:
    _memory(done.value.memory)
    _about(done.value.metadata)
    _history(done.value)


def _memory(memory: Memory) -> None:
    show.line(memory.text, style="bold")
    show.line()
    show.pairs(_facts(memory))


def _facts(memory: Memory) -> list[tuple[str, str]]:
    return [
        ("id", memory.id),
        ("kind", f"{memory.kind.value}, {memory.category}"),
        ("scope", show.place(memory.scope)),
        ("source", ", ".join(filter(None, (memory.source.value, memory.speaker, memory.session)))),
        ("status", memory.status.value + (", pinned" if memory.pinned else "")),
        (
            "flagged",
            "reads as an attack on the model: in no answer until `engram update ID --no-flagged`" if memory.flagged else "",
        ),
        ("weight", f"importance {memory.importance:g}, confidence {memory.confidence:g}, strength {memory.strength:g}"),
        ("affect", _felt(memory.affect)),
        ("learned", show.when(memory.learned_at)),
        ("updated", show.when(memory.updated_at)),
        ("happened", " to ".join(filter(None, (show.when(memory.happened_at), show.when(memory.happened_until))))),
        ("valid", " to ".join(filter(None, (show.when(memory.valid_from), show.when(memory.valid_until))))),
        ("summary", memory.summary),
        ("key fact", memory.key_fact),
        ("tag", memory.tag),
        ("attributes", "\n".join(f"{name} = {value}" for name, value in sorted(memory.attributes.items()))),
    ]


def _felt(affect: Affect) -> str:
    """Nothing, for what feels like nothing."""
    if affect == NEUTRAL:
        return ""
    figures = f"valence {affect.valence:g}, arousal {affect.arousal:g}, dominance {affect.dominance:g}"
    return f"{affect.sentiment}: {figures}, surprise {affect.surprise:g}"


def _about(found: Metadata) -> None:
    """What its words tell, as far as they do."""
    rows = [(field.name, getattr(found, field.name)) for field in fields(found) if field.name != "sentiment"]
    told = [(name, value if isinstance(value, str) else ", ".join(value)) for name, value in rows]
    if any(value for _, value in told):
        show.line()
        show.line("About", style="bold")
        show.pairs(told, indent="  ")


def _history(whole: MemoryDetails) -> None:
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


def _updated(done: Done) -> None:
    done.asked.say(f"{done.value.id} is now version {done.value.version}.")


def _erases(given: ForgetInput) -> str:
    sure = given.erase and not given.dry_run
    return f"Erase {show.many(len(set(given.ids)), 'memory', 'memories')} for good?" if sure else ""


def _forgotten(done: Done) -> None:
    what = "would be erased" if done.given.dry_run else "erased" if done.given.erase else "archived"
    if done.given.dry_run:
        show.pairs([(place, f"{count:,}") for place, count in done.value.counts.items()])
    done.asked.say(f"{show.many(len(done.value.ids), 'memory', 'memories')} {what}.")
    for note in done.value.notes:
        done.asked.remark(f"note: {note}")


def _restored(done: Done) -> None:
    done.asked.say(f"{done.value.id} is active.")


def _pinned(done: Done) -> None:
    done.asked.say(f"{done.value.id} is {'pinned' if done.value.pinned else 'no longer pinned'}.")


def _related(done: Done) -> None:
    done.asked.say(f"{done.value.source} → {done.value.target} ({done.value.kind})")


def _judged(done: Done) -> None:
    if done.given.correction is not None:
        show.line(done.value.id)
        done.asked.remark("It takes the place of what was corrected.")
    else:
        done.asked.say(f"{done.value.helpful:,} found it helpful, {done.value.unhelpful:,} did not.")


def _moved(done: Done) -> None:
    done.asked.say(f"{done.value.id} is {layer_of(done.value).value} now.")


def _standing(done: Done) -> None:
    found: Standing = done.value
    show.pairs(
        [
            ("layer", found.layer.value),
            ("sort", found.sort.value),
            ("lifecycle", found.lifecycle.value),
            ("verified", found.verification.value.replace("_", " ")),
            ("kept", found.policy.value),
            ("figures", f"heat {found.heat:.2f}, decay {found.decay:.2f}, strength {found.strength:.2f}"),
            ("importance", f"{found.importance:.2f}"),
        ]
    )


def _reached(done: Done) -> None:
    rows = [
        [
            one.memory.id,
            f"{one.strength:.2f}",
            " → ".join(one.by) + (f" ({one.inferred})" if one.inferred else ""),
            one.memory.text,
        ]
        for one in done.value.reached
    ]
    if rows:
        show.table(["id", "strength", "by", "text"], rows)
    else:
        done.asked.remark("No link that is sure enough leads anywhere.")


def _boxes(done: Done) -> None:
    rows = [
        [str(one.key), str(one.trace), show.when(one.opened_at), one.sealed.value or "open", str(one.size), ", ".join(one.topic)]
        for one in done.value.boxes
    ]
    if rows:
        show.table(["box", "trace", "began", "closed by", "memories", "about"], rows)
    else:
        done.asked.remark("There is nothing in boxes here.")


def _box(done: Done) -> None:
    rows = [[memory.id, show.when(memory.learned_at), memory.text] for memory in done.value.memories]
    if rows:
        show.table(["id", "learned", "text"], rows)
    else:
        done.asked.remark("There is no such box here: `engram boxes` shows them.")


FACES = {
    "remember": Face(
        show=_remember, notes=_notes, more="Prints its id. A vault that is missing is made.", makes=True, everywhere=False
    ),
    "list": Face(show=_listed),
    "get": Face(show=_get),
    "show": Face(show=_show),
    "update": Face(show=_updated),
    "forget": Face(show=_forgotten, asks=_erases),
    "restore": Face(show=_restored),
    "pin": Face(show=_pinned),
    "promote": Face(show=_moved),
    "demote": Face(show=_moved),
    "standing": Face(show=_standing),
    "traverse": Face(show=_reached),
    "boxes": Face(show=_boxes),
    "box": Face(show=_box),
    "relate": Face(show=_related),
    "feedback": Face(show=_judged),
}
