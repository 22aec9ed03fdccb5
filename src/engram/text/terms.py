"""Split texts into the words of the text index, and hash statements so that equal ones have equal digests.

Scripts that write without spaces (Chinese, Japanese, Thai, …) have no words that a tokenizer could find, so runs of them become
overlapping pairs of characters, in texts and questions alike.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.types import Memory, Proposition


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Han
    "\U00020000-\U0003ffff"
)
_WORD = re.compile(r"[^\W_]+")
_SIGNIFICANT = r"(?<=\w)(?:\+\+|#)(?!\w)|[<>=%$€£¥]"  # C++ is not C, $50 is not 50 %. Compiled when a digest is made
_MINUS = r"(?<![\w.])[-−](?=\d)"
_SIGN = r"[-−+#<>=%$€£¥]"
_MARKED = r"[-−+#<>=%$€£¥/\\?]|\bA\b"
_MARKS = rf"(?<=[a-z] )A\b|[\w.~/\\-]*[/\\][\w.~/\\-]*\w|(?<![\w-])-{{1,2}}(?=\w)|\?|{_SIGNIFICANT}"
_WORD_OR_SIGN = r"[\w−+#<>=%$€£¥]+"
_KEPT_MARKS = "\u3099\u309a"  # Japanese voicing makes another letter, unlike an accent


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"([{_UNSPACED}]+)")  # late: it takes longer to compile than all others, and most texts are ASCII


def layout(text: str) -> str:
    """Return the text for the tokenizer of the index: without accents, unspaced runs as single characters and pairs."""
    if text.isascii():
        return text
    return _run().sub(lambda run: f" {' '.join([*run.group(), *_pairs(run.group())])} ", _plain(text))


def terms(question: str) -> tuple[str, ...]:
    """Return the distinct words of a text in their order, ready to be quoted in a match expression."""
    return tuple(dict.fromkeys(words(question)))


def words(text: str) -> list[str]:
    """Return all words in their order, repeated ones included, as in "Ann met Bob and Bob met Cid"."""
    spaced = text
    if not text.isascii():
        spaced = _run().sub(lambda run: f" {' '.join(_pairs(run.group()) or run.group())} ", _plain(text))
    return [word.lower() for word in _WORD.findall(spaced)]


def marks(text: str) -> list[str]:
    """Return the signs that change the meaning of words: C# is not C, a question is no statement, a path keeps its order."""
    return re.findall(_MARKS, text) if re.search(_MARKED, text) else []


def digest_of(text: str) -> bytes:
    """Return a hash of a statement that ignores case, punctuation and spacing: equal statements have equal digests (§C4).

    Cached, because both capture and the transaction that stores a statement ask for it.
    """
    return _cached_digest(text) if len(text) <= _SHORT else _digest(text)


def _digest(text: str) -> bytes:
    import hashlib  # late, as below: a hook stores nothing, and would load OpenSSL for it
    import unicodedata

    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    if re.search(_SIGN, plain):  # rare: most statements are words alone, which takes a third of the time
        apart = re.sub(_MINUS, "−", re.sub(_SIGNIFICANT, r" \g<0> ", plain))
        words = re.findall(_WORD_OR_SIGN, apart.replace("_", " "))
    else:
        words = _WORD.findall(plain)
    return hashlib.sha256(" ".join(words or [text.strip()]).encode("utf-8", "surrogatepass")).digest()[:16]


_cached_digest = lru_cache(maxsize=1024)(_digest)
_SHORT = 512


def identity_of(statement: Memory | Proposition) -> bytes:
    """Return a digest of a statement and the day it is about, if any.

    "I went to the dentist yesterday" is another visit when it is said a week later; "I like tea" stays the same statement.
    """
    import hashlib

    digest, day = digest_of(statement.text), day_of(statement)
    return hashlib.sha256(digest + day.encode()).digest()[:16] if day else digest


def day_of(statement: Memory | Proposition) -> str:
    """Return the day that a statement is about, by its words or as given; "" if it has only the time it was said."""
    if statement.happened_at is None or statement.happened_until is None:
        return ""
    return statement.happened_at.date().isoformat()


def _plain(text: str) -> str:
    """Return NFKC without combining marks, so that every tokenizer sees the same word, however it was typed."""
    import unicodedata  # late: most texts are ASCII

    apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    kept = "".join(c for c in apart if c in _KEPT_MARKS or unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", kept)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written between white space."""
    return frozenset(text.split())
