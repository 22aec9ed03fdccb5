"""Look up people, places and things: profile, timeline, beliefs and what follows from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from engram.models.embedders import Embedder
from engram.recall.selection import without_flagged
from engram.rules.contradiction import WEAK
from engram.rules.inference import Relation, infer, supports_inference
from engram.rules.knowledge import buckets
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.text.english.entities import PERSON, folded
from engram.text.english.grammar import is_assistant, is_tool
from engram.text.english.nicknames import is_short_form
from engram.types import Memory, Reader
from engram.values.edges import OUTDATING, REVISIONS
from engram.values.entities import Belief, BeliefQuery, Entity, Profile, RelatedFact, Revision, Timeline
from engram.values.frozen import replace

_SIMILAR = 0.8  # cosine from which two names that share a word, or the beginning of one, mean the same
_SAME = 0.92  # without a shared word: "Portugal" and "Lisbon" have 0.86, "Postgres" and "PostgreSQL" 0.94
_STEM = 4  # letters at the beginning of a word that two names must share
_NAMES = 200  # most frequent names that an unknown one is compared with
_CORRECTIONS = 5  # corrections of corrections that a timeline follows back
_SELF = ("i", "me", "myself", "we")
_PRESENT = ("held", "contested")
_HOPS, _SUBJECTS, _MOST = 4, 64, 1000  # premises after the first, subjects read, and facts of a step, for inferred beliefs


class EntityLookup:
    """Reads entities and facts of a vault for one reader."""

    def __init__(self, store: Store, reader: Reader, live: LiveSettings, embedder: Callable[[], Embedder | None]) -> None:
        """embedder: returns the encoder, which is needed only for names that are not stored."""
        self._store = store
        self._reader = reader
        self._live = live
        self._embedder = embedder

    def profile(self, name: str, limit: int) -> Profile | None:
        """Return the profile of an entity, by its name, another name of it, or a similar one; None if it is unknown."""
        name = self._role_of_user(name)
        found = self._store.entities.get(self._reader, name)
        if found is None and (similar := self._full_name(name) or self._similar_name(name)) is not None:
            name, found = similar, self._store.entities.get(self._reader, similar)
        if found is None:
            return None
        entity, keys = found
        facts = self.beliefs(BeliefQuery(subject=entity.name, past=True))
        roles, holders = self._store.entities.roles(self._reader, name)
        return Profile(
            entity,
            tuple(fact for fact in facts if fact.status in _PRESENT),
            tuple(self._store.entities.cooccurring(self._reader, entity.name)),
            tuple(self._sound(self._store.memories.fetch(self._reader, keys[: 2 * limit]))[:limit]),
            tuple(roles),
            tuple(holders),
            tuple(fact for fact in facts if fact.status not in _PRESENT),
            tuple(self._stated(BeliefQuery(subject=entity.name, backwards=True))),
        )

    def _role_of_user(self, name: str) -> str:
        """Return the name under which a role of the user is held: "Sam's manager" for "my manager". Other names are unchanged.

        Of the same role of the user and of Sam, who is the user, the one that somebody got last.
        """
        owner, _, role = folded(name).partition("'s ")
        if owner != "user" or not role:
            return name
        held = [one for one in (name, *(f"{own}'s {role}" for own in self._names_of_user())) if self._is_known(one)]
        return max(held, key=self._held_since, default=name)

    def _names_of_user(self) -> Sequence[str]:
        """Return the names of the user: those of the scope's user, else of the only person who speaks in the memories."""
        own = self._reader.scope.user
        if not own or not self._is_known(own):
            people = [one for one in self._store.entities.speakers(self._reader) if not (is_assistant(one) or is_tool(one))]
            own = people[0] if len(people) == 1 else own
        known = self._store.entities.get(self._reader, own) if own else None
        return (folded(own), *(known[0].names if known else ()))

    def _is_known(self, name: str) -> bool:
        return self._store.entities.get(self._reader, name) is not None

    def _held_since(self, role: str) -> datetime:
        """Return when the one who has a role got it; the earliest time if that is not known."""
        _, holders = self._store.entities.roles(self._reader, role)
        return max((one.since for one in holders if one.since and one.until is None), default=datetime.min.replace(tzinfo=UTC))

    def _full_name(self, name: str) -> str | None:
        """Return the name of the one person whom a short form may mean."""
        first, _, rest = folded(name).partition(" ")
        people = {entity.name: folded(entity.name).partition(" ") for entity in self._entities(PERSON)}
        meant = [known for known, (full, _, last) in people.items() if is_short_form(first, full) and rest in ("", last)]
        return meant[0] if len(meant) == 1 else None

    def _similar_name(self, name: str) -> str | None:
        """Return the stored name with nearly the same meaning."""
        embedder = self._embedder()
        if embedder is None or not any(map(str.isalpha, name)):
            return None
        names = [entity.name for entity in self._entities()]
        if not names:
            return None
        cosines = embedder.passages(names) @ embedder.passages([name])[0]
        stems = _stems(name)
        close = [
            (float(cosine), other)
            for cosine, other in zip(cosines, names, strict=True)
            if cosine >= (_SIMILAR if stems & _stems(other) else _SAME)
        ]
        return max(close)[1] if close else None

    def _entities(self, kind: str | None = None) -> Sequence[Entity]:
        return self._store.entities.select(self._reader, kind=kind, limit=_NAMES)

    def timeline(
        self,
        about: str,
        since: datetime | None,
        until: datetime | None,
        limit: int,
        search: Callable[[str], Sequence[Memory]],
    ) -> Timeline:
        """Return the memories of an entity, or of a topic by `search`, in the order of their dates, corrected ones included."""
        found = self._store.entities.get(self._reader, self._role_of_user(about))
        if found is not None:
            memories = self._sound(self._store.memories.fetch(self._reader, found[1][: 10 * limit]))
        else:
            memories = list(search(about))
        memories, revisions = self._with_corrected(memories)
        dates = [(memory.happened_at or memory.learned_at, memory) for memory in memories]
        dated = [
            (at, memory)
            for at, memory in dates
            if at is not None and (since is None or at >= _aware(since, at)) and (until is None or at < _aware(until, at))
        ]
        dated = sorted(dated, key=lambda entry: (entry[0], entry[1].key))[-limit:]
        shown = {memory.id for _, memory in dated}
        links = tuple(revision for revision in revisions if revision.memory in shown and revision.other in shown)
        return Timeline(tuple(memory for _, memory in dated), links, *buckets([at for at, _ in dated]))

    def _with_corrected(self, memories: Sequence[Memory]) -> tuple[list[Memory], list[Revision]]:
        """Return the memories with those that they replaced, and with the links between them."""
        known = {memory.id: memory for memory in memories}
        revisions: dict[Revision, None] = {}
        latest = list(known)
        for _ in range(_CORRECTIONS):
            edges = self._store.edges.of(self._reader, latest) if latest else []
            revising = [edge for edge in edges if edge.kind in REVISIONS]
            revisions |= dict.fromkeys(Revision(edge.source, edge.target, edge.kind) for edge in revising)
            replaced = [
                edge.target for edge in revising if edge.kind in OUTDATING and edge.source in known and edge.target not in known
            ]
            older = self._sound(self._store.memories.get(self._reader, replaced)) if replaced else []
            known |= {memory.id: memory for memory in older}
            latest = [memory.id for memory in older]
        return list(known.values()), list(revisions)

    def beliefs(self, asked: BeliefQuery, *, inferred: bool = False) -> list[Belief]:
        """Return the facts of a subject, newest first. `inferred`: also those that follow from them."""
        asked = replace(asked, subject="the user") if folded(asked.subject) in _SELF else asked
        stated = self._stated(asked)
        if not inferred:
            return stated
        held = self._stated(BeliefQuery(subject=asked.subject)) if asked.predicate or asked.as_of or asked.past else stated
        more = self._inferred(asked.subject, held)
        return [*stated, *(one for one in more if asked.predicate in ("", one.predicate))]

    def _inferred(self, subject: str, held: Sequence[Belief]) -> list[Belief]:
        """Return the facts that follow from those of a subject and of the subjects that it is related to, a query per step."""
        start = folded(subject)
        premises = [RelatedFact(start, one.predicate, one.object, one.confidence, one.memory) for one in held if _is_premise(one)]
        read, reached = {start}, [one.object for one in premises]
        for _ in range(_HOPS):
            unread = [name for name in dict.fromkeys(reached) if name not in read][: _SUBJECTS - len(read)]
            if not unread:
                break
            step = [one for one in self._store.facts.of(self._reader, unread, most=_MOST) if supports_inference(one.predicate)]
            read.update(unread)
            premises += step
            reached = [one.object for one in step]
        relations = {Relation(one.subject, one.predicate, one.object, one.confidence, one.memory) for one in premises}
        return [
            Belief(fact.source, fact.kind, fact.target, "inferred", fact.confidence, None, None, "", fact.premises, "inferred")
            for fact in infer(relations, start)
        ]

    def _stated(self, asked: BeliefQuery) -> list[Belief]:
        """Return the stored facts of a subject whose memory is not flagged."""
        beliefs = self._store.facts.beliefs(self._reader, asked)
        memories = self._store.memories.get(self._reader, list({belief.memory for belief in beliefs}))
        sound = {memory.id for memory in self._sound(memories)}
        return [belief for belief in beliefs if belief.memory in sound]

    def _sound(self, memories: Sequence[Memory]) -> list[Memory]:
        return without_flagged(memories, self._live.now)


def _is_premise(belief: Belief) -> bool:
    return belief.status == "held" and supports_inference(belief.predicate) and belief.strength not in WEAK


def _stems(name: str) -> set[str]:
    return {word[:_STEM] for word in re.findall(r"\w+", folded(name))}


def _aware(moment: datetime, like: datetime) -> datetime:
    return moment.replace(tzinfo=like.tzinfo) if moment.tzinfo is None else moment
