"""Which edition of the rules and weights against attacks judges now; apart from them, because they take long to load."""

from __future__ import annotations

VERSION = 2
"""Of rules and weights together: what was judged by others is judged again before it goes into a prompt."""
