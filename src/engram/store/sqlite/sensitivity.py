"""What belongs to a memory, or came of it, is kept as closely as it is (§10.24.2).

The words beside it are in `sealed.BESIDE` and change with its row. Here is what is more than its row: who it names, the turns it
came from, and the memories that were derived from it. A tier is only ever handed on upwards; it is lowered by hand, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import apsw

from engram.rules.edges import DERIVED
from engram.store.sqlite import facts, memories, turns
from engram.types import Memory, Sensitivity
from engram.values.frozen import replace
from engram.values.identity import strictest

_KINDS = ", ".join(f"'{kind}'" for kind in sorted(DERIVED))
_CAME_OF = f"""
    SELECT source FROM edges WHERE target = ?1 AND kind IN ({_KINDS})
    UNION SELECT target FROM edges WHERE source = ?1 AND kind = 'merged_from'
"""
"""What has its words: what came of it, and what was merged into it because it says the same."""


def follow(connection: apsw.Connection, memory: Memory) -> None:
    """Bring what hangs on a memory in line with a tier that its row has by now; and what came of it, however far on."""
    waiting = [memory]
    while waiting:
        here = waiting.pop()
        if here.tier is Sensitivity.CLEARTEXT:
            continue
        facts.unname(connection, here.key)  # names stand in the clear
        turns.keep_closely(connection, here.key)
        derived: list[Any] = connection.execute(_CAME_OF, (here.key,)).fetchall()
        waiting += filter(None, (_raised(connection, key, here.tier) for (key,) in derived))


def inherit(connection: apsw.Connection, pairs: Iterable[tuple[int, int]]) -> None:
    """Let each first memory, which came of the second, be kept at least as closely; and what came of it in turn."""
    for key, origin in pairs:
        asked = connection.execute("SELECT tier FROM memories WHERE key = ?", (origin,)).get
        raise_to(connection, key, Sensitivity(str(asked)))


def raise_to(connection: apsw.Connection, key: int, tier: Sensitivity) -> bool:
    """Keep a memory at least so closely; was it not before?"""
    raised = _raised(connection, key, tier)
    if raised is not None:
        follow(connection, raised)
    return raised is not None


def _raised(connection: apsw.Connection, key: int, tier: Sensitivity) -> Memory | None:
    """A memory whose row had to be raised, as it is now."""
    held = connection.execute("SELECT tier FROM memories WHERE key = ?", (key,)).get
    if held is None or (wanted := strictest(Sensitivity(str(held)), tier)) == held:
        return None
    old = memories.by_key(connection, key)
    new = replace(old, tier=wanted)
    memories.rewrite(connection, old, new)
    return new
