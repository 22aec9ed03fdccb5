"""Protocols of the rules that a store applies while it writes. `engram.rules` implements them and the door hands them over.

The store keeps rows and runs transactions; these rules decide. A rule that depends on rows gets them as arguments, so that it
always decides on the state of its own transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from engram.values.edges import Edge
from engram.values.identity import Sensitivity


class TextRules(Protocol):
    """Rules on the words of one text."""

    def sensitivity(self, text: str) -> Sensitivity:
        """Return the sensitivity of a text by the personal data in it."""

    def mask(self, text: str) -> str:
        """Return a text with its sensitive spans replaced; empty if there are none to tell it from."""

    def informativeness(self, text: str, speaker: str, category: str) -> tuple[float, int]:
        """Return how much a text says, about −1 to 2, and the number of names and titles in it, counted to 3."""


class StoreRules(TextRules, Protocol):
    """The rules that a store applies while it writes."""

    def folded(self, name: str) -> str:
        """Return a name in the form in which names are compared."""

    def are_assistants(self, speakers: Iterable[str]) -> bool:
        """True if there are speakers and all of them are assistants."""

    def reinforced(self, known: Edge, stated: Edge, now: datetime) -> Edge:
        """Return a known edge after it was stated again."""
