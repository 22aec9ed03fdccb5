"""Rules that no proposal may break, checked for all jobs before the store applies it. Pure.

A pinned or protected memory is never archived; a user's words are never retired for those of a less trusted source; a flagged
memory takes part in nothing. The store checks the rest: one scope, and no change meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.rules.lifecycle import RetentionPolicy, retention_policy
from engram.types import Memory, Source
from engram.values.dreams import AddLink, Archive, Derive, Merge, Proposal, Replace

TRUST = {Source.USER: 3, Source.TOOL: 2, Source.ASSISTANT: 2, Source.IMPORT: 1, Source.INFERRED: 0}
"""Trust in a source; a memory may only be merged into one of equal or higher trust."""


def allowed(proposals: Sequence[Proposal], known: Mapping[str, Memory]) -> list[Proposal]:
    """Return the proposals that break no rule. `known`: the memories they name, by id."""
    return [proposal for proposal in proposals if _breaks_no_rule(proposal, known)]


def may_merge(old: Memory, successor: Memory) -> bool:
    """True if `old` may be merged into `successor`."""
    if old.flagged or successor.flagged or old.pinned or old.scope != successor.scope:
        return False
    if retention_policy(old) is RetentionPolicy.PROTECTED and retention_policy(successor) is not RetentionPolicy.PROTECTED:
        return False
    return TRUST[old.source] <= TRUST[successor.source]


def may_replace(later: Memory, earlier: Memory, sure: bool) -> bool:
    """True if `later` may supersede `earlier`, or challenge it if that is not `sure`."""
    if later.flagged or earlier.flagged or later.scope != earlier.scope:
        return False
    return not sure or (not earlier.pinned and TRUST[earlier.source] <= TRUST[later.source])


def _breaks_no_rule(proposal: Proposal, known: Mapping[str, Memory]) -> bool:
    match proposal:
        case Merge(memory, into):
            return memory in known and into in known and may_merge(known[memory], known[into])
        case Replace(memory, earlier, sure):
            return memory in known and earlier in known and may_replace(known[memory], known[earlier], sure)
        case Archive(memory):
            return memory in known and retention_policy(known[memory]) is not RetentionPolicy.PROTECTED
        case AddLink(edge):
            return not any(known[end].flagged for end in (edge.source, edge.target) if end in known)
        case Derive(sources=sources):
            return not any(known[source].flagged for source in sources if source in known)
        case _:
            return True
