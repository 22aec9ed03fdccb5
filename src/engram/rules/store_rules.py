"""The rules that a store applies while it writes (`store/rule_ports.py`), as one value that is handed over at the door.

Modules that read English are imported when a rule first needs them: opening a vault and reading from it load none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engram.settings import LiveSettings
    from engram.store.rule_ports import EntityTable, FactTable
    from engram.types import Edge, Fact, Memory, Sensitivity, Source, Strength
    from engram.values.entities import EntityDecision, Mention
    from engram.values.facts import Consequences, FactOutcome, Occasion, ParsedText
    from engram.values.memories import Replacement


class MemoryRules:
    """The rules of one open vault. The weights in force come from its settings."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live

    def sensitivity(self, text: str) -> Sensitivity:
        """Return the sensitivity of a text by the personal data in it."""
        from engram.guard import personal_data  # late, as the module says

        return personal_data.sensitivity_of(personal_data.find_sensitive(text))

    def mask(self, text: str) -> str:
        """Return a text with its sensitive spans replaced; empty if there are none to tell it from."""
        from engram.guard import personal_data  # late, as the module says

        spans = personal_data.find_sensitive(text)
        return personal_data.mask(text, spans) if spans else ""

    def informativeness(self, text: str, speaker: str, category: str) -> tuple[float, int]:
        """Return how much a text says, about −1 to 2, and the number of names and titles in it, counted to 3."""
        from engram.text.english.informativeness import told  # late, as the module says

        return told(text, speaker, category)

    def languages(self, text: str) -> tuple[str, str]:
        """Return the code of the language of a text, empty for English and where it is not sure, and the programming language
        that it is about, empty if there is none."""
        from engram.text.metadata import languages  # late, as the module says

        return languages(text)

    def folded(self, name: str) -> str:
        """Return a name in the form in which names are compared."""
        from engram.text.english.entities import folded  # late, as the module says

        return folded(name)

    def technology(self, name: str) -> str:
        """Return the folded name that a technology is kept under: "postgresql" for "Postgres"."""
        from engram.text.english.entities import folded  # late, as the module says
        from engram.text.english.gazetteer import TECHNOLOGIES

        plain = folded(name)
        return TECHNOLOGIES.get(plain, plain)

    def are_assistants(self, speakers: Iterable[str]) -> bool:
        """True if there are speakers and all of them are assistants."""
        from engram.text.english.grammar import is_assistant  # late, as the module says

        names = list(speakers)
        return bool(names) and all(map(is_assistant, names))

    def reinforced(self, known: Edge, stated: Edge, now: datetime) -> Edge:
        """Return a known edge after it was stated again."""
        from engram.rules import edges  # late, as the module says
        from engram.values.edges import EdgeWeights

        return edges.reinforced(known, stated, now, self._live.tuned(EdgeWeights))

    def read(self, memory: Memory, facts: Sequence[Fact] | None = None, mentions: Sequence[Mention] | None = None) -> ParsedText:
        """Return the facts and mentions of a memory's words. Those that are given are known without reading it.

        Nothing is read as a fact from an assistant's words, nor by the patterns of English from another language. Entities are
        listed in the clear, so a sealed memory mentions none. A speaker who tells of themselves is mentioned first.
        """
        from engram.text.english import entities, slots  # late, as the module says
        from engram.text.english import facts as statements
        from engram.text.language import language_of
        from engram.types import Sensitivity, Source
        from engram.values.facts import ParsedText

        foreign = memory.source is Source.ASSISTANT or language_of(memory.words) not in ("en", "")
        stated = slots.mentions_of(facts, memory.text) if facts else ()
        sorts: Sequence[Mention] = ()
        if facts is None:
            facts = () if foreign else statements.facts(memory.words, memory.speaker)
            sorts = slots.mentions_of(facts, memory.text)
        if memory.tier is not Sensitivity.CLEARTEXT:
            return ParsedText(tuple(facts))
        if mentions is None:
            mentions = entities.mentions(memory.words, memory.speaker)
        speaker = None if foreign else entities.of_speaker(memory.words, memory.speaker)
        if speaker is not None and not any(mention.is_speaker for mention in mentions):
            mentions = (speaker, *mentions)
        named = {entities.folded(mention.name) for mention in mentions}
        known = [mention for mention in sorts if entities.folded(mention.name) in named]  # facts say of which kind a name is
        return ParsedText(tuple(facts), slots.merged(mentions, (*known, *stated)))

    def record_mentions(self, table: EntityTable, memory: int, mentions: Sequence[Mention]) -> None:
        """Store what a memory mentions, and merge or rename the entities that it identifies."""
        from engram.rules import entities  # late, as the module says

        entities.record_mentions(table, memory, mentions)

    def apply_decision(self, table: EntityTable, decision: EntityDecision) -> None:
        """Read the mentions again that a decision by hand is about."""
        from engram.rules import entities  # late, as the module says

        entities.apply_decision(table, decision)

    def names_in(self, decision: EntityDecision) -> list[str]:
        """Return the folded names that a decision is about."""
        from engram.rules import entity_decisions  # late, as the module says

        return entity_decisions.names_in(decision)

    def given_names(self, table: EntityTable, entity: int) -> tuple[str, ...]:
        """Return the folded names by which mentions call an entity, without those that a decision brought to it."""
        from engram.rules import entities  # late, as the module says

        return entities.given_names(table, entity)

    def forget_mentions(self, table: EntityTable, memory: int) -> None:
        """Let the mentions of a memory mean no entity, and remove every name that only it gave."""
        from engram.rules import entities  # late, as the module says

        entities.forget_mentions(table, memory)

    def record_facts(self, table: FactTable, memory: Memory, facts: Sequence[Fact], first: int = 0) -> list[FactOutcome]:
        """Store the facts of a memory, end those that they outdate, and return the outcomes for other memories."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.record(table, memory, facts, first)

    def record_derived_facts(self, table: FactTable, memory: Memory, facts: Sequence[Fact]) -> None:
        """Store the facts of a derived memory, which outdate nothing."""
        from engram.rules import contradiction  # late, as the module says

        contradiction.record_derived(table, memory, facts)

    def settle(self, table: FactTable, memory: Memory) -> list[FactOutcome]:
        """Compare the stored facts of a memory with others again, and return the outcomes."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.settle(table, memory)

    def consequences(
        self, memory: Memory, outcomes: Sequence[FactOutcome], occasion: Occasion, *, from_turns: bool = False
    ) -> Consequences:
        """Return what follows from outcomes. `from_turns`: the memory was taken from turns, not given to be remembered."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.consequences(memory, outcomes, occasion, from_turns=from_turns)

    def replaced(self, memory: Memory, earlier: Sequence[tuple[Memory, Replacement]]) -> Consequences:
        """Return what follows for earlier memories that a new one replaces, surely or perhaps."""
        from engram.rules import pairs  # late, as the module says

        return pairs.replaced(memory, earlier, self._live.tuned(pairs.PairWeights))

    def corroborated(self, memory: Memory, turns: int, speakers: Sequence[str], now: datetime) -> Memory:
        """Return a memory after it was stated again in so many turns by these speakers."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.corroborated(memory, turns, self.are_assistants(speakers), now)

    def merged(self, heir: Memory, old: Memory, witnesses: int, now: datetime) -> Memory:
        """Return the memory that stays after another was merged into it."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.merged(heir, old, witnesses, now)

    def inherited_edges(self, edges: Sequence[Edge], old: Memory, heir: Memory) -> list[Edge]:
        """Return the edges that a merged memory passes on."""
        from engram.rules.edges import inherited  # late, as the module says

        return inherited(edges, old.id, heir.id)

    def strength(self, given: Strength | None, source: Source, corroborations: int) -> Strength:
        """Return the strength of a fact: the given one, else that of its source."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.strength_of(given, source, corroborations)

    def weight(self, given: Strength | None, source: Source, confidence: float, corroborations: int) -> float:
        """Return the strength of a fact as a number."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.weight_of(given, source, confidence, corroborations)

    def epistemic_status(self, weight: float, against: Sequence[float]) -> str:
        """Return the status of a fact that has not ended, given the weights of those that contradict it."""
        from engram.rules import contradiction  # late, as the module says

        return contradiction.epistemic_status(weight, against).value
