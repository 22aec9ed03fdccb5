"""The verbs on questions that nothing here answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engram.env import to_micros
from engram.guard.visibility import readable
from engram.store.sqlite import gaps as questions
from engram.store.sqlite.gate import Path
from engram.store.validation import bounded
from engram.types import Policy, Reader
from engram.values.entities import Gap
from engram.values.frozen import replace


class Wondering(Path):
    """Mixed into the store."""

    def wondered(self, reader: Reader, text: str, *, answered: bool = False, offered: bool = False) -> None:
        """Note that this was asked and found no answer; or one; or that it was offered to be asked back. Written later.

        Who may not write leaves no question behind.
        """
        if reader.writes:
            self._questions.note(reader.scope, text, answered=answered, offered=offered)

    def gaps(self, reader: Reader, *, limit: int, to_offer: bool = False) -> list[Gap]:
        """Questions that found no answer. `to_offer`: of exactly this place, and not offered within `gap_days`."""
        limits = self._limits
        bounded(limit, limits.page_limit, "a page")
        now = self._env.now()
        week = to_micros(now - timedelta(days=limits.gap_days)) if to_offer else None
        kept = to_micros(now - timedelta(days=limits.gap_kept_days))
        seen = readable(replace(reader, policy=Policy.OWN) if to_offer else reader)
        if not to_offer:
            self._flush_audit(wait=True)
        with self._read(reader, "gaps") as connection:
            found = questions.read(connection, seen, limit=limit, asked_after=kept, offered_before=week)
        self._note(reader, "gaps", count=len(found))
        return found

    def offered_lately(self, reader: Reader, texts: Sequence[str]) -> set[str]:
        """Those of these questions that were offered here within `gap_days`."""
        since = to_micros(self._env.now() - timedelta(days=self._limits.gap_days))
        with self._read(reader, "gaps") as connection:
            return questions.offered(connection, readable(replace(reader, policy=Policy.OWN)), texts, since)
