"""The first argument of every verb: an open vault, its reader, and the idempotency key of the next write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engram.deadline import without_deadline
from engram.errors import InvalidQuery, NotFound
from engram.recall.entities import EntityLookup
from engram.recall.episodes import EpisodeLookup
from engram.recall.knowledge import KnowledgeAssessor
from engram.store.receipts import AlreadyDone, Write, write_once
from engram.types import Memory, Reader
from engram.values.episodes import EpisodeOutcome
from engram.values.frozen import replace
from engram.vault import OpenVault

T = TypeVar("T")


def require_positive(name: str, number: object) -> None:
    """Raise `InvalidQuery` unless the value is an integer from 1: a slice would accept 0 and negative ones."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidQuery(f"the {name} must be a whole number from 1.")


def require_name(name: object) -> str:
    """Return a name; raise `InvalidQuery` if it is not a text."""
    if not isinstance(name, str):
        raise InvalidQuery("a name must be a text.")
    return name


def outcome_of(outcome: EpisodeOutcome | str) -> EpisodeOutcome:
    """Return the outcome of that name; raise `InvalidQuery` for an unknown one."""
    try:
        return EpisodeOutcome(outcome)
    except ValueError:
        problem = InvalidQuery(f"unknown outcome; the outcomes are {', '.join(outcome.value for outcome in EpisodeOutcome)}.")
    raise problem


def id_of(memory: Memory) -> str:
    """Return the text of the receipt of a write whose answer is a memory."""
    return memory.id


def ids_of(memory: Memory) -> str:
    """Return the text of the receipt of a write whose answer is a memory with others."""
    return " ".join((memory.id, *(other.id for other in memory.others)))


class View:
    """An open vault as one reader sees it. key: the idempotency key of the next write (`keyed`)."""

    def __init__(self, vault: OpenVault, reader: Reader, key: str | None = None) -> None:
        self.vault = vault
        self.reader = reader
        self.key = key

    @property
    def entities(self) -> EntityLookup:
        """The entities and facts that this reader sees."""
        return EntityLookup(self.vault.store, self.reader, self.vault.live, lambda: self.vault.embedder)

    @property
    def episodes(self) -> EpisodeLookup:
        """The episodes, skills and warnings that this reader sees."""
        return EpisodeLookup(self.vault.store, self.reader, self.vault.live, self.vault.env, lambda: self.vault.searcher)

    @property
    def knowledge(self) -> KnowledgeAssessor:
        """The assessor of what this reader knows."""
        return KnowledgeAssessor(self.vault.store, self.vault.searcher, self.reader, self.vault.live, self.vault.env)

    def stored(self, memory_id: str) -> Memory:
        """Return the memory of a receipt as it is now."""
        memories = self.vault.store.memories.get(self.reader, [memory_id])
        if not memories:
            raise NotFound("this write was made before, and its memory has been erased since.")
        return memories[0]

    def stored_together(self, ids: str) -> Memory:
        """Return the memories of a receipt as they are now, the first of them with the others."""
        first, *rest = ids.split()
        return replace(self.stored(first), others=tuple(self.vault.store.memories.get(self.reader, rest)) if rest else ())

    def write_once(
        self,
        request: object,
        write: Write[T],
        encode: Callable[[T], str],
        decode: Callable[[str], T],
        after: Callable[[], object] | None = None,
    ) -> T:
        """Make a write and return its answer; with an idempotency key under which it was made before, return that answer again.

        request: the name and arguments of the verb. encode, decode: the answer to the text of the receipt and back. after: called
        when the write is durable, whatever the deadline, and not for a repeated request.
        """
        if self.key is None:
            answer = write(receipt=None)
        else:
            try:
                answer = write_once(self.vault.store.receipts, self.reader, self.key, request, write, encode)
            except AlreadyDone as done:
                return decode(done.answer)
        if after is not None:
            with without_deadline():
                after()
        return answer
