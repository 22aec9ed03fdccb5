"""Fence Engram's own words in a prompt between two lines, so that they are read as data and never captured again.

⟦engram:recalled 7f3a⟧
…
⟦/engram:recalled⟧
"""

from __future__ import annotations

import re


def fence(text: str, vault_tag: str = "") -> str:
    """Return the text between the two lines, with marks inside it made harmless, so that it cannot end its own fence."""
    tag = re.sub(r"[^\w.-]+", "", vault_tag)[:32] if vault_tag else ""
    return f"⟦engram:recalled{' ' + tag if tag else ''}⟧\n{harmless(text)}\n⟦/engram:recalled⟧"


def harmless(text: str) -> str:
    """Return the text with the brackets of the fence replaced by plain ones."""
    return text.replace("⟦", "[").replace("⟧", "]")
