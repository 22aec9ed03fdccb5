"""Tokens: granting, expiry and revocation; events that readers may see."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from hand_clock import HandClock

import engram
from engram.engine import Engram
from engram.errors import AccessDenied, EngramError, InvalidQuery, NotFound
from engram.types import Policy, Reader, Role, Scope

OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def mem(tmp_path: Path, clock: HandClock) -> Iterator[Engram]:
    with engram.open(tmp_path / "vault", clock=clock.now) as opened:
        yield opened.as_reader(OWNER)


def test_a_token_identifies_its_grantee_and_allows_only_reads_by_default(mem: Engram) -> None:
    granted = mem.grant("laptop", scope=Scope(agent="rex"))
    found = mem.holder(granted.secret)
    assert found == granted.token
    assert found.reader == Reader(Scope(agent="rex"), Policy.AGENT_GLOBAL, Role.GUEST, may_write=False)
    assert mem.tokens() == [granted.token]


def test_a_guest_that_may_write_writes_under_its_channel(mem: Engram) -> None:
    hook = mem.grant("hook", scope=Scope(agent="rex"), writes=True).token
    assert hook.scope == Scope(agent="rex", channel="hook")
    view = mem.as_reader(hook.reader)
    assert view.remember("told from outside").scope.channel == "hook"
    with pytest.raises(AccessDenied):
        view.remember("told to everybody", scope=Scope(agent="rex"))


def test_the_secret_of_a_token_is_nowhere_in_the_vault(mem: Engram, tmp_path: Path) -> None:
    granted = mem.grant("laptop")
    assert granted.secret not in repr(mem.tokens())
    store = mem._vault.store
    with store.gate.readers.use("test") as connection:
        rows = [row for table in ("tokens", "audit") for row in connection.execute(f"SELECT * FROM {table}")]
    assert granted.secret.encode() not in repr(rows).encode()


def test_a_revoked_or_expired_token_is_refused(mem: Engram, clock: HandClock) -> None:
    short, long = mem.grant("short", days=1), mem.grant("long")
    clock.advance(86_400)
    assert mem.holder(short.secret) is None
    assert mem.holder(long.secret) is not None
    gone = mem.revoke(long.token.id)
    assert mem.holder(long.secret) is None
    clock.advance(86_400)
    assert mem.revoke(long.token.id) == gone
    with pytest.raises(NotFound):
        mem.revoke("nothing")


@pytest.mark.parametrize("secret", ["", "engram_", "engram_" + "x" * 43, "x" * 10_000, "engram_" + "ü" * 43, "\ud800"])
def test_an_unknown_token_belongs_to_no_reader(mem: Engram, secret: str) -> None:
    assert mem.holder(secret) is None


def test_only_the_owner_may_manage_tokens(mem: Engram) -> None:
    token = mem.grant("laptop").token
    agent = mem.as_reader(Reader(Scope(agent="rex"), role=Role.ORCHESTRATOR))
    for forbidden in (lambda: agent.grant("mine", role=Role.OWNER), agent.tokens, lambda: agent.revoke(token.id)):
        with pytest.raises(AccessDenied):
            forbidden()


def test_a_token_is_not_granted_with_a_policy_that_its_role_may_not_have(mem: Engram) -> None:
    with pytest.raises(AccessDenied):
        mem.grant("spy", policy=Policy.ALL, role=Role.AGENT)
    for name in ("", " ", "x" * 101, "a\nb"):
        with pytest.raises(InvalidQuery):
            mem.grant(name)
    assert mem.tokens() == []


# ── changes ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_events_show_each_reader_only_visible_memories(mem: Engram) -> None:
    rex, ada = (mem.as_reader(Reader(Scope(agent=name))) for name in ("rex", "ada"))
    start = rex.events().upto
    mine, hers = rex.remember("rex knows"), ada.remember("ada knows")
    told = rex.events(after=start)
    assert {event.id for event in told.events} == {mine.id}
    assert {event.id for event in ada.events(after=start).events} == {hers.id}
    assert rex.events(after=told.upto).events == ()
    first = mem.events(after=start, limit=1)
    assert len(first.events) == 1
    assert mem.events(after=first.upto).events


def test_an_update_of_a_version_that_has_changed_since_is_a_conflict(mem: Engram, clock: HandClock) -> None:
    old = mem.remember("The API runs on Heroku")
    clock.advance(1)
    new = mem.update(old.id, text="The API runs on Fly", unchanged_since=old.updated_at)
    for late in (
        lambda since: mem.update(old.id, text="on AWS", unchanged_since=since),
        lambda since: mem.forget(old.id, unchanged_since=since),
        lambda since: mem.forget(old.id, erase=True, unchanged_since=since),
    ):
        with pytest.raises(EngramError) as refused:
            late(old.updated_at)
        assert refused.value.code == "E1009"
    assert mem.get(old.id) == new
    assert isinstance(new.updated_at, datetime)
    assert mem.forget(old.id, unchanged_since=new.updated_at).ids == (old.id,)
