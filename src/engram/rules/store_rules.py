"""The rules that a store applies while it writes (`store/rule_ports.py`), as one value that is handed over at the door.

Modules that read English are imported when a rule first needs them: opening a vault and reading from it load none of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engram.settings import LiveSettings
    from engram.types import Edge, Sensitivity


class MemoryRules:
    """The rules of one open vault. The weights in force come from its settings."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live

    def sensitivity(self, text: str) -> Sensitivity:
        """Return the sensitivity of a text by the personal data in it."""
        from engram.guard import personal_data  # late, as the module says

        return personal_data.sensitivity_of(personal_data.find_sensitive(text))

    def mask(self, text: str) -> str:
        """Return a text with its sensitive spans replaced; empty if there are none to tell it from."""
        from engram.guard import personal_data  # late, as the module says

        spans = personal_data.find_sensitive(text)
        return personal_data.mask(text, spans) if spans else ""

    def informativeness(self, text: str, speaker: str, category: str) -> tuple[float, int]:
        """Return how much a text says, about −1 to 2, and the number of names and titles in it, counted to 3."""
        from engram.text.english.informativeness import told  # late, as the module says

        return told(text, speaker, category)

    def folded(self, name: str) -> str:
        """Return a name in the form in which names are compared."""
        from engram.text.english.entities import folded  # late, as the module says

        return folded(name)

    def are_assistants(self, speakers: Iterable[str]) -> bool:
        """True if there are speakers and all of them are assistants."""
        from engram.text.english.grammar import is_assistant  # late, as the module says

        names = list(speakers)
        return bool(names) and all(map(is_assistant, names))

    def reinforced(self, known: Edge, stated: Edge, now: datetime) -> Edge:
        """Return a known edge after it was stated again."""
        from engram.rules import edges  # late, as the module says
        from engram.values.edges import EdgeWeights

        return edges.reinforced(known, stated, now, self._live.tuned(EdgeWeights))
