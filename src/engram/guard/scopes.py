"""Who sees what: the one rule of visibility, as a value.

A memory is visible where every scope that it names is one the reader is in; then the reader's policy narrows that, or,
for an orchestrator inside its project and the owner at the console, widens it. The rule is computed once here, as a
union of boxes (for each dimension of `Scope`, the values admitted there), and every store renders the same boxes into
its own query language. Comes in: a Reader. Goes out: a Visibility. Nothing here reads or writes.
"""

from __future__ import annotations

from engram.errors import AccessDenied
from engram.frozen import frozen
from engram.who import SCOPE_DIMENSIONS, Policy, Reader, Role, Scope, scope_values

AllowedValues = tuple[str, ...] | None
"""Values admitted in one dimension; None admits any."""

ScopeBox = tuple[AllowedValues, ...]
"""One `Admitted` for each of `SCOPE_DIMENSIONS`."""

_ANYWHERE: ScopeBox = (None,) * len(SCOPE_DIMENSIONS)
_ROLES_OF: dict[Policy, frozenset[Role]] = {
    Policy.PROJECT: frozenset({Role.ORCHESTRATOR, Role.OWNER}),
    Policy.ALL: frozenset({Role.OWNER}),
}


@frozen
class Visibility:
    """A union of boxes. No box: nothing is visible."""

    boxes: tuple[ScopeBox, ...]

    def admits(self, scope: Scope) -> bool:
        values = scope_values(scope)
        return any(
            all(admitted is None or value in admitted for admitted, value in zip(box, values, strict=True)) for box in self.boxes
        )

    @property
    def everything(self) -> bool:
        return _ANYWHERE in self.boxes


def readable(reader: Reader) -> Visibility:
    """What the reader may see. A policy that its role does not allow is refused, never silently narrowed."""
    allowed = _ROLES_OF.get(reader.policy)
    if allowed is not None and reader.role not in allowed:
        raise AccessDenied(f"the policy {reader.policy.value!r} is not open to the role {reader.role.value!r}.")
    here = reader.scope
    inside: ScopeBox = tuple(("", value) if value else ("",) for value in scope_values(here))
    if reader.policy is Policy.ALL:
        return Visibility((_ANYWHERE,))
    if reader.policy is Policy.OWN:
        return Visibility((tuple((value,) for value in scope_values(here)),))
    if reader.policy is Policy.AGENT:
        _require(here.agent, reader.policy, "agent")
        return Visibility((_with(inside, agent=(here.agent,)),))
    if reader.policy is Policy.PROJECT:
        _require(here.project, reader.policy, "project")
        # Channels and users stay closed: an orchestrator is in every squad of its project, not in every conversation.
        return Visibility((inside, _with(inside, project=(here.project,), squad=None, agent=None)))
    return Visibility((inside,))


def writable(reader: Reader) -> Visibility:
    """Where the reader may write: nowhere it could not read, and for a guest only under its own channel's tag."""
    if not reader.writes:
        return Visibility(())
    seen = readable(reader)
    if reader.role is not Role.GUEST:
        return seen
    if not reader.scope.channel:
        return Visibility(())
    return Visibility(tuple(_with(box, channel=(reader.scope.channel,)) for box in seen.boxes))


def require_writable(reader: Reader, scope: Scope) -> None:
    if not writable(reader).admits(scope):
        why = "it may only read" if not reader.writes else "that scope is not its own"
        raise AccessDenied(f"this identity ({reader.role.value}) may not write there: {why}.")


def require_writer(reader: Reader) -> None:
    """For verbs that write something that has no scope of its own."""
    if not writable(reader).boxes:
        raise AccessDenied(f"this identity ({reader.role.value}) may only read.")


def require_owner(reader: Reader, what: str) -> None:
    """Care of the whole vault (backups, repair, keys) is the owner's."""
    if reader.role is not Role.OWNER:
        raise AccessDenied(
            f"{what} is for the owner of the vault, not for the role {reader.role.value!r}.",
            way_out='Whoever has its key may be that: `engram.open(role="owner")`; on a server, with a token of that role.',
        )


def _with(box: ScopeBox, **dimensions: AllowedValues) -> ScopeBox:
    return tuple(dimensions.get(name, admitted) for name, admitted in zip(SCOPE_DIMENSIONS, box, strict=True))


def _require(value: str, policy: Policy, dimension: str) -> None:
    if not value:
        raise AccessDenied(f"the policy {policy.value!r} needs an identity that names its {dimension}.")
