"""The verbs of a vault that is reached over a network: who may, and what changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engram.crypto.access_tokens import AccessToken, GrantedToken, new_secret
from engram.types import ChangeEvents, Policy, Role, Scope
from engram.verbs.view import View


class Granting(View):
    """Mixed into `Engram`."""

    def grant(
        self,
        name: str,
        *,
        scope: Scope | None = None,
        policy: Policy = Policy.AGENT_GLOBAL,
        role: Role = Role.GUEST,
        writes: bool = False,
        days: float | None = None,
    ) -> GrantedToken:
        """Make a token for a caller from the network; its secret is told now and never again.

        It stands where this reader does, or in `scope`, and only reads unless `writes`. A guest that writes does so under its
        channel's tag: the token's name, if the scope has none.
        """
        now = self._vault.env.now()
        place = self._reader.scope if scope is None else scope
        if role is Role.GUEST and writes and not place.channel:
            place = Scope(place.project, place.squad, place.agent, name, place.user)
        token = AccessToken(
            id=self._vault.env.new_id(),
            name=name,
            scope=place,
            policy=policy,
            role=role,
            writes=writes,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        secret = new_secret(self._vault.env.random)
        return GrantedToken(self._vault.store.access_tokens.grant(self._reader, token, secret), secret)

    def tokens(self) -> Sequence[AccessToken]:
        return self._vault.store.access_tokens.select(self._reader)

    def revoke(self, token_id: str) -> AccessToken:
        return self._vault.store.access_tokens.revoke(self._reader, token_id)

    def holder(self, secret: str) -> AccessToken | None:
        """Whose secret this is, for a face that establishes identities; None if nobody's."""
        return self._vault.store.access_tokens.holder(secret)

    def events(self, *, after: int | None = None, limit: int = 100) -> ChangeEvents:
        """What changed among what this reader may see, after a point (none: from now on): ids, never words.

        If it says `missed`, the log does not reach back to that point: read anew what you hold.
        """
        store = self._vault.store
        return (
            ChangeEvents((), store.changes.latest(self._reader))
            if after is None
            else store.changes.events(self._reader, after, limit)
        )
