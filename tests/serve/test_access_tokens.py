"""`engram token`: create, list and revoke."""

from __future__ import annotations

import re

from serve.console import Engram


def test_a_token_is_shown_once_listed_and_revoked(made: Engram) -> None:
    granted = made("--agent", "rex", "token", "create", "laptop", "--write", "--role", "agent")
    assert re.fullmatch(r"engram_[\w-]{43}\n", granted.out)
    assert "reads and writes as agent in agent:rex" in granted.err
    (row,) = made("token", "list").lines
    assert granted.id not in row
    identity, state, writes, role, *_, name = row.split("\t")
    assert (state, writes, role, name) == ("holds", "yes", "agent", "laptop")
    assert made("token", "revoke", identity).out == "laptop is revoked.\n"
    assert made("token", "list", "--json").json["tokens"][0]["revoked_at"]
    assert made("token").lines[0].split("\t")[1] == "revoked"


def test_a_new_token_is_a_read_only_guest_by_default(made: Engram) -> None:
    token = made("token", "create", "visitor", "--days", "30", "--json").json["token"]
    assert (token["role"], token["writes"], token["policy"]) == ("guest", False, "agent+global")
    assert token["expires_at"] > token["created_at"]


def test_a_token_for_a_forbidden_policy_is_refused(made: Engram) -> None:
    refused = made("token", "create", "spy", "--policy", "all")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("E4001: ")
    assert made("token", "revoke", "nothing").err.startswith("E1008: ")
    assert "There is no token yet" in made("token", "list").err
