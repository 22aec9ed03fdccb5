"""Programs written for mem0 run over Engram, and no user sees another's memories."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from models.servers import serving
from models.test_language_models import speaking, statements
from recall.vaults import KEY, hashing_encoder, store_of

import engram
from engram.adapters.mem0 import AsyncMemory, Memory, settings_of
from engram.env import Env
from engram.errors import EngramError
from engram.models.embedders import CallableEmbedder

GIVEN: dict[str, object] = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}

CHAT = [
    {"role": "system", "content": "You are a travel agent."},
    {"role": "user", "content": "Hi, I'm planning a trip. I am vegetarian and allergic to nuts."},
    {"role": "assistant", "content": "Great! Any preferences for the flight?"},
    {"role": "user", "content": "I always take an aisle seat. My sister Carla lives in Lisbon."},
]


@pytest.fixture
def m(tmp_path: Path, env: Env) -> Iterator[Memory]:
    with Memory(path=tmp_path / "vault", key=KEY, settings=GIVEN, embedder=hashing_encoder(), env=env) as opened:
        yield opened


# ── the quickstart, older and newer ────────────────────────────────────────────────────────────────────────────────────


def test_mem0s_older_calling_convention_works(m: Memory) -> None:
    added = m.add(CHAT, user_id="alice", metadata={"category": "travel", "year": 2026})
    assert added["results"]
    assert {one["event"] for one in added["results"]} == {"ADD"}
    related = m.search(query="Where does her sister live?", user_id="alice", limit=3)
    first = related["results"][0]
    assert "Lisbon" in first["memory"]
    assert first["metadata"] == {"category": "travel", "year": 2026}
    assert (first["user_id"], first["role"]) == ("alice", "user")
    assert 0 <= first["score"] <= 1
    everything = m.get_all(user_id="alice")["results"]
    assert {one["id"] for one in everything} == {one["id"] for one in added["results"]}
    assert "score" not in everything[0]


def test_mem0s_newer_calling_convention_works(m: Memory) -> None:
    m.add("I prefer window seats and tea", user_id="bob", infer=False)
    found = m.search("tea", filters={"user_id": "bob"}, top_k=3)["results"]
    assert [one["memory"] for one in found] == ["I prefer window seats and tea"]
    assert m.get_all(filters={"user_id": "bob"}, top_k=1)["results"][0]["id"] == found[0]["id"]
    assert set(found[0]) >= {"id", "memory", "hash", "metadata", "score", "created_at", "updated_at", "user_id", "role"}


def test_mem0s_example_of_a_chat_works(m: Memory) -> None:
    """The loop of mem0's own example: search, build a prompt, answer, add."""

    def chat_with_memories(message: str, user_id: str = "default_user") -> str:
        relevant = m.search(query=message, filters={"user_id": user_id}, top_k=3)
        memories = "\n".join(f"- {entry['memory']}" for entry in relevant["results"])
        answer = f"known: {memories}"
        m.add([{"role": "user", "content": message}, {"role": "assistant", "content": answer}], user_id=user_id)
        return answer

    assert chat_with_memories("My dog is called Bolt and he is a greyhound.") == "known: "
    assert "Bolt" in chat_with_memories("What is my dog called?")


def test_a_memory_is_read_changed_and_deleted_and_history_has_each_event(m: Memory, clock: HandClock) -> None:
    kept = m.add("Likes to play tennis", user_id="alice", infer=False, metadata={"sport": True})["results"][0]
    clock.advance(60)
    assert m.update(memory_id=kept["id"], data="Likes to play tennis on weekends") == {"message": "Memory updated successfully!"}
    m.update(kept["id"], metadata={"day": "Saturday"})
    shown = m.get(kept["id"])
    assert shown is not None
    assert shown["memory"] == "Likes to play tennis on weekends"
    assert shown["metadata"] == {"sport": True, "day": "Saturday"}
    assert shown["updated_at"] > shown["created_at"]
    clock.advance(60)
    assert m.delete(memory_id=kept["id"]) == {"message": "Memory deleted successfully!"}
    assert m.get(kept["id"]) is None
    with pytest.raises(ValueError, match="not found"):
        m.update(kept["id"], data="Likes to swim")
    told = m.history(memory_id=kept["id"])
    assert [(one["event"], one["old_memory"], one["new_memory"], one["is_deleted"]) for one in told] == [
        ("ADD", None, "Likes to play tennis", False),
        ("UPDATE", "Likes to play tennis", "Likes to play tennis on weekends", False),
        ("DELETE", "Likes to play tennis on weekends", None, True),
    ]
    assert set(told[0]) == {
        "id", "memory_id", "old_memory", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role",
    }  # fmt: skip


def test_a_challenged_memory_is_read_and_changed(m: Memory) -> None:
    kept = m.add("Likes to play tennis", user_id="alice", infer=False)["results"][0]["id"]
    m._mem.review(kept, "challenge")
    assert [one["id"] for one in m.get_all(user_id="alice")["results"]] == [kept]
    m.update(kept, data="Likes to play squash")
    shown = m.get(kept)
    assert shown is not None
    assert shown["memory"] == "Likes to play squash"


def test_messages_are_taken_in_every_shape(m: Memory) -> None:
    parts = [{"type": "text", "text": "The gate is B12."}, {"type": "image_url", "image_url": {"url": "https://x"}}]
    for given in ("The gate is B12.", {"role": "user", "content": "The gate is B12."}, [{"role": "user", "content": parts}]):
        m.add(given, run_id="trip", infer=False)  # type: ignore[arg-type]
    assert [one["memory"] for one in m.get_all(run_id="trip")["results"]] == ["The gate is B12."]
    with pytest.raises(ValueError, match="messages must be"):
        m.add(7, user_id="alice")  # type: ignore[arg-type]


def test_a_verbatim_message_keeps_its_role_and_actor(m: Memory) -> None:
    said = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "bob", "content": "I am allergic to nuts"},
        {"role": "assistant", "content": "I will avoid recipes with nuts"},
    ]
    told = m.add(said, user_id="alice", infer=False, metadata={"user_id": "mallory", "topic": "food"})["results"]
    assert [{"id", "memory", "event", "actor_id", "role"} == one.keys() for one in told] == [True, True]
    assert [(one["memory"], one["role"], one["actor_id"]) for one in told] == [
        ("I am allergic to nuts", "user", "bob"),
        ("I will avoid recipes with nuts", "assistant", None),
    ]
    shown = m.get(told[0]["id"])
    assert shown is not None
    assert (shown["role"], shown["actor_id"], shown["user_id"], shown["metadata"]) == ("user", "bob", "alice", {"topic": "food"})
    assert shown["score"] is None
    assert [one["role"] for one in m.history(told[1]["id"])] == ["assistant"]
    assert m.search("nuts", filters={"user_id": "alice", "role": "assistant"})["results"][0]["id"] == told[1]["id"]


def test_given_timestamps_and_reference_dates_are_used(m: Memory) -> None:
    m.add("I bought a red boat yesterday.", user_id="alice", timestamp=1_700_000_000)  # a day of November
    m.add("The boat sank", user_id="alice", timestamp="2025-03-02T10:00:00Z", infer=False)
    when = {one.text: one.happened_at for one in m._mem.list()}
    assert sorted(str(at)[:10] for at in when.values()) == ["2023-11-13", "2025-03-02"]
    asked = {"filters": {"user_id": "alice"}, "version": "v2", "reference_date": "2025-03-03"}
    assert "sank" in m.search("what became of the boat yesterday?", **asked)["results"][0]["memory"]
    with pytest.raises(ValueError, match="a time is"):
        m.add("x", user_id="alice", timestamp="soon")


class Configuration:
    """A stand-in for mem0's own configuration, a pydantic model with `model_dump`."""

    def model_dump(self) -> dict[str, Any]:
        return {"version": "v1.1", "vector_store": {"provider": "qdrant", "config": {"collection_name": "theirs"}}, "llm": None}


def test_a_configuration_may_be_mem0s_own_object(tmp_path: Path, env: Env) -> None:
    with Memory(Configuration(), path=tmp_path / "v", settings={"model": "none"}, env=env) as m:
        m.add("I like tea", user_id="alice", infer=False)
        assert m._mem.list()[0].scope.project == "theirs"


def test_a_named_speaker_is_the_actor(m: Memory) -> None:
    m.add([{"role": "user", "name": "Dora", "content": "I moved to Porto in June."}], run_id="group")
    found = m.search("Who moved to Porto?", run_id="group")["results"][0]
    assert (found["actor_id"], found["role"]) == ("Dora", "user")


def test_procedural_memories_and_expiration_dates_work(m: Memory, clock: HandClock) -> None:
    m.add(CHAT, agent_id="planner", memory_type="procedural_memory")
    assert "aisle" in m.get_all(agent_id="planner")["results"][0]["memory"]
    m.add("The voucher is valid", user_id="alice", infer=False, expiration_date="2026-03-05")
    assert len(m.get_all(user_id="alice")["results"]) == 1
    clock.advance(3 * 86400)
    assert m.get_all(user_id="alice")["results"] == []
    assert m.search("voucher", user_id="alice")["results"] == []
    assert len(m.get_all(user_id="alice", show_expired=True)["results"]) == 1


# ── whose it is ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_users_do_not_see_each_other(m: Memory) -> None:
    m.add("The safe is behind the painting", user_id="alice", infer=False)
    m.add("The safe is behind the painting", user_id="bob", infer=False)
    m.add("The safe is in the cellar", user_id="alice", agent_id="rex", infer=False)
    assert {one["user_id"] for one in m.search("where is the safe?", user_id="bob")["results"]} == {"bob"}
    assert len(m.get_all(user_id="bob")["results"]) == 1
    m.delete_all(user_id="bob")
    assert m.get_all(user_id="bob")["results"] == []
    assert len(m.get_all(user_id="alice")["results"]) == 2


def test_several_ids_narrow_a_search(m: Memory) -> None:
    for ids in ({"user_id": "alice"}, {"user_id": "alice", "agent_id": "rex"}, {"agent_id": "rex", "run_id": "r1"}):
        m.add(f"A note of {sorted(ids.values())}", infer=False, **ids)
    assert len(m.get_all(user_id="alice")["results"]) == 2
    assert len(m.get_all(agent_id="rex")["results"]) == 2
    assert len(m.get_all(filters={"user_id": "alice", "agent_id": "rex"})["results"]) == 1
    assert len(m.get_all(filters={"AND": [{"agent_id": "rex"}, {"run_id": "r1"}]})["results"]) == 1


@pytest.mark.parametrize("call", ["add", "search", "get_all", "delete_all"])
def test_a_call_without_any_id_is_refused(m: Memory, call: str) -> None:
    words = ["text"] if call in ("add", "search") else []
    with pytest.raises(ValueError, match="At least one of"):
        getattr(m, call)(*words)
    with pytest.raises(ValueError, match="not empty"):
        getattr(m, call)(*words, user_id=" ")


def test_memories_of_other_programs_stay_out_of_reach(tmp_path: Path, env: Env) -> None:
    with engram.open(tmp_path / "vault", key=KEY, settings=GIVEN, user="alice") as mem:
        own = mem.remember("Kept by another program")
    with Memory(path=tmp_path / "vault", key=KEY, settings=GIVEN, env=env) as m:
        m.add("Kept by this one", user_id="alice", infer=False)
        assert [one["memory"] for one in m.get_all(user_id="alice")["results"]] == ["Kept by this one"]
        assert m.get(own.id) is None
        assert m.history(own.id) == []
        for verb in (m.delete, m.update):
            with pytest.raises(ValueError, match="not found"):
                verb(own.id, *(["x"] if verb == m.update else []))
        assert m.add("What is the weather like?", user_id="alice", run_id="r")["results"] == []
        m.reset()
        assert m.get_all(user_id="alice")["results"] == []
        assert store_of(m._mem).turns.before(m._writer({"user_id": "alice", "run_id": "r"}).reader, "r", 1 << 40, limit=5) == []
    with engram.open(tmp_path / "vault", key=KEY, settings=GIVEN, user="alice") as mem:
        assert [one.text for one in mem.list()] == ["Kept by another program"]


# ── filters and configurations ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"n": 2}, [2]),
        ({"n": {"gte": 2}}, [2, 3]),
        ({"n": {"gt": 1, "lt": 3}}, [2]),
        ({"n": {"in": [1, 3]}}, [1, 3]),
        ({"n": {"ne": 2}}, [1, 3]),
        ({"word": {"icontains": "THING"}}, [1, 2, 3]),
        ({"word": "*"}, [1, 2, 3]),
        ({"OR": [{"n": 1}, {"n": 3}]}, [1, 3]),
        ({"NOT": [{"n": 1}]}, [2, 3]),
        ({"AND": [{"n": {"lte": 2}}, {"word": "thing 1"}]}, [1]),
        ({"n": [1, 3]}, [1, 3]),
        ({"n": True}, []),
        ({"n": {"gt": "text"}}, []),
        ({"missing": 1}, []),
    ],
)
def test_filters_select_by_metadata(m: Memory, filters: dict[str, Any], kept: list[int]) -> None:
    for n in (1, 2, 3):
        m.add(f"Note {n} on tea", user_id="alice", metadata={"n": n, "word": f"thing {n}"}, infer=False)
    for found in (m.get_all(filters={"user_id": "alice", **filters}), m.search("tea", filters={"user_id": "alice", **filters})):
        assert sorted(one["metadata"]["n"] for one in found["results"]) == kept


def test_a_filter_finds_a_memory_behind_many_nearer_ones(m: Memory) -> None:
    m.add("Far off there is a teapot", user_id="alice", metadata={"n": 49, "topic": "rare"}, infer=False)
    for n in range(49):
        m.add(f"I like tea number {n}", user_id="alice", metadata={"n": n, "topic": "tea"}, infer=False)
    for filters in ({"topic": "rare"}, {"AND": [{"n": 49}]}, {"n": {"gte": 49}}):
        assert len(m.search("tea number", user_id="alice", filters=filters, limit=3)["results"]) == 1


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"n": {"near": 3}}, "unsupported"),
        ({"OR": []}, "not empty"),
        ({"NOT": ["n"]}, "a list of conditions"),
        ({"AND": None}, "a list of conditions"),
    ],
)
def test_an_unknown_filter_is_refused(m: Memory, filters: dict[str, Any], told: str) -> None:
    m.add("A note", user_id="alice", infer=False)
    with pytest.raises(ValueError, match=told):
        m.get_all(filters={"user_id": "alice", **filters})


@pytest.mark.parametrize("wrong", [{"query": 7}, {"query": None}, {"query": " "}, {"threshold": 2}, {"threshold": "high"}])
def test_an_invalid_question_is_refused_as_mem0_does(m: Memory, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be a"):
        m.search(**{"query": "tea", "filters": {"user_id": "alice"}, **wrong})


def test_ids_may_be_the_numbers_of_rows(m: Memory) -> None:
    m.add("I like tea", user_id=42, infer=False)
    assert [one["user_id"] for one in m.get_all(filters={"user_id": 42})["results"]] == ["42"]
    assert m.search("tea", user_id="42")["results"]
    m.delete_all(user_id=42)
    assert m.get_all(user_id="42")["results"] == []


def test_a_score_is_explained_by_mem0s_names(m: Memory) -> None:
    m.add("I like tea", user_id="alice", infer=False)
    found = m.search("tea", filters={"user_id": "alice"}, explain=True, threshold=0.1)["results"][0]
    details = found["score_details"]
    assert details.keys() >= {"semantic_score", "bm25_score", "entity_boost", "raw_score", "max_possible_score", "threshold"}
    assert (details["final_score"], details["threshold"]) == (found["score"], 0.1)
    assert details["semantic_score"] > 0


def test_long_texts_and_long_metadata_are_stored(m: Memory) -> None:
    text, source = "The harbour log says wind. " * 1000, "q" * 5000
    kept = m.add(text, user_id="alice", infer=False, metadata={"source": source, "actor_id": "mallory"})["results"][0]
    shown = m.get(kept["id"])
    assert shown is not None
    assert (shown["memory"], shown["metadata"]) == (text, {"source": source})
    assert "actor_id" not in shown


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"user_id": {"in": ["alice", "bob"]}}, "one call for each id"),
        ({"user_id": "*"}, "one call for each id"),
        ({"OR": [{"user_id": "alice"}, {"user_id": "bob"}]}, "beside OR"),
    ],
)
def test_an_id_with_an_operator_is_refused(m: Memory, filters: dict[str, Any], told: str) -> None:
    for ask in (lambda: m.get_all(filters=filters), lambda: m.search("tea", filters=filters)):
        with pytest.raises(ValueError, match=told):
            ask()


def test_an_impaired_search_without_results_logs_a_warning(tmp_path: Path, env: Env, caplog: pytest.LogCaptureFixture) -> None:
    def broken(texts: Any) -> Any:
        raise OSError

    encoder = CallableEmbedder(broken, name="broken", dimensions=8)
    with Memory(path=tmp_path / "vault", key=KEY, settings=GIVEN, embedder=encoder, env=env) as m:
        m.add("I like tea", user_id="alice", infer=False)
        assert m.search("tea", user_id="alice")["results"]
        assert "could be searched" not in caplog.text
        assert m.search("zyzzyva", user_id="alice")["results"] == []
    assert "not everything could be searched: E3002" in caplog.text


def test_an_invalid_limit_is_refused(m: Memory) -> None:
    m.add("I like tea", user_id="alice", infer=False)
    for wrong in ("5", True, -1, 1.5):
        with pytest.raises(ValueError, match="whole number"):
            m.search("tea", user_id="alice", limit=wrong)  # type: ignore[arg-type]
    assert m.search("tea", filters={"user_id": "alice"}, top_k=0) == m.get_all(user_id="alice", limit=0) == {"results": []}


def test_the_models_of_a_mem0_configuration_are_used(tmp_path: Path, env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-0815")
    told = "The person will move to Bergen in May"
    with serving() as server:
        server.reply = speaking(statements(told))
        config = {
            "vector_store": {"provider": "qdrant", "config": {"collection_name": "trips", "path": str(tmp_path / "vault")}},
            "llm": {
                "provider": "openai",
                "config": {"model": "gpt-5-mini", "api_key": "sk-in-the-file", "openai_base_url": f"{server.url}/v1"},
            },
            "embedder": {"provider": "huggingface", "config": {"model": "any"}},
            "version": "v1.1",
        }
        with Memory.from_config(config, key=KEY, settings=GIVEN, env=env) as m:
            added = m.add("I have decided to move to Bergen in May.", user_id="alice")
        assert told in [one["memory"] for one in added["results"]]
        assert {one.headers["authorization"] for one in server.embedded} == {"Bearer sk-of-the-environment-0815"}
        assert "sk-in-the-file" not in json.dumps([one.body for one in server.asked])
    assert settings_of({"embedder": {"provider": "ollama", "config": {"model": "nomic-embed-text"}}}) == {
        "model": "ollama:nomic-embed-text"
    }


def test_a_database_of_mem0_is_left_alone(tmp_path: Path, env: Env) -> None:
    """mem0 empties its folder when it starts, so a vault inside would be lost."""
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "meta.json").write_text("{}")
    config = {"vector_store": {"provider": "qdrant", "config": {"path": str(tmp_path / "q")}}}
    for _ in range(2):
        with Memory.from_config(config, key=KEY, settings=GIVEN, env=env) as m:
            m.add("I like tea", user_id="alice", infer=False)
    assert [one.name for one in (tmp_path / "q").iterdir()] == ["meta.json"]
    assert (tmp_path / "q-engram" / "vault.db").exists()
    default = {"vector_store": {"provider": "qdrant", "config": {"path": "/tmp/qdrant"}}}  # what mem0's own configuration says
    with Memory(default, key=KEY, settings=GIVEN, env=env):
        assert len(list(Path.home().rglob("vault.db"))) == 1, "where vaults are, and not among what is thrown away"


def test_with_a_graph_configured_relations_are_empty(tmp_path: Path, env: Env) -> None:
    config = {"graph_store": {"provider": "neo4j", "config": {"url": "bolt://x"}}}
    with Memory(config, path=tmp_path / "vault", key=KEY, settings=GIVEN, env=env) as m:
        assert m.add("I like tea", user_id="alice", infer=False)["relations"] == {"deleted_entities": [], "added_entities": []}
        assert m.search("tea", user_id="alice")["relations"] == m.get_all(user_id="alice")["relations"] == []


def test_api_version_1_0_answers_with_lists(tmp_path: Path, env: Env) -> None:
    with Memory({"version": "v1.0"}, path=tmp_path / "vault", key=KEY, settings=GIVEN, env=env) as m:
        m.add("A note", user_id="alice", infer=False)
        assert [one["memory"] for one in m.get_all(user_id="alice")] == ["A note"]


# ── awaiting ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_mem0s_verbs_work_with_await(tmp_path: Path, env: Env) -> None:
    async def day() -> None:
        async with AsyncMemory(path=tmp_path / "vault", key=KEY, settings=GIVEN, env=env) as m:
            await asyncio.gather(*(m.add(f"Note {n} on tea", user_id="alice", infer=False) for n in range(5)))
            assert len((await m.get_all(user_id="alice"))["results"]) == 5
            assert (await m.search("note 3", filters={"user_id": "alice"}))["results"][0]["memory"] == "Note 3 on tea"
        config = {"vector_store": {"config": {"path": str(tmp_path / "vault")}}}
        again = await AsyncMemory.from_config(config, key=KEY, settings=GIVEN, env=env)  # as mem0's own is called
        assert len((await again.get_all(user_id="alice"))["results"]) == 5
        again.close()

    asyncio.run(day())


def test_leaving_the_async_block_does_not_block_the_loop(tmp_path: Path, env: Env) -> None:
    loops: list[bool] = []

    class Watched(AsyncMemory):
        def close(self) -> None:
            super().close()
            loops.append(threading.current_thread() is threading.main_thread())

    async def day() -> None:
        async with Watched(path=tmp_path / "vault", key=KEY, settings=GIVEN, env=env) as m:
            await m.add("A note", user_id="alice", infer=False)

    asyncio.run(day())
    assert loops == [False]


def test_a_closed_memory_does_not_open_the_vault_again(tmp_path: Path, env: Env) -> None:
    async def day() -> None:
        for used in (False, True):
            m = AsyncMemory(path=tmp_path / "vault", key=KEY, settings=GIVEN, env=env)
            if used:
                await m.add("I like tea", user_id="alice")
            m.close()
            with pytest.raises(EngramError, match="closed"):
                await m.add("I like tea", user_id="alice")
            assert (tmp_path / "vault").exists() is used

    asyncio.run(day())


def test_the_async_class_has_every_verb() -> None:
    for name in ("add", "search", "get", "get_all", "update", "delete", "delete_all", "history", "reset"):
        assert inspect.signature(getattr(AsyncMemory, name)) == inspect.signature(getattr(Memory, name))


def test_concurrent_changes_of_metadata_are_both_kept(tmp_path: Path) -> None:
    with Memory(path=tmp_path / "vault", key=KEY, settings={"model": "none"}) as shared:
        ids = [shared.add(f"Desk {number} moved", user_id="ana", infer=False)["results"][0]["id"] for number in range(10)]

        def told(name: str) -> None:
            for one in ids:
                at_once.wait()
                shared.update(one, metadata={name: "yes"})

        at_once = threading.Barrier(3)
        threads = [threading.Thread(target=told, args=(name,)) for name in ("a", "b", "c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert all(shared.get(one)["metadata"].keys() >= {"a", "b", "c"} for one in ids)
