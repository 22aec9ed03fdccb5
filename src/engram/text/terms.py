"""Words as the text index sees them: how a text is laid out for indexing, and which terms a question asks for.

Scripts that write without spaces (Chinese, Japanese, Thai, …) have no words that a tokenizer could find, so runs of
them are laid out as overlapping pairs of characters, in the text and in the question alike.
"""

from __future__ import annotations

import re
import unicodedata

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u2e80-\u2fdf\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and Han
    "\U00020000-\U0003ffff"
)
_RUN = re.compile(f"([{_UNSPACED}]+)")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*|_+[^\W_]+")


def layout(text: str) -> str:
    """The text as it is given to the tokenizer: NFKC, unspaced runs as pairs."""
    return _RUN.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", unicodedata.normalize("NFKC", text))


def terms(question: str) -> tuple[str, ...]:
    """The distinct words of a question in their order, ready to be quoted in a match expression."""
    found = (part for word in _WORD.findall(layout(question)) for part in re.split(r"['\u2019]", word))
    return tuple(dict.fromkeys(word.lower() for word in found if word))


def _pairs(run: str) -> list[str]:
    return [run] if len(run) < 2 else [run[i : i + 2] for i in range(len(run) - 1)]
