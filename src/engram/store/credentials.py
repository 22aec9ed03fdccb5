"""TODO."""

from __future__ import annotations

from collections.abc import Callable

from engram.crypto.keys import MasterKey
from engram.values.frozen import frozen

Ask = Callable[[], str | None]


@frozen
class Credentials:
    """What the caller can open with: a key in hand, or a way to ask for a passphrase. Both may be missing."""

    key: Callable[[], MasterKey] | None = None
    ask: Ask | None = None

    def master(self) -> MasterKey | None:
        return None if self.key is None else self.key()
