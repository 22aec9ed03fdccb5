"""A new statement as a memory ready to be kept: its tiers with their token counts, its dates, its weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from engram.capture import screen
from engram.capture.duplicates import MOST_SURPRISING, Candidate
from engram.index.vectors.matrix import encode
from engram.rules.abridgement import tiers
from engram.settings import Settings
from engram.text import tokens
from engram.text.english.affect import affect
from engram.text.english.grammar import is_assistant
from engram.types import Draft, Memory, Source, Turn


def drafts(said: Sequence[Turn], fresh: Sequence[Candidate], settings: Settings) -> list[Draft]:
    """Return a draft for each new statement; `said` are the turns that their numbers refer to."""
    vectors = [candidate.vector for candidate in fresh if candidate.vector is not None]
    packed = iter(encode(np.stack(vectors)) if vectors else ())
    return [_draft(said, candidate, None if candidate.vector is None else next(packed), settings) for candidate in fresh]


def weighed(text: str, settings: Settings, **how: Any) -> dict[str, Any]:
    """The shorter tiers of a text, the tokens of all four, and what it feels like (`how` it came about: `affect`).

    A tier that is the text itself is not counted again."""
    shorter = [cut(tier, settings.summary_bytes) for tier in tiers(text)]
    counts: dict[str, int] = {}
    for tier in (text, *shorter):
        if tier not in counts:
            counts[tier] = tokens.count(tier)
    summary, key_fact, tag = shorter
    weights = (counts[text], counts[summary], counts[key_fact], counts[tag])
    return {"summary": summary, "key_fact": key_fact, "tag": tag, "tokens": weights, "affect": affect(text, **how)}


def cut(text: str, most: int) -> str:
    """Return the first bytes of a text, in whole characters."""
    encoded = text.encode()
    return text if len(encoded) <= most else encoded[:most].decode("utf-8", "ignore")


def _draft(said: Sequence[Turn], candidate: Candidate, vector: bytes | None, settings: Settings) -> Draft:
    proposition, turn = candidate.statement.proposition, said[candidate.turn]
    text, words_at = cut(proposition.text, settings.content_bytes), proposition.words_at
    if len(text) < len(proposition.text) and words_at[1]:  # its own words, as far as they go, without what they carry
        text = text[: words_at[1]]
        words_at = (words_at[0], len(text))
    witnesses = (echo.turn for echo in candidate.echoes if not echo.is_echo)  # what an assistant repeats is no witness (C15)
    sources = tuple(dict.fromkeys((candidate.turn, *witnesses)))
    again = len(sources) - 1
    memory = Memory(
        text=text,
        kind=proposition.kind,
        category=proposition.category,
        source=Source.ASSISTANT if is_assistant(turn.speaker) else Source.USER,
        confidence=1.0 - (1.0 - proposition.confidence) * 0.8**again,
        importance=min(max(proposition.importance + candidate.surprise, 0.0), 1.0),
        happened_at=proposition.happened_at or turn.at,
        happened_until=proposition.happened_until,
        valid_from=proposition.valid_from,
        session=turn.session or "",
        speaker=turn.speaker,
        surprise=candidate.surprise,
        corroborations=again,
        tier=screen.tier_of(text, settings),
        flagged=candidate.flagged,
        words_at=words_at,
        screened=screen.version(settings),
        **weighed(
            text,
            settings,
            correction=proposition.category == "correction",
            novelty=max(candidate.surprise, 0.0) / MOST_SURPRISING,
        ),
    )
    return Draft(
        memory=memory,
        turns=sources,
        vector=vector,
        facts=candidate.facts,
        mentions=proposition.mentions,
        passage=proposition.passage,
        replaces=candidate.replaces,
    )
