"""The verbs that look things up, and those that care for the vault."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TypeVar

from engram.capture.reports import from_words, to_words
from engram.crypto.access_tokens import AccessToken, GrantedToken, new_secret
from engram.deadline import wait_limit
from engram.errors import DiskFull, InvalidQuery, NotFound, WriteFailed
from engram.guard import limits
from engram.log import Log
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
from engram.verbs.view import View

T = TypeVar("T")


log = Log("engram")

_FAR, _BROAD = 4, 64  # premises after the first, and subjects that are looked at, for what follows


_EVIDENCE, _STRONG = 5, 3


def encoder(view: View) -> EncoderState:
    """Which encoder is in use, and whether it answers."""
    return view.vault.encoder()


def language(view: View) -> LanguageModelState:
    """Which language model reads what is said, whether it answers, and what it cost."""
    return view.vault.language()


def backup(view: View) -> Backup:
    return view.write_once(
        ("backup",),
        partial(view.vault.store.health.backup, view.reader),
        lambda made: made.path.name,
        partial(_backup_called, view),
    )


def _backup_called(view: View, name: str) -> Backup:
    for one in backups(view):
        if one.path.name == name:
            return one
    raise NotFound("this backup was made before, and has been removed since.", way_out="See `engram backups`.")


def backups(view: View) -> Sequence[Backup]:
    return view.vault.store.health.backups(view.reader)


def health(view: View) -> Health:
    return view.vault.health(view.reader)


def doctor(view: View) -> Sequence[Finding]:
    """What is wrong with the vault, how bad it is and what to do, worst first. For its owner; it changes nothing: mending
    needs the vault to itself (`engram doctor --repair`)."""
    return view.vault.store.health.doctor(view.reader)


def check(view: View) -> Sequence[str]:
    """Verify the whole file; what is wrong with it, or nothing."""
    return view.vault.store.health.check(view.reader)


def audit(view: View, *, limit: int = 50) -> Sequence[AuditEntry]:
    """Who did what, newest first; never what was said."""
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
    """Remove everything of one user, agent, channel, squad or project from every table, for good.

    For the owner of the vault. The report counts what went, table by table; with `dry_run` nothing goes.
    """
    places = {"user": user, "agent": agent, "channel": channel, "squad": squad, "project": project}
    given = [(dimension, name) for dimension, name in places.items() if name is not None]
    if len(given) != 1:
        raise InvalidQuery("a purge names one place.", way_out='Say whose: `purge(user="ann")`.')
    dimension, name = given[0]
    if dry_run:
        return view.vault.store.erasure.purge(view.reader, dimension, name, dry_run=True)

    write = partial(view.vault.store.erasure.purge, view.reader, dimension, name)
    after = partial(view.vault.working_sets.forget, view.reader)
    return view.write_once(("purge", dimension, name), write, to_words, from_words, after)


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
    """Make a token for a caller from the network; its secret is told now and never again.

    It stands where this reader does, or in `scope`, and only reads unless `writes`. A guest that writes does so under its
    channel's tag: the token's name, if the scope has none.
    """
    now = view.vault.env.now()
    place = view.reader.scope if scope is None else scope
    if role is Role.GUEST and writes and not place.channel:
        place = Scope(place.project, place.squad, place.agent, name, place.user)
    token = AccessToken(
        id=view.vault.env.new_id(),
        name=name,
        scope=place,
        policy=policy,
        role=role,
        writes=writes,
        created_at=now,
        expires_at=None if days is None else now + timedelta(days=days),
    )
    secret = new_secret(view.vault.env.random)
    return GrantedToken(view.vault.store.access_tokens.grant(view.reader, token, secret), secret)


def tokens(view: View) -> Sequence[AccessToken]:
    return view.vault.store.access_tokens.select(view.reader)


def revoke(view: View, token_id: str) -> AccessToken:
    return view.vault.store.access_tokens.revoke(view.reader, token_id)


def holder(view: View, secret: str) -> AccessToken | None:
    """Whose secret this is, for a face that establishes identities; None if nobody's."""
    return view.vault.store.access_tokens.holder(secret)


def events(view: View, *, after: int | None = None, limit: int = 100) -> ChangeEvents:
    """What changed among what this reader may see, after a point (none: from now on): ids, never words.

    If it says `missed`, the log does not reach back to that point: read anew what you hold.
    """
    store = view.vault.store
    return (
        ChangeEvents((), store.changes.latest(view.reader)) if after is None else store.changes.events(view.reader, after, limit)
    )


def ration(view: View, session: str | None = None) -> None:
    """Count a question that a caller from outside asks, over all processes; `RateLimited` if it is one too many.

    By the minute; in a session too, where it is asked in one. An agent is the user's own: its rate stops one
    that runs away. A guest may be anybody, and probe. A vault that cannot be written now answers uncounted.
    """
    vault, settings = view.vault, view.vault.live.now
    which = "guest_ask_per_minute" if view.reader.role is Role.GUEST else "ask_per_minute"
    rates = limits.RateLimits(getattr(settings, which), settings.ask_per_session if session else 0, which)
    if rates.per_minute or rates.per_session:
        with suppress(DiskFull, WriteFailed):
            vault.store.quotas.count_question(view.reader, session or "", vault.env.now(), rates)


def release(view: View, since: float | None = None, timeout: float | None = None) -> float:
    """Hold back what was asked for at the moment `since` until the next point of the grid (`answer_grid_ms`); the moment now.

    A deadline is kept: nothing is held back beyond `timeout` seconds after `since`, or beyond one that is in force.
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
    """An answer as callers from outside get it: its scores in steps, with noise if that is set, without timings."""
    env = view.vault.env
    return limits.coarsen(answer, view.vault.live.now.score_noise, lambda: int.from_bytes(env.random(6)) / (1 << 48))


def sound(view: View, memories: Iterable[Memory]) -> list[Memory]:
    """Those of them that may stand in a prompt: what reads as an attack is left out."""
    return without_flagged(memories, view.vault.live.now)
