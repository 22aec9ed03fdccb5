"""Shortening by extraction: to a number of tokens, and to the three shorter forms of a memory: summary, key fact, tag.

Extractive, so that the result never says anything the text did not: the leading whole sentences, else the leading clause, else
the leading words. Each form is no longer than the one above it and never breaks a word, unless a word or a script without spaces
does not end. The summary of a text of more than thirty tokens is the sentences with most names, numbers and content words in 60 %
of its tokens, within 512 bytes, without a question that they answer; the key fact is the leading clause of the summary in at most
fifteen words, without adjuncts; the tag is up to five names, numbers and rare words in their order. A language model may replace
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from engram.index.terms import STOP_WORDS
from engram.text import sentences
from engram.text.english.grammar import named
from engram.text.terms import terms, word_set
from engram.text.tokens import count
from engram.types import Turn

_CLAUSE_END = re.compile(r"[,;]\s|\s[–—-]\s|\s(?=(?:because|which|while|although|though|since|but)\b)", re.IGNORECASE)
_LEAST_WORDS = 4
_STATEMENT_TOKENS = 40
_TOKEN_CHARACTERS = 32
"""Upper bound of the characters of a token, with rare exceptions."""
_SMALL_TALK = word_set(
    """
    ah aha alright awesome bye cheers cool fine glad good great haha hello hey hi hm hmm lol nice oh ok okay perfect please really
    right sorry sure thank thanks thx welcome well wow yeah yep yes nope absolutely definitely exactly indeed lovely morning
    noted understood acknowledged
    """
)


def content_words(text: str) -> tuple[str, ...]:
    """Return the content words of a text: its terms without stop words and small talk."""
    return tuple(term for term in terms(text) if term not in STOP_WORDS and term not in _SMALL_TALK)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line."""
    return [" ".join(text[start:end].split()) for start, end in sentences.spans(text)]


def statement(turn: Turn, most: int = _STATEMENT_TOKENS) -> str:
    """Return the sentence of a turn with most content words, after its speaker's name; empty for small talk."""
    ranked = sorted(split_sentences(turn.text), key=lambda sentence: -len(content_words(sentence)))
    if not ranked or not content_words(ranked[0]):
        return ""
    name = named(turn.speaker)
    return shorten(f"{name[:1].upper()}{name[1:]}: {ranked[0]}", most)


def shorten(text: str, most: int) -> str:
    """Return the longest beginning within `most` tokens, ending with a sentence where possible; empty if nothing fits."""
    text = " ".join(text.split())
    if count(text) <= most:
        return text
    sentence_list = split_sentences(text[: most * _TOKEN_CHARACTERS + 1])
    if whole := _most(lambda end: " ".join(sentence_list[:end]), range(1, len(sentence_list)), most):
        return whole
    first = sentence_list[0] if sentence_list else text
    clause = _most(lambda end: first[:end], [match.start() for match in _CLAUSE_END.finditer(first)], most)
    return clause if len(clause.split()) >= _LEAST_WORDS else _cut(first, most)


def _most(head: Callable[[int], str], ends: Sequence[int], most: int) -> str:
    """Return the longest beginning that fits, empty if none does. By bisection: counting a thousand of them takes minutes."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if count(head(ends[middle - 1])) <= most:
            low = middle
        else:
            high = middle - 1
    return head(ends[low - 1]) if low else ""


def _cut(text: str, most: int) -> str:
    """Return the longest beginning that fits, up to the end of a word where the script has spaces.

    Bisection is correct because longer text nearly always has more tokens; the final loop covers the exceptions.
    """
    low, high = 0, min(len(text), most * _TOKEN_CHARACTERS)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle] + "…") <= most:
            low = middle
        else:
            high = middle - 1
    head = text[:low]
    whole = head if low == len(text) or text[low].isspace() else head[: head.rfind(" ")] if " " in head else head
    shown = whole.rstrip(" ,;:")
    while " " in shown and shown.rsplit(" ", 1)[1].casefold() in STOP_WORDS:  # "…the rainforest and"
        shown = shown.rsplit(" ", 1)[0].rstrip(" ,;:")
    while shown and count(shown + "…") > most:
        shown = shown[:-1]
    return shown + "…" if shown else ""


def one_level_shorter(text: str) -> str:
    """Return a text with one level less of detail: its first sentence, else its leading clause, else the text itself."""
    sentence_list = split_sentences(text)
    if len(sentence_list) > 1:
        return sentence_list[0]
    for match in _CLAUSE_END.finditer(text):
        if len(text[: match.start()].split()) >= _LEAST_WORDS:
            return text[: match.start()]
    return text


SUMMARY_BYTES = 512
KEY_FACT_WORDS, KEY_FACT_BYTES = 15, 160
TAG_WORDS, TAG_BYTES = 5, 80

_LOOKED_AT = 4_096  # characters of a text that can get into a tier
_TIER_CLAUSE_END = re.compile(r"[,;]\s|\s[–—-]\s|(?<=[a-z]):\s")
_BORDER = re.compile(
    r"(?<=\w)(?=\s+(?:because|which|who|where|when|while|although|though|since|so that|and then|but)\b)", re.IGNORECASE
)
_SHORT_TOKENS, _SUMMARY_SHARE = 30, 0.6  # a text up to here is its own summary; that of a longer one has this share of its tokens
_CARRIED = re.compile(r"\s*\[[^\[\]]*\]\s*$")  # the heading that a statement stood under
_ITEM = re.compile(r"^[\s>*#_-]*(?:\d{1,3}[.)]\s)?")
_LEANING = word_set("he she it it's its they their them this that these those here here's there by with")
_SPEAKER = re.compile(r"(?:The (?:user|assistant)|[^\W\d_a-z][\w.'’-]*(?: [^\W\d_a-z][\w.'’-]*){0,2}): ")
_WORD = re.compile(r"[^\W_]+(?:['’.@/:+#-]+[^\W_]+)*[+#]*")
_ASIDE = re.compile(r"\s*\((?:asked: \"[^\"]*\"|[^()]*)\)|\s*\[[^\[\]]*\]")
_ASKED = re.compile(r'\s*\(asked: "[^"]*"\)')
_PLAIN = word_set(
    """
    a about actually after again all also always am an and any are around as asked assistant at be because been before being
    best both but by can can't come could course day definitely did do does doesn't don't each else even ever every few for
    from get gets getting go goes going gonna good got great had has have having he her here here's him his how i i'd i'll i'm
    i've if in into is it it's its just keep kind know last let's like likes little lot lots love loves made make makes many
    maybe me more most much my need never new next nice no not now of off on one only or other our out over people pretty put
    really said same see she should since so some something spoke still such sure take than thank thanks that that's the their
    them then there there's these they they're thing things think thinks this those through time to today too took two up us
    use used user user's uses using very want wants was way we we're we've week well went were what when where which while who
    why will with would yeah year years yes yesterday yet you you're your
    """
)


def tiers(text: str) -> tuple[str, str, str]:
    """Return summary, key fact and tag of a memory's text."""
    lines = _unasked(text[:_LOOKED_AT].strip())
    summary = _summary(lines)
    key_fact = _no_longer(_within_bytes(_key_fact(summary), KEY_FACT_BYTES), summary)
    return summary, key_fact, _no_longer(_within_bytes(_tag(key_fact, summary), TAG_BYTES), key_fact)


def _unasked(text: str) -> str:
    """Return the text without the question it answers, if it is long enough to stand without it."""
    if "(asked: " not in text:
        return text
    bare = _ASKED.sub("", text)
    return bare if len(bare.split()) >= _LEAST_WORDS else text


def _summary(text: str) -> str:
    """Return a text of up to thirty tokens itself, else the sentences that say most, in their order, in 60 % of its tokens."""
    whole = " ".join(text.split())
    tokens = count(whole)
    if tokens <= _SHORT_TOKENS:
        return _within_bytes(whole, SUMMARY_BYTES)
    speaker = match.group() if (match := _SPEAKER.match(whole)) else ""
    words = _CARRIED.sub("", text.removeprefix(speaker))
    parts = [part for part in split_sentences(words) if len(part.split()) >= _LEAST_WORDS] or [" ".join(words.split())]
    most = left = int(_SUMMARY_SHARE * tokens) - count(speaker)
    costs = [count(part) + 1 for part in parts]
    values = [_details(part) / cost**0.5 for part, cost in zip(parts, costs, strict=True)]
    chosen: dict[int, str] = {}
    for place in sorted(range(len(parts)), key=lambda place: -values[place]):
        part, cost = parts[place], costs[place]
        if cost > left > most // 2:  # a long sentence is cut rather than left out for a lesser one
            part, cost = f"{shorten(part, left - 1).rstrip('…')}…", left
        if cost <= left and _fits(" ".join((speaker, *chosen.values(), part))):
            chosen[place] = part
            left -= cost
    if not chosen:
        return _within_bytes(whole, SUMMARY_BYTES)
    return speaker + " ".join(chosen[place] for place in sorted(chosen))


def _details(sentence: str) -> float:
    """Return the number of names and numbers of a sentence, and a fourth of its content words.

    Half of that, if the sentence only leads to the next one or leans on the one before.
    """
    words = _WORD.findall(_ITEM.sub("", sentence))
    details: int = sum(word[0].isdigit() or (place > 0 and word[0].isupper()) for place, word in enumerate(words))
    leans = sentence.rstrip("*_ ").endswith(":") or (bool(words) and words[0].casefold() in _LEANING)
    return (details + len(set(content_words(sentence))) / 4) * (0.5 if leans else 1.0)


def _fits(text: str, limit: int = SUMMARY_BYTES) -> bool:
    return len(text) <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit


def _within_bytes(text: str, limit: int) -> str:
    """Return as many whole words as fit; as many characters, if the first word is too long or the script has no spaces."""
    if _fits(text, limit):
        return text
    ellipsis = "…"
    size = len(ellipsis.encode())
    end = 0
    for end, character in enumerate(text):  # noqa: B007
        size += len(character.encode("utf-8", "surrogatepass"))
        if size > limit:
            break
    head = text[:end]
    space = head.rfind(" ")
    return (head[:space] if space > len(head) // 2 else head).rstrip(" ,;:") + ellipsis


def _key_fact(text: str) -> str:
    """Return the first sentence without parentheses; if that is long, its leading clauses."""
    if "(" in text or "[" in text:
        bare = _ASIDE.sub("", text).strip()
        text = bare if len(bare.split()) >= _LEAST_WORDS else text
    found = sentences.spans(text)
    if not found:
        return text
    first = text[found[0][0] : found[0][1]]
    if len(first.split()) <= KEY_FACT_WORDS:
        return first
    ends = sorted({match.start() for pattern in (_TIER_CLAUSE_END, _BORDER) for match in pattern.finditer(first)})
    fitting = [
        first[:end]
        for end in ends
        if _LEAST_WORDS <= len(first[:end].split()) <= KEY_FACT_WORDS and not first.count('"', 0, end) % 2  # in no quotation
    ]
    return fitting[-1] if fitting else " ".join(first.split()[:KEY_FACT_WORDS]).rstrip(" ,;:") + "…"


def _tag(key_fact: str, summary: str) -> str:
    """Return the best few words in their order: names and numbers first, then long rare words."""
    for source in (key_fact, summary):
        rare = [word for word in dict.fromkeys(_WORD.findall(source)) if word.lower() not in _PLAIN]
        if len(rare) > TAG_WORDS:
            best = set(sorted(rare, key=_rank)[:TAG_WORDS])
            rare = [word for word in rare if word in best]
        if rare:
            return " ".join(rare)
    return key_fact if len(key_fact.split()) <= TAG_WORDS else " ".join(key_fact.split()[:TAG_WORDS])


def _rank(word: str) -> tuple[bool, int]:
    return not (word[0].isupper() or word[0].isdigit()), -min(len(word), 9)


def _no_longer(text: str, above: str) -> str:
    return text if len(text) <= len(above) else above
