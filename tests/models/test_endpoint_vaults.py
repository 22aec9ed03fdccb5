"""Vaults whose encoder is an endpoint, while it answers, while it is down, and when it is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from models.servers import Server, probed_too, said, serving
from patience import wait_until
from recall.vaults import FACTS, KEY, MODELS, NO_MODEL, settle, texts

from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.env import Env
from engram.types import Outcome, Policy, Reader, Role, Scope

API_KEY = "sk-kwyjibo-0815"
ME = Reader(Scope(agent="rex"), Policy.AGENT_GLOBAL, Role.OWNER)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


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
