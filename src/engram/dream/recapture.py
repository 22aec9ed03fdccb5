"""The job that reads turns again which were captured under earlier rules, where the turns are still stored.

The statements of a turn take the place of the memories captured from it. Memories that somebody confirmed, rated, changed or
pinned stay, and with them the others of their turn; so do those of a turn of which something was corrected, forgotten or outdated
since, and of a turn of which nothing would be kept now. Undone like every change at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from engram.capture.drafts import drafts
from engram.capture.extraction import is_untouched
from engram.capture.screen import tier_of
from engram.capture.statements import Reading
from engram.capture.turns import hear
from engram.dream.job import Job, JobContext, JobPage
from engram.errors import EngramError
from engram.models.statement_reader import shared_reader
from engram.rules.lifecycle import LAYER
from engram.settings import Settings
from engram.text.terms import terms
from engram.types import Draft, Kind, Memory, Sensitivity, Source, Turn
from engram.values.dreams import Cursor, Recapture
from engram.values.episodes import EPISODE, REHEARSED
from engram.values.frozen import replace
from engram.values.identity import strictest

_PAGE = 32


def page(context: JobContext, cursor: Cursor) -> JobPage:
    """Return the next page: the memories that are replaced, and the statements in their place."""
    touched = context.touched(cursor, _PAGE)
    old = [memory for memory in touched.memories if _is_of_earlier_rules(memory)]
    if not old or not _is_readable():
        return touched.page([])
    proposals, seen = [], set[int]()
    for memory in old:
        reader = context.scoped_to(memory)
        sources = context.store.turns.sources(reader, [memory.key])
        if len(sources) != 1 or sources[0][1] in seen:
            continue
        _, key, turn = sources[0]
        seen.add(key)
        group = context.store.turns.derived(reader, [key])
        if all(map(_is_of_earlier_rules, group)) and _have_one_source(context, group):
            before = context.store.turns.before(reader, turn.session or "", key, limit=1) if turn.session else []
            proposal = recaptured(group, turn, before[-1] if before else None, context)
            proposals += [proposal] if proposal is not None else []
    return touched.page(proposals)


def recaptured(group: Sequence[Memory], turn: Turn, before: Turn | None, context: JobContext) -> Recapture | None:
    """Return the replacement of all memories of a turn; None if nothing of it would be kept now."""
    session = turn.session or ""
    heard = hear([turn], {session: before}, context.settings, Reading(shared_reader()))
    made = drafts(heard.turns, heard.candidates, context.settings)
    if not made:
        return None
    tier = _raised_tier(group, context.settings)
    heirs = tuple(_heir(memory, made) for memory in group)
    weights = [0.0] * len(made)
    for memory, heir in zip(group, heirs, strict=True):
        weights[heir] = max(weights[heir], memory.importance)  # somebody may have raised it
    ready = tuple(_as_before(draft, group[0], tier, weight) for draft, weight in zip(made, weights, strict=True))
    return Recapture(tuple(memory.id for memory in group), ready, heirs)


def _as_before(draft: Draft, old: Memory, tier: Sensitivity, importance: float) -> Draft:
    """Return a draft of at least this tier and importance, with the source and the confidence that an import had."""
    memory = replace(draft.memory, tier=strictest(draft.memory.tier, tier), importance=max(draft.memory.importance, importance))
    if old.source is Source.IMPORT:
        memory = replace(memory, source=Source.IMPORT, confidence=min(memory.confidence, old.confidence))
    return replace(draft, memory=memory)


def _raised_tier(group: Sequence[Memory], settings: Settings) -> Sensitivity:
    """Return the strictest tier that somebody gave to one of these memories beyond what its words ask for."""
    asked = {memory.id: tier_of(memory.text, settings) for memory in group}
    raised = [memory.tier for memory in group if strictest(memory.tier, asked[memory.id]) is not asked[memory.id]]
    return reduce(strictest, raised, Sensitivity.CLEARTEXT)


def _heir(memory: Memory, made: Sequence[Draft]) -> int:
    said = set(terms(memory.text))
    return max(range(len(made)), key=lambda number: len(said & set(terms(made[number].memory.text))))


def _is_of_earlier_rules(memory: Memory) -> bool:
    captured = memory.source in (Source.USER, Source.ASSISTANT, Source.IMPORT) and bool(memory.speaker)
    plain = memory.kind is not Kind.SKILL and memory.category != EPISODE and not memory.flagged
    named = set(memory.attributes) - {LAYER, REHEARSED}  # those are set at rest; capture itself gives a memory none
    return captured and plain and not named and not memory.words_at[1] and is_untouched(memory)


def _have_one_source(context: JobContext, group: Sequence[Memory]) -> bool:
    sources = context.store.turns.sources(context.scoped_to(group[0]), [memory.key for memory in group])
    return len(sources) == len(group)


def _is_readable() -> bool:
    try:
        shared_reader().load()
    except EngramError:
        return False
    return True


RECAPTURE = Job("recapture", "Read turns again that were captured under earlier rules.", page)
