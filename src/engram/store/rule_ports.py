"""Protocols of the rules that a store applies while it writes, and of the tables that those rules read and change.

The store keeps rows and runs transactions; `engram.rules` decides. A rule that depends on rows gets a table that is bound to one
transaction and one scope, so that it always decides on the current state: facts and names of one batch decide about each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from engram.values.edges import Edge
from engram.values.entities import Mention
from engram.values.facts import Consequences, FactOutcome, Occasion, ParsedText, StoredFact
from engram.values.identity import Sensitivity, Source
from engram.values.memories import Fact, Memory, Replacement, Strength


class EntityTable(Protocol):
    """The entities of one scope, their names, and the memories that mention them. Names are folded, but for an entity's own."""

    def called(self, name: str) -> int | None:
        """Return the entity that has this name."""

    def describe(self, entity: int) -> tuple[str, str]:
        """Return the own name and the kind of an entity."""

    def names_of(self, entity: int) -> set[str]:
        """Return all names of an entity."""

    def namesakes(self, first: str, besides: int) -> list[int]:
        """Return the other entities that have a name of several words beginning with this one."""

    def add(self, name: str, kind: str) -> int:
        """Add an entity and return its key."""

    def add_names(self, entity: int, names: Iterable[str]) -> None:
        """Add names of an entity. A name that another entity has stays with that."""

    def remove_names(self, names: Iterable[str]) -> None:
        """Remove names, whichever entity has them."""

    def rename(self, entity: int, name: str, kind: str) -> None:
        """Set the own name and the kind of an entity."""

    def absorb(self, entity: int, twin: int) -> None:
        """Give the names and mentions of `twin` to `entity`, and remove `twin`."""

    def remove(self, entity: int) -> None:
        """Remove an entity with its names and mentions."""

    def mention(self, entity: int, memory: int) -> None:
        """Record that a memory mentions an entity."""

    def unmention(self, entity: int, memory: int) -> None:
        """Remove one mention."""

    def mentioned_in(self, memory: int) -> list[int]:
        """Return the entities that a memory mentions."""

    def memories_of(self, entity: int) -> list[int]:
        """Return the memories that mention an entity."""

    def texts_of(self, entity: int, limit: int, besides: int = 0) -> list[tuple[int, str, str]]:
        """Return (memory, text, speaker) of the latest memories that mention an entity, but for one."""

    def text_of(self, memory: int) -> tuple[str, str] | None:
        """Return the text and the speaker of a memory."""

    def rename_subject(self, old: str, new: str) -> None:
        """Rename the subject of all facts of the scope that have it."""

    def set_subject(self, memory: int, old: str, new: str) -> None:
        """Rename the subject of those facts of one memory that have it."""

    def set_fact_subject(self, memory: int, number: int, predicate: str, subject: str) -> None:
        """Set the subject of one fact of a memory, if it has this predicate."""


class FactTable(Protocol):
    """The facts of one scope."""

    @property
    def entities(self) -> EntityTable:
        """The entities of the same scope, by which subjects are named."""

    def rivals(self, subject: str, predicate: str, besides: int, at: datetime | None) -> list[StoredFact]:
        """Return the facts with this subject and predicate that hold, of active memories but for one. A fact that was stated with
        an end holds at the time `at` if that lies before the end."""

    def of(self, memory: int) -> list[Fact]:
        """Return the facts of a memory that hold and have no end, and those that state an end."""

    def put(self, memory: Memory, number: int, fact: Fact, since: datetime | None, until: datetime | None) -> None:
        """Store a fact of a memory under its number."""

    def end(self, memory: int, number: int, at: datetime | None) -> None:
        """Record that a fact has ended."""

    def holding(self, memory: int) -> int:
        """Return the number of facts of a memory that have not ended."""

    def said_at(self, memory: Memory) -> datetime | None:
        """Return when a memory was last stated: the time of its last turn, else when it was learned."""


class TextRules(Protocol):
    """Rules on the words of one text."""

    def sensitivity(self, text: str) -> Sensitivity:
        """Return the sensitivity of a text by the personal data in it."""

    def mask(self, text: str) -> str:
        """Return a text with its sensitive spans replaced; empty if there are none to tell it from."""

    def informativeness(self, text: str, speaker: str, category: str) -> tuple[float, int]:
        """Return how much a text says, about −1 to 2, and the number of names and titles in it, counted to 3."""


class StoreRules(TextRules, Protocol):
    """The rules that a store applies while it writes."""

    def folded(self, name: str) -> str:
        """Return a name in the form in which names are compared."""

    def are_assistants(self, speakers: Iterable[str]) -> bool:
        """True if there are speakers and all of them are assistants."""

    def reinforced(self, known: Edge, stated: Edge, now: datetime) -> Edge:
        """Return a known edge after it was stated again."""

    def read(self, memory: Memory, facts: Sequence[Fact] | None = None) -> ParsedText:
        """Return the facts and mentions of a memory's text. `facts`: given if they are known without reading it."""

    def record_mentions(self, table: EntityTable, memory: int, mentions: Sequence[Mention]) -> None:
        """Store the entities that a memory mentions, and merge or rename those that it identifies."""

    def forget_mentions(self, table: EntityTable, memory: int) -> None:
        """Remove what a memory mentions, and every name that only it gave."""

    def record_facts(self, table: FactTable, memory: Memory, facts: Sequence[Fact], first: int = 0) -> list[FactOutcome]:
        """Store the facts of a memory, end those that they outdate, and return the outcomes for other memories.

        first: the number of the first of the facts.
        """

    def record_derived_facts(self, table: FactTable, memory: Memory, facts: Sequence[Fact]) -> None:
        """Store the facts of a derived memory, which outdate nothing."""

    def settle(self, table: FactTable, memory: Memory) -> list[FactOutcome]:
        """Compare the stored facts of a memory with others again, and return the outcomes."""

    def consequences(
        self, memory: Memory, outcomes: Sequence[FactOutcome], occasion: Occasion, *, from_turns: bool = False
    ) -> Consequences:
        """Return what follows from outcomes. `from_turns`: the memory was taken from turns, not given to be remembered."""

    def replaced(self, memory: Memory, earlier: Sequence[tuple[Memory, Replacement]]) -> Consequences:
        """Return what follows for earlier memories that a new one replaces, surely or perhaps."""

    def corroborated(self, memory: Memory, turns: int, speakers: Sequence[str], now: datetime) -> Memory:
        """Return a memory after it was stated again in so many turns by these speakers."""

    def merged(self, heir: Memory, old: Memory, witnesses: int, now: datetime) -> Memory:
        """Return the memory that stays after another was merged into it."""

    def inherited_edges(self, edges: Sequence[Edge], old: Memory, heir: Memory) -> list[Edge]:
        """Return the edges that a merged memory passes on."""

    def strength(self, given: Strength | None, source: Source, corroborations: int) -> Strength:
        """Return the strength of a fact: the given one, else that of its source."""

    def weight(self, given: Strength | None, source: Source, confidence: float, corroborations: int) -> float:
        """Return the strength of a fact as a number."""

    def epistemic_status(self, weight: float, against: Sequence[float]) -> str:
        """Return the status of a fact that has not ended, given the weights of those that contradict it."""
