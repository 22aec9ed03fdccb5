"""The verbs of the vault itself: its models, backups, health, audit, purge, access tokens, change events, rate limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

from engram.capture.reports import report_from_text, report_to_text
from engram.crypto.access_tokens import AccessToken, GrantedToken, new_secret
from engram.deadline import wait_limit
from engram.errors import DiskFull, InvalidQuery, NotFound, WriteFailed
from engram.guard import limits
from engram.recall.selection import without_flagged
from engram.types import (
    AuditEntry,
    Backup,
    ChangeEvents,
    EncoderState,
    Finding,
    Health,
    LanguageModelState,
    Memory,
    Policy,
    Report,
    Role,
    Scope,
)
from engram.values.frozen import replace
from engram.verbs.view import View

T = TypeVar("T")


def encoder(view: View) -> EncoderState:
    """Return the encoder in use, and its trouble if it does not answer."""
    return view.vault.encoder()


def language(view: View) -> LanguageModelState:
    """Return the language model in use, its trouble if it does not answer, and its cost."""
    return view.vault.language()


def backup(view: View) -> Backup:
    """Make a backup of the vault now. For its owner."""
    return view.write_once(
        ("backup",),
        partial(view.vault.store.health.backup, view.reader),
        lambda made: made.path.name,
        partial(_backup_named, view),
    )


def _backup_named(view: View, name: str) -> Backup:
    for made in backups(view):
        if made.path.name == name:
            return made
    raise NotFound("this backup was made before, and has been removed since.", way_out="See `engram backups`.")


def backups(view: View) -> Sequence[Backup]:
    """Return the backups of the vault."""
    return view.vault.store.health.backups(view.reader)


def health(view: View) -> Health:
    """Return the figures and warnings of the vault, and the level on which recall answers now."""
    return view.vault.health(view.reader)


def doctor(view: View) -> Sequence[Finding]:
    """Return the problems of the vault, worst first, each with its severity and remedy. For its owner. Nothing is changed:
    a repair needs exclusive use of the vault (`engram doctor --repair`)."""
    return view.vault.store.health.doctor(view.reader)


def check(view: View) -> Sequence[str]:
    """Verify the whole database file; return its problems."""
    return view.vault.store.health.check(view.reader)


def audit(view: View, *, limit: int = 50) -> Sequence[AuditEntry]:
    """Return the audit trail, newest first: who did what, without any words of memories."""
    return view.vault.store.audit.select(view.reader, limit=limit)


def purge(
    view: View,
    *,
    user: str | None = None,
    agent: str | None = None,
    channel: str | None = None,
    squad: str | None = None,
    project: str | None = None,
    dry_run: bool = False,
) -> Report:
    """Remove everything of one user, agent, channel, squad or project from every table, for good. For the owner of the vault.

    The report counts the removed rows by table; with `dry_run` nothing is removed.
    """
    names = {"user": user, "agent": agent, "channel": channel, "squad": squad, "project": project}
    given = [(dimension, name) for dimension, name in names.items() if name is not None]
    if len(given) != 1:
        raise InvalidQuery("a purge needs exactly one name.", way_out='Name one: `purge(user="ann")`.')
    dimension, name = given[0]
    if dry_run:
        return view.vault.store.erasure.purge(view.reader, dimension, name, dry_run=True)

    write = partial(view.vault.store.erasure.purge, view.reader, dimension, name)
    after = partial(view.vault.working_sets.forget, view.reader)
    return view.write_once(("purge", dimension, name), write, report_to_text, report_from_text, after)


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


def events(view: View, *, after: int | None = None, limit: int = 100) -> ChangeEvents:
    """Return changes of visible memories after a point of the change log (None: from now on): ids, without words.

    If `missed` is True, the log does not reach back to that point, and a caller must read all memories again.
    """
    changes = view.vault.store.changes
    if after is None:
        return ChangeEvents((), changes.latest(view.reader))
    return changes.events(view.reader, after, limit)


def ration(view: View, session: str | None = None) -> None:
    """Count a question from the network, over all processes; raise `RateLimited` if there are too many.

    Counted by the minute, and by session if there is one. The rate of an agent stops one that runs away; a guest may be anybody.
    A vault that cannot be written at the moment answers without counting.
    """
    vault = view.vault
    rates = limits.question_rates(vault.live.now, view.reader.role, bool(session))
    if rates.per_minute or rates.per_session:
        with suppress(DiskFull, WriteFailed):
            vault.store.quotas.count_question(view.reader, session or "", vault.env.now(), rates)


def release(view: View, since: float | None = None, timeout: float | None = None) -> float:
    """Delay the answer to a call that began at `since` to the next point of the grid (`answer_grid_ms`); return the time now.

    Times are of the monotonic clock. The delay ends `timeout` seconds after `since` at the latest, or at the current deadline.
    """
    env = view.vault.env
    if since is not None:
        elapsed = env.monotonic() - since
        most = math.inf if timeout is None or not timeout > 0 else timeout - elapsed
        pause = wait_limit(limits.grid_delay(elapsed, view.vault.live.now.answer_grid_ms / 1000, most))
        if pause:
            env.sleep(pause)
    return env.monotonic()


def coarse(view: View, answer: T) -> T:
    """Return an answer as callers from the network get it: scores in steps, with noise if that is set, and no timings."""
    env = view.vault.env
    return limits.coarsen(answer, view.vault.live.now.score_noise, lambda: int.from_bytes(env.random(6)) / (1 << 48))


def sound(view: View, memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories that may go into a prompt, without those that are flagged as attacks."""
    return without_flagged(memories, view.vault.live.now)
