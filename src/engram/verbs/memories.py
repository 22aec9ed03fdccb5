"""The verbs that change what is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

from engram.capture.embeddings import SPACE
from engram.capture.reports import from_words, to_words
from engram.errors import InvalidContent, InvalidQuery, NotFound
from engram.log import Log
from engram.recall.selection import without_flagged
from engram.rules.edges import confidence_at
from engram.rules.edges import traverse as walk
from engram.rules.inference import Relation, infer
from engram.rules.lifecycle import LAYER, Layer, LifecycleState, above, below, layer_of, lifecycle_state
from engram.types import (
    Edge,
    Kind,
    Memory,
    Page,
    Report,
    Scope,
    Sensitivity,
    Source,
    Status,
    StatusChange,
    Turn,
    Version,
)
from engram.values.edges import EdgeWeights
from engram.values.episodes import (
    Box,
    ReachedMemory,
)
from engram.values.query import Filter
from engram.verbs.view import View, id_of, require_positive

log = Log("engram")

_MIDDLING = 0.5

_SAID_TO_BE_KEPT = 0.8  # as sure as what is told as a fact: who asks to keep something means it

_ATTACK = (
    "%s reads as an attack on the model: kept, and left out of answers until `update` clears it (flagged=False, --no-flagged)."
)


def _attributes(given: Mapping[str, str] | None) -> dict[str, str] | None:
    if given is None:
        return None
    pairs = given.items() if isinstance(given, Mapping) else [(None,)]  # type: ignore[redundant-expr]  # callers are others' programs
    if not all(isinstance(part, str) for pair in pairs for part in pair):
        raise InvalidContent("the attributes of a memory are names and texts.", way_out="Pass a dict of texts.")
    return dict(given)


def _tier(given: Sensitivity | str | None) -> Sensitivity | None:
    try:
        return None if given is None else Sensitivity(given)
    except ValueError:
        raise InvalidContent("there is no such tier.", way_out=f"Say one of {', '.join(Sensitivity)}.") from None


def _between_0_and_1(importance: float) -> float:
    """Bent into its range; what is no number is left for the store to refuse by name."""
    return min(max(importance, 0.0), 1.0) if isinstance(importance, int | float) else importance  # type: ignore[redundant-expr]


_REACHED = 1000  # memories that one walk over links tells of


def remember(
    view: View,
    text: str,
    *,
    kind: Kind = Kind.PROPOSITION,
    category: str = "fact",
    importance: float | None = None,
    source: Source = Source.USER,
    scope: Scope | None = None,
    happened_at: datetime | None = None,
    attributes: Mapping[str, str] | None = None,
    tier: Sensitivity | str | None = None,
    timeout: float | None = None,
) -> Memory:
    """Keep one statement; durable when this returns. Its scope is where this reader stands, or `scope`.

    importance: from 0 to 1; left out, a middling one that what is new raises.
    tier: how closely (`cleartext`, `sensitive`, `confidential`), if its words are not to decide that.
    What reads as an attack on the model is kept with `flagged`, which is logged: it stands in no answer.
    """
    draft = Memory(
        text=text,
        kind=kind,
        category=category,
        importance=_MIDDLING if importance is None else _between_0_and_1(importance),
        confidence=_SAID_TO_BE_KEPT,
        source=source,
        scope=view.reader.scope if scope is None else scope,
        happened_at=happened_at,
        happened_until=happened_at,
        attributes=_attributes(attributes) or {},
    )
    closely = _tier(tier)
    weigh = importance is None
    write = partial(view.vault.observer.remember, view.reader, draft, timeout=timeout, tier=closely, weigh=weigh)
    kept = view.write_once(("remember", draft, closely), write, id_of, view.stored)
    if kept.flagged:
        log.warning(_ATTACK, kept.id)
    return kept


def update(
    view: View,
    memory_id: str,
    *,
    text: str | None = None,
    importance: float | None = None,
    attributes: Mapping[str, str] | None = None,
    tier: Sensitivity | str | None = None,
    flagged: bool | None = None,
    unchanged_since: datetime | None = None,
) -> Memory:
    """Change a memory; its earlier wording stays reachable through `versions`. attributes: all that it is to have.

    tier: how closely it is kept (`cleartext`, `sensitive`, `confidential`).
    flagged: whether it is held to be an attack on the model, and so left out of answers.
    unchanged_since: the `updated_at` it was read with; if it has another now, it is left as it is (`Conflict`).
    """
    weight = None if importance is None else _between_0_and_1(importance)
    wanted = {"text": text, "importance": weight, "attributes": _attributes(attributes)}
    wanted |= {"flagged": flagged, "tier": _tier(tier)}
    changes = {name: value for name, value in wanted.items() if value is not None}
    write = partial(view.vault.observer.update, view.reader, memory_id, changes, since=unchanged_since)
    return view.write_once(("update", memory_id, changes), write, id_of, view.stored)


def pin(view: View, memory_id: str, pinned: bool = True) -> Memory:
    """Protect a memory from being forgotten with time."""
    write = partial(view.vault.store.memories.update, view.reader, memory_id, {"pinned": pinned})
    return view.write_once(("pin", memory_id, pinned), write, id_of, view.stored)


def promote(view: View, memory_id: str) -> Memory:
    """Raise a memory by a layer: from working to episodic, from episodic to semantic. Rules do it too, by use."""
    return _move(view, "promote", memory_id, above)


def demote(view: View, memory_id: str) -> Memory:
    """Lower a memory by a layer."""
    return _move(view, "demote", memory_id, below)


def _move(view: View, name: str, memory_id: str, step: Callable[[Layer], Layer | None]) -> Memory:
    def moved(memory: Memory) -> dict[str, object]:
        layer = layer_of(memory)
        there = step(layer)
        if there is None:
            raise InvalidQuery(
                f"a memory of the layer {layer.value!r} does not move that way.",
                way_out="`engram standing ID` shows its layer.",
            )
        return {"attributes": {**memory.attributes, LAYER: there.value}}

    write = partial(view.vault.store.memories.update, view.reader, memory_id, moved)
    return view.write_once((name, memory_id), write, id_of, view.stored)


def forget(
    view: View,
    *ids: str,
    erase: bool = False,
    dry_run: bool = False,
    reason: str = "forgotten on request",
    unchanged_since: datetime | None = None,
) -> Report:
    """Archive memories (`restore` brings them back), or with `erase` remove every trace of them for good.

    Erasing cannot be undone: with `dry_run` the report only counts what would go, table by table.
    """
    name, since, store = "erase" if erase else "forget", unchanged_since, view.vault.store
    if dry_run:
        if not erase:
            raise InvalidQuery("only erasing has a trial run: what is archived can be restored.", way_out="Add `erase=True`.")
        return store.erasure.erase(view.reader, ids, since=since, dry_run=True)

    if erase:
        write = partial(store.erasure.erase, view.reader, ids, since=since)
        after = partial(view.vault.working_sets.forget, view.reader)
        return view.write_once((name, ids, reason), write, to_words, from_words, after)
    write = partial(store.memories.archive, view.reader, ids, reason, since=since)
    return view.write_once((name, ids, reason), write, to_words, from_words)


def restore(view: View, memory_id: str) -> Memory:
    """Return an archived memory to the active ones."""
    write = partial(view.vault.store.memories.set_status, view.reader, memory_id, Status.ACTIVE, "restored on request")
    return view.write_once(("restore", memory_id), write, id_of, view.stored)


def relate(view: View, source_id: str, target_id: str, kind: str = "related_to", *, weight: float = 1.0) -> int:
    edge = Edge(source_id, target_id, kind, weight)
    return view.write_once(("relate", edge), partial(view.vault.store.edges.put, view.reader, [edge]), str, int)


def backfill(view: View, *, anew: bool = False) -> int:
    """Make the vectors that are missing, of what this reader may write; or, as its owner, all anew. How many were made."""
    return view.vault.remake_vectors(view.reader) if anew else view.vault.observer.backfill(view.reader)


def get(view: View, memory_id: str) -> Memory | None:
    """The memory, or None if there is none of that id that this identity may see."""
    found = view.vault.store.memories.get(view.reader, [memory_id])
    return found[0] if found else None


def list_(
    view: View,
    *,
    limit: int = 50,
    kind: Kind | None = None,
    category: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    status: Status | None = Status.ACTIVE,
    attributes: Mapping[str, str] | None = None,
    cursor: str | None = None,
    filters: Filter | None = None,
) -> Page:
    """Memories newest first; `status=None` for all of them. The page's cursor fetches the next page.

    filters: stands for kind, category, since, until and status, and can say more.
    """
    where = filters or Filter(
        kinds=(kind,) if kind else (),
        categories=(category,) if category else (),
        statuses=(status,) if status else (),
        since=since,
        until=until,
        attributes=attributes or None,
    )
    return view.vault.store.memories.page(view.reader, limit=limit, cursor=cursor, where=where)


def lacks_vector(view: View, memory: Memory) -> bool:
    """Is this memory found by its words alone as yet?"""
    first = view.vault.store.vectors.missing(view.reader, SPACE, after=memory.key - 1, limit=1)
    return bool(first) and first[0][0] == memory.key


def words(view: View, memory_id: str) -> Sequence[Turn]:
    """The turns a memory came from, verbatim."""
    return view.vault.store.turns.of(view.reader, memory_id)


def edges(view: View, *ids: str) -> Sequence[Edge]:
    return view.vault.store.edges.of(view.reader, ids)


def traverse(view: View, memory_id: str, *, depth: int = 2, kinds: Sequence[str] = ()) -> Sequence[ReachedMemory]:
    """What the memory is linked to, up to `depth` links away, the strongest first; by links of these kinds, or of any.

    Where a link follows from those in between, it says so (`infer`): a part of a part is a part. 1,000 at most are told.
    """
    store, env, settings = view.vault.store, view.vault.env, view.vault.live.now
    require_positive("depth", depth)
    if not store.memories.get(view.reader, [memory_id]):
        raise NotFound("there is no memory of that id that this identity may see.")
    passed: dict[Edge, None] = {}

    def edges_of(ids: Sequence[str]) -> Sequence[Edge]:
        found = store.edges.of(view.reader, ids)
        passed.update(dict.fromkeys(found))
        return found

    weights = view.vault.live.tuned(EdgeWeights)
    ways = walk([memory_id], edges_of, env.now(), weights, depth=min(depth, 6), kinds=kinds)
    links = [Relation(e.source, e.kind, e.target, confidence_at(e, env.now(), weights), e.source) for e in passed]
    follows = {one.target: one.kind.replace(" ", "_") for one in reversed(infer(links, memory_id))}
    first = sorted(ways, key=lambda one: (-ways[one].strength, ways[one].distance, one))[:_REACHED]
    found = {memory.id: memory for memory in without_flagged(store.memories.get(view.reader, first), settings)}
    return tuple(
        ReachedMemory(found[one], ways[one].distance, ways[one].strength, ways[one].by, follows.get(one, ""))
        for one in first
        if one in found
    )


def standing(view: View, memory_id: str) -> LifecycleState:
    """Where a memory stands now: layer, lifecycle, verification, how long it is kept, how warm it is and how far faded."""
    found = view.vault.store.memories.get(view.reader, [memory_id])
    if not found:
        raise NotFound("there is no memory of that id that this identity may see.")
    return lifecycle_state(found[0], view.vault.env.now(), view.vault.live.now)


def boxes(view: View, *, trace: int | None = None, limit: int = 50) -> Sequence[Box]:
    """Stretches of what was kept, each about one thing, the latest first; or those of one trace, which are about the same."""
    view.vault.upkeep.fill_boxes()
    return tuple(view.vault.store.boxes.select(view.reader, trace=trace, limit=limit))


def box(view: View, key: int) -> Sequence[Memory]:
    """The memories in a box, in the order they were kept."""
    return tuple(without_flagged(view.vault.store.boxes.get(view.reader, key), view.vault.live.now))


def versions(view: View, memory_id: str) -> Sequence[Version]:
    return view.vault.store.memories.versions(view.reader, memory_id)


def status_history(view: View, memory_id: str) -> Sequence[StatusChange]:
    return view.vault.store.memories.status_history(view.reader, memory_id)
