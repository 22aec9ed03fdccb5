"""A token of one agent reaches nothing of another, through any operation on any face. M12, §10.13

Ada has stored the same unusual words by every verb that stores something. Rex, who may write, calls every operation with her ids,
cursors, boxes, categories, names and words. No answer and no error holds her words or an id of hers, and her data is unchanged
afterwards. A new operation fails here until it is tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from recall.vaults import open_engram
from serve.served import Api, serving
from serve.talking import server_of, talk
from serve.test_parity import ask

from engram.engine import Engram
from engram.errors import EngramError
from engram.serve.mcp import resources
from engram.serve.mcp.profiles import tools_of
from engram.serve.operations import OPERATIONS, Operation, limits, read
from engram.types import Policy, Reader, Role, Scope

WORD, SECRET = "zqorvath", "mulfrid"
"""A word of Ada's memories that Rex searches for, and a secret that stands beside it in all of them."""

ADA = Reader(Scope(agent="ada"))
OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
ROLES = {
    "agent": Reader(Scope(agent="rex")),
    "guest": Reader(Scope(agent="rex", channel="web"), role=Role.GUEST, may_write=True),
}


@dataclass(frozen=True)
class Hers:
    """Ids and names of everything that Ada stored."""

    memory: str
    other: str
    turn_memory: str
    episode: str
    skill: str
    box: int
    trace: int
    cursor: str
    change: int
    dream: str
    decision: str
    piece: str
    session: str

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.memory, self.other, self.turn_memory, self.episode, self.skill)


def lived(ada: Engram) -> Hers:
    one = ada.remember(f"Her {WORD} {SECRET} is in the cellar", category="hersalone", attributes={"who": SECRET})
    two = ada.remember(f"Nobody knows of {WORD} {SECRET} Blimm")
    ada.update(two.id, text=f"Nobody knows of {WORD} {SECRET} Blimm yet")
    ada.relate(one.id, two.id)
    said = ada.observe(user=f"My brother {WORD.title()} Mulfrid moved to Aalborg in March. Thanks, {SECRET}!").ids[0]
    dropped = ada.dropped()[0]
    assert SECRET in dropped.words, "there is something to be found"
    ada.learn(WORD, "works at", SECRET)
    for _ in range(3):
        with ada.episode(f"Deploy {WORD} {SECRET}", participants=(SECRET,)) as course:
            course.event("did", f"build {WORD} {SECRET}")
            course.event("did", f"push {WORD} {SECRET}")
    with ada.episode(f"Break {WORD} {SECRET}") as course:
        course.event("tried", f"bend {WORD} {SECRET}", ok=False)
        course.outcome("failure", f"{WORD} {SECRET} broke")
    ada.learn_skills()
    ada._vault.store.gaps.put(ada.reader, f"where is {WORD} {SECRET} from?")
    ada.working.attend(f"Think of {WORD} {SECRET}")
    ada.working.checkpoint(f"Tune {WORD} {SECRET}")
    ada.forget(two.id, reason=f"{WORD} {SECRET} asked")
    box = ada.boxes()[0]
    page = ada.list(limit=1)
    assert page.cursor is not None
    going = ada.episode(f"Paint {WORD} {SECRET}")
    skill = ada.skills(f"Deploy {WORD} {SECRET}")[0].skill.id
    return Hers(
        *(one.id, two.id, said, going.id, skill, box.key, box.trace, page.cursor, 0, ada.dream().pass_id),
        ada.decide_entity(WORD, "alias", f"{SECRET} the second", reason=SECRET).id,
        *(dropped.piece, dropped.session),
    )


def attempts(hers: Hers, mine: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Calls by operation that try to reach Ada's data. Empty for operations whose arguments cannot name any."""
    by_id = [{"id": one} for one in hers.ids]
    filters = {"categories": ["hersalone"], "attributes": {"who": SECRET}, "statuses": ["active", "archived"]}
    return {
        "remember": [{"text": f"Nobody knows of {WORD} Blimm", "attributes": {"agent": "ada"}}],
        "observe": [{"user": f"My brother {WORD.title()} Blimm moved to Aalborg in March."}],
        "ingest": [{"turns": [{"text": f"I met {WORD} again.", "session": "s", "ref": "r"}]}],
        "dropped": [{}, {"session": hers.session}],
        "keep": [{"piece": hers.piece}, {"piece": f"{hers.piece.partition(':')[0]}:0-200"}],
        "update": [{**one, "text": "mine now"} for one in by_id] + [{**one, "tier": "confidential"} for one in by_id],
        "forget": [{"ids": [one]} for one in hers.ids] + [{"ids": [mine, hers.memory], "erase": True, "dry_run": True}],
        "restore": by_id,
        "pin": by_id,
        "promote": by_id,
        "demote": by_id,
        "review": [{**one, "decision": "invalidate"} for one in by_id],
        "relate": [{"source": mine, "target": hers.memory}, {"source": hers.memory, "target": mine}],
        "feedback": [{**one, "helpful": False, "query": WORD} for one in by_id] + [{**one, "correction": "no"} for one in by_id],
        "recall": [{"query": WORD, "explain": True}, {"query": "who moved to Aalborg?", **filters}],
        "explain": [{"query": WORD, "id": one} for one in hers.ids],
        "context": [{"message": f"Tell me of {WORD}", "budget": 500}],
        "reason": [{"question": f"Where does {WORD} live and why?"}],
        "list": [{"cursor": hers.cursor}, {"category": "hersalone", "status": "any"}, {"attributes": {"who": SECRET}}],
        **dict.fromkeys(("get", "show", "versions", "words", "standing", "traverse", "episode"), by_id),
        "edges": [{"ids": list(hers.ids)}],
        "boxes": [{}, {"trace": hers.trace}],
        "box": [{"key": hers.box}],
        "events": [{"after": hers.change, "limit": 100}],
        "entity": [{"name": WORD}, {"name": f"{WORD} blimm"}],
        "entities": [{}],
        "timeline": [{"about": WORD}],
        "decide_entity": [{"name": WORD, "action": "alias", "other": "mine"}],
        "undo_entity_decision": [{"id": hers.decision}],
        "entity_decisions": [{}, {"name": WORD}],
        "learn": [
            {"subject": WORD, "predicate": "works at", "object": "nowhere"},
            {"subject": WORD, "predicate": "works at", "object": "nowhere", "memory": hers.memory},
        ],
        "unlearn": [{**one, "subject": WORD, "predicate": "works at"} for one in by_id],
        "path": [{"start": WORD, "end": SECRET}, {"start": SECRET, "end": WORD}],
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
        "consolidate": [{}, {"dry_run": True}],
        "dream": [{}],
        "dreams": [{}],
        "undo_dream": [{"id": hers.dream}],
        "knows": [{}, {"subject": WORD}, {"subject": f"{WORD} {SECRET}"}, {"subject": f"Where is {WORD} from?"}],
        "status": [{}],
        "audit": [{"limit": 50}],
        "check": [{}],
        "purge": [{"dimension": "agent", "name": "ada"}, {"dimension": "agent", "name": "ada", "dry_run": True}],
        "backup": [{}],
        "backups": [{}],
        "doctor": [{}],
    }


Call = Callable[[Operation, Mapping[str, Any]], str]


def library(rex: Engram) -> Iterator[Call]:
    def call(operation: Operation, given: Mapping[str, Any]) -> str:
        try:
            return json.dumps(limits.answer(operation, rex, read(operation, given)))
        except EngramError as problem:
            return str(problem)

    yield call


def http(rex: Engram) -> Iterator[Call]:
    reader, owner = rex.reader, rex.as_reader(OWNER)
    granted = owner.grant("rex", scope=reader.scope, role=reader.role, writes=True)
    with serving(owner) as server:
        api = Api(server.port, granted.secret)
        yield lambda operation, given: ask(api, operation, given).body.decode()


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
    settings = {"ask_per_minute": 0, "guest_ask_per_minute": 0, "answer_grid_ms": 0, "serve_rate": 1_000_000}
    with open_engram(tmp_path / "vault", agent="ada", **settings) as mem:
        yield mem


def state_of(ada: Engram) -> tuple[Any, ...]:
    """Everything that Ada has, as she sees it."""
    held = [
        replace(one, accesses=0, accessed_at=None, strength=0.0) for one in ada.list(status=None, limit=200)
    ]  # her own reads change these
    return (
        held,
        [ada.versions(one.id) for one in held],
        [ada.edges(one.id) for one in held],
        [(one.id, one.goal, one.outcome, one.result, one.events) for one in ada.episodes(limit=50)],
        [(one.id, one.name, one.steps, one.practice) for one in ada._vault.store.skills.select(ada.reader)],
        ada.beliefs(WORD, past=True),
        ada.resume().goal,
    )


def test_every_operation_is_tried_for_isolation() -> None:
    hers = Hers("a", "b", "c", "d", "e", 1, 1, "cursor", 0, "f", "g", "1:0-5", "s")
    assert attempts(hers, "mine").keys() == OPERATIONS.keys()


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("face", FACES)
def test_a_token_of_one_agent_reaches_nothing_of_another(ada: Engram, face: str, role: str) -> None:
    hers = lived(ada)
    rex = ada.as_reader(ROLES[role])
    mine = rex.remember("Rex was here").id
    before, ids = state_of(ada), [one.id for one in ada.list(status=None, limit=200)]
    tries = attempts(hers, mine)
    assert SECRET in str(ada.recall(WORD).hits), "there is something to be found"
    with contextmanager(FACES[face])(rex) as call:
        # The audit comes first: later it would hold what Rex himself named.
        for name in sorted(tries, key=lambda name: (name != "audit", name == "begin_episode")):
            for given in tries[name]:
                told, said = call(OPERATIONS[name], given), json.dumps(given)
                assert SECRET in said or SECRET not in told.lower(), (name, given, told)
                assert not [one for one in ids if one in told and one not in said], (name, given, told)
    assert state_of(ada) == before


def others(hers: Hers) -> Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]:
    """Calls of MCP tools that are no operations, by profile and name."""
    about = [{"entityName": WORD, "contents": ["meddled"]}]
    gone = [{"entityName": WORD, "observations": [f"Her {WORD} {SECRET} is in the cellar"]}]
    link = [{"from": WORD, "to": f"{WORD} blimm", "relationType": "knows"}]
    return {
        "chatgpt": {"search": [{"query": WORD}], "fetch": [{"id": one} for one in hers.ids]},
        "memory-server": {
            "read_graph": [{}],
            "open_nodes": [{"names": [WORD, "Rex"]}],
            "search_nodes": [{"query": WORD}],
            "create_entities": [{"entities": [{"name": "Rex", "entityType": "agent", "observations": ["was here"]}]}],
            "create_relations": [{"relations": link}],
            "add_observations": [{"observations": about}],
            "delete_observations": [{"deletions": gone}],
            "delete_relations": [{"relations": link}],
            "delete_entities": [{"entityNames": [WORD]}],
        },
    }


@pytest.mark.parametrize("profile", ["chatgpt", "memory-server"])
def test_mcp_tools_resources_and_prompts_reach_nothing_of_another_agent(ada: Engram, profile: str) -> None:
    hers, rex = lived(ada), ada.as_reader(ROLES["agent"])
    before, ids = state_of(ada), [one.id for one in ada.list(status=None, limit=200)]
    tries = others(hers)[profile]
    assert tries.keys() == {tool.name for tool in tools_of(profile)}
    server = server_of(rex, profile)
    for name, calls in tries.items():
        for given in calls:
            answer = talk(server, lambda client, name=name, given=given: client.call_tool(name, dict(given)))
            told = f"{[one.text for one in answer.content]} {answer.structured_content}".lower()
            assert SECRET in json.dumps(given) or SECRET not in told, (name, given, told)
    places = [f"memory://memory/{one}" for one in hers.ids]
    for place in (*places, *(one["uri"] for one in resources.listing(rex.reader))):
        told = _attempted(lambda place=place: resources.read_text(rex, place))
        assert SECRET not in told.lower(), place
        assert not [one for one in ids if one in told and one not in place], place
    assert SECRET not in _attempted(lambda: resources.start(rex, f"Deploy {WORD}")).lower()
    assert state_of(ada) == before


def _attempted(work: Callable[[], str]) -> str:
    try:
        return work()
    except EngramError as problem:
        return str(problem)
