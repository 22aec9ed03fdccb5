"""A token of one agent reaches nothing of another, through any operation on any face. M12, §10.13

Ada has left the same strange word in all that her verbs keep. Rex, who may write, tries every operation with her ids, cursors, box
numbers, categories, names and words. What he is answered, or refused with, holds neither the word nor an id of hers, and what is
hers is afterwards as it was. An operation that is added fails here until it is tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from recall.minds import open_mind
from serve.served import Api, serving
from serve.talking import server_of, talk
from serve.test_parity import request

from engram.engine import Engram
from engram.errors import EngramError
from engram.serve.mcp.profiles import tools_of
from engram.serve.operations import OPERATIONS, Operation, rationing, read
from engram.types import Policy, Reader, Role, Scope

WORD = "zqorvath"
ADA = Reader(Scope(agent="ada"))
OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
ROLES = {
    "agent": Reader(Scope(agent="rex")),
    "guest": Reader(Scope(agent="rex", channel="web"), role=Role.GUEST, grants_write=True),
}


@dataclass(frozen=True)
class Hers:
    """What Ada has that can be named."""

    memory: str
    other: str
    turn_memory: str
    episode: str
    skill: str
    box: int
    trace: int
    cursor: str
    change: int

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.memory, self.other, self.turn_memory, self.episode, self.skill)


def lived(ada: Engram) -> Hers:
    one = ada.remember(f"Her {WORD} is in the cellar", category="hersalone", attributes={"who": WORD})
    two = ada.remember(f"Nobody knows of {WORD} Blimm")
    ada.update(two.id, text=f"Nobody knows of {WORD} Blimm yet")
    ada.relate(one.id, two.id)
    said = ada.observe(user=f"My brother {WORD.title()} Blimm moved to Aalborg in March.").ids[0]
    ada.learn(WORD, "works at", "the harbour")
    for _ in range(3):
        with ada.episode(f"Deploy {WORD}", participants=(WORD,)) as course:
            course.event("did", f"build {WORD}")
            course.event("did", f"push {WORD}")
    with ada.episode(f"Break {WORD}") as course:
        course.event("tried", f"bend {WORD}", ok=False)
        course.outcome("failure", f"{WORD} broke")
    ada.learn_skills()
    ada._vault.store.wondered(ada.reader, f"where is {WORD} from?")
    ada.working.attend(f"Think of {WORD}")
    ada.working.checkpoint(f"Tune {WORD}")
    ada.forget(two.id, reason=f"{WORD} asked")
    box = ada.boxes()[0]
    page = ada.list(limit=1)
    assert page.cursor is not None
    going = ada.episode(f"Paint {WORD}")
    skill = ada.skills(f"Deploy {WORD}")[0].skill.id
    return Hers(one.id, two.id, said, going.id, skill, box.key, box.trace, page.cursor, 0)


def attempts(hers: Hers, mine: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """For every operation, calls that name what is Ada's. Empty: it takes nothing by which it could be named."""
    by_id = [{"id": one} for one in hers.ids]
    filters = {"categories": ["hersalone"], "attributes": {"who": WORD}, "statuses": ["active", "archived"]}
    return {
        "remember": [{"text": f"Nobody knows of {WORD} Blimm", "attributes": {"agent": "ada"}}],
        "observe": [{"user": f"My brother {WORD.title()} Blimm moved to Aalborg in March."}],
        "ingest": [{"turns": [{"text": f"I met {WORD} again.", "session": "s", "ref": "r"}]}],
        "update": [{**one, "text": "mine now"} for one in by_id] + [{**one, "tier": "confidential"} for one in by_id],
        "forget": [{"ids": [one]} for one in hers.ids] + [{"ids": [mine, hers.memory], "erase": True, "dry_run": True}],
        "restore": by_id,
        "pin": by_id,
        "promote": by_id,
        "demote": by_id,
        "relate": [{"source": mine, "target": hers.memory}, {"source": hers.memory, "target": mine}],
        "feedback": [{**one, "helpful": False, "query": WORD} for one in by_id] + [{**one, "correction": "no"} for one in by_id],
        "recall": [{"query": WORD, "explain": True}, {"query": "who moved to Aalborg?", **filters}],
        "explain": [{"query": WORD, "id": one} for one in hers.ids],
        "context": [{"message": f"Tell me of {WORD}", "budget": 500}],
        "reason": [{"question": f"Where does {WORD} live and why?"}],
        "list": [{"cursor": hers.cursor}, {"category": "hersalone", "status": "any"}, {"attributes": {"who": WORD}}],
        **{name: by_id for name in ("get", "show", "versions", "words", "standing", "traverse", "episode")},
        "edges": [{"ids": list(hers.ids)}],
        "boxes": [{}, {"trace": hers.trace}],
        "box": [{"key": hers.box}],
        "events": [{"after": hers.change, "limit": 100}],
        "entity": [{"name": WORD}, {"name": f"{WORD} blimm"}],
        "entities": [{}],
        "timeline": [{"about": WORD}],
        "learn": [{"subject": WORD, "predicate": "works at", "object": "nowhere"}],
        "beliefs": [{"subject": WORD, "past": True, "inferred": True}],
        "begin_episode": [{"goal": f"Deploy {WORD}", "caused_by": [hers.episode]}, {"goal": "x y", "skill": hers.skill}],
        "record": [{**one, "type": "did", "text": "meddled"} for one in by_id],
        "end_episode": [{**one, "outcome": "failure"} for one in by_id],
        "episodes": [{"similar": f"Deploy {WORD}"}, {"before": hers.episode}, {"sequence": hers.episode}],
        "skills": [{"situation": f"Deploy {WORD}"}],
        "learn_skills": [{}],
        "practise": [{**one, "outcome": "failure", "result": "meddled"} for one in by_id],
        "warnings": [{}, {"about": f"Break {WORD}"}],
        "working": [{}],
        "attend": [],
        "clear_working": [{}],
        "checkpoint": [],
        "resume": [{}],
        "morning": [{}],
        "gaps": [{}],
        "status": [{}],
        "audit": [{"limit": 50}],
        "check": [{}],
        "purge": [{"dimension": "agent", "name": "ada"}, {"dimension": "agent", "name": "ada", "dry_run": True}],
        "backup": [{}],
        "backups": [{}],
    }


Call = Callable[[Operation, Mapping[str, Any]], str]


def library(rex: Engram) -> Iterator[Call]:
    def call(operation: Operation, given: Mapping[str, Any]) -> str:
        try:
            return json.dumps(rationing.answer(operation, rex, read(operation, given)))
        except EngramError as problem:
            return str(problem)

    yield call


def http(rex: Engram) -> Iterator[Call]:
    reader, owner = rex.reader, rex.as_reader(OWNER)
    granted = owner.grant("rex", scope=reader.scope, role=reader.role, writes=True)
    with serving(owner) as server:
        api = Api(server.port, granted.secret)
        yield lambda operation, given: _plain(request(api, operation, given, as_it_is=True))


def _plain(answer: Any) -> str:
    return str(answer.body.decode())


def mcp(rex: Engram) -> Iterator[Call]:
    server = server_of(rex, "full")
    names = {tool.operation: tool.name for tool in tools_of("full")}

    def call(operation: Operation, given: Mapping[str, Any]) -> str:
        name = names.get(operation.name, f"memory_{operation.name}")
        answer = talk(server, lambda client: client.call_tool(name, dict(given)))
        return f"{[one.text for one in answer.content]} {answer.structured_content}"

    yield call


FACES = {"library": library, "http": http, "mcp": mcp}


@pytest.fixture
def ada(tmp_path: Path) -> Iterator[Engram]:
    settings = {"ask_per_minute": 0, "answer_grid_ms": 0, "skill_episodes": 3, "serve_rate": 1_000_000}
    with open_mind(tmp_path / "vault", agent="ada", **settings) as mem:
        yield mem


def state_of(ada: Engram) -> tuple[Any, ...]:
    """All that is hers, as she sees it."""
    held = [one for one in ada.list(status=None, limit=200)]
    return (
        held,
        [ada.versions(one.id) for one in held],
        [ada.edges(one.id) for one in held],
        ada.episodes(limit=50),
        ada._vault.store.skills(ada.reader),
        ada.beliefs(WORD, past=True),
        ada.resume().goal,
    )


def test_every_operation_is_tried() -> None:
    hers = Hers("a", "b", "c", "d", "e", 1, 1, "cursor", 0)
    assert attempts(hers, "mine").keys() == OPERATIONS.keys()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("face", FACES)
def test_a_token_of_one_agent_reaches_nothing_of_another(ada: Engram, face: str, role: str) -> None:
    hers = lived(ada)
    rex = ada.as_reader(ROLES[role])
    mine = rex.remember("Rex was here").id
    before = state_of(ada)
    (call,) = (made for made in [next(calls := FACES[face](rex))])
    for name, tries in attempts(hers, mine).items():
        for given in tries:
            told = call(OPERATIONS[name], given)
            for own in _spoken(given):
                told = told.replace(own, "")
            assert not [one for one in hers.ids if one in told], (name, given)
            assert WORD not in told.lower(), (name, given, told)
    assert state_of(ada) == before
    calls.close()


def _spoken(given: Mapping[str, Any]) -> list[str]:
    """What was said in asking may be said in answering."""
    words = [value for value in given.values() if isinstance(value, str)]
    return sorted(words, key=len, reverse=True)
