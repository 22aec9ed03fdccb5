"""Protocols of the rules that a store applies while it writes, and of the tables that those rules read and change.

The store keeps rows and runs transactions; `engram.rules` decides. A rule that depends on rows gets a table that is bound to one
transaction and one scope, so that it always decides on the current state: facts and names of one batch decide about each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Protocol

from engram.values.edges import Edge
from engram.values.entities import EntityDecision, Mention, StoredMention, Tenure
from engram.values.facts import Consequences, FactOutcome, Occasion, ParsedText, StoredFact
from engram.values.identity import Sensitivity, Source
from engram.values.memories import Fact, Memory, Replacement, Strength


class EntityTable(Protocol):
    """The entities of one scope, their names, and the memories that mention them. Names are folded, but for an entity's own."""

    def called(self, name: str) -> int | None:
        """Return the entity that has this name now; None if there is none, or several have it."""

    def describe(self, entity: int) -> tuple[str, str]:
        """Return the own name and the kind of an entity."""

    def names_of(self, entity: int) -> set[str]:
        """Return all names that an entity has now."""

    def beginning(self, letters: str) -> list[tuple[str, int]]:
        """Return the names that begin so, each with its entity."""

    def ending(self, letters: str) -> list[tuple[str, int]]:
        """Return the names that end so, each with its entity."""

    def holders(self, role: str) -> list[Tenure]:
        """Return the entities that have or had a role, in the order of their times."""

    def set_holders(self, role: str, tenures: Sequence[Tenure]) -> None:
        """Set the entities that have or had a role."""

    def roles_of(self, entity: int) -> set[str]:
        """Return the roles that an entity has or had."""

    def said_at(self, memory: int) -> datetime | None:
        """Return the time that a memory speaks of: since when it holds, else when it happened or was learned."""

    def id_of(self, memory: int) -> str:
        """Return the id of a memory."""

    def memories_naming(self, names: Sequence[str]) -> list[int]:
        """Return the memories that have a mention by one of these names."""

    def decisions(self) -> tuple[EntityDecision, ...]:
        """Return the decisions by hand that were not taken back, in their order."""

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
        """Remove an entity with its names. The mentions of it stay, and mean none."""

    def put_mentions(self, memory: int, mentions: Sequence[Mention]) -> None:
        """Store the mentions of a memory, numbered from 0, in place of those it had. They mean no entity yet."""

    def link(self, memory: int, number: int, entity: int | None) -> None:
        """Record which entity a mention means."""

    def unlink(self, memory: int, entity: int) -> None:
        """Record that no mention of a memory means this entity."""

    def mentions_of(self, memory: int) -> list[StoredMention]:
        """Return the mentions of a memory."""

    def mentions_meaning(self, entity: int, limit: int = -1, besides: int = 0) -> list[StoredMention]:
        """Return the mentions that mean an entity, those of the latest memories first, but for one memory."""

    def aliasing(self, entity: int) -> list[StoredMention]:
        """Return the mentions that mean an entity and give it other names."""

    def naming_role(self, role: str) -> list[StoredMention]:
        """Return the mentions by this role alone, whomever they mean."""

    def mentioned_in(self, memory: int) -> list[int]:
        """Return the entities that a memory mentions."""

    def memories_of(self, entity: int) -> list[int]:
        """Return the memories that mention an entity."""

    def rename_subject(self, old: str, new: str) -> None:
        """Rename the subject of all facts of the scope that have it."""

    def set_subject(self, memory: int, old: str, new: str) -> None:
        """Rename the subject of those facts of one memory that have it."""


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

    def languages(self, text: str) -> tuple[str, str]:
        """Return the code of the language of a text, empty for English and where it is not sure, and the programming language
        that it is about, empty if there is none."""

    def folded(self, name: str) -> str:
        """Return a name in the form in which names are compared."""

    def technology(self, name: str) -> str:
        """Return the folded name that a technology is kept under: "postgresql" for "Postgres"."""


class StoreRules(TextRules, Protocol):
    """The rules that a store applies while it writes."""

    def are_assistants(self, speakers: Iterable[str]) -> bool:
        """True if there are speakers and all of them are assistants."""

    def reinforced(self, known: Edge, stated: Edge, now: datetime) -> Edge:
        """Return a known edge after it was stated again."""

    def read(self, memory: Memory, facts: Sequence[Fact] | None = None, mentions: Sequence[Mention] | None = None) -> ParsedText:
        """Return the facts and mentions of a memory's text. Those that are given are known without reading it."""

    def record_mentions(self, table: EntityTable, memory: int, mentions: Sequence[Mention]) -> None:
        """Store what a memory mentions, and merge or rename the entities that it identifies."""

    def apply_decision(self, table: EntityTable, decision: EntityDecision) -> None:
        """Read the mentions again that a decision by hand is about."""

    def names_in(self, decision: EntityDecision) -> list[str]:
        """Return the folded names that a decision is about."""

    def given_names(self, table: EntityTable, entity: int) -> tuple[str, ...]:
        """Return the folded names by which mentions call an entity, without those that a decision brought to it."""

    def forget_mentions(self, table: EntityTable, memory: int) -> None:
        """Let the mentions of a memory mean no entity, and remove every name that only it gave."""

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
