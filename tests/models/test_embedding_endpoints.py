"""Embedding endpoints against a loopback server: requests, failures, and secrets that stay secret."""

from __future__ import annotations

import builtins
import json
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hand_clock import HandClock
from models.servers import Asked, Reply, Server, probed_too, said, serving

from engram.env import Env
from engram.errors import DimensionMismatch, EmbedderUnavailable, EmbeddingError, EmbeddingFailed
from engram.models.embedders import hashing_embedder
from engram.models.embedding_endpoints import PROVIDERS, EmbeddingEndpoint, RemoteEmbedder, embedding_endpoint
from engram.settings import Settings
from engram.types import Space

SECRET = "zqxj-words-of-a-memory"
KEY = "sk-kwyjibo-0815"


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
    monkeypatch.setenv("SOME_KEY", KEY)
    caplog.set_level(logging.DEBUG)
    reply, kind = WRONG[how]
    server.reply = lambda asked: reply
    with pytest.raises(EmbeddingError) as caught:
        opened(server, "openai", dimensions=8).passages([SECRET, "two"])
    assert type(caught.value) is kind
    told = f"{caught.value} {''.join(traceback.format_exception(caught.value))} {caplog.text}"
    assert SECRET not in told
    assert KEY not in told
    assert not any(one.path == "/elsewhere" for one in server.asked)


def test_an_api_key_is_sent_in_the_header_and_appears_nowhere_else(
    server: Server, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = opened(server, "openai")
    remote.query("x")
    assert "authorization" not in server.asked[-1].headers
    monkeypatch.setenv("SOME_KEY", f" {KEY}\n")
    remote.query("x")
    assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("SOME_KEY", f"{KEY}\nX-Other: 1")
    remote.query("x")
    assert "authorization" not in server.asked[-1].headers, "what cannot be a key is not sent"
    assert KEY not in repr(vars(remote))


@pytest.mark.parametrize(
    "url",
    [
        "ftp://box/v1",
        "box:11434",
        "http://",
        "http://[::1",
        "http://box:99999",
        "http://box/v1?x=1",
        f"http://me:{KEY}@box/v1",
        "http://b x/",
    ],
)
def test_an_invalid_address_is_refused_without_quoting_it(env: Env, url: str) -> None:
    remote = RemoteEmbedder(replace(EmbeddingEndpoint(provider=PROVIDERS["openai"], model="m", url=url)), env)
    with pytest.raises(EmbedderUnavailable, match="embed_url") as caught:
        remote.query("x")
    assert KEY not in str(caught.value)
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
