"""S8, §10.20: a purge removes one user or agent from every table, reports it, and leaves no word."""

from __future__ import annotations

from pathlib import Path

import pytest
from promises.vaults_at_hand import OWNER, image, inside, open_vault, word

from engram.engine import Engram
from engram.errors import AccessDenied, InvalidQuery
from engram.types import Policy, Reader, Role, Scope, Turn


def lived(mem: Engram, user: str) -> list[str]:
    """Use the vault as one user; return the words that this leaves in it."""
    own = mem.as_reader(Reader(Scope(agent="rex", user=user)))
    words = [word(number, user) for number in range(6)]
    own.remember(f"{words[0]} is what {user} said", attributes={"place": words[1]})
    own.observe(
        Turn(f"My dentist is called {words[2]}.", user, session="s"), Turn(f"Hello {words[3]}!", "assistant", session="s")
    )
    old = own.remember(f"{words[4]} runs on Heroku")
    own.update(old.id, text=f"{words[5]} runs on Fly")
    own.feedback(old.id, False, query=f"where does {words[5]} run?")
    own.working.attend(f"{words[0]} in mind")
    own.working.suspend()
    return words


def traces(path: Path, words: list[str]) -> list[str]:
    held = image(path)
    return [one for one in words if one[:10].encode() in held]


def test_a_user_is_removed_from_every_table_and_others_stay(path: Path) -> None:
    with open_vault(path) as mem:
        gone, kept = lived(mem, "annabelle"), lived(mem, "bertrand")
        told = mem.purge(user="annabelle", dry_run=True)
        assert {"memories", "contents", "turns", "versions", "feedback", "working_snapshots", "audit"} <= told.counts.keys()
        assert len(mem.as_reader(Reader(Scope(agent="rex", user="annabelle"))).list()) == told.counts["memories"]
        done = mem.purge(user="annabelle")
        assert done.counts["memories"] == told.counts["memories"]
        assert traces(path, gone) == []
        assert b"annabelle" not in image(path)
        assert len(mem.as_reader(Reader(Scope(agent="rex", user="annabelle"))).list()) == 0
        assert len(mem.as_reader(Reader(Scope(agent="rex", user="bertrand"))).list()) == told.counts["memories"]
        assert mem.purge(user="annabelle").counts.keys() <= {"audit"}  # that it was just asked for
    assert traces(path, gone) == []
    assert b"annabelle" not in image(path)
    assert traces(path, kept[:1] + kept[2:3]) == kept[:1] + kept[2:3]


def test_a_purge_covers_every_table_that_has_a_scope_column(path: Path) -> None:
    """A table that a later release adds is purged too."""
    with open_vault(path) as mem:
        lived(mem, "annabelle")
    with inside(path, write=True) as connection:
        connection.execute("CREATE TABLE later (scope INTEGER NOT NULL, word TEXT)")
        connection.execute("INSERT INTO later SELECT key, 'x' FROM scopes WHERE user = 'annabelle'")
    with open_vault(path) as mem:
        assert mem.purge(user="annabelle").counts["later"] == 1
    with inside(path) as connection:
        assert connection.execute("SELECT count(*) FROM later").get == 0


def test_only_the_owner_may_purge_and_only_one_user_or_agent_at_a_time(path: Path) -> None:
    with open_vault(path) as mem:
        lived(mem, "annabelle")
        agent = mem.as_reader(Reader(Scope(agent="rex"), policy=Policy.AGENT_GLOBAL, role=Role.AGENT))
        with pytest.raises(AccessDenied):
            agent.purge(user="annabelle")
        with pytest.raises(InvalidQuery):
            mem.purge()
        with pytest.raises(InvalidQuery):
            mem.purge(user="a", agent="b")
        with pytest.raises(InvalidQuery):
            mem.purge(user="")
        assert mem.as_reader(OWNER).health().counts.memories > 0
