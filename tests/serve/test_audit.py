"""The command that shows the audit trail."""

from __future__ import annotations

from serve.console import Engram


def test_the_audit_shows_who_did_what_and_never_what_was_said(made: Engram) -> None:
    kept = made("--agent", "rex", "remember", "a secret sentence").id
    made("--agent", "rex", "show", kept)
    made("--agent", "ada", "show", kept)
    rows = [row.split("\t") for row in made("audit").lines]
    assert ["add", "done", "1", "agent:rex", kept] in [row[1:] for row in rows]
    assert ["get", "done", "1", "agent:rex", kept] in [row[1:] for row in rows]
    assert "secret" not in made("audit").out
    assert len(made("audit", "--limit", "1").lines) == 1
    entries = made("--agent", "rex", "audit", "--json").json["entries"]
    assert {entry["scope"]["agent"] for entry in entries} == {"rex"}
    assert {entry["scope"]["agent"] for entry in made("--agent", "rex", "audit", "--all", "--json").json["entries"]} > {"rex"}
