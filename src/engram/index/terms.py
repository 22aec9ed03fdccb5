"""The terms of a question to look up in the text index: the rarest first, within a budget of postings.

An OR over all words of a natural question costs 45 ms at 100,000 rows; a budget on the summed frequencies keeps it at
2 ms however long the question is. Stop words are left out unless the question has nothing else.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from engram.text.english.courtesy import STOP_WORDS as STOP_WORDS
from engram.text.english.courtesy import is_courtesy
from engram.text.terms import terms
from engram.values.frozen import frozen


@frozen
class TermPlan:
    """The terms to look up, and the document frequency of each content word of the question, counted up to the budget."""

    terms: tuple[str, ...]
    frequencies: tuple[int, ...]


def asks_nothing(text: str) -> bool:
    """True if the text is only a courtesy ("thanks!"). "Ok, do it" is not: it refers to the topic of the conversation."""
    return is_courtesy(text, terms(text))


class TermPlanner:
    """Chooses search terms. Caches document frequencies until a tenth of the vault, and at least 200 rows, has changed."""

    def __init__(self, frequencies: Callable[[Sequence[str], int], Sequence[int]]) -> None:
        self._frequencies = frequencies
        self._known: dict[str, int] = {}
        self._at = self._budget = 0
        self._lock = threading.Lock()

    def plan(self, words: Sequence[str], budget: int, change: int) -> TermPlan:
        """Return the rarest of these terms whose frequencies add up to at most `budget`; at least one term that occurs."""
        content = [term for term in words if term not in STOP_WORDS] or list(words)
        counts = self._count(content, budget, change)
        chosen: list[str] = []
        spent = 0
        for term in sorted(content, key=lambda term: counts[term]):
            if counts[term] == 0:
                continue
            spent += counts[term]
            if chosen and spent > budget:
                break
            chosen.append(term)
        return TermPlan(tuple(chosen), tuple(counts[term] for term in content))

    def _count(self, content: Sequence[str], budget: int, change: int) -> dict[str, int]:
        with self._lock:
            if budget != self._budget or abs(change - self._at) > max(self._at // 10, 200):
                self._known.clear()
                self._at, self._budget = change, budget
            counts = {term: self._known[term] for term in content if term in self._known}
        unknown = [term for term in content if term not in counts]
        frequencies = self._frequencies(unknown, budget + 1) if unknown else ()
        fresh = dict(zip(unknown, frequencies, strict=True))
        with self._lock:
            self._known.update({term: count for term, count in fresh.items() if count})
        return counts | fresh
