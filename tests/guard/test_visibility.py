"""The visibility rule, compared with a second, plainer implementation that shares no code with it."""

from __future__ import annotations

from dataclasses import astuple, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engram.errors import AccessDenied
from engram.guard.visibility import Visibility, readable, require_owner, require_writable, writable
from engram.types import SCOPE_DIMENSIONS, Policy, Reader, Role, Scope

NAMES = st.sampled_from(["", "a", "b", "A", " ", "a b", "é", "%", "'"])
SCOPES = st.builds(Scope, NAMES, NAMES, NAMES, NAMES, NAMES)
READERS = st.builds(Reader, SCOPES, st.sampled_from(Policy), st.sampled_from(Role), st.booleans())


def refused(reader: Reader) -> bool:
    """`project` is for orchestrators and the owner, `all` for the owner; `agent` and `project` need a reader that names one."""
    if reader.policy is Policy.ALL:
        return reader.role is not Role.OWNER
    if reader.policy is Policy.PROJECT:
        return reader.role not in (Role.ORCHESTRATOR, Role.OWNER) or reader.scope.project == ""
    return reader.policy is Policy.AGENT and reader.scope.agent == ""


def sees(reader: Reader, memory: Scope) -> bool:
    """The visibility rule in ten lines."""
    me, policy = reader.scope, reader.policy
    in_every_place = all(getattr(memory, d) in ("", getattr(me, d)) for d in SCOPE_DIMENSIONS)
    if policy is Policy.ALL:
        return True
    if policy is Policy.OWN:
        return memory == me
    if policy is Policy.AGENT:
        return in_every_place and memory.agent == me.agent
    in_my_project = memory.project == me.project and memory.channel in ("", me.channel) and memory.user in ("", me.user)
    return in_every_place or (policy is Policy.PROJECT and in_my_project)


def may_change(reader: Reader, memory: Scope) -> bool:
    """A reader may write only where it may read; a guest only if granted, and then only to its own channel."""
    granted = reader.may_write and (reader.role is not Role.GUEST or memory.channel == reader.scope.channel != "")
    return granted and sees(reader, memory)


@given(READERS, SCOPES)
def test_visibility_equals_the_rule_in_words(reader: Reader, memory: Scope) -> None:
    assume(not refused(reader))
    assert readable(reader).admits(memory) is sees(reader, memory)


@given(READERS, SCOPES)
def test_writability_equals_the_rule_in_words(reader: Reader, memory: Scope) -> None:
    assume(not refused(reader))
    assert writable(reader).admits(memory) is may_change(reader, memory)


@given(READERS, SCOPES)
def test_no_reader_may_write_where_it_may_not_read(reader: Reader, memory: Scope) -> None:
    assume(not refused(reader))
    assert not writable(reader).admits(memory) or readable(reader).admits(memory)


@given(READERS)
def test_a_policy_is_refused_to_roles_and_scopes_without_a_right_to_it(reader: Reader) -> None:
    if refused(reader):
        with pytest.raises(AccessDenied):
            readable(reader)
        if reader.may_write:
            with pytest.raises(AccessDenied):
                writable(reader)
    else:
        readable(reader)


@given(SCOPES, st.sampled_from([Policy.OWN, Policy.AGENT]), SCOPES)
def test_narrower_policies_see_a_subset(here: Scope, policy: Policy, memory: Scope) -> None:
    assume(here.agent)
    wide = readable(Reader(here, Policy.AGENT_GLOBAL))
    assert wide.admits(memory) or not readable(Reader(here, policy)).admits(memory)


@given(SCOPES, SCOPES, st.sampled_from(SCOPE_DIMENSIONS), st.text(min_size=1, max_size=3))
def test_a_reader_in_more_scopes_sees_at_least_as_much(here: Scope, memory: Scope, dimension: str, place: str) -> None:
    here, further_in = replace(here, **{dimension: ""}), replace(here, **{dimension: place})
    assert readable(Reader(further_in)).admits(memory) or not readable(Reader(here)).admits(memory)


@given(SCOPES, st.sampled_from(SCOPE_DIMENSIONS), st.text(min_size=1, max_size=3))
def test_a_memory_that_names_a_further_scope_is_hidden_from_readers_outside_it(memory: Scope, dimension: str, place: str) -> None:
    wide, narrow = replace(memory, **{dimension: ""}), replace(memory, **{dimension: place})
    outsider = Reader(replace(memory, **{dimension: "elsewhere"}))
    assert readable(outsider).admits(wide)
    assert not readable(outsider).admits(narrow)


@pytest.mark.parametrize(
    ("memory", "seen"),
    [
        (Scope(), True),
        (Scope(project="apollo"), True),
        (Scope(project="apollo", squad="web"), True),
        (Scope(project="apollo", squad="data", agent="other"), True),
        (Scope(project="apollo", agent="other"), True),
        (Scope(agent="chief"), True),
        (Scope(project="apollo", channel="mail"), True),
        (Scope(project="apollo", agent="other", channel="chat"), False),
        (Scope(project="apollo", agent="other", user="ann"), False),
        (Scope(project="gemini"), False),
        (Scope(project="gemini", agent="chief"), False),
        (Scope(agent="other"), False),
        (Scope(squad="web"), False),
    ],
)
def test_an_orchestrator_sees_its_whole_project_but_no_other_conversations(memory: Scope, seen: bool) -> None:
    chief = Reader(Scope(project="apollo", agent="chief", channel="mail"), Policy.PROJECT, Role.ORCHESTRATOR)
    assert readable(chief).admits(memory) is seen


def test_a_guest_may_only_read_unless_granted_more() -> None:
    """M12: network callers are read-only by default; `may_write=True` is the grant."""
    guest = Reader(Scope(agent="rex", channel="web"), role=Role.GUEST)
    assert not writable(guest).admits(Scope(agent="rex", channel="web"))


def test_a_guest_with_write_access_writes_only_to_its_channel() -> None:
    guest = Reader(Scope(agent="rex", channel="web"), role=Role.GUEST, may_write=True)
    assert writable(guest).admits(Scope(channel="web"))
    assert writable(guest).admits(Scope(agent="rex", channel="web"))
    for elsewhere in (Scope(), Scope(agent="rex"), Scope(agent="rex", channel="mail")):
        assert not writable(guest).admits(elsewhere)
        with pytest.raises(AccessDenied):
            require_writable(guest, elsewhere)


def test_a_guest_without_a_channel_writes_nowhere() -> None:
    guest = Reader(Scope(agent="rex"), role=Role.GUEST, may_write=True)
    assert writable(guest) == Visibility(())


def test_a_refusal_names_the_reason_and_no_scope() -> None:
    with pytest.raises(AccessDenied, match="may only read"):
        require_writable(Reader(Scope(agent="rex"), may_write=False), Scope(agent="rex"))
    with pytest.raises(AccessDenied) as caught:
        require_writable(Reader(Scope(agent="rex")), Scope(agent="zoe-secret"))
    assert "zoe-secret" not in str(caught.value)


@pytest.mark.parametrize("role", [Role.GUEST, Role.AGENT, Role.ORCHESTRATOR])
def test_only_the_owner_may_maintain_the_vault(role: Role) -> None:
    require_owner(Reader(role=Role.OWNER), "a backup")
    with pytest.raises(AccessDenied):
        require_owner(Reader(role=role), "a backup")


def test_an_empty_visibility_admits_nothing_and_the_owners_admits_everything() -> None:
    assert not Visibility(()).admits(Scope())
    assert not Visibility(()).everything
    everything = readable(Reader(policy=Policy.ALL, role=Role.OWNER))
    assert everything.everything
    assert everything.admits(Scope("p", "s", "a", "c", "u"))


def test_every_scope_dimension_restricts_visibility() -> None:
    """A dimension added to Scope and forgotten in the rule would be visible to everyone."""
    for dimension in SCOPE_DIMENSIONS:
        private = Scope(**{dimension: "x"})
        assert not readable(Reader(Scope())).admits(private)
        assert readable(Reader(private)).admits(private)
    assert len(SCOPE_DIMENSIONS) == len(astuple(Scope()))
