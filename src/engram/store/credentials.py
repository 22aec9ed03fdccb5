"""The credentials a caller opens a vault with."""

from __future__ import annotations

from collections.abc import Callable

from engram.crypto.keys import MasterKey
from engram.values.frozen import frozen

Ask = Callable[[], str | None]


@frozen
class Credentials:
    """A master key, or a callback that asks for a passphrase. Both may be missing: the key source then decides."""

    key: Callable[[], MasterKey] | None = None
    ask: Ask | None = None

    def master(self) -> MasterKey | None:
        return None if self.key is None else self.key()
