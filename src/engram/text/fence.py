"""The two lines between which Engram's own words stand in a prompt: data for its reader, and never captured again.

⟦engram:recalled 7f3a⟧
…
⟦/engram:recalled⟧
"""

from __future__ import annotations

import re


def fence(text: str, vault_tag: str = "") -> str:
    """`text` between the two lines. Marks inside it are made harmless, so that it cannot end its own fence."""
    tag = re.sub(r"[^\w.-]+", "", vault_tag)[:32] if vault_tag else ""
    return f"⟦engram:recalled{' ' + tag if tag else ''}⟧\n{harmless(text)}\n⟦/engram:recalled⟧"


def harmless(text: str) -> str:
    return text.replace("⟦", "[").replace("⟧", "]")
