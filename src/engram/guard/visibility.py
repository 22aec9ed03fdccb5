"""The visibility rule: which scopes a reader may read and write. Pure.

A memory is visible if the reader is in every scope that the memory names. The reader's policy narrows that, or, for an
orchestrator inside its project and for the owner at the console, widens it. The rule is computed only here, as a union of boxes
(for each dimension of `Scope`, the values allowed), and every store translates the same boxes into its query language.
"""

from __future__ import annotations

from engram.errors import AccessDenied
from engram.values.frozen import frozen
from engram.values.identity import SCOPE_DIMENSIONS, Policy, Reader, Role, Scope, scope_values

AllowedValues = tuple[str, ...] | None
"""Values allowed in one dimension; None allows any."""

ScopeBox = tuple[AllowedValues, ...]
"""The allowed values for each of `SCOPE_DIMENSIONS`."""

_ANYWHERE: ScopeBox = (None,) * len(SCOPE_DIMENSIONS)
_ROLES_OF: dict[Policy, frozenset[Role]] = {
    Policy.PROJECT: frozenset({Role.ORCHESTRATOR, Role.OWNER}),
    Policy.ALL: frozenset({Role.OWNER}),
}


@frozen
class Visibility:
    """A union of boxes. Without a box nothing is visible."""

    boxes: tuple[ScopeBox, ...]

    def admits(self, scope: Scope) -> bool:
        values = scope_values(scope)
        return any(
            all(allowed is None or value in allowed for allowed, value in zip(box, values, strict=True)) for box in self.boxes
        )

    @property
    def everything(self) -> bool:
        return _ANYWHERE in self.boxes


def readable(reader: Reader) -> Visibility:
    """Return the scopes that the reader may read. A policy that its role does not allow is refused, never silently narrowed."""
    allowed = _ROLES_OF.get(reader.policy)
    if allowed is not None and reader.role not in allowed:
        raise AccessDenied(f"the role {reader.role.value!r} may not use the policy {reader.policy.value!r}.")
    here = reader.scope
    if reader.policy is Policy.ALL:
        return Visibility((_ANYWHERE,))
    if reader.policy is Policy.OWN:
        return Visibility((tuple([(value,) for value in scope_values(here)]),))
    inside: ScopeBox = tuple([("", value) if value else ("",) for value in scope_values(here)])
    if reader.policy is Policy.AGENT:
        _require(here.agent, reader.policy, "agent")
        return Visibility((_with(inside, agent=(here.agent,)),))
    if reader.policy is Policy.PROJECT:
        _require(here.project, reader.policy, "project")
        # Channels and users stay restricted: an orchestrator is in every squad of its project, not in every conversation.
        return Visibility((inside, _with(inside, project=(here.project,), squad=None, agent=None)))
    return Visibility((inside,))


def writable(reader: Reader) -> Visibility:
    """Return the scopes that the reader may write: those it may read, and for a guest only its own channel."""
    if not reader.writes:
        return Visibility(())
    visible = readable(reader)
    if reader.role is not Role.GUEST:
        return visible
    if not reader.scope.channel:
        return Visibility(())
    return Visibility(tuple(_with(box, channel=(reader.scope.channel,)) for box in visible.boxes))


def require_writable(reader: Reader, scope: Scope) -> None:
    """Raise AccessDenied if the reader may not write to this scope."""
    if not writable(reader).admits(scope):
        reason = "it may only read" if not reader.writes else "the scope is not its own"
        raise AccessDenied(f"this identity ({reader.role.value}) may not write to that scope: {reason}.")


def require_writer(reader: Reader) -> None:
    """Raise AccessDenied if the reader may write nowhere. For writes that have no scope."""
    if not writable(reader).boxes:
        raise AccessDenied(f"this identity ({reader.role.value}) may only read.")


def require_owner(reader: Reader, what: str) -> None:
    """Raise AccessDenied unless the reader is the owner, who alone may maintain the vault (backups, repair, keys)."""
    if reader.role is not Role.OWNER:
        raise AccessDenied(
            f"{what} is for the owner of the vault, not for the role {reader.role.value!r}.",
            way_out='Open the vault with its key and `engram.open(role="owner")`, or on a server use a token of that role.',
        )


def _with(box: ScopeBox, **dimensions: AllowedValues) -> ScopeBox:
    return tuple(dimensions.get(name, allowed) for name, allowed in zip(SCOPE_DIMENSIONS, box, strict=True))


def _require(value: str, policy: Policy, dimension: str) -> None:
    if not value:
        raise AccessDenied(f"the policy {policy.value!r} needs an identity that names its {dimension}.")
