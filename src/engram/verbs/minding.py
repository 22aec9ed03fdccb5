"""The verbs of work in progress."""

from __future__ import annotations

from engram.memory.mind import Resumed
from engram.session.working import Working
from engram.verbs.view import View


class Minding(View):
    """Mixed into `Engram`."""

    @property
    def working(self) -> Working:
        """What is in mind where this reader stands: slots, `attend`, `hear`, `tick`, `export`, `suspend`, `checkpoint`."""
        return Working(self._vault.desks, self._reader)

    def resume(self) -> Resumed:
        """What was being done here, decided and left open, and what of it is still in mind; for this very scope only."""
        return self.working.resume()
