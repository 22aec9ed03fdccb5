"""The verbs that change what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from engram.capture.chunks import in_parts
from engram.capture.reports import from_words, to_words
from engram.deadline import without_deadline
from engram.errors import InvalidContent, InvalidQuery
from engram.log import Log
from engram.rules.lifecycle import LAYER, Layer, above, below, layer_of
from engram.store.ports import Once
from engram.types import Edge, Kind, Memory, Report, Scope, Sensitivity, Source, Status, Turn
from engram.values.frozen import replace
from engram.verbs.view import View

log = Log("engram")
_MIDDLING = 0.5
_SAID_TO_BE_KEPT = 0.8  # as sure as what is told as a fact: who asks to keep something means it
_ATTACK = (
    "%s reads as an attack on the model: kept, and left out of answers until `update` clears it (flagged=False, --no-flagged)."
)


class Keeping(View):
    """Mixed into `Engram`."""

    def remember(
        self,
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
            scope=self._reader.scope if scope is None else scope,
            happened_at=happened_at,
            happened_until=happened_at,
            attributes=_attributes(attributes) or {},
        )
        closely = _tier(tier)
        kept = self._made_once(
            ("remember", draft, closely),
            lambda once: self._vault.observer.remember(
                self._reader, draft, timeout, once, tier=closely, weigh=importance is None
            ),
            lambda memory: memory.id,
            self._again,
        )
        if kept.flagged:
            log.warning(_ATTACK, kept.id)
        return kept

    def observe(self, *turns: Turn, user: str | None = None, assistant: str | None = None) -> Report:
        """Hear turns, or one exchange, and keep what matters of it. The report says what became of every piece.

        A turn's `ref` is what it is known by: one whose ref is known here was heard before and is passed over. What is said now
        goes through the mind too (`working`); what was said long ago does not.
        """
        exchange = [Turn(text, who) for who, text in (("user", user), ("assistant", assistant)) if text is not None]
        said = (*turns, *exchange)

        def make(once: Once | None) -> Report:
            report = self._captured(*said, once=once)
            with without_deadline():  # it is durable
                self._vault.working_sets.queue_turns(self._reader, said)
                self._vault.prefetcher.start(self._reader)
            return report

        return self._made_once(("observe", said), make, to_words, from_words)

    def _captured(self, *turns: Turn, once: Once | None = None) -> Report:
        return self._vault.observer.observe(self._reader, turns, self._vault.session, once)

    def ingest(self, turns: Iterable[Turn] | str, *, progress: Callable[[int], None] | None = None) -> Report:
        """Hear many turns, or a long text. What was heard before is passed over, so it can be run again.

        Turns are known by their `ref`, the parts of a text by their words; turns without a ref are heard each time.
        """
        if not isinstance(turns, Iterable):
            raise InvalidContent("what is ingested must be turns or a text.", way_out="Pass a str or `engram.Turn`s.")
        vault = self._vault
        said = in_parts(turns, vault.live.now.turn_bytes, vault.store.turns.digest) if isinstance(turns, str) else turns
        known = turns if isinstance(turns, Sequence) else ()  # what is read as it comes cannot be compared

        def make(once: Once | None) -> Report:
            each = said if once is None else _numbered(said, f"once:{vault.store.turns.digest(once.key)}")
            return vault.observer.ingest(self._reader, iter(each), vault.session, progress)

        return self._made_once(("ingest", known), make, to_words, from_words)

    def update(
        self,
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
        return self._made_once(
            ("update", memory_id, changes),
            lambda once: self._vault.observer.update(self._reader, memory_id, changes, since=unchanged_since, once=once),
            lambda memory: memory.id,
            self._again,
        )

    def pin(self, memory_id: str, pinned: bool = True) -> Memory:
        """Protect a memory from being forgotten with time."""
        return self._made_once(
            ("pin", memory_id, pinned),
            lambda once: self._vault.store.memories.update(self._reader, memory_id, {"pinned": pinned}, once=once),
            lambda memory: memory.id,
            self._again,
        )

    def promote(self, memory_id: str) -> Memory:
        """Raise a memory by a layer: from working to episodic, from episodic to semantic. Rules do it too, by use."""
        return self._move("promote", memory_id, above)

    def demote(self, memory_id: str) -> Memory:
        """Lower a memory by a layer."""
        return self._move("demote", memory_id, below)

    def _move(self, name: str, memory_id: str, step: Callable[[Layer], Layer | None]) -> Memory:
        return self._made_once(
            (name, memory_id), lambda once: self._moved(memory_id, step, once), lambda moved: moved.id, self._again
        )

    def _moved(self, memory_id: str, step: Callable[[Layer], Layer | None], once: Once | None) -> Memory:
        def moved(memory: Memory) -> dict[str, object]:
            layer = layer_of(memory)
            there = step(layer)
            if there is None:
                raise InvalidQuery(
                    f"a memory of the layer {layer.value!r} does not move that way.",
                    way_out="`engram standing ID` shows its layer.",
                )
            return {"attributes": {**memory.attributes, LAYER: there.value}}

        return self._vault.store.memories.update(self._reader, memory_id, moved, once=once)

    def forget(
        self,
        *ids: str,
        erase: bool = False,
        dry_run: bool = False,
        reason: str = "forgotten on request",
        unchanged_since: datetime | None = None,
    ) -> Report:
        """Archive memories (`restore` brings them back), or with `erase` remove every trace of them for good.

        Erasing cannot be undone: with `dry_run` the report only counts what would go, table by table.
        """
        name, since, store = "erase" if erase else "forget", unchanged_since, self._vault.store
        if dry_run:
            if not erase:
                raise InvalidQuery("only erasing has a trial run: what is archived can be restored.", way_out="Add `erase=True`.")
            return store.erasure.erase(self._reader, ids, since=since, dry_run=True)

        def make(once: Once | None) -> Report:
            if once is not None:
                once.answer = lambda gone: to_words(_forgotten(name, gone))
            if not erase:
                done = store.memories.set_statuses(self._reader, ids, Status.ARCHIVED, reason, since=since, once=once)
                return _forgotten(name, done)
            gone = store.erasure.erase(self._reader, ids, since=since, once=once)
            with without_deadline():  # it is done
                self._vault.working_sets.forget(self._reader)
            return gone

        return self._made_once((name, ids, reason), make, to_words, from_words)

    def restore(self, memory_id: str) -> Memory:
        def make(once: Once | None) -> Memory:
            if once is not None:
                once.answer = lambda moved: str(moved[0].id)
            return self._vault.store.memories.set_status(self._reader, memory_id, Status.ACTIVE, "restored on request", once=once)

        return self._made_once(("restore", memory_id), make, lambda memory: memory.id, self._again)

    def relate(self, source_id: str, target_id: str, kind: str = "related_to", *, weight: float = 1.0) -> int:
        edge = Edge(source_id, target_id, kind, weight)
        return self._made_once(
            ("relate", edge), lambda once: self._vault.store.edges.put(self._reader, [edge], once=once), str, int
        )

    def backfill(self, *, anew: bool = False) -> int:
        """Make the vectors that are missing, of what this reader may write; or, as its owner, all anew. How many were made."""
        return self._vault.fill_anew(self._reader) if anew else self._vault.observer.backfill(self._reader)


def _forgotten(name: str, memories: Sequence[Memory]) -> Report:
    return Report(operation=name, ids=tuple(memory.id for memory in memories), counts={"memories": len(memories)})


def _numbered(turns: Iterable[Turn], mark: str) -> Iterator[Turn]:
    """Turns without a ref get one, so that an ingest that was cut short and is made again hears each of them once."""
    for number, turn in enumerate(turns):
        bare = isinstance(turn, Turn) and not turn.ref  # type: ignore[redundant-expr]  # what is none is refused by name
        yield replace(turn, ref=f"{mark}:{number}") if bare else turn


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
