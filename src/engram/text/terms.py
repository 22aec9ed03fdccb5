"""Words as the text index sees them: how a text is laid out for indexing, and which terms a question asks for.

Scripts that write without spaces (Chinese, Japanese, Thai, …) have no words that a tokenizer could find, so runs of
them are laid out as overlapping pairs of characters, in the text and in the question alike.

Word lists as they are written: words between white space.
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
_TELLING = r"(?<=\w)(?:\+\+|#)(?!\w)|[<>=%$€£¥]"  # C++ is not C, $50 is not 50 %. These are compiled when a digest is made
_MINUS = r"(?<![\w.])[-−](?=\d)"
_SIGN = r"[-−+#<>=%$€£¥]"
_MARKED = r"[-−+#<>=%$€£¥/\\?]|\bA\b"
_MARKS = rf"(?<=[a-z] )A\b|[\w.~/\\-]*[/\\][\w.~/\\-]*\w|(?<![\w-])-{{1,2}}(?=\w)|\?|{_TELLING}"
_WORD_OR_SIGN = r"[\w−+#<>=%$€£¥]+"
_KEPT_MARKS = "\u3099\u309a"  # Japanese voicing: another letter, not an accent


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"([{_UNSPACED}]+)")  # late: it takes longer than all the others, and most texts are ASCII


def layout(text: str) -> str:
    """The text as it is given to the tokenizer: accents off, unspaced runs as single characters and pairs."""
    if text.isascii():
        return text
    return _run().sub(lambda run: f" {' '.join([*run.group(), *_pairs(run.group())])} ", _plain(text))


def terms(question: str) -> tuple[str, ...]:
    """The distinct words of a question in their order, ready to be quoted in a match expression."""
    return tuple(dict.fromkeys(words(question)))


def words(text: str) -> list[str]:
    """All words in their order: "Ann met Bob and Bob met Cid" says who met whom, its distinct words do not."""
    spaced = text
    if not text.isascii():
        spaced = _run().sub(lambda run: f" {' '.join(_pairs(run.group()) or run.group())} ", _plain(text))
    return [word.lower() for word in _WORD.findall(spaced)]


def marks(text: str) -> list[str]:
    """What is no word and yet tells: C# is not C, a question is no statement, and a path is one word in one order."""
    return re.findall(_MARKS, text) if re.search(_MARKED, text) else []


def digest_of(text: str) -> bytes:
    """A hash of what is said whatever its case, punctuation and spacing: equal statements have equal digests (§C4).

    Remembered for a while: who brings a statement asks if it is known, and so does the transaction that keeps it."""
    return _remembered(text) if len(text) <= _SHORT else _digest(text)


def _digest(text: str) -> bytes:
    import hashlib  # late, as below: a hook keeps nothing, and would load OpenSSL for it
    import unicodedata

    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold()
    if re.search(_SIGN, plain):  # seldom: most statements are words alone, which takes a third of the time
        apart = re.sub(_MINUS, "−", re.sub(_TELLING, r" \g<0> ", plain))
        words = re.findall(_WORD_OR_SIGN, apart.replace("_", " "))
    else:
        words = _WORD.findall(plain)
    return hashlib.sha256(" ".join(words or [text.strip()]).encode("utf-8", "surrogatepass")).digest()[:16]


_remembered = lru_cache(maxsize=1024)(_digest)
_SHORT = 512


def identity_of(one: Memory | Proposition) -> bytes:
    """What makes a statement one and the same: what it says, and the day it tells of, if it tells of one.

    "I went to the dentist yesterday" is another visit when it is said a week later; "I like tea" is not another liking.
    """
    import hashlib

    said, day = digest_of(one.text), day_of(one)
    return hashlib.sha256(said + day.encode()).digest()[:16] if day else said


def day_of(one: Memory | Proposition) -> str:
    """The day that a statement's own words, or who gave it, put it on; '' if it has only the time it was said."""
    return "" if one.happened_at is None or one.happened_until is None else one.happened_at.date().isoformat()


def _plain(text: str) -> str:
    """NFKC without combining marks, so that a word is one word for every tokenizer, however it was typed."""
    import unicodedata  # late: most texts are ASCII

    apart = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    kept = "".join(c for c in apart if c in _KEPT_MARKS or unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", kept)


def _pairs(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)]


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())
