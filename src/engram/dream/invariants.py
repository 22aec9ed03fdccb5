"""What no job may do, whatever it proposes: checked here for all of them, before the store is asked. Pure.

What is pinned or protected is never put away; what a person said is never retired for what somebody else said; a memory that
reads as an attack takes no part in anything. The store holds the rest: one scope, nothing that changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.rules.lifecycle import Keeping, keeping
from engram.types import Memory, Source
from engram.values.dreams import AddLink, Archive, Derive, Merge, Proposal

TRUST = {Source.USER: 3, Source.TOOL: 2, Source.ASSISTANT: 2, Source.IMPORT: 1, Source.INFERRED: 0}
"""Whose word may stand for whose."""


def allowed(revisions: Sequence[Proposal], known: Mapping[str, Memory]) -> list[Proposal]:
    """Those that may be made; `known` are the memories they name."""
    return [one for one in revisions if _may(one, known)]


def may_merge(old: Memory, heir: Memory) -> bool:
    """May the one be retired for the other?"""
    protected = keeping(old) is Keeping.PROTECTED and keeping(heir) is not Keeping.PROTECTED
    sound = not old.flagged and not heir.flagged
    return sound and not old.pinned and not protected and TRUST[old.source] <= TRUST[heir.source] and old.scope == heir.scope


def _may(revision: Proposal, known: Mapping[str, Memory]) -> bool:
    match revision:
        case Merge(memory, into):
            return memory in known and into in known and may_merge(known[memory], known[into])
        case Archive(memory):
            return memory in known and keeping(known[memory]) is not Keeping.PROTECTED
        case AddLink(edge):
            return not any(known[end].flagged for end in (edge.source, edge.target) if end in known)
        case Derive(sources=sources):
            return not any(known[one].flagged for one in sources if one in known)
        case _:
            return True
