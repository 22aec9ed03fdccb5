"""Language models: both wire protocols against a real server on loopback, structured answers, budgets, and a vault that goes on
by rules while its model is down."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from models.servers import Asked, Reply, Server, probed_too, said, serving
from recall.minds import KEY, texts

import engram
from engram.engine import Engram
from engram.env import Env
from engram.errors import EngramError, GenerationFailed, GeneratorUnavailable
from engram.guard import keychain
from engram.models.budget import of_this_process
from engram.models.chat import model_by
from engram.models.generate import LanguageModel, Request
from engram.models.schema import misfit, value_in
from engram.settings import Settings
from engram.types import Turn

API_KEY = "sk-kwyjibo-0815-4711-abcdef"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
ASK = Request(instructions="Count.", prompt="zqxj words of a memory", schema=SCHEMA)
WEIGHTY = "I have decided to move to Bergen in May."


def speaking(*answers: str, tokens: int = 50) -> Callable[[Asked], Reply]:
    """What the model writes, one after the other and the last for ever, in the protocol it is asked in."""
    left = list(answers)

    def reply(asked: Asked) -> Reply:
        text = left.pop(0) if len(left) > 1 else left[0]
        message = {"role": "assistant", "content": text}
        if asked.path == "/api/chat":
            return said(200, {"message": message, "done": True, "prompt_eval_count": tokens - 10, "eval_count": 10})
        usage = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
        return said(200, {"object": "chat.completion", "choices": [{"index": 0, "message": message}], "usage": usage})

    return reply


def statements(*told: str, **more: Any) -> str:
    rows = [
        {"text": one, "category": "fact", "confidence": 0.9, "turn": 0, "happened_on": None, "facts": [], **more} for one in told
    ]
    return json.dumps({"statements": rows})


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def model(server: Server, env: Env) -> Iterator[Callable[..., LanguageModel]]:
    made: list[LanguageModel] = []

    def make(provider: str = "ollama", key: str = "", **changes: Any) -> LanguageModel:
        url = server.url + ("/v1" if provider == "openai" else "")
        settings = Settings(llm=f"{provider}:m", **{"llm_url": url, **changes})
        found = model_by(lambda: settings, lambda: key, of_this_process(), env)
        assert found is not None
        made.append(found)
        return found

    yield make
    for one in made:
        one.close()


Model = Callable[..., LanguageModel]


# ── the wire ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_both_protocols_are_spoken_with_a_schema(server: Server, model: Model) -> None:
    server.reply = speaking('{"n": 3}')
    assert model("ollama").value(ASK) == model("openai").value(ASK) == {"n": 3}
    ollama, openai = server.embedded
    assert (ollama.path, ollama.body["format"], ollama.body["stream"]) == ("/api/chat", SCHEMA, False)
    assert ollama.body["options"]["num_ctx"] >= 1024
    assert (openai.path, openai.body["response_format"]["json_schema"]["schema"]) == ("/v1/chat/completions", SCHEMA)
    assert openai.body["response_format"]["json_schema"]["strict"] is True
    for one in (ollama, openai):
        assert one.body["model"] == "m"
        assert one.body["messages"] == [{"role": "system", "content": "Count."}, {"role": "user", "content": ASK.prompt}]


def test_an_answer_that_does_not_fit_is_asked_for_once_more(server: Server, model: Model) -> None:
    server.reply = speaking("Here you are: three", '```json\n{"n": 3}\n```')
    assert model().value(ASK) == {"n": 3}
    roles = [one["role"] for one in server.embedded[1].body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "not JSON" in server.embedded[1].body["messages"][-1]["content"]


def test_twice_is_enough_and_the_error_quotes_nothing(server: Server, model: Model) -> None:
    server.reply = speaking('{"n": "zqxj"}')
    with pytest.raises(GenerationFailed) as caught:
        model().value(ASK)
    assert len(server.embedded) == 2
    assert "zqxj" not in str(caught.value)


def test_a_server_that_knows_no_schema_is_asked_in_words(server: Server, model: Model) -> None:
    spoken = speaking('{"n": 3}')

    def reply(asked: Asked) -> Reply:
        return said(400, {"error": "unknown field"}) if "response_format" in asked.body else spoken(asked)

    server.reply = reply
    asked = model("openai")
    assert asked.value(ASK) == asked.value(ASK) == {"n": 3}
    assert ["response_format" in one.body for one in server.embedded] == [True, False, False]
    assert json.dumps(SCHEMA) in server.embedded[1].body["messages"][0]["content"]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"choices": []}', b'{"message": {"content": null}}', b"\xff", b"{" * 100])
@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_an_answer_that_is_none_is_an_error_with_a_code(server: Server, model: Model, content: bytes, provider: str) -> None:
    server.reply = lambda asked: (200, {"Content-Type": "application/json"}, content)
    with pytest.raises(GenerationFailed):
        model(provider).text(ASK)


def test_one_that_is_down_is_not_asked_again_before_its_time(server: Server, model: Model, clock: HandClock) -> None:
    server.reply = probed_too(lambda asked: said(503, None))
    asked = model()
    for _ in range(3):
        with pytest.raises(GeneratorUnavailable, match="503"):
            asked.text(ASK)
    assert len(server.asked) == 1
    clock.advance(30)
    server.reply = speaking("yes")
    assert asked.text(ASK) == "yes"


def test_a_key_goes_into_the_header_and_into_no_log_and_no_error(
    server: Server, model: Model, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.reply = probed_too(lambda asked: said(401, {"error": API_KEY}))
    with pytest.raises(EngramError) as caught:
        model("openai", API_KEY).text(ASK)
    assert server.asked[0].headers["authorization"] == f"Bearer {API_KEY}"
    assert API_KEY not in str(caught.value) + caplog.text
    assert "zqxj" not in str(caught.value) + caplog.text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"llm": "gpt-5"}, "must be `openai:NAME`"),
        ({"llm": "ollama:"}, "must be `openai:NAME`"),
        ({"llm_url": "ftp://x"}, "no http"),
        ({"llm_url": "http://me:secret@127.0.0.1"}, "a name or password"),
    ],
)
def test_what_can_be_no_endpoint_says_so(env: Env, changes: dict[str, str], told: str) -> None:
    settings = Settings(**{"llm": "openai:m", **changes})  # type: ignore[arg-type]
    made = model_by(lambda: settings, lambda: "", of_this_process(), env)
    assert made is not None
    assert told in made.trouble
    assert made.writer.place == "" or "secret" not in made.writer.place


def test_without_a_name_there_is_none(env: Env) -> None:
    assert model_by(Settings, lambda: "", of_this_process(), env) is None


# ── forms ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("text", ['{"n": 1}', ' ```json\n{"n": 1}\n```', 'So: {"n": 1}.', '<think>{"n": 2}</think>{"n": 1}'])
def test_json_is_taken_out_of_words(text: str) -> None:
    assert value_in(text) == {"n": 1}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({"n": 1}, ""),
        ({"n": 1.0}, ""),
        ({}, "lacks 'n'"),
        ({"n": True}, "the answer.n is not of type integer"),
        ({"n": "zqxj"}, "the answer.n is not of type integer"),
        ([], "the answer is not of type object"),
    ],
)
def test_a_value_is_held_against_its_schema(value: object, told: str) -> None:
    assert misfit(value, SCHEMA).endswith(told)
    assert bool(misfit(value, SCHEMA)) == bool(told)


def test_lists_words_and_nothing_are_known() -> None:
    schema = {"type": "array", "items": {"type": ["string", "null"], "enum": ["a", None]}}
    assert misfit(["a", None], schema) == ""
    assert misfit(["a", "b"], schema).startswith("the answer[1] is none of")


# ── budgets ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_calls_are_counted_by_the_hour_and_by_the_day(server: Server, model: Model, clock: HandClock) -> None:
    server.reply = speaking("yes")
    asked = model(llm_calls_hour=2, llm_calls_day=3, llm_probe_s=3600)
    asked.text(ASK)
    asked.text(ASK)
    with pytest.raises(GeneratorUnavailable, match="2 calls"):
        asked.text(ASK)
    clock.advance(3601)
    asked.text(ASK)
    clock.advance(3601)
    with pytest.raises(GeneratorUnavailable, match="3 calls"):
        asked.text(ASK)
    assert len(server.embedded) == 3


def test_tokens_are_what_the_endpoint_says(server: Server, model: Model) -> None:
    server.reply = speaking("yes", tokens=70)
    asked = model(llm_tokens_hour=100)
    asked.text(ASK)
    assert asked.budget.spent() == (1, 70, 1, 70)
    asked.text(ASK)
    with pytest.raises(GeneratorUnavailable, match="100 tokens"):
        asked.text(ASK)
    assert "100 tokens" in asked.trouble


# ── a vault with a language model ──────────────────────────────────────────────────────────────────────────────────────


def open_with(path: Path, clock: HandClock, llm: str | Callable[[str], str] | None = None, **settings: Any) -> Engram:
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False, **settings}
    return engram.open(path, key=KEY, agent="rex", session="s", llm=llm, settings=given, clock=clock.now)


def test_what_is_said_is_read_by_the_model_through_the_same_path(server: Server, clock: HandClock, tmp_path: Path) -> None:
    told = "The user will move house to Bergen in May"
    server.reply = speaking(statements(told, category="decision", happened_on="2026-05-01"))
    with open_with(tmp_path / "v", clock, llm="ollama:m", llm_url=server.url) as mem:
        report = mem.observe(user=WEIGHTY)
        assert report.counts["extracted"] == 1
        kept = {memory.text: memory for memory in mem.list()}
        assert kept[told].category == "decision"
        assert kept[told].happened_at is not None
        assert (kept[told].happened_at.month, kept[told].session) == (5, "s")
        assert mem.words(kept[told].id)[0].text == WEIGHTY
        found = mem.language()
        assert (found.name, found.trouble, found.calls_hour, found.tokens_hour) == ("ollama:m", "", 1, 50)


def test_any_function_is_a_language_model(clock: HandClock, tmp_path: Path) -> None:
    asked: list[str] = []

    def answers(prompt: str) -> str:
        asked.append(prompt)
        return statements("The user moves to Bergen in May by decision")

    with open_with(tmp_path / "v", clock, answers) as mem:
        assert mem.observe(user=WEIGHTY).counts["extracted"] == 1
    assert WEIGHTY in asked[0]


def test_what_is_private_or_secret_is_never_sent(server: Server, clock: HandClock, tmp_path: Path) -> None:
    server.reply = speaking(statements())
    with open_with(tmp_path / "v", clock, llm="openai:m", llm_url=f"{server.url}/v1", catch_secrets=False) as mem:
        mem.ingest([Turn(f"{WEIGHTY} <private>zqxj</private> The key is {API_KEY}x9.", session="s")])
    sent = json.dumps([one.body for one in server.embedded])
    assert "Bergen" in sent
    assert "zqxj" not in sent
    assert "kwyjibo" not in sent


def test_while_it_is_down_rules_go_on_and_it_is_said(server: Server, clock: HandClock, tmp_path: Path) -> None:
    server.reply = probed_too(lambda asked: None)
    with open_with(tmp_path / "v", clock, llm="ollama:m", llm_url=server.url) as mem:
        report = mem.observe(user=WEIGHTY)
        assert any("cannot be reached" in note for note in report.notes)
        assert any("Bergen" in text for text in texts(mem.list()))
        assert any("rules alone" in warning for warning in mem.health().warnings)
        assert "cannot be reached" in mem.language().trouble


def test_a_budget_holds_for_every_process_of_a_vault(server: Server, clock: HandClock, tmp_path: Path) -> None:
    server.reply = speaking(statements())
    for _ in range(3):
        with open_with(tmp_path / "v", clock, llm="ollama:m", llm_url=server.url, llm_calls_day=2) as mem:
            report = mem.observe(user=WEIGHTY)
    assert len(server.embedded) == 2
    assert any("2 calls" in note for note in report.notes)


def test_nothing_goes_anywhere_unless_a_model_is_named(server: Server, clock: HandClock, tmp_path: Path) -> None:
    with open_with(tmp_path / "v", clock, llm_url=server.url) as mem:
        mem.observe(user=WEIGHTY)
        mem.health()
        assert mem.language().name == "none"
    assert server.asked == []


def test_a_key_is_in_no_file(server: Server, clock: HandClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_LLM_KEY", API_KEY)
    server.reply = speaking(statements())
    with open_with(tmp_path / "v", clock, llm="openai:m", llm_url=f"{server.url}/v1") as mem:
        mem.observe(user=WEIGHTY)
    assert server.embedded[0].headers["authorization"] == f"Bearer {API_KEY}"
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or API_KEY.encode() not in file.read_bytes()


def test_a_key_of_the_keychain_is_used(server: Server, clock: HandClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keychain, "password", {"ENGRAM_LLM_KEY": API_KEY}.get)
    server.reply = speaking(statements())
    with open_with(tmp_path / "v", clock, llm="openai:m", llm_url=f"{server.url}/v1") as mem:
        mem.observe(user=WEIGHTY)
    assert server.embedded[0].headers["authorization"] == f"Bearer {API_KEY}"


def test_long_turns_are_read_in_portions(clock: HandClock, tmp_path: Path) -> None:
    prompts: list[str] = []

    def answers(prompt: str) -> str:
        prompts.append(prompt)
        return statements()

    with open_with(tmp_path / "v", clock, answers) as mem:
        mem.ingest(Turn(f"Fact {n}: " + f"the depot {n} holds spare part {n}. " * 600, session="s") for n in range(6))
    assert len(prompts) > 1
    assert max(map(len, prompts)) < 40_000


def fact(subject: str, predicate: str, thing: str, *, many: bool = False, over: bool = False) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": thing, "many": many, "over": over}


def test_what_a_model_reads_goes_through_the_seam_of_facts_and_names(server: Server, clock: HandClock, tmp_path: Path) -> None:
    """An update of its own wording ends what it contradicts; names are one person's; what is not founded is left out."""
    first = statements("Ada Quist mans the harbour desk", facts=[fact("Ada Quist", "mans", "harbour desk")])
    second = statements(
        "Ada Quist mans the ferry desk now",
        facts=[fact("Ada Quist", "mans", "ferry desk"), fact("Ada Quist", "minds", "bank vault")],
    )
    server.reply = speaking(first, second)
    with open_with(tmp_path / "v", clock, llm="openai:m", llm_url=f"{server.url}/v1") as mem:
        old = mem.ingest([Turn("At the harbour desk, mind you, it is Ada Quist who mans it.", session="s")])
        clock.advance(86_400)
        mem.ingest([Turn("The ferry desk it is now that Ada Quist mans.", session="s")])
        assert [(one.subject, one.predicate, one.object, one.status) for one in mem.beliefs("Ada")] == [
            ("ada quist", "mans", "ferry desk", "held")
        ]
        past = {one.object: one for one in mem.beliefs("Ada Quist", past=True)}
        assert past.keys() == {"harbour desk", "ferry desk"}, "nobody spoke of a vault"
        assert (past["harbour desk"].status, past["harbour desk"].memory in old.ids) == ("retracted", True)


def test_what_was_corrected_is_not_brought_back_by_a_model(server: Server, clock: HandClock, tmp_path: Path) -> None:
    server.reply = speaking(statements("Ada works at Acme"))
    with open_with(tmp_path / "v", clock, llm="ollama:m", llm_url=server.url) as mem:
        true = mem.feedback(mem.remember("Ada works at Acme.").id, correction="Ada works at Globex.")
        mem.ingest([Turn("You know that Acme place, is it not there that Ada works at?", session="s")])
        assert [(one.object, one.memory) for one in mem.beliefs("Ada")] == [("globex", true.id)]
        assert not any("Ada works at Acme" in text for text in texts(mem.list()))
