"""The verbs of access tokens: grant, list and revoke them, and find the holder of a secret."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engram.crypto.access_tokens import AccessToken, GrantedToken, new_secret
from engram.types import Policy, Role, Scope
from engram.values.frozen import replace
from engram.verbs.view import View


def grant(
    view: View,
    name: str,
    *,
    scope: Scope | None = None,
    policy: Policy = Policy.AGENT_GLOBAL,
    role: Role = Role.GUEST,
    writes: bool = False,
    days: float | None = None,
) -> GrantedToken:
    """Make an access token for a caller from the network. Its secret is returned now and never again.

    Its scope is `scope` or the reader's; it only reads unless `writes`. A guest that writes needs a channel: the token's name,
    if the scope has none.
    """
    now = view.vault.env.now()
    granted = view.reader.scope if scope is None else scope
    if role is Role.GUEST and writes and not granted.channel:
        granted = replace(granted, channel=name)
    token = AccessToken(
        id=view.vault.env.new_id(),
        name=name,
        scope=granted,
        policy=policy,
        role=role,
        writes=writes,
        created_at=now,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    secret = new_secret(view.vault.env.random)
    return GrantedToken(view.vault.store.access_tokens.grant(view.reader, token, secret), secret)


def tokens(view: View) -> Sequence[AccessToken]:
    """Return the access tokens, without their secrets."""
    return view.vault.store.access_tokens.select(view.reader)


def revoke(view: View, token_id: str) -> AccessToken:
    """End the access of a token."""
    return view.vault.store.access_tokens.revoke(view.reader, token_id)


def holder(view: View, secret: str) -> AccessToken | None:
    """Return the token of a secret, for servers that establish identities; None if there is none."""
    return view.vault.store.access_tokens.holder(secret)
