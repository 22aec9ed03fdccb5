"""What every verb has at hand: the open vault, and who asks."""

from __future__ import annotations

from engram.types import Reader
from engram.vault import OpenVault


class View:
    """One open vault as one reader sees it."""

    def __init__(self, vault: OpenVault, reader: Reader) -> None:
        self._vault = vault
        self._reader = reader
