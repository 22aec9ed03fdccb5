"""What tells how many tokens another tokenizer makes of a text: counted traits, for the rates in `token_rates.toml`.

Two things part tokenizers: the size of their vocabulary and the scripts it was made for. The rank of a cl100k token is
how common it is, so ranks in bands say what a smaller vocabulary must break up; other scripts go by their characters and
by their own cl100k tokens. Every trait is a count, so the traits of two texts together are the sum of theirs, but for a
token or so where they meet. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence

BANDS = (256, 1000, 3000, 8000, 16000, 32000, 64000)  # ranks; the last band is all above

_SCRIPTS: dict[str, tuple[tuple[int, int], ...]] = {  # first to last; the first script that has it counts
    "greek": ((0x370, 0x3FF),),
    "cyrillic": ((0x400, 0x52F),),
    "hebrew": ((0x590, 0x5FF),),
    "arabic": ((0x600, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)),
    "devanagari": ((0x900, 0x97F),),
    "indic": ((0x980, 0xDFF),),
    "thai": ((0xE00, 0xE7F),),
    "hangul": ((0xAC00, 0xD7AF), (0x1100, 0x11FF), (0x3130, 0x318F)),
    "kana": ((0x3040, 0x30FF),),
    "han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x31FFF)),
    "wide": ((0x3000, 0x303F), (0xFF00, 0xFFEF)),
    "symbol": ((0x2190, 0x2BFF),),
    "joiner": ((0xFE00, 0xFE0F), (0x200D, 0x200D), (0x1F3FB, 0x1F3FF), (0x1F1E6, 0x1F1FF)),
    "emoji": ((0x1F000, 0x1FFFF),),
}
_LATIN = ("digit", "mark", "line", "space", "upper", "letter", "accent", "quote")
_SEEN = (*_LATIN, *_SCRIPTS, "other")
_RUNS = ("cjk_token", "emoji_token", "script_token")
NAMES = (*(f"band_{number}" for number in range(len(BANDS) + 1)), *_SEEN, *_RUNS, "emoji_run")

_PLAIN = r"\x00-\u024f\u1e00-\u1eff\u2000-\u200c\u200e-\u206f\u20ac"
_CJK = r"\u1100-\u11ff\u3000-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U00031fff"
_PICTURES = r"\u200d\u2190-\u2bff\ufe00-\ufe0f\U0001f000-\U0001ffff"
_FOREIGN = re.compile(
    rf"(?P<cjk_token> ?[{_CJK}]+)|(?P<emoji_token> ?[{_PICTURES}]+)|(?P<script_token> ?[^{_PLAIN}{_CJK}{_PICTURES}]+)"
)
_IS_PLAIN = re.compile(rf"[{_PLAIN}]")
_AFTER_SPACE = re.compile(rf" [{_PICTURES}]")


class _Letters(dict[int, str]):
    """Each character's trait as one letter, for `str.translate`; worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = letter = chr(65 + _SEEN.index(_trait(chr(code))))
        return letter


_LETTERS = _Letters()


def traits(text: str, ranks: Callable[[str], Sequence[int]]) -> list[int]:
    """In the order of `NAMES`. `ranks` gives the cl100k tokens of a text."""
    bands = [0] * (len(BANDS) + 1)
    runs = dict.fromkeys(_RUNS, 0)
    for run in _FOREIGN.finditer(text):
        runs[str(run.lastgroup)] += len(ranks(run[0]))
    for rank in ranks(_FOREIGN.sub("", text)):
        bands[bisect_right(BANDS, rank)] += 1
    letters = text.translate(_LETTERS)
    seen = [letters.count(chr(65 + number)) for number in range(len(_SEEN))]
    return [*bands, *seen, *runs.values(), len(_AFTER_SPACE.findall(text))]


def _trait(character: str) -> str:
    code = ord(character)
    if not _IS_PLAIN.match(character):
        return next((name for name, spans in _SCRIPTS.items() if any(a <= code <= b for a, b in spans)), "other")
    if character == "\n":
        return "line"
    if character.isspace():
        return "space"
    if character.isupper():
        return "upper"
    if code < 128:
        return "digit" if character.isdigit() else "letter" if character.isalpha() else "mark"
    return "accent" if character.isalpha() else "quote"
