"""The verbs of work in progress."""

from __future__ import annotations

from collections.abc import Sequence

from engram.context.resume import morning_of
from engram.recall.plan import Query
from engram.rules.gaps import question_in
from engram.rules.resume import Morning
from engram.rules.working import Resumed
from engram.types import Outcome, Reader
from engram.values.entities import Gap
from engram.values.frozen import replace
from engram.verbs.view import View
from engram.working.memory import Working


class Minding(View):
    """Mixed into `Engram`."""

    @property
    def working(self) -> Working:
        """What is in mind where this reader stands: slots, `attend`, `hear`, `tick`, `export`, `suspend`, `checkpoint`."""
        return Working(self._vault.working_sets, self._reader, self._key)

    def resume(self) -> Resumed:
        """What was being done here, decided and left open, and what of it is still in mind; for this very scope only."""
        return self.working.resume()

    def morning(self) -> Morning:
        """What to know on coming back: what was being done, decided, open and in mind here, and what was learned since."""
        return morning_of(self._vault.working_sets, self._reader)

    def gaps(self, *, limit: int = 20) -> Sequence[Gap]:
        """What is not known, each as a question to ask: questions that nothing here answers, the most asked first, none that has
        an answer now, where it was asked or for this reader; memories that disagree; and what is much used and old."""
        store = self._vault.store
        asked = self._open_still(store.gaps.select(self._reader, limit=limit))
        return [*asked, *store.knowledge.doubts(self._reader, limit=limit - len(asked))] if len(asked) < limit else asked

    def _open_still(self, gaps: Sequence[Gap]) -> list[Gap]:
        """Those of these questions that have no answer still; of the others it is noted that they have."""
        left = []
        for gap in gaps:
            asker = replace(self._reader, scope=gap.scope)
            if not question_in(gap.text) or self._answers(asker, gap):
                self._vault.store.gaps.put(asker, gap.text, answered=True)
            elif asker == self._reader or not self._answers(self._reader, gap):
                left.append(gap)
        return left

    def _answers(self, reader: Reader, gap: Gap) -> bool:
        found = self._vault.searcher.recall_uncounted(reader, Query(text=gap.text, now=self._vault.env.now()))
        return found.outcome is Outcome.ANSWERED
