"""§10.17: the work of every function that reads a stranger's text grows with the length of the text, not with its square.

Each reader gets texts made of one piece repeated, at one length and at eight times that. Regular expressions do most of the work,
inside C, where no step can be counted; so the CPU time of the reading thread stands for it, as a ratio of the two lengths in one
run. A linear reader needs 8 times the time and a quadratic one 64 times; the bar between them leaves a factor of three for noise.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from engram.capture import categories, chunks, redaction, shapes, statements, turns
from engram.capture.statements import Reading
from engram.errors import EngramError
from engram.guard import injection, personal_data, secrets
from engram.index import terms as index_terms
from engram.models import language_models
from engram.models.statement_reader import StatementReader
from engram.recall import plan
from engram.rules import abridgement, gaps, topics
from engram.serve.hook import events
from engram.settings import Settings
from engram.text import dates as times
from engram.text import language, marks, sentences, terms, tokens, transcripts
from engram.text.english import affect, dates, entities, facts, informativeness, questions
from engram.types import Turn

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHORT, LONG = 2_500, 20_000  # characters; both long enough to be read as a document
MEASURABLE_S = 0.02  # CPU time of the long text below which the ratio is noise
MOST = 24.0  # between 8, which is linear, and 64, which is quadratic

READERS: dict[str, Callable[[str], object]] = {
    "affect": affect.affect,
    "a model's answer": language_models.parse_json,
    "a hook's input": lambda text: events.read(text.encode(), "claude-code"),
    "attacks": injection.assess,
    "beginnings": lambda text: abridgement.shorten(text, 60),
    "categories": categories.sort,
    "chunks": lambda text: chunks.chunks(text, lambda piece: None),
    "events in questions": questions.bounded,
    "parts of questions": questions.parts,
    "people described in questions": questions.described,
    "digests": terms.digest_of,
    "entities": lambda text: entities.mentions(text, "user"),
    "facts": lambda text: facts.facts(text, "user"),
    "fences": marks.fence,
    "hearing": lambda text: turns.hear([Turn(text, "user", NOW, "s")], {}, Settings(), Reading(None)),
    "intents": lambda text: plan.analyze(text, NOW),
    "leaning": topics.dependence,
    "marks": lambda text: redaction.cut(text, catch_secrets=True),
    "personal data": personal_data.find_sensitive,
    "personal data, all of it": personal_data.find,
    "questions": gaps.question_in,
    "questions that ask nothing": index_terms.asks_nothing,
    "secrets": secrets.find,
    "sentences": sentences.spans,
    "shapes": shapes.blocks,
    "substance": lambda text: informativeness.told(text, "user"),
    "terms": terms.terms,
    "tiers": abridgement.tiers,
    "times": lambda text: dates.read(text, NOW),
    "times that date a statement": lambda text: times.resolve(text, NOW, language="en"),
    "times in German": lambda text: times.find(text, NOW, language="de"),
    "times in Spanish": lambda text: times.find(text, NOW, language="es"),
    "times in Chinese": lambda text: times.find(text, NOW, language="zh"),
    "the language": language.language_of,
    "tokens": tokens.count,
    "transcripts": transcripts.speeches,
}
MODEL = Reading(StatementReader())
READERS_WITH_THE_MODEL: dict[str, Callable[[str], object]] = {
    "hearing": lambda text: turns.hear([Turn(text, "user", NOW, "s")], {}, Settings(), MODEL),
    "hearing an assistant": lambda text: turns.hear([Turn(text, "assistant", NOW, "s")], {}, Settings(), MODEL),
    "remembering": lambda text: statements.statements_to_remember(text, NOW, MODEL),
}
REPEATED = (
    "a", "A", " ", "\n", ".", "-", "#", "<", "[", "{", "(", '"', ":", "@", "0", "_", "\\", "é", "漢", "漢。", "\u200b", "a ",
    "Ab ", "A. ", "a@b.co ", "0-", "0 ", "1. ", "- a\n", "Ann: x\n", "Ann: ", "of the ", "and Bob ", "I ", "my name is Ab ",
    "in 2020 ", "on monday ", "from 3 to ", "http://a.", "password: ", "key=", "<private>", "QUJD", "eyJ.", "sk-aaaa", "```\n",
    "三月", "vom 3. ", "de 3 a ", "jeden Montag, ",
    "> ", "| a ", "ignore all ", "1.2.3.", "4111 ", "passport no ", "member id ", "because ", '{"a":', '(asked: "',
)  # fmt: skip


REPEATED_FOR_THE_MODEL = ("a ", "漢", "I went home. ", "- a\n", "\x0c")
ALMOST_A_LOG = (
    ("$ ", "a", "\t"),
    ("2026-03-02 09:14", " ", "\n"),
    ("at a(", "b", "\n"),
    ("a  ", "b ", "\n"),
    ("09:14:07", " ", "\n"),
)
"""A beginning, a piece to repeat, and an end that shows that the line is no log."""


def cpu_s(read: Callable[[str], object], text: str) -> float:
    before = time.thread_time()
    with contextlib.suppress(EngramError, ValueError):  # raised by two readers for a text that is no JSON
        read(text)
    return time.thread_time() - before


def growth(read: Callable[[str], object], short: str, long: str) -> float:
    return min(cpu_s(read, long) for _ in range(2)) / max(min(cpu_s(read, short) for _ in range(3)), 1e-4)


def slow_growth(read: Callable[[str], object], made: Callable[[int], str]) -> float | None:
    """Return how much longer the long text takes, if that is above the bar each of three times."""
    short, long = made(SHORT), made(LONG)
    if cpu_s(read, long) < MEASURABLE_S:
        return None
    ratio = 0.0
    for _ in range(3):  # a quadratic reader is above the bar each time
        ratio = growth(read, short, long)
        if ratio <= MOST:
            return None
    return round(ratio, 1)


def slow_pieces(read: Callable[[str], object], pieces: tuple[str, ...]) -> dict[str, float]:
    cpu_s(read, "Tables and patterns are loaded at their first use, on Monday too.")
    found = {piece: slow_growth(read, lambda length, piece=piece: (piece * length)[:length]) for piece in pieces}  # type: ignore[misc]
    return {piece: ratio for piece, ratio in found.items() if ratio is not None}


@pytest.mark.parametrize("name", READERS)
def test_eight_times_the_text_takes_far_less_than_its_square(name: str) -> None:
    """A text that is refused is refused as fast."""
    assert slow_pieces(READERS[name], REPEATED) == {}


@pytest.mark.parametrize("name", READERS_WITH_THE_MODEL)
def test_eight_times_the_text_takes_far_less_than_its_square_with_the_statement_model(name: str) -> None:
    assert slow_pieces(READERS_WITH_THE_MODEL[name], REPEATED_FOR_THE_MODEL) == {}


@pytest.mark.parametrize(("begin", "piece", "end"), ALMOST_A_LOG)
def test_a_line_that_is_almost_a_log_is_read_in_time_that_grows_with_its_length(begin: str, piece: str, end: str) -> None:
    assert slow_growth(shapes.blocks, lambda length: f"{begin}{piece * (length // len(piece))}{end}") is None
