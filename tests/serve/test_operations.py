"""The table of operations: inputs, outputs, roles, deadlines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import engram
from engram import deadline as rules
from engram.deadline import Deadline
from engram.engine import Engram
from engram.errors import AccessDenied, EngramError, InvalidQuery, NotFound
from engram.serve.operations import OPERATIONS, Effect, Operation, read
from engram.serve.operations.schema import input_schema, output_schema
from engram.types import Kind, Reader, Role, Scope, Turn

CANARY = "xylophone"
TWO_FACTS = "My sister Lena is allergic to peanuts. My brother Karl works at the harbour in Oslo."


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with engram.open(tmp_path / "vault", agent="rex", settings={"model": "none"}) as opened:
        yield opened.as_reader(Reader(Scope(agent="rex"), role=Role.OWNER))


def skilled(mem: Engram) -> str:
    """Learn a skill and return its id."""
    for _ in range(3):
        with mem.episode("bake bread") as ep:
            ep.event("did", "knead the dough")
            ep.event("did", "heat the oven")
    return mem.skills("bake bread")[0].skill.id


def dreamt(mem: Engram) -> str:
    """Run a pass and return its id."""
    return mem.consolidate().pass_id


def arguments_of(mem: Engram) -> Mapping[str, Mapping[str, Any]]:
    """Return arguments for every operation with which it succeeds."""
    one, two = mem.remember("The API runs on Fly.io"), mem.remember("Ada leads the platform team")
    mem.update(one.id, text="The API runs on Fly.io now")
    happened = mem.remember("The release went out", kind=Kind.EPISODE, category="moment")
    going = mem.episode("deploy the web page")
    gone = mem.remember("Nobody needs this any more")
    mem.ingest([Turn("Thanks a lot! I work at the harbour.", session="s", ref="t0")])
    return {
        "remember": {"text": TWO_FACTS, "importance": 0.7, "attributes": {"colour": "green"}},
        "observe": {"user": "I moved to Lisbon in March.", "assistant": "Noted."},
        "dropped": {"session": "s", "limit": 5},
        "keep": {"piece": mem.dropped(session="s")[0].piece},
        "ingest": {"turns": [{"text": "I play the cello.", "speaker": "user", "at": "2024-03-01T10:00:00Z", "ref": "t1"}]},
        "update": {"id": one.id, "importance": 0.9},
        "forget": {"ids": [gone.id]},
        "restore": {"id": gone.id},
        "pin": {"id": one.id},
        "promote": {"id": happened.id},
        "demote": {"id": one.id},
        "review": {"id": one.id, "decision": "challenge", "reason": "Ana says otherwise"},
        "standing": {"id": one.id},
        "boxes": {"limit": 5},
        "box": {"key": mem.boxes()[0].key},
        "relate": {"source": one.id, "target": two.id, "kind": "owned_by"},
        "feedback": {"id": one.id, "helpful": True, "query": "where does the API run?"},
        "recall": {
            "query": "where does the API run?",
            "explain": True,
            "kinds": ["proposition"],
            "since": "2020-01-01T00:00:00Z",
        },
        "explain": {"query": "where does the API run?", "id": two.id},
        "context": {"message": "ok, deploy it", "budget": 500, "history": [{"text": "hello", "speaker": "user"}]},
        "reason": {"question": "Who owns the API and where does it run?", "depth": 2, "calls": 5},
        "list": {"limit": 2, "status": "any"},
        "get": {"id": one.id},
        "show": {"id": one.id},
        "versions": {"id": one.id},
        "words": {"id": one.id},
        "edges": {"ids": [one.id, two.id]},
        "traverse": {"id": one.id, "depth": 3, "kinds": ["owned_by"]},
        "begin_episode": {"goal": "deploy the API", "participants": ["ada"], "context": {"region": "fra"}},
        "record": {"id": going.id, "type": "tried", "text": "terraform apply", "ok": True},
        "end_episode": {"id": going.id, "outcome": "partial", "result": "one region is up"},
        "episode": {"id": going.id},
        "episodes": {"similar": "deploy the API", "limit": 5},
        "skills": {"situation": "deploy the API"},
        "learn_skills": {},
        "practise": {"id": skilled(mem), "outcome": "failure", "result": "the oven was cold"},
        "warnings": {"about": "bake bread"},
        "events": {"after": 0, "limit": 3},
        "entity": {"name": "Ada"},
        "entities": {"kind": "person", "limit": 3},
        "timeline": {"about": "Ada", "since": "2020-01-01T00:00:00Z"},
        "decide_entity": {"name": "Ada", "action": "alias", "other": "the Countess", "reason": "she signs so"},
        "undo_entity_decision": {"id": mem.decide_entity("Ada", "apart", "Ada Byron").id},
        "entity_decisions": {"name": "Ada", "limit": 5},
        "learn": {
            "subject": "Ada",
            "predicate": "works at",
            "object": "Acme",
            "since": "2020-01-01T00:00:00Z",
            "strength": "observed",
        },
        "unlearn": {"id": mem.learn("Bo", "works at", "Acme").id, "subject": "Bo", "predicate": "works at"},
        "beliefs": {"subject": "Ada", "past": True, "inferred": True},
        "path": {"start": "Ada", "end": "Acme", "predicates": ["works at"], "most": 2},
        "attend": {"text": "ship the release"},
        "working": {"form": "xml", "budget": 100},
        "checkpoint": {"goal": "ship it", "decided": ["on Thursday"], "open": ["who writes the notes"]},
        "resume": {},
        "morning": {},
        "gaps": {},
        "knows": {"limit": 5},
        "clear_working": {},
        "undo_dream": {"id": dreamt(mem)},
        "dreams": {"limit": 5},
        "consolidate": {"dry_run": True},
        "dream": {"jobs": ["merge"]},
        "status": {},
        "audit": {"limit": 5},
        "check": {},
        "backup": {},
        "backups": {},
        "doctor": {},
        "purge": {"dimension": "user", "name": "nobody", "dry_run": True},
    }


def test_every_operations_output_matches_its_schema(mem: Engram) -> None:
    given = arguments_of(mem)
    assert given.keys() == OPERATIONS.keys()
    for name, arguments in given.items():
        operation = OPERATIONS[name]
        jsonschema_rs.validate(input_schema(operation), dict(arguments))
        shape, named = output_schema(operation)
        jsonschema_rs.validate(shape | {"$defs": named}, operation.answer(mem, read(operation, arguments)))


def test_output_types_of_different_shape_have_different_names() -> None:
    known: dict[str, Any] = {}
    for operation in OPERATIONS.values():
        for name, shape in output_schema(operation)[1].items():
            assert known.setdefault(name, shape) == shape


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("recall", {}),
        ("recall", {"query": 7}),
        ("recall", {"query": "half \ud800"}),
        ("recall", {"query": CANARY, "limit": 0}),
        ("recall", {"query": CANARY, "limit": 2.5}),
        ("recall", {"query": CANARY, "limit": True}),
        ("recall", {"query": CANARY, "limit": 10**30}),
        ("recall", {"query": CANARY, "mode": CANARY}),
        ("recall", {"query": CANARY, "kinds": "fact"}),
        ("recall", {"query": CANARY, "as_of": CANARY}),
        ("recall", {"query": CANARY, "attributes": {CANARY: 1}}),
        ("recall", {"query": CANARY, "agent": "ada"}),
        ("recall", {"query": CANARY, "scope": {"agent": "ada"}}),
        ("remember", {"text": CANARY, "importance": 2}),
        ("remember", {"text": CANARY, "importance": float("nan")}),
        ("remember", {"text": None}),
        ("forget", {"ids": []}),
        ("observe", {"turns": [{"speaker": CANARY}]}),
        ("observe", {"turns": [{"text": CANARY, CANARY: 1}]}),
        ("observe", {"turns": [CANARY]}),
    ],
)
def test_invalid_arguments_are_refused_by_name_and_not_quoted(name: str, arguments: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidQuery) as refused:
        read(OPERATIONS[name], arguments)
    assert "`" in refused.value.message
    assert CANARY not in str(refused.value)


def test_a_read_only_reader_can_call_no_writing_operation(mem: Engram) -> None:
    given = arguments_of(mem)
    guest = mem.as_reader(Reader(Scope(agent="rex"), role=Role.GUEST))
    before = mem.list(limit=100, status=None)
    for operation in OPERATIONS.values():
        if operation.effect is not Effect.READ:
            with pytest.raises(AccessDenied):
                operation.call(guest, read(operation, given[operation.name]))
    assert mem.list(limit=100, status=None) == before


def test_vault_maintenance_needs_the_role_owner(mem: Engram) -> None:
    agent = mem.as_reader(Reader(Scope(agent="rex"), role=Role.AGENT))
    for name in ("backup", "backups", "check"):
        with pytest.raises(AccessDenied):
            OPERATIONS[name].call(agent, read(OPERATIONS[name], {}))


def test_a_memory_of_another_agent_is_found_by_no_operation(mem: Engram) -> None:
    given = {name: dict(arguments) for name, arguments in arguments_of(mem).items()}
    other = mem.as_reader(Reader(Scope(agent="ada")))
    for name in (
        "get",
        "show",
        "versions",
        "words",
        "traverse",
        "update",
        "restore",
        "pin",
        "relate",
        "feedback",
        "forget",
        "explain",
    ):
        with pytest.raises(NotFound):
            OPERATIONS[name].call(other, read(OPERATIONS[name], given[name]))
    assert OPERATIONS["edges"].call(other, read(OPERATIONS["edges"], given["edges"])).edges == ()
    assert not OPERATIONS["recall"].call(other, read(OPERATIONS["recall"], given["recall"])).hits


def test_a_timeout_must_be_above_zero(mem: Engram) -> None:
    with pytest.raises(InvalidQuery):
        OPERATIONS["list"].call(mem, read(OPERATIONS["list"], {}), timeout=0)


def test_every_operation_keeps_its_deadline_and_changes_nothing_after_it(mem: Engram) -> None:
    """S14: a late answer is an error with a code, never an empty answer."""
    calls = arguments_of(mem)
    before = mem._vault.store.changes.latest(mem.reader)
    late = {}
    for name, arguments in calls.items():
        operation = OPERATIONS[name]
        with mem.deadline(60) as until:
            until.cancel()  # counts as passed
            try:
                operation.call(mem, read(operation, arguments), timeout=300)
            except EngramError as problem:
                late[name] = problem.code
    assert {name: code for name, code in late.items() if code not in ("E2001", "E1005")} == {}
    assert sorted(set(calls) - set(late)) == []
    assert mem._vault.store.changes.latest(mem.reader) == before


class Countdown(Deadline):
    """A deadline that passes at its n-th check."""

    def __init__(self, looks: int) -> None:
        super().__init__(None, lambda: 0.0)
        self._looks = looks

    @property
    def left(self) -> float:
        self._looks -= 1
        return 5.0 if self._looks > 0 else 0.0


def test_a_write_whose_deadline_passes_at_any_point_changes_nothing(mem: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    store, calls = mem._vault.store, arguments_of(mem)
    made: set[str] = set()
    wrong: list[object] = []
    for name, looks in product(calls, (2, 3, 5, 8, 12, 16, 23, 34, 48, 70, 100, 200, 100_000)):
        operation, before = OPERATIONS[name], store.changes.latest(mem.reader)
        monkeypatch.setattr(Engram, "deadline", lambda self, seconds, looks=looks: _present(Countdown(looks)))
        try:
            if name not in made:
                operation.call(mem, read(operation, calls[name]))
                made.add(name)
        except EngramError as problem:
            changed = store.changes.latest(mem.reader) != before
            wrong += [(name, looks, problem.code, changed)] if changed or problem.code not in ("E2001", "E1005") else []
    assert wrong == []
    assert made == calls.keys()
    assert mem.health().writes == "open", "a check that had no time says nothing of the vault"


@contextmanager
def _present(until: Deadline) -> Iterator[Deadline]:
    token = rules._CURRENT.set(until)
    try:
        yield until
    finally:
        rules._CURRENT.reset(token)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_every_operation_and_argument_has_help(operation: Operation) -> None:
    assert operation.help.endswith(".")
    assert is_dataclass(operation.output)
    assert all(one.arg.help.endswith(".") for one in operation.fields)


def test_odd_ids_raise_engram_errors(mem: Engram) -> None:
    for arguments in ({"id": ""}, {"id": "x" * 100_000}, {"id": "\x00"}):
        with pytest.raises(EngramError):
            OPERATIONS["get"].call(mem, read(OPERATIONS["get"], arguments))
