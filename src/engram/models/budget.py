"""What a language model may cost: calls and tokens in the last hour and day, counted for the vault and not for a process."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from engram.env import Env
from engram.errors import GeneratorUnavailable
from engram.frozen import frozen
from engram.settings import Settings

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@frozen
class Ledger:
    """Where it is written down: so many calls and tokens at a time; how many of both since one."""

    spend: Callable[[datetime, int, int], None]
    spent: Callable[[datetime], tuple[int, int]]


def of_this_process() -> Ledger:
    """A ledger for as long as the process lives, where no vault is open."""
    entries: list[tuple[datetime, int, int]] = []

    def spent(since: datetime) -> tuple[int, int]:
        late = [one for one in entries if one[0] > since]
        return sum(calls for _, calls, _ in late), sum(tokens for _, _, tokens in late)

    return Ledger(lambda *entry: entries.append(entry), spent)


class Budget:
    """A call is written down before it is made, with what its prompt costs, so that calls side by side see each other."""

    def __init__(self, ledger: Ledger, settings: Callable[[], Settings], env: Env) -> None:
        self._ledger = ledger
        self._settings = settings
        self._env = env

    @property
    def trouble(self) -> str:
        """Which budget is used up; empty if none is."""
        now, settings = self._env.now(), self._settings()
        for span, word, calls, tokens in (
            (HOUR, "an hour", settings.llm_calls_hour, settings.llm_tokens_hour),
            (DAY, "a day", settings.llm_calls_day, settings.llm_tokens_day),
        ):
            made, used = self._ledger.spent(now - span) if calls or tokens else (0, 0)
            if calls and made >= calls:
                return f"the {calls:,} calls that the language model may get in {word} are used up"
            if tokens and used >= tokens:
                return f"the {tokens:,} tokens that the language model may have in {word} are used up"
        return ""

    def reserve(self, tokens: int) -> None:
        if trouble := self.trouble:
            raise GeneratorUnavailable(f"{trouble}.", way_out="It is asked again when time has passed, or raise `llm_calls_…`.")
        self._ledger.spend(self._env.now(), 1, tokens)

    def settle(self, reserved: int, used: int) -> None:
        """What the call cost in the end, where its maker counts it."""
        if used != reserved:
            self._ledger.spend(self._env.now(), 0, used - reserved)

    def spent(self) -> tuple[int, int, int, int]:
        """Calls and tokens of the last hour, then of the last day."""
        now = self._env.now()
        return (*self._ledger.spent(now - HOUR), *self._ledger.spent(now - DAY))
