"""The spending of a language model: calls and tokens in the last hour and day, counted for the vault and not per process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from engram.env import Env
from engram.errors import GeneratorUnavailable
from engram.settings import Settings
from engram.values.frozen import frozen

HOUR, DAY = timedelta(hours=1), timedelta(days=1)

Spent = Callable[[datetime], tuple[int, int]]
"""Returns the calls and tokens spent since a time."""
Check = Callable[[Spent], None]
"""Raises if the amounts spent leave no room for another call."""


@frozen
class Ledger:
    """Records of spending. `spend` adds calls and tokens at a time, atomically with a check of the amounts spent before;
    `spent` returns both since a time."""

    spend: Callable[[datetime, int, int, Check], None]
    spent: Spent


@frozen
class Reservation:
    """The tokens that a call may take, and the time of their reservation."""

    at: datetime
    tokens: int


def allow_any(spent: Spent) -> None:
    """Check nothing: for amounts that are recorded whatever was spent before."""


def in_memory_ledger() -> Ledger:
    """Return a ledger that lives as long as the process, for use without an open vault."""
    entries: list[tuple[datetime, int, int]] = []
    lock = threading.Lock()

    def spent(since: datetime) -> tuple[int, int]:
        recent = [entry for entry in entries if entry[0] > since]
        return sum(calls for _, calls, _ in recent), sum(tokens for _, _, tokens in recent)

    def spend(at: datetime, calls: int, tokens: int, check: Check) -> None:
        with lock:
            check(spent)
            entries.append((at, calls, tokens))

    return Ledger(spend, spent)


class SpendingBudget:
    """The hourly and daily limits of a vault. A call is recorded before it is made, at its highest possible cost, so that
    concurrent calls see each other and together exceed the limit by at most one call. Unused tokens are returned afterwards."""

    def __init__(self, ledger: Ledger, settings: Callable[[], Settings], env: Env) -> None:
        self._ledger = ledger
        self._settings = settings
        self._env = env

    @property
    def trouble(self) -> str:
        """A sentence about the limit that is used up, or ""."""
        return self._trouble(self._ledger.spent)

    def _trouble(self, spent: Spent) -> str:
        now, settings = self._env.now(), self._settings()
        for span, unit, calls, tokens in (
            (HOUR, "hour", settings.llm_calls_hour, settings.llm_tokens_hour),
            (DAY, "day", settings.llm_calls_day, settings.llm_tokens_day),
        ):
            made, used = spent(now - span) if calls or tokens else (0, 0)
            if calls and made >= calls:
                return f"the language model's limit of {calls:,} calls per {unit} is used up"
            if tokens and used >= tokens:
                return f"the language model's limit of {tokens:,} tokens per {unit} is used up"
        return ""

    def _require_room(self, spent: Spent) -> None:
        if trouble := self._trouble(spent):
            raise GeneratorUnavailable(
                f"{trouble}.", way_out="Wait until the hour or day has passed, or raise `llm_calls_…` or `llm_tokens_…`."
            )

    def reserve(self, prompt: int) -> Reservation:
        """Record a call with the tokens of its prompt and of the longest possible answer. Raise if a limit is used up."""
        reserved = Reservation(self._env.now(), prompt + self._settings().llm_output_tokens)
        self._ledger.spend(reserved.at, 1, reserved.tokens, self._require_room)
        return reserved

    def settle(self, reserved: Reservation, used: int) -> None:
        """Correct a reservation to the tokens used. The correction carries the reservation's time, so that both are always
        counted together."""
        if used != reserved.tokens:
            self._ledger.spend(reserved.at, 0, used - reserved.tokens, allow_any)

    def spent(self) -> tuple[int, int, int, int]:
        """Return calls and tokens of the last hour, then of the last day."""
        now = self._env.now()
        return (*self._ledger.spent(now - HOUR), *self._ledger.spent(now - DAY))
