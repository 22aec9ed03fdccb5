"""Embedding endpoints against a loopback server: requests, failures, secrets that stay secret; vaults whose encoder is one."""

from __future__ import annotations

import builtins
import json
import logging
import socket
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hand_clock import HandClock
from models.servers import Asked, Reply, Server, probed_too, said, serving
from patience import wait_until
from recall.vaults import FACTS, KEY, MODELS, NO_MODEL, settle, texts

from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.env import Env
from engram.errors import DimensionMismatch, EmbedderUnavailable, EmbeddingError, EmbeddingFailed
from engram.models.embedders import hashing_embedder
from engram.models.embedding_endpoints import PROVIDERS, EmbeddingEndpoint, RemoteEmbedder, embedding_endpoint
from engram.settings import Settings
from engram.types import Outcome, Policy, Reader, Role, Scope, Space

SECRET = "zqxj-words-of-a-memory"
API_KEY = "sk-kwyjibo-0815"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def endpoint(server: Server, provider: str = "ollama", **changes: Any) -> EmbeddingEndpoint:
    url = server.url + ("/v1" if provider == "openai" else "")
    return replace(EmbeddingEndpoint(provider=PROVIDERS[provider], model="m", url=url, key_name="SOME_KEY"), **changes)


@pytest.fixture
def opened(env: Env) -> Iterator[Callable[..., RemoteEmbedder]]:
    made: list[RemoteEmbedder] = []

    def make(server: Server, provider: str = "ollama", known: Space | None = None, **changes: Any) -> RemoteEmbedder:
        made.append(RemoteEmbedder(endpoint(server, provider, **changes), env, known))
        return made[-1]

    yield make
    for one in made:
        one.close()


Opened = Callable[..., RemoteEmbedder]


# ── the wire ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("provider", "path"), [("ollama", "/api/embed"), ("openai", "/v1/embeddings")])
def test_both_embedding_protocols_work(server: Server, opened: Opened, provider: str, path: str) -> None:
    remote = opened(server, provider)
    texts = ["the cat sleeps", "dogs bark", "ein Käfer 🐞"]
    made = remote.passages(texts)
    assert np.allclose(made, hashing_embedder(512).passages(texts), atol=1e-6), "in order, and of length one"
    assert [(one.path, one.body) for one in server.embedded] == [(path, {"model": "m", "input": texts})]
    assert (remote.dimensions, remote.fingerprint) == (512, f"{provider}:m:512")
    assert np.allclose(remote.query("dogs bark"), made[1], atol=1e-6)


def test_many_texts_are_sent_in_batches(server: Server, opened: Opened) -> None:
    made = opened(server, batch=4).passages([f"text {n}" for n in range(10)])
    assert [len(one.body["input"]) for one in server.embedded] == [4, 4, 2]
    assert np.allclose(made[9], hashing_embedder(512).query("text 9"), atol=1e-6)
    assert opened(server).passages([]).shape[0] == 0


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_the_length_of_vectors_can_be_requested(server: Server, opened: Opened, provider: str) -> None:
    remote = opened(server, provider, dimensions=64)
    assert (remote.fingerprint, server.asked) == (f"{provider}:m:64", []), "known without asking"
    assert remote.query("x").shape == (64,)
    assert server.embedded[0].body["dimensions"] == 64


def test_prefixes_are_added_to_questions_and_passages(server: Server, opened: Opened) -> None:
    remote = opened(server, query_prefix="q: ", passage_prefix="p: ")
    remote.query("one")
    remote.passages(["two"])
    assert [one.body["input"] for one in server.embedded] == [["q: one"], ["p: two"]]
    assert remote.fingerprint != opened(server, dimensions=512).fingerprint, "other vectors than without"


def test_the_length_of_vectors_is_known_from_the_vault_before_the_first_request(server: Server, opened: Opened) -> None:
    assert opened(server, known=Space("text", "ollama:m:512", 512)).dimensions == 512
    assert opened(server, known=Space("text", "ollama:another:512", 512)).dimensions == 0
    assert server.asked == []


def test_settings_name_an_endpoint() -> None:
    assert embedding_endpoint(Settings()) is None
    assert embedding_endpoint(Settings(model="none")) is None
    local = embedding_endpoint(Settings(model="ollama:nomic-embed-text:v1.5"))
    assert local is not None
    assert (local.url, local.model) == ("http://127.0.0.1:11434", "nomic-embed-text:v1.5")
    assert (local.query_prefix, local.passage_prefix) == ("search_query: ", "search_document: ")
    other = embedding_endpoint(
        Settings(model="openai:text-embedding-3-small", embed_url="http://box:8000/v1/", embed_query_prefix="q")
    )
    assert other is not None
    assert (other.url, other.query_prefix, other.passage_prefix) == ("http://box:8000/v1", "q", "")


# ── what goes wrong ────────────────────────────────────────────────────────────────────────────────────────────────────


def _openai(entries: list[object]) -> object:
    return {"data": [{"index": at, "embedding": one} for at, one in enumerate(entries)]}


HTML = (200, {"Content-Type": "text/html"}, b"<html><body>" + SECRET.encode() + b"</body></html>")
WRONG: dict[str, tuple[Reply, type[EmbeddingError]]] = {
    "no json": ((200, {}, b'{"data": [{"ind'), EmbeddingFailed),
    "html": (HTML, EmbeddingFailed),
    "another json": (said(200, [1, 2, 3]), EmbeddingFailed),
    "no vectors": (said(200, {"data": None}), EmbeddingFailed),
    "too few": (said(200, _openai([[1.0] * 8])), EmbeddingFailed),
    "too many": (said(200, _openai([[1.0] * 8] * 3)), EmbeddingFailed),
    "ragged": (said(200, _openai([[1.0] * 8, [1.0] * 7])), EmbeddingFailed),
    "empty vectors": (said(200, _openai([[], []])), EmbeddingFailed),
    "no lists": (said(200, _openai([1.0, 2.0])), EmbeddingFailed),
    "words": (said(200, _openai([[SECRET] * 8] * 2)), EmbeddingFailed),
    "nan": (said(200, _openai([[float("nan")] * 8] * 2)), EmbeddingFailed),
    "infinite": (said(200, _openai([[1e300] * 8] * 2)), EmbeddingFailed),
    "zeros": (said(200, _openai([[0.0] * 8] * 2)), EmbeddingFailed),
    "an index twice": (said(200, {"data": [{"index": 0, "embedding": [1.0] * 8}] * 2}), EmbeddingFailed),
    "another length": (said(200, _openai([[1.0] * 9] * 2)), DimensionMismatch),
    "bad request": (said(400, {"error": SECRET}), EmbeddingFailed),
    "too long": (said(413, {"error": SECRET}), EmbeddingFailed),
    "no key": (said(401, {"error": SECRET}), EmbedderUnavailable),
    "wrong key": (said(403, {"error": SECRET}), EmbedderUnavailable),
    "no model": (said(404, {"error": SECRET}), EmbedderUnavailable),
    "redirect": ((307, {"Location": "/elsewhere"}, b""), EmbedderUnavailable),
    "too often": (said(429, {"error": SECRET}), EmbedderUnavailable),
    "broken": (said(500, {"error": SECRET}), EmbedderUnavailable),
    "bad gzip": ((200, {"Content-Encoding": "gzip"}, b"no gzip"), EmbedderUnavailable),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_malformed_response_is_an_error_with_a_code_that_quotes_nothing(
    server: Server, opened: Opened, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("SOME_KEY", API_KEY)
    caplog.set_level(logging.DEBUG)
    reply, kind = WRONG[how]
    server.reply = lambda asked: reply
    with pytest.raises(EmbeddingError) as caught:
        opened(server, "openai", dimensions=8).passages([SECRET, "two"])
    assert type(caught.value) is kind
    told = f"{caught.value} {''.join(traceback.format_exception(caught.value))} {caplog.text}"
    assert SECRET not in told
    assert API_KEY not in told
    assert not any(one.path == "/elsewhere" for one in server.asked)


def test_an_api_key_is_sent_in_the_header_and_appears_nowhere_else(
    server: Server, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = opened(server, "openai")
    remote.query("x")
    assert "authorization" not in server.asked[-1].headers
    monkeypatch.setenv("SOME_KEY", f" {API_KEY}\n")
    remote.query("x")
    assert server.asked[-1].headers["authorization"] == f"Bearer {API_KEY}"
    monkeypatch.setenv("SOME_KEY", f"{API_KEY}\nX-Other: 1")
    remote.query("x")
    assert "authorization" not in server.asked[-1].headers, "what cannot be a key is not sent"
    assert API_KEY not in repr(vars(remote))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://box/v1",
        "box:11434",
        "http://",
        "http://[::1",
        "http://box:99999",
        "http://box/v1?x=1",
        f"http://me:{API_KEY}@box/v1",
        "http://b x/",
    ],
)
def test_an_invalid_address_is_refused_without_quoting_it(env: Env, url: str) -> None:
    remote = RemoteEmbedder(replace(EmbeddingEndpoint(provider=PROVIDERS["openai"], model="m", url=url)), env)
    with pytest.raises(EmbedderUnavailable, match="embed_url") as caught:
        remote.query("x")
    assert API_KEY not in str(caught.value)
    assert remote.endpoint.place == ""
    assert (
        "names no model"
        in RemoteEmbedder(EmbeddingEndpoint(provider=PROVIDERS["openai"], model="", url="http://box"), env).trouble
    )


def test_a_missing_optional_dependency_is_named(server: Server, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "httpx2":
            raise ModuleNotFoundError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EmbedderUnavailable, match=r"engram-local\[llm\]"):
        opened(server).query("x")


# ── once more ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("first", [said(503, {}), said(429, {}, **{"Retry-After": "2"}), None])
def test_a_failed_request_is_retried_once(server: Server, opened: Opened, clock: HandClock, first: Reply | None) -> None:
    def reply(asked: Asked) -> Reply | None:
        return first if len(server.embedded) == 1 else server.speak(asked)

    server.reply = reply
    before = clock.monotonic()
    assert opened(server).query("x").shape == (512,)
    assert len(server.embedded) == 2
    waited = 2.0 if first is not None and "Retry-After" in first[1] else 0.3
    assert clock.monotonic() - before == pytest.approx(waited)


def test_a_retry_is_skipped_if_it_would_exceed_the_time_limit(server: Server, opened: Opened, clock: HandClock) -> None:
    server.reply = lambda asked: said(429, {}, **{"Retry-After": "3600"})
    before = clock.monotonic()
    with pytest.raises(EmbedderUnavailable, match="429"):
        opened(server, timeout_s=5.0).query("x")
    assert (len(server.embedded), clock.monotonic()) == (1, before)


def test_a_request_is_not_retried_twice(server: Server, opened: Opened) -> None:
    server.reply = lambda asked: said(502, {})
    with pytest.raises(EmbedderUnavailable, match="502"):
        opened(server).query("x")
    assert len(server.embedded) == 2


def test_an_endpoint_that_accepts_and_never_answers_times_out(env: Env) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        remote = RemoteEmbedder(EmbeddingEndpoint(provider=PROVIDERS["ollama"], model="m", url=url, connect_s=0.05), env)
        with pytest.raises(EmbedderUnavailable, match="did not answer in time"):
            remote.query("x")
        remote.close()


# ── signs of life ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_one_that_is_down_is_not_asked_again_before_its_time(server: Server, opened: Opened, clock: HandClock) -> None:
    remote = opened(server)
    server.reply = probed_too(lambda asked: said(503, {}))
    for _ in range(5):
        with pytest.raises(EmbedderUnavailable, match="503"):
            remote.query("x")
    assert [one.path for one in server.asked] == ["/api/version"], "one question whether it lives, none for a vector"
    server.reply = None
    clock.advance(29.9)
    assert remote.trouble
    clock.advance(0.2)
    assert remote.trouble == ""
    assert remote.query("x").shape == (512,)


def test_no_request_is_sent_soon_after_a_failed_one(server: Server, opened: Opened, clock: HandClock) -> None:
    remote = opened(server)
    remote.query("x")
    server.reply = lambda asked: said(500, {})
    for _ in range(3):
        with pytest.raises(EmbedderUnavailable):
            remote.query("x")
    assert len(server.embedded) == 1 + 2, "one request and its second try"


def test_an_endpoint_that_answers_is_not_probed_before_each_request(server: Server, opened: Opened, clock: HandClock) -> None:
    remote = opened(server)
    for _ in range(5):
        remote.query("x")
        clock.advance(20)
    assert len([one for one in server.asked if one.method == "GET"]) == 1, "an answer is a sign of life"


def test_a_server_without_the_probe_path_still_serves_vectors(server: Server, opened: Opened) -> None:
    server.reply = probed_too(lambda asked: said(404, {}) if asked.method == "GET" else server.speak(asked))
    assert opened(server, "openai").query("x").shape == (512,)


def test_a_refused_connection_is_reported_as_unreachable(env: Env) -> None:
    with serving() as gone:
        pass
    remote = RemoteEmbedder(endpoint(gone), env)
    assert "cannot be reached at http://127.0.0.1:" in remote.trouble
    remote.close()


def test_proxies_of_the_environment_are_not_used(server: Server, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert opened(server).query("x").shape == (512,)


def test_any_text_survives_the_request_body(server: Server, opened: Opened) -> None:
    half = json.loads('"\\ud800"')
    opened(server).query(half)
    assert server.embedded[0].body["input"] == [half]


ME = Reader(Scope(agent="rex"), Policy.AGENT_GLOBAL, Role.OWNER)


def open_vault(path: Path, server: Server, env: Env, *, tuning: Iterable[object] = (), **settings: Any) -> Engram:
    given = {
        "model": "ollama:some-model",
        "embed_url": server.url,
        "backup_hours": 0,
        "harden_process": False,
        "close_on_sigterm": False,
    }
    return Engram.open(path, reader=ME, key=KEY, settings={**given, **settings}, env=env, tuning=tuning)


def go_down(server: Server) -> None:
    server.reply = probed_too(lambda asked: None)


def test_a_vault_remembers_and_recalls_with_an_embedding_endpoint(server: Server, env: Env, tmp_path: Path) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        for fact in FACTS:
            mem.remember(fact)
        mem.recall("anything")
        settle(mem)
        found = mem.recall("Where does Carla live?", limit=1)
        assert (texts(found), found.quality.strategy, found.notes) == ([FACTS[1]], "vectors+words", ())
        assert mem.health().pending_embeddings == 0
        assert (mem.encoder().fingerprint, mem.encoder().dimensions) == ("ollama:some-model:512", 512)


def test_no_request_is_sent_unless_an_endpoint_is_named(server: Server, env: Env, tmp_path: Path) -> None:
    with open_vault(tmp_path / "vault", server, env, model="none") as mem:
        mem.remember(FACTS[0])
        mem.recall("Heroku")
        mem.encoder()
    assert server.asked == []


def test_opening_and_closing_a_vault_send_no_request(server: Server, env: Env, tmp_path: Path) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        mem.list()
    assert server.asked == []


def test_while_the_endpoint_is_down_recall_answers_by_words_and_says_so(
    server: Server, env: Env, clock: HandClock, tmp_path: Path
) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        mem.remember(FACTS[0])
        mem.recall("Heroku")
        settle(mem)
        clock.advance(31)
        go_down(server)
        before = len(server.asked)
        for _ in range(3):
            found = mem.recall("Heroku", limit=1)
            assert (found.outcome, texts(found), found.quality.strategy) == (Outcome.DEGRADED, [FACTS[0]], "words")
            assert "E3001" in found.notes[0]
            assert "cannot be reached" in found.notes[0]
        assert len(server.asked) == before + 1, "asked for a sign of life once, and for no vector"
        assert "cannot be reached" in mem.encoder().trouble
        clock.advance(31)
        server.reply = None
        assert mem.recall("Heroku", limit=1).quality.strategy == "vectors+words"


def test_memories_stored_while_the_endpoint_is_down_get_their_vectors_later(
    server: Server, env: Env, clock: HandClock, tmp_path: Path
) -> None:
    go_down(server)
    with open_vault(tmp_path / "vault", server, env, tuning=[DreamLimits(care_pause_s=0.05)], embed_batch=2) as mem:
        for fact in FACTS[:3]:
            mem.remember(fact)
        report = mem.observe(user="I moved to Lisbon with my sister Carla.")
        assert report.counts["kept"] == 1
        assert "E3001" in report.notes[0]
        mem.forget(mem.remember("Nobody needs this").id)
        assert mem.health().pending_embeddings == 4
        assert mem.encoder().dimensions == 0, "it never answered"
        server.reply = None
        clock.advance(31)
        wait_until(lambda: mem.health().pending_embeddings == 0)
        assert max(len(one.body["input"]) for one in server.embedded) <= 2, "in small pages"
        mem.recall("anything")
        settle(mem)
        assert mem.recall("Friday deploys", limit=1).quality.strategy == "vectors+words"


def test_an_idle_vault_sends_no_request(server: Server, env: Env, clock: HandClock, tmp_path: Path) -> None:
    with open_vault(tmp_path / "vault", server, env, tuning=[DreamLimits(care_pause_s=0.05)], dream=False) as mem:
        mem.remember(FACTS[0])
        wait_until(lambda: mem._vault.upkeep.backfill.done_to == mem._vault.store.changes.latest(ME))
        before = len(server.asked), mem.audit(limit=1)
        clock.advance(3600)
        time.sleep(0.3)  # several rounds of upkeep
        assert (len(server.asked), mem.audit(limit=1)) == before, "an idle vault writes no audit and sends no request"


def test_one_refused_text_does_not_delay_the_others(server: Server, env: Env, tmp_path: Path) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        server.reply = probed_too(lambda asked: said(400, {}))
        for fact in FACTS[:4]:
            mem.remember(fact)
        server.reply = lambda asked: (
            said(400, {"error": "too long"}) if any(FACTS[2] in text for text in asked.body["input"]) else server.speak(asked)
        )
        assert mem.backfill() == 3
        assert mem.health().pending_embeddings == 1


def test_a_text_that_changed_meanwhile_does_not_get_the_vector_of_the_old_text(
    server: Server, env: Env, clock: HandClock, tmp_path: Path
) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        go_down(server)
        kept = mem.remember("Our cat Miso sleeps upstairs")

        def slow(asked: Any) -> Any:
            if any("Miso" in text for text in asked.body["input"]):
                mem._vault.store.memories.update(ME, kept.id, {"text": "The parrot Kiki screams"})
            return server.speak(asked)

        server.reply = slow
        clock.advance(31)
        assert mem.backfill() == 0
        assert mem.health().pending_embeddings == 1


def test_vectors_of_another_length_raise_e3003_and_the_memory_is_stored(server: Server, env: Env, tmp_path: Path) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        mem.remember(FACTS[0])
    server.dimensions = 256
    with open_vault(tmp_path / "vault", server, env) as mem:
        report = mem.observe(user="I moved to Lisbon with my sister Carla.")
        assert report.counts["kept"] == 1
        assert "E3003" in report.notes[0]
        found = mem.recall("Heroku", limit=1)
        assert (found.outcome, found.quality.strategy) == (Outcome.DEGRADED, "words")
        assert "E3003" in found.notes[0]


@pytest.mark.parametrize("dimensions", [0, 512])
def test_a_vault_of_another_model_says_so_from_the_first_recall(
    server: Server, env: Env, tmp_path: Path, dimensions: int
) -> None:
    with open_vault(tmp_path / "vault", server, env) as mem:
        mem.remember(FACTS[0])
    with open_vault(tmp_path / "vault", server, env, model="ollama:another", embed_dimensions=dimensions) as mem:
        found = mem.recall("Heroku", limit=1)
        assert (found.outcome, found.quality.strategy) == (Outcome.DEGRADED, "words")
        assert "E3003" in found.notes[0]
        mem.remember("Our cat Miso sleeps upstairs")
        assert mem.health().pending_embeddings == 1
        assert mem.backfill(anew=True) == 2
        mem.recall("anything")
        settle(mem)
        assert mem.recall("Heroku", limit=1).quality.strategy == "vectors+words"


def test_an_encoder_that_is_installed_later_fills_missing_vectors(
    server: Server, env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not MODELS:
        pytest.skip(NO_MODEL)
    monkeypatch.setenv("ENGRAM_MODELS", str(tmp_path / "none"))
    with open_vault(tmp_path / "vault", server, env, model="auto", tuning=[DreamLimits(care_pause_s=0.05)]) as mem:
        mem.remember(FACTS[0])
        assert mem.encoder().trouble == "no model is installed"
        monkeypatch.setenv("ENGRAM_MODELS", MODELS)
        wait_until(lambda: mem.health().pending_embeddings == 0)
        mem.recall("Heroku")
        settle(mem)
        assert mem.recall("Heroku", limit=1).quality.strategy == "vectors+words"


def test_a_key_is_in_no_log_and_no_file(
    server: Server, env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ENGRAM_EMBED_KEY", API_KEY)
    caplog.set_level(logging.DEBUG)
    with open_vault(tmp_path / "vault", server, env, model="openai:m", embed_url=f"{server.url}/v1") as mem:
        mem.remember(FACTS[0])
        assert server.embedded[-1].headers["authorization"] == f"Bearer {API_KEY}"
        server.reply = lambda asked: said(401, {"error": f"wrong key {API_KEY}"})
        told = [*mem.recall("Heroku").notes, *mem.observe(user="I moved to Lisbon with Carla.").notes, str(mem.encoder())]
        assert any("refuses the API key" in one and "ENGRAM_EMBED_KEY" not in one for one in told)
    assert API_KEY not in " ".join(told)
    assert API_KEY not in caplog.text
    assert FACTS[0] not in caplog.text
    for file in (one for one in tmp_path.rglob("*") if one.is_file()):
        assert API_KEY.encode() not in file.read_bytes(), file


def test_private_or_secret_parts_of_a_question_are_not_sent(server: Server, env: Env, tmp_path: Path) -> None:
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    with open_vault(tmp_path / "vault", server, env, catch_secrets=False) as mem:
        mem.remember(f"The key of the API is {secret}")
        mem.recall(f"Where is <private>zqxj</private> the API? {secret}")
        mem.recall("<private>zqxj</private>")
        mem.context("Deploy <private>zqxj</private> it", model="gpt-4o", budget=600)
        with mem.begin("Hello <private>zqxj</private> there", model="gpt-4o", budget=600) as run:
            run.end("Fine <private>zqxj</private> day")
        mem.reason("Who <private>zqxj</private> runs the API?")
        assert "zqxj" not in str(mem.gaps())
    sent = str([one.body for one in server.embedded])
    assert "the API?" in sent
    assert "zqxj" not in sent
    assert secret not in sent
