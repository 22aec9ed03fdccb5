"""Split a turn into atomic statements that stand by themselves, with a reason for every other character.

Comes in: a turn, and the turn before it. Goes out: statements (who, what, when, what sort) with their places in the turn,
and verdicts for what was dropped; together they cover every character of the turn exactly once. Pure: no model, no store,
no clock. A person's speech is taken sentence by sentence; an assistant's answer and anything laid out as a document is
taken in chunks, so that it can be found again without pretending that it is a fact about someone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from engram.capture import categories, chunks, filler, redaction
from engram.text import sentences
from engram.text.dates import began, resolve
from engram.text.english import phrases
from engram.text.english.grammar import is_assistant, is_past, named, third_person
from engram.text.terms import word_set
from engram.types import Fate, Kind, Proposition, Turn, Verdict
from engram.values.frozen import frozen, mutable

Span = tuple[int, int]

_DOCUMENT = 2_000  # characters: longer than this is pasted, not said
_GROUP = 320  # characters that a statement and what leans on it may have together
_ANSWER_WORDS = 8
_QUESTION_SIZE = 160
_LONGEST = 2_000  # characters of one statement; a sentence beyond it is cut
_ASSISTANT_IMPORTANCE = 0.3

_FIRST = re.compile(r"\b(?:i|i'm|i've|i'll|i'd|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SECOND = re.compile(r"\b(?:you|your|yours|you're|you've|you'll|you'd)\b", re.IGNORECASE)
_FINITE = word_set("i we my our is are was were am be been has have had do does did can could will would should must may might")
_CLAUSE = re.compile(
    r"(?:,|;)?\s+(?:and|but)\s+(?=(?:I|I['’](?:m|ve|ll|d)|my|we|we['’](?:re|ve|ll))\s)|;\s+(?=(?:I|My|my|We|we)\b)"
)
_JOINT = re.compile(r"[,;]?\s+(?=\S)")
_SUBORDINATE = re.compile(
    r"\b(?:if|when|whenever|because|that|who|which|while|since|though|although|as|so|where|after|before|until"
    r"|unless|than|how|what|whether|both|between)\b",
    re.IGNORECASE,
)
_CLAUSE_SUBJECT = re.compile(
    r"^\W*(?:(?:\w+ly|yeah|yes|well|also|so|by the way|btw)[\s,]+)?(?:I|I['’](?:m|ve|ll|d)|[Mm]y|[Ww]e|[Ww]e['’](?:re|ve|ll))\s"
)
_NODDING = frozenset({"get", "hear", "feel", "know", "agree", "see"})
_FRAGMENT = re.compile(r"(?!(?:I|I'm|I've|My|my|We|we|Our|He|She|They|It|he|she|they|it)\b)[A-Za-z'-]+(?:,? [a-z'-]+){0,2}[.!]*$")
_SHARES = re.compile(r"\[[a-z]+s (?:an?|the|some|his|her|their|\d)\b")
_ANSWERING = word_set("i i'm i've i'll i'd we we've we're it it's they they're he she there")


@frozen
class Statement:
    """A proposition and the places in its turn that it was taken from, in order."""

    proposition: Proposition
    spans: tuple[Span, ...]


@mutable
class _Group:
    """Sentences that make one statement, as places in what is left of the turn; or one dropped sentence."""

    start: int
    end: int
    parts: list[Span]
    reason: str = ""
    question: bool = False


def propositions(
    turn: Turn, *, previous: Turn | None = None, number: int = 0, left: redaction.Cut | None = None
) -> tuple[list[Statement], list[Verdict]]:
    """The statements of `turn`, and why the rest of it is not kept. `number` is the turn's place in its batch.

    `left`: what is left of it, if that was found out before.
    """
    left = redaction.cut(turn.text) if left is None else left
    verdicts = [Verdict(Fate.DROPPED, piece.reason, number, piece.start, piece.end) for piece in left.removed]
    statements: list[Statement] = []
    for start, end, proposition, reason in _read(left.text, turn, previous):
        places = left.original(start, end)
        if proposition is None:
            verdicts += [Verdict(Fate.DROPPED, reason, number, low, high) for low, high in places]
        elif places:
            statements.append(Statement(proposition, places))
    return statements, sorted(verdicts, key=lambda verdict: verdict.start)


def _read(text: str, turn: Turn, previous: Turn | None) -> Iterator[tuple[int, int, Proposition | None, str]]:
    """Yield the pieces of the turn from end to end: (start, end, statement or None, reason)."""
    assistant = is_assistant(turn.speaker)
    if assistant or len(text) > _DOCUMENT or chunks.is_laid_out(text):
        found = list(_document(text, turn, assistant))
    else:
        found = list(_speech(text, turn, previous))
    begin = 0
    for at, (_, end, proposition, reason) in enumerate(found):
        stop = _border(text, end, found[at + 1][0]) if at + 1 < len(found) else len(text)
        yield begin, stop, proposition, reason
        begin = stop
    if not found and text:
        yield 0, len(text), None, "empty"


def _border(text: str, end: int, start: int) -> int:
    """Return the place between two pieces where the second begins: a comma goes with the first, "and" with the second."""
    mark = _JOINT.match(text, end, start)
    return mark.end() if mark else start


# ---- documents -------------------------------------------------------------------------------------------------


def _document(text: str, turn: Turn, assistant: bool) -> Iterator[tuple[int, int, Proposition | None, str]]:
    why_not = filler.boilerplate if assistant else filler.reason
    who = _who(turn.speaker)
    for piece in chunks.chunks(text, why_not, apart=not assistant):
        said = text[max(piece.start, piece.body) : piece.end].strip()
        if piece.reason or not filler.WORD.search(said):
            yield piece.start, piece.end, None, piece.reason or "empty"
            continue
        body = said if piece.code else chunks.plain(said)
        context = f"{piece.context}: " if piece.context and not body.startswith(piece.context) else ""
        event = resolve(body, turn.at) if turn.at and not assistant else None
        yield piece.start, piece.end, _proposition(
            turn, f"{who}: {context}{body}", said,
            categories.Sort("fact", categories.INFERRED, _ASSISTANT_IMPORTANCE if assistant else 0.4, Kind.PROPOSITION), event,
        ), ""  # fmt: skip


# ---- speech ----------------------------------------------------------------------------------------------------


def _speech(text: str, turn: Turn, previous: Turn | None) -> Iterator[tuple[int, int, Proposition | None, str]]:
    other = previous if previous is not None and previous.speaker != turn.speaker else None
    asked = _question_of(other) if other else ""
    groups = _grouped(text, _names(other))
    if asked:
        _keep_bare_answer(text, groups)
    else:
        _drop_fragments(text, groups)
    first = True
    for group in groups:
        if group.reason:
            yield group.start, group.end, None, group.reason
            continue
        yield group.start, group.end, _statement(text, group, turn, other, asked if first else ""), ""
        first = False


def _names(other: Turn | None) -> frozenset[str]:
    """The one who is addressed, by each part of the name."""
    return frozenset(filler.words(other.speaker)) if other else frozenset()


def _question_of(turn: Turn) -> str:
    """The last question of a turn, if it ends with one that is worth repeating."""
    if not filler.QUESTION_MARK.search(turn.text):
        return ""
    left = redaction.cut(turn.text).text  # the whole turn: its tail may begin inside a private part
    text = left[-4 * _QUESTION_SIZE :]
    found = [text[low:high] for low, high in sentences.spans(text)]
    if len(left) > len(text):
        found = found[1:]  # cut off at the front
    for sentence in reversed([part for part in found if not phrases.CAPTION.match(part)][-2:]):
        if filler.is_substantive_question(sentence):
            return " ".join(sentence.split())[-_QUESTION_SIZE:]
    return ""


def _grouped(text: str, names: frozenset[str]) -> list[_Group]:
    """The sentences of a turn, with what leans on a statement joined to it."""
    groups: list[_Group] = []
    for start, end in _clauses(text):
        sentence = text[start:end]
        reason = filler.reason(sentence, names) or ""
        last = groups[-1] if groups and not groups[-1].reason else None
        if phrases.CAPTION.match(sentence):
            reason = ""
            leans = last is not None
        else:
            leans = last is not None and _leans(sentence, reason) and end - last.start <= _GROUP
        if leans and last is not None:
            last.parts.append((start, end))
            last.end = end
        else:
            groups.append(_Group(start, end, [(start, end)], reason, question=filler.is_question(sentence)))
    return groups


def _leans(sentence: str, reason: str) -> bool:
    return (
        reason in ("", "reaction", "filler") and phrases.LEANING.match(sentence) is not None and not filler.is_question(sentence)
    )


def _clauses(text: str) -> Iterator[Span]:
    for start, end in sentences.spans(text):
        for low, high in chunks.words_within(text, start, end, _LONGEST):
            yield from _independent(text, low, high)


def _independent(text: str, start: int, end: int) -> Iterator[Span]:
    """ "I use Rust and I prefer tabs" → two; only if both sides have their own first person and nothing is subordinate."""
    sentence = text[start:end]
    if end - start >= 40 and "?" not in sentence and '"' not in sentence:
        for joint in _CLAUSE.finditer(sentence):
            left, right = sentence[: joint.start()], sentence[joint.end() :]
            if _is_clause(left) and _is_clause(right) and not _SUBORDINATE.search(left):
                yield start, start + joint.start()
                yield from _independent(text, start + joint.end(), end)
                return
    yield start, end


def _is_clause(part: str) -> bool:
    return _CLAUSE_SUBJECT.match(part) is not None and len(filler.content(filler.words(part))) >= 2


def _is_answer(text: str, group: _Group) -> bool:
    """Does the statement need the question to be understood: yes or no, a fragment, a pronoun?"""
    said = text[group.start : group.end]
    found = filler.words(text[group.parts[0][0] : group.parts[0][1]])
    if not found:
        return False
    if found[0] in phrases.YES_OR_NO or phrases.LEANING.match(said):
        return True
    return len(found) <= _ANSWER_WORDS and not any(word in _FINITE or "'" in word or is_past(word) for word in found)


def _keep_bare_answer(text: str, groups: list[_Group]) -> None:
    """ "Yes!" after a question says something if the turn says nothing else, and "Yes, I have one." always does."""
    alone = all(group.reason for group in groups)
    for group in groups:
        if group.reason in ("greeting", "thanks"):
            continue
        found = filler.words(text[group.start : group.end])
        answers = bool(found) and found[0] in phrases.YES_OR_NO and group.reason in ("reaction", "filler")
        if answers and (alone or (len(found) >= 3 and found[1] in _ANSWERING and found[2] not in _NODDING)):
            group.reason = ""
        return


def _drop_fragments(text: str, groups: list[_Group]) -> None:
    """ "Less jargon": two or three plain words that answer nothing. A clause, a number or another script is no fragment."""
    for group in groups:
        said = text[group.start : group.end]
        if group.reason or len(group.parts) > 1 or len(said) > 30 or not said.isascii():
            continue
        if _FRAGMENT.match(said) and not filler.is_clause(said):
            group.reason = "fragment"


def _statement(text: str, group: _Group, turn: Turn, other: Turn | None, asked: str) -> Proposition:
    """Return a group of sentences as a proposition.

    `asked` is the question that it answers: its words are how the answer will be looked for (measured on words
    alone, LoCoMo dev: R@10 .66 with the question on bare answers only, .72 on every first answer).
    """
    said = " ".join(text[group.start : group.end].split())
    parts = [" ".join(text[low:high].split()) for low, high in group.parts]
    who = _who(turn.speaker)
    bare = bool(asked) and not group.question and _is_answer(text, group)
    if phrases.CAPTION.match(said):
        told = f"{who} {said[1:-1]}" if _SHARES.match(said) else f"{who}: {said}"
    elif group.question:
        told = f"{who} asked: {said}"
    elif bare:
        told = f'{who}, asked "{asked}": {said}'
    else:
        told = _told(parts, turn.speaker, who, other) + (f' (asked: "{asked}")' if asked else "")
    sort = categories.sort(said, inferred=bare or group.question)
    return _proposition(turn, told, said, sort, _event(parts, turn.at))


def _told(parts: list[str], speaker: str, who: str, other: Turn | None) -> str:
    """In the third person if every sentence can be turned, else as it was said, after the speaker's name."""
    bare = [_without_interjection(part, _names(other)) for part in parts]
    turned = [third_person(part, speaker) for part in bare]
    safe = all(new or not _FIRST.search(old) for new, old in zip(turned, bare, strict=True))
    whole = " ".join(new or old for new, old in zip(turned, bare, strict=True))
    if safe and turned[0] and not _SECOND.search(whole):
        return whole
    whom = f" to {named(other.speaker)}" if other and _SECOND.search(" ".join(bare)) and not is_assistant(other.speaker) else ""
    return f"{who}{whom}: {' '.join(bare)}"


def _without_interjection(sentence: str, names: frozenset[str]) -> str:
    """Without "Yeah, " and "Thanks, Ann! " at the head, if enough is left."""
    match = phrases.INTERJECTION.match(sentence)
    start = match.end() if match else 0
    vocative = filler.WORD.match(sentence, start)
    if vocative and vocative.group().lower() in names and sentence[vocative.end() : vocative.end() + 1] in (",", "!", "."):
        start = vocative.end() + 1
    rest = sentence[start:].lstrip(" ,.!–—-")
    if not start or len(filler.words(rest)) < (2 if _FIRST.match(rest) else 3):
        return sentence
    return rest[:1].upper() + rest[1:]


def _event(parts: Iterable[str], at: datetime | None) -> tuple[datetime, datetime] | None:
    if at is None:
        return None
    return next((found for part in parts if (found := resolve(part, at))), None)


def _who(speaker: str) -> str:
    name = named(speaker)
    return name[:1].upper() + name[1:] if name.startswith("the ") else name


def _proposition(turn: Turn, text: str, said: str, sort: categories.Sort, event: tuple[datetime, datetime] | None) -> Proposition:
    return Proposition(
        text=text,
        said=chunks.unnumbered(said),
        speaker=turn.speaker,
        category=sort.category,
        confidence=sort.confidence,
        importance=sort.importance,
        kind=sort.kind,
        happened_at=event[0] if event else None,
        happened_until=event[1] if event else None,
        valid_from=began(said, turn.at) if turn.at is not None else None,
    )
