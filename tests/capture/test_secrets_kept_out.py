"""Secrets never reach a row: no turn, no memory, no tier, no version, no index; and the report says what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from capture.test_observer import covered
from dream.vaults import rows
from recall.vaults import last_change, open_engram
from serve.test_operations import arguments_of

from engram.engine import Engram
from engram.errors import EngramError, InvalidContent
from engram.serve.operations import OPERATIONS, read
from engram.serve.operations.operation import InputField
from engram.types import Fate, Role, Turn

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zB9dF1hJ3kL5"
HELD = "aB3dE5gH7j"


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault") as mem:
        yield mem


def everything(mem: Engram) -> str:
    """All words that any verb gives out."""
    found = []
    for memory in mem.list(status=None, limit=100):
        found += [memory.text, memory.summary, memory.key_fact, memory.tag, *memory.attributes.values()]
        found += [turn.text for turn in mem.words(memory.id)] + [old.text for old in mem.versions(memory.id)]
    return "\n".join(found)


def test_a_turn_is_archived_without_the_secret_and_the_report_says_so(mem: Engram) -> None:
    turn = Turn(f"I moved the deploy of the shop to Fly. The GitHub token is {TOKEN} until Friday.", session="s")
    report = mem.observe(turn, Turn("I live in Oslo now.", session="s"))
    assert HELD not in everything(mem)
    assert "[secret: github-token]" in everything(mem)
    assert "a GitHub token was left out." in report.notes
    (left_out,) = [v for v in report.verdicts if v.reason == "secret: github-token"]
    assert left_out.fate is Fate.DROPPED
    assert turn.text[left_out.start : left_out.end] == TOKEN
    covered(report, turn)
    for hit in mem.recall(TOKEN, limit=50):
        assert {s.arm: s.rank for s in hit.why.signals}.get("words", 0) == 0, "the text index holds it"


def test_what_is_remembered_or_changed_or_ingested_holds_none_either(mem: Engram) -> None:
    kept = mem.remember(f"The CI uses {TOKEN}", attributes={"token": TOKEN})
    assert kept.text == "The CI uses [secret: github-token]"
    mem.update(mem.remember("The CI has a key").id, text=f"The CI has the key {TOKEN}")
    mem.ingest([Turn(f"My new token {TOKEN} works with the release script.")])
    mem.ingest(f"# Deploy\n\nThe release script of our shop uses {TOKEN} on the server in Frankfurt.")
    assert HELD not in everything(mem)
    assert len(mem.list()) >= 4


def test_nothing_but_a_secret_is_refused(mem: Engram) -> None:
    before = last_change(mem)
    with pytest.raises(InvalidContent, match="nothing but a secret") as caught:
        mem.remember(f"  {TOKEN}\n")
    assert HELD not in str(caught.value)
    assert last_change(mem) == before
    known = mem.remember("The CI has a key")
    with pytest.raises(InvalidContent):
        mem.update(known.id, text=TOKEN)
    assert mem.get(known.id) == known
    assert mem.observe(user=TOKEN).ids == ()
    assert mem.ingest(TOKEN).ids == ()


def test_a_text_of_several_facts_holds_none_either(mem: Engram) -> None:
    kept = mem.remember(f"My sister Carla lives in Lisbon. The CI of our shop uses {TOKEN}. I am allergic to peanuts.")
    assert HELD not in everything(mem)
    assert any("[secret: github-token]" in memory.text for memory in (kept, *kept.others))


def test_a_secret_in_the_turn_before_is_not_carried_into_a_statement(mem: Engram) -> None:
    asked = Turn(f"Which server does the key {TOKEN} belong to?", "Ben", session="s")
    mem.observe(asked, Turn("It belongs to the server in Frankfurt.", "Ann", session="s"))
    assert HELD not in everything(mem)
    assert HELD not in str(rows(mem._vault.store))


def test_a_secret_inside_private_text_is_private(mem: Engram) -> None:
    turn = Turn(f"I like tea. <private>my password is {TOKEN}</private> And coffee in the morning, mostly.")
    report = mem.observe(turn)
    covered(report, turn)
    assert HELD not in everything(mem)
    (left_out,) = [v for v in report.verdicts if v.reason == "private"]
    assert TOKEN in turn.text[left_out.start : left_out.end]
    assert not any(v.reason.startswith("secret") for v in report.verdicts)


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    with open_engram(tmp_path / "v", catch_secrets=False) as mem:
        assert mem.remember(f"The CI uses {TOKEN}").text.endswith(TOKEN)
        assert mem.observe(user=f"The token of the CI is {TOKEN}.").notes == ()
        assert HELD in everything(mem)


def test_a_password_that_differs_only_in_its_secret_is_one_memory(mem: Engram) -> None:
    """It is cleaned before it is hashed: nothing derived from the secret is left to compare by."""
    first = mem.remember("My password for the router is hunter2x")
    second = mem.remember("My password for the router is hunter3y")
    assert first.id == second.id


_NAMES = {"id", "ids", "source", "target", "caused_by", "skill", "jobs", "dimension"}


def _worded(field: InputField, text: str) -> Any:
    """The text as a value of this field; None where it takes no words."""
    parts = get_args(field.type)
    if get_origin(field.type) is Mapping:
        return {"note": text}
    if get_origin(field.type) is tuple:
        return [text] if parts[0] is str else None
    return text if field.type is str or str in parts else None


def test_no_word_that_an_operation_takes_brings_one_in(tmp_path: Path) -> None:
    """One that is added later and keeps words as they come fails here."""
    with open_engram(tmp_path / "vault", words_only=True) as mem:
        owner = mem.as_reader(replace(mem.reader, role=Role.OWNER))
        given, held = arguments_of(owner), dict[str, tuple[str, str]]()
        for operation in OPERATIONS.values():
            for field in operation.fields if not operation.reads else ():
                secret = f"ghp_{100 + len(held)}" + "aB3dE6gH9" * 4
                value = None if field.name in _NAMES else _worded(field, f"the key {secret} opens the gate")
                if value is None:
                    continue
                held[secret] = operation.name, field.name
                alone = operation.name in ("observe", "ingest") and field.name in ("text", "speaker")
                said = {**({"text": "I moved to Lisbon"} if alone else given[operation.name]), field.name: value}
                with suppress(EngramError):
                    operation.call(owner, read(operation, said))
        told = f"{everything(owner)}{owner.skills()}{owner.episodes()}{rows(mem._vault.store)}"  # what is sealed is in no row
        assert len(held) > 20
        assert [place for secret, place in held.items() if secret in told] == []


def test_a_text_to_be_remembered_is_dated_and_split_without_what_is_private(mem: Engram) -> None:
    dated = mem.remember("The dentist is on 2026-12-03. <private>x</private>")
    assert dated.happened_at is not None
    assert dated.happened_at.date().isoformat() == "2026-12-03"
    kept = mem.remember("I moved to Graz in May. <private>My pin is 1234.</private> My sister Carla works as a nurse.")
    assert [memory.text for memory in (kept, *kept.others)] == ["I moved to Graz in May.  …", "My sister Carla works as a nurse."]
    assert "1234" not in everything(mem)
