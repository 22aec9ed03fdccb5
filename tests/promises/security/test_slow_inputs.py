"""§10.17: whatever reads words of strangers takes time that grows with their length, and not with its square.

Each reader gets long texts made of one thing again and again, at one length and at twice that. What is compared is the CPU time
of the two, in one run: a reader that tries every run from each of its places takes four times as long, and more.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from engram.capture import categories, chunks, filler, priority, redaction, turns
from engram.errors import EngramError
from engram.guard import injection, personal_data, secrets
from engram.index import term_plan
from engram.models import language_models
from engram.recall import evidence, plan
from engram.rules import abridgement, gaps, topics
from engram.serve.hook import events
from engram.settings import Settings
from engram.text import fence, sentences, terms, tokens, transcripts
from engram.text.english import affect, dates, entities, facts, informativeness
from engram.text.english.dates import relative
from engram.types import Turn

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LENGTH = 2_000
SLOW_S = 0.02  # below this, twice the length says nothing
MOST = 3.3  # twice the work and some noise; four times is a square

READERS: dict[str, Callable[[str], object]] = {
    "affect": affect.affect,
    "a model's answer": language_models.parse_json,
    "a hook's input": lambda text: events.read(text.encode(), "claude-code"),
    "attacks": injection.assess,
    "beginnings": lambda text: abridgement.shorten(text, 60),
    "categories": categories.sort,
    "chunks": lambda text: chunks.chunks(text, lambda piece: None),
    "conjunctions": evidence.conjuncts,
    "borders": evidence.border,
    "names asked for": evidence.by_name,
    "digests": terms.digest_of,
    "entities": lambda text: entities.mentions(text, "user"),
    "facts": lambda text: facts.facts(text, "user"),
    "fences": fence.fence,
    "filler": filler.reason,
    "hearing": lambda text: turns.hear([Turn(text, "user", NOW, "s")], {}, Settings()),
    "intents": lambda text: plan.sought(text, NOW),
    "leaning": topics.leaning,
    "marks": lambda text: redaction.cut(text, catch_secrets=True),
    "personal data": personal_data.find_sensitive,
    "personal data, all of it": personal_data.find,
    "questions": gaps.question_in,
    "questions that ask nothing": term_plan.asks_nothing,
    "secrets": secrets.find,
    "sentences": sentences.spans,
    "signals": priority.scan,
    "substance": lambda text: informativeness.told(text, "user"),
    "terms": terms.terms,
    "tiers": abridgement.tiers,
    "times": lambda text: dates.read(text, NOW),
    "tokens": tokens.count,
    "transcripts": transcripts.speeches,
    "what was then": lambda text: relative.resolve(text, NOW),
}
AGAIN = (
    "a", "A", " ", "\n", ".", "-", "#", "<", "[", "{", "(", '"', ":", "@", "0", "_", "\\", "é", "漢", "漢。", "\u200b", "a ",
    "Ab ", "A. ", "a@b.co ", "0-", "0 ", "1. ", "- a\n", "Ann: x\n", "Ann: ", "of the ", "and Bob ", "I ", "my name is Ab ",
    "in 2020 ", "on monday ", "from 3 to ", "http://a.", "password: ", "key=", "<private>", "QUJD", "eyJ.", "sk-aaaa", "```\n",
    "> ", "| a ", "ignore all ", "1.2.3.", "4111 ", "passport no ", "member id ", "because ", '{"a":', '(asked: "',
)  # fmt: skip


def seconds(read: Callable[[str], object], text: str) -> float:
    before = time.process_time()
    with contextlib.suppress(EngramError, ValueError):  # what these two say of what is no JSON
        read(text)
    return time.process_time() - before


def ratio(read: Callable[[str], object], long: str, short: str) -> float:
    return min(seconds(read, long) for _ in range(2)) / max(min(seconds(read, short) for _ in range(2)), 1e-4)


@pytest.mark.parametrize("name", READERS)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    """Whatever it is made of; what is refused is refused as fast."""
    read = READERS[name]
    seconds(read, "What was loaded once is at hand, on Monday too.")
    slow = {}
    for piece in AGAIN:
        short, long = ((piece * length)[:length] for length in (LENGTH, 2 * LENGTH))
        if seconds(read, long) < SLOW_S:
            continue
        ratios = (ratio(read, long, short) for _ in range(3))  # what is really slow is so each time, whatever else runs here
        if all((last := each) > MOST for each in ratios):
            slow[piece] = round(last, 1)
    assert slow == {}
