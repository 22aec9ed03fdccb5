"""What a language model may cost: calls and tokens in the last hour and day, counted for the vault and not for a process."""

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
"""Calls and tokens since a moment."""
Check = Callable[[Spent], None]
"""Raises if what was spent leaves no room for more."""


@frozen
class Ledger:
    """Where it is written down: so many calls and tokens at a time, if a check of what was spent allows it, which nobody else
    can come between; how many of both since one."""

    spend: Callable[[datetime, int, int, Check], None]
    spent: Spent


@frozen
class Reservation:
    """Tokens that a call may take, and when they were set aside."""

    at: datetime
    tokens: int


def allow_any(spent: Spent) -> None:
    """The check of what is spent whatever was before."""


def in_memory_ledger() -> Ledger:
    """A ledger for as long as the process lives, where no vault is open."""
    entries: list[tuple[datetime, int, int]] = []
    alone = threading.Lock()

    def spent(since: datetime) -> tuple[int, int]:
        late = [one for one in entries if one[0] > since]
        return sum(calls for _, calls, _ in late), sum(tokens for _, _, tokens in late)

    def spend(at: datetime, calls: int, tokens: int, check: Check) -> None:
        with alone:
            check(spent)
            entries.append((at, calls, tokens))

    return Ledger(spend, spent)


class SpendingBudget:
    """A call is written down before it is made, with all that it may cost, so that calls side by side see each other: together
    they go over by what one of them costs, and no more. What it did not use is given back."""

    def __init__(self, ledger: Ledger, settings: Callable[[], Settings], env: Env) -> None:
        self._ledger = ledger
        self._settings = settings
        self._env = env

    @property
    def trouble(self) -> str:
        """Which budget is used up; empty if none is."""
        return self._trouble(self._ledger.spent)

    def _trouble(self, spent: Spent) -> str:
        now, settings = self._env.now(), self._settings()
        for span, word, calls, tokens in (
            (HOUR, "an hour", settings.llm_calls_hour, settings.llm_tokens_hour),
            (DAY, "a day", settings.llm_calls_day, settings.llm_tokens_day),
        ):
            made, used = spent(now - span) if calls or tokens else (0, 0)
            if calls and made >= calls:
                return f"the {calls:,} calls that the language model may get in {word} are used up"
            if tokens and used >= tokens:
                return f"the {tokens:,} tokens that the language model may have in {word} are used up"
        return ""

    def _require_room(self, spent: Spent) -> None:
        if trouble := self._trouble(spent):
            raise GeneratorUnavailable(f"{trouble}.", way_out="It is asked again when time has passed, or raise `llm_calls_…`.")

    def reserve(self, prompt: int) -> Reservation:
        """A call, the tokens of its prompt, and those of the longest answer."""
        reserved = Reservation(self._env.now(), prompt + self._settings().llm_output_tokens)
        self._ledger.spend(reserved.at, 1, reserved.tokens, self._require_room)
        return reserved

    def settle(self, reserved: Reservation, used: int) -> None:
        """What the call cost in the end. Of the moment of its reservation: one is never counted without the other."""
        if used != reserved.tokens:
            self._ledger.spend(reserved.at, 0, used - reserved.tokens, allow_any)

    def spent(self) -> tuple[int, int, int, int]:
        """Calls and tokens of the last hour, then of the last day."""
        now = self._env.now()
        return (*self._ledger.spent(now - HOUR), *self._ledger.spent(now - DAY))
