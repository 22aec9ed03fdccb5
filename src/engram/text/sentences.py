"""Split a text into sentences, in any script, with the lines, lists, tables and code of Markdown as borders; and into pieces.

Own rules: `sentencex` was measured first and is good at abbreviations, but it runs over line ends, takes "a. b. c. …" for one
sentence, and is quadratic in scripts without spaces (100 KB of Chinese: 17 s). These rules look at every character a bounded
number of times.

A sentence ends at a terminal mark that is followed by space or by the end of the line (CJK marks need no space), unless the mark
belongs to an abbreviation, an initial or a list number, or stands inside quotes or brackets.

Pieces are cut between paragraphs where that is possible, else between lines or words.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from engram.text.terms import word_set

Span = tuple[int, int]

# Never at the end of a sentence: a name follows.
_TITLES = word_set(
    "mr mrs ms mx dr prof st mt sr sra srta herr frau hr fr gen col capt lt sgt maj vs e.g i.e eg ie cf viz"
    " approx ca dept acc resp incl excl"
    " z.b d.h u.a bzw vgl bsp p.ej т.е г ул им см"
)
# Not at the end when a number follows.
_BEFORE_NUMBERS = word_set(
    "no nr nos fig figs eq vol vols pp p art sec ch chap op ext tel jan feb mar apr jun jul aug sep sept oct nov dec"
)
# Sometimes at the end: then the next word is one that begins sentences.
_ENDINGS = word_set("ave blvd bldg etc inc ltd co corp jr esq a.m p.m am pm b.c a.d ph.d m.d b.a m.a u.s u.k usw etc и.т.д")
_OPENERS = word_set(
    "i i'm i've i'll i'd we we're we've they they're he he's she she's it it's you you're this that that's"
    " these those"
    " the a an my our your their his her and but so or then there there's what when where who why how if after before"
    " while since because however also as in on at for from with no not yes well now thanks thank hey hi please let let's"
    " do does did is are was were can could will would should have has"
)

_SUBJECTS = word_set("i i'm i've i'll i'd we we're we've they they're he he's she she's it it's you my our your this that the")
"""Words that begin a sentence also where nobody writes capitals: "i'm 34. i live in graz"."""

_ORDINAL = re.compile(r"(?:\d{1,2}\.){0,2}\d{1,4}")
_COUNTED = re.compile(
    r"\b(?:(?P<doubtful>(?<![iI] )am|im)|der|die|das|dem|den|des|zum|zur|vom|beim|ins|ans|bis|seit|ab|jede[mnrs]?"
    r"|(?:k?ein|mein|dein|sein|ihr|unser)e?[mnrs]?)\s{1,2}(?:\d{1,2}\.\s?)?\d{1,2}$",
    re.IGNORECASE,
)
"""A number after a German article, as in "das 2. Mal"; "am 3" and "im 2" may be English too."""
_DATE = re.compile(r"\b\d{1,2}\.\d{1,2}\.$")
_SUBJECTS_GERMAN = word_set("ich wir er sie es du dann danach aber und doch")
_DEGREE = re.compile(r"\b(?:Dr|Prof|Dipl|Mag)\.[ -](?:[a-z]{2,6}\.[ -]){0,2}[a-z]{2,6}$")
"""A German title with its faculty, as in "Dr. med. Huber"."""
_MEASURED = re.compile(r"\d\s?(?:ft|in|lbs?|oz|km|cm|kg)$", re.IGNORECASE)
_AFTER_NUMBER_SIGN = word_set("is was are of for")
"""Words after "no." by which it is a number: "the house no. is 12"."""
ORDINAL_MONTHS = word_set(
    "januar jänner februar märz april mai juni juli august september oktober november dezember jan feb mär apr jun jul aug sep"
    " sept okt nov dez januari februari maart mei augustus tammikuuta leden únor enero"
)
"""Months after which languages write an ordinal with a point."""

_UNSPACED_MARKS = "。！？｡．"
_SPACED_MARKS = ".!?…‽؟۔।॥።፧։။៕។᙮᠃"
_CLOSERS = "\"'”’»›)\\]}）」』】〉》*_"
_EMOJI = "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\u200d\ufe0f\U0001f000-\U0001faff"
# Possessive, and only from the first of a run of marks, so that a million dots before a letter are scanned once.
_STOP = re.compile(
    f"(?P<mark>[{_UNSPACED_MARKS}][{_UNSPACED_MARKS}{_SPACED_MARKS}]*+[{_CLOSERS}]*+"
    f"|(?<![{_SPACED_MARKS}])[{_SPACED_MARKS}]++[{_CLOSERS}]*+(?=\\s|$|[{_UNSPACED_MARKS}]))"
    f"|(?P<picture>(?<![{_EMOJI}])[{_EMOJI}]++(?=\\s++[^\\W\\d_a-z]))"
)
_PICTURES = re.compile(f"(?:\\s*[{_EMOJI}]+)+")
# Lengths are bounded so that an opening mark without its partner costs only a short scan.
_INSIDE = re.compile(
    r'"[^"\n]{1,300}"|“[^“”\n]{1,300}”|«[^«»\n]{1,300}»|\([^()\n]{1,300}\)|\[[^\[\]\n]{1,500}\]'
    r"|\b\d{1,2}\. \d{1,2}\. ?\d{4}\b"  # 7. 11. 1984
)
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘«]+$")
_ITEM_NUMBER = re.compile(r":\s{1,4}\d{1,2}$")  # "Tips: 1. Stretch"
_NEXT_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_WORD_LOOK_BACK = 24
_LINE = re.compile(r"[^\n\r\u2028\u2029\x0b\x0c\x85]+")
_FENCE = re.compile(r"[ \t>]*(```+|~~~+)")
_LIST_NUMBER = re.compile(r"[\s>]*(?:\d{1,4}|[A-Za-z])[.)]\s")


def spans(text: str) -> list[Span]:
    """Return the sentences of `text` as (start, end), in order, not overlapping, with only white space between them."""
    whole = _trimmed(text, 0, len(text))
    if _is_one(text, *whole):
        return [whole]
    found: list[Span] = []
    for start, end, code in _units(text):
        if code:
            found.append((start, end))
        else:
            found.extend(_sentences(text, start, end))
    return found


def _is_one(text: str, start: int, end: int) -> bool:
    """Return True for one line with no possible end of a sentence but its own, as most statements are."""
    line = _LINE.match(text, start, end)
    if line is None or line.end() < end or "```" in text or "~~~" in text:
        return False
    stop = _STOP.search(text, start, end)
    return stop is None or stop.end() == end


def _units(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield lines, and code blocks as one unit each, without the white space around them; the flag marks code."""
    fence, opened, closed = "", 0, 0
    for line in _LINE.finditer(text):
        mark = _FENCE.match(line.group())
        if fence:
            closed = line.end()
            if mark and mark.group(1).startswith(fence) and not line.group()[mark.end() :].strip():
                yield *_trimmed(text, opened, closed), True
                fence = ""
        elif mark:
            fence, opened, closed = mark.group(1), line.start(), line.end()
        else:
            start, end = _trimmed(text, line.start(), line.end())
            if start < end:
                yield start, end, False
    if fence:
        yield *_trimmed(text, opened, closed), True


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the sentences of one line."""
    closed = [match.span() for match in _INSIDE.finditer(text, start, end)]
    begins = [begin for begin, _ in closed]
    number = _LIST_NUMBER.match(text, start, end)
    floor = number.end() if number else start  # "1. First" does not end after its number
    for stop in _stops(text, floor, end):
        if stop <= start or _is_inside(stop, closed, begins) or _is_number(text[start:stop] if stop - start <= 4 else ""):
            continue
        yield start, stop
        start = _past_space(text, stop, end)
        at = bisect_right(begins, start) - 1
        if start < end and text[start] == "[" and at >= 0 and begins[at] == start:
            yield closed[at]  # a bracketed remark between sentences stands by itself
            start = _past_space(text, closed[at][1], end)
    if start < end:
        yield start, end


def _is_number(piece: str) -> bool:
    """Return True for a number such as "3." inside a line, which belongs to what follows."""
    return piece[:-1].isdigit() and piece.endswith(".")


def _is_inside(stop: int, closed: list[Span], begins: list[int]) -> bool:
    at = bisect_right(begins, stop - 1) - 1
    return at >= 0 and stop < closed[at][1]


def _past_space(text: str, start: int, end: int) -> int:
    while start < end and text[start].isspace():
        start += 1
    return start


def _stops(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the positions where a sentence may end, ascending. Emoji after the mark belong to the sentence before them."""
    for match in _STOP.finditer(text, start, end):
        if match.lastgroup == "picture" or _ends_sentence(text, match, end):
            tail = _PICTURES.match(text, match.end(), end)
            yield tail.end() if tail else match.end()


def _ends_sentence(text: str, mark: re.Match[str], end: int) -> bool:
    sign = mark.group()
    if sign[0] in _UNSPACED_MARKS or (sign[0] in "!?‽؟" and sign[-1] in "!?‽؟"):
        return True
    if text.startswith("[", _past_space(text, mark.end(), end)):
        return True
    following = _NEXT_WORD.search(text, mark.end(), min(end, mark.end() + 40))
    word = following.group() if following else ""
    if sign != ".":
        return not word[:1].islower() or sign[0] not in ".…!?"  # "well… no", '"Stop!" he said'
    looked_at = max(0, mark.start() - _WORD_LOOK_BACK)
    if _ITEM_NUMBER.search(text, looked_at, mark.start()) or _is_counted(text, looked_at, mark.start(), word):
        return False
    if word and (_DEGREE.search(text, looked_at, mark.start()) or _is_measure(text, looked_at, mark.start(), word)):
        return False
    last = _LAST_WORD.search(text, looked_at, mark.start())
    return last is None or _is_no_abbreviation(last.group().lower(), word)


def _is_counted(text: str, start: int, end: int, following: str) -> bool:
    """Return True for a German ordinal before the word that it counts: "im 2. Stock", and not "im 34. I live in Graz"."""
    found = _COUNTED.search(text, start, end)
    if found is None or not following:
        return False
    plain = following.lower().replace("’", "'")
    return plain not in _SUBJECTS_GERMAN and not (found["doubtful"] and plain in _OPENERS)


def ends_in_ordinal(text: str) -> bool:
    """Return True for words that end in a German ordinal with its point: "am 3.", "zum 31.12."."""
    said = text.rstrip()[-_WORD_LOOK_BACK:]
    return said.endswith(".") and (_COUNTED.search(said[:-1]) is not None or _DATE.search(said) is not None)


def _is_measure(text: str, start: int, end: int, following: str) -> bool:
    """Return True for a unit in the midst of a sentence: "5 ft. 9 in. tall"."""
    goes_on = following[0].isdigit() or (following[0].islower() and following.replace("’", "'") not in _OPENERS)
    return goes_on and _MEASURED.search(text, start, end) is not None


def _is_no_abbreviation(last: str, following: str) -> bool:
    goes_on = following[:1].islower() and following.replace("’", "'") not in _SUBJECTS
    if _ORDINAL.fullmatch(last) and (goes_on or following.lower() in ORDINAL_MONTHS):
        return False  # "am 3. Mai", "zum 31.12. kündbar"
    if last in _TITLES or (last in _BEFORE_NUMBERS and following[:1].isdigit()):
        return False
    if last == "no" and following in _AFTER_NUMBER_SIGN:
        return False
    if last.endswith("str") and (following[:1].isdigit() or following[:1].islower()):
        return False  # "Bahnhofstr. 12"
    if last in _ENDINGS or ("." in last and len(last.rsplit(".", 1)[1]) == 1) or (len(last) == 1 and last.isalpha()):
        return not following or (following[0].isupper() and following.lower().replace("’", "'") in _OPENERS)
    return True


_PIECE = 16_384
"""Bytes of a piece. A batch of an ingest is then half a megabyte, so a book is stored, and progress reported, as it is read."""

_BREAKS = (re.compile(r"\n[^\S\n]*\n\s*"), re.compile(r"\n"), re.compile(r"\s+"))


def pieces(text: str, most: int) -> Iterator[str]:
    """Yield pieces of at most `most` bytes, and at most `_PIECE`. Joined they are the text."""
    step = max(min(most, _PIECE) // 4, 1)  # a character has at most four bytes
    start = 0
    while len(text) - start > step:
        end = _cut(text, start, start + step)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut(text: str, start: int, end: int) -> int:
    """Return the last position between paragraphs, lines or words in the second half of this piece."""
    half = (start + end) // 2
    for between in _BREAKS:
        places = [match.end() for match in between.finditer(text, half, end)]
        if places:
            return places[-1]
    return end
