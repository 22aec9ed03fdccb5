"""Deadlines and cancellation (S12, S14): slow work stops in time, raises a code, and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from models.servers import serving
from recall.vaults import KEY, hashing_encoder, store_of

from engram import deadline as rules
from engram.capture.limits import CaptureLimits
from engram.engine import Engram
from engram.env import Env
from engram.errors import EngramError, InvalidQuery, SearchTimeout, WriteFailed
from engram.models.embedders import CallableEmbedder, Vectors
from engram.models.language_models import Extracted
from engram.types import Policy, Reader, Role, Scope, Turn
from engram.values.episodes import EpisodeOutcome

ME = Reader(Scope(agent="rex"), Policy.AGENT_GLOBAL, Role.OWNER)
CAT = "I adopted a grey cat named Miso in Oslo."


class Slow:
    """An encoder that runs a function before it answers."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] = lambda: None
        self._plain = hashing_encoder()
        self.model = CallableEmbedder(self._embed, name="slow", dimensions=1024)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        self.meanwhile()
        return self._plain.passages(texts)


def opened(path: Path, env: Env, **more: Any) -> Engram:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    return Engram.open(path, reader=ME, key=KEY, env=env, settings={**settings, **more.pop("settings", {})}, **more)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def mem(tmp_path: Path, env: Env, slow: Slow) -> Iterator[Engram]:
    with opened(tmp_path / "vault", env, embedder=slow.model) as mem:
        mem.remember("The API runs on Fly.io")
        yield mem


@pytest.fixture
def real(tmp_path: Path, slow: Slow) -> Iterator[Engram]:
    """The same vault on the system clock."""
    with opened(tmp_path / "real", Env(), embedder=slow.model) as mem:
        mem.remember("The API runs on Fly.io")
        yield mem


# ── the rule ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_inner_deadline_is_never_later_than_the_outer_one(clock: HandClock) -> None:
    with rules.deadline(5, clock.monotonic) as outer:
        with rules.deadline(60, clock.monotonic) as inner:
            clock.advance(3)
            assert (outer.left, inner.left, rules.wait_limit(1), rules.wait_limit(9)) == (2, 2, 1, 2)
            clock.advance(3)
            assert inner.passed
            with rules.without_deadline():
                rules.check_deadline("nothing")
            with pytest.raises(SearchTimeout):
                rules.check_deadline("something")
        assert rules.deadline_passed()
    assert rules.current_deadline() is None


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5", True])
def test_a_deadline_is_a_number_of_seconds(mem: Engram, seconds: Any) -> None:
    with pytest.raises(InvalidQuery), mem.deadline(seconds):
        pass


# ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_question_that_times_out_is_an_error_and_never_an_empty_answer(mem: Engram, slow: Slow, clock: HandClock) -> None:
    slow.meanwhile = lambda: clock.advance(10)
    for ask in (
        lambda: mem.recall("Where does the API run?"),
        lambda: mem.recall("Where does the API run?", limit=3),
        lambda: mem.context("Where does the API run?", model="gpt-4o"),
    ):
        with pytest.raises(SearchTimeout), mem.deadline(5):
            ask()
    slow.meanwhile = lambda: None
    with mem.deadline(5):
        assert len(mem.recall("Where does the API run?")) == 1


def test_every_read_stops_once_the_deadline_has_passed(mem: Engram, clock: HandClock) -> None:
    kept = mem.list()[0].id
    looks: dict[str, Callable[[], object]] = {
        "get": lambda: mem.get(kept), "list": mem.list, "words": lambda: mem.words(kept), "health": mem.health,
        "versions": lambda: mem.versions(kept), "edges": lambda: mem.edges(kept), "check": mem.check,
        "recall": lambda: mem.recall("api"), "explain": lambda: mem.explain("api", kept),
    }  # fmt: skip
    with mem.deadline(5):
        clock.advance(6)
        for name, look in looks.items():
            with pytest.raises(SearchTimeout):
                pytest.fail(f"{name} answered: {look()}")


def test_a_running_statement_is_interrupted_and_the_connection_stays_usable(real: Engram) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
    store = store_of(real)
    with pytest.raises(SearchTimeout), real.deadline(0.2), store.gate.readers.use("counting") as connection:
        connection.execute(endless).fetchall()
    for _ in range(20):
        assert len(real.list()) == 1


def test_an_encoder_that_never_answers_is_abandoned_at_the_deadline(real: Engram, slow: Slow) -> None:
    gate = threading.Event()
    slow.meanwhile = lambda: gate.wait(120)
    try:
        with pytest.raises(SearchTimeout), real.deadline(0.1):
            real.recall("Where does the API run?")
        with pytest.raises(SearchTimeout), real.deadline(0.1):
            real.remember(CAT)
        with pytest.raises(SearchTimeout), real.deadline(0.1):
            real.ingest([Turn(CAT)])
    finally:
        gate.set()
    assert len(real.list()) == 1


def test_an_endpoint_slower_than_the_deadline_is_not_marked_as_down(tmp_path: Path) -> None:
    gate = threading.Event()
    with (
        serving() as server,
        opened(tmp_path / "v", Env(), settings={"model": "ollama:some-model", "embed_url": server.url}) as mem,
    ):
        mem.remember("The API runs on Fly.io")

        def wait(asked: object) -> None:
            gate.wait(120)

        server.reply = wait
        with pytest.raises(SearchTimeout), mem.deadline(0.3):
            mem.recall("Where does the API run?")
        gate.set()
        server.reply = None
        assert mem.encoder().trouble == ""
        assert mem.recall("Where does the API run?").notes == ()


# ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_write_that_times_out_in_the_queue_changes_nothing(tmp_path: Path, real: Engram) -> None:
    """Another process holds the write lock."""
    begun, go = threading.Event(), threading.Event()

    def hold(connection: Any) -> None:
        begun.set()
        go.wait(120)

    with opened(tmp_path / "real", Env()) as other:
        holder = threading.Thread(target=lambda: store_of(other).gate.writer.run(hold, "holding"))
        holder.start()
        begun.wait(120)
        kept = real.list()[0]
        writes: list[Callable[[], object]] = [
            lambda: real.remember(CAT), lambda: real.observe(user=CAT), lambda: real.ingest([Turn(CAT)]),
            lambda: real.update(kept.id, importance=0.9), lambda: real.forget(kept.id), lambda: real.pin(kept.id),
            lambda: real.forget(kept.id, erase=True), lambda: real.feedback(kept.id),
        ]  # fmt: skip
        try:
            for write in writes:
                with pytest.raises((WriteFailed, SearchTimeout)), real.deadline(0.1):  # or while it looks for its like
                    write()
        finally:
            go.set()
            holder.join(120)
    assert list(real.list()) == [kept]


def test_a_write_stopped_between_two_statements_does_not_affect_other_writes(real: Engram) -> None:
    def endless(connection: Any) -> None:
        connection.execute("INSERT INTO meta (name, value) VALUES ('half', 1)")
        while True:
            connection.execute("SELECT 1").fetchall()

    store = store_of(real)
    with pytest.raises(WriteFailed), real.deadline(0.2):
        store.gate.writer.run(endless, "being endless")
    with store.gate.readers.use("looking") as connection:
        assert connection.execute("SELECT count(*) FROM meta WHERE name = 'half'").get == 0
    assert real.remember(CAT).id


def test_stored_turns_are_reported_although_the_model_ran_out_of_time(tmp_path: Path, env: Env, clock: HandClock) -> None:
    def extract(turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extracted]:
        clock.advance(60)
        return []

    with opened(tmp_path / "v", env, extractor=extract, tuning=[CaptureLimits(buffer_turns=1)]) as mem:
        with mem.deadline(5):
            report = mem.observe(Turn(CAT, session="s"))
        assert report.counts["kept"] == 1
        assert any("time ran out" in note for note in report.notes)
        assert len(mem.list()) == 1
        assert mem._vault.observer.read_waiting().counts["read"] == 1  # it was not given up, and the model not blamed


def test_an_update_is_stored_although_its_vector_ran_out_of_time(mem: Engram, slow: Slow, clock: HandClock) -> None:
    kept = mem.list()[0]
    slow.meanwhile = lambda: clock.advance(10)
    with mem.deadline(5):
        assert mem.update(kept.id, text="The API runs on Heroku").text == "The API runs on Heroku"
    assert mem.lacks_vector(kept)
    assert mem.backfill() == 1


def test_an_interrupted_ingest_reports_its_progress_and_resumes_there(mem: Engram, clock: HandClock) -> None:
    mem.settings.tune(CaptureLimits(ingest_batch=5))
    said = [Turn(f"I bought a boat called Ida {n} in harbour {n * 7}.", ref=f"r{n}") for n in range(20)]
    with pytest.raises(EngramError, match="after 10 of these turns") as problem, mem.deadline(5):
        mem.ingest(said, progress=lambda n: clock.advance(3))
    assert "Run it again" in problem.value.way_out
    report = mem.ingest(said)
    assert (report.counts["known"], report.counts["turns"]) == (10, 10)
    assert {memory.corroborations for memory in mem.list()} == {0}


# ── calling off ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cancelled_call_stops_waiting(real: Engram, slow: Slow) -> None:
    entered, gate = threading.Event(), threading.Event()

    def wait() -> None:
        entered.set()
        gate.wait(120)

    slow.meanwhile = wait
    problems: list[EngramError] = []
    with real.deadline(None) as until:
        context = copy_context()

    def ask() -> None:
        try:
            real.remember(CAT)
        except EngramError as problem:
            problems.append(problem)

    asking = threading.Thread(target=context.run, args=(ask,))
    asking.start()
    assert entered.wait(120)
    until.cancel()
    asking.join(120)
    gate.set()
    assert [type(one) for one in problems] == [SearchTimeout]
    assert len(real.list()) == 1


def test_a_run_past_its_deadline_saves_working_memory_and_leaves_nothing_else(mem: Engram, clock: HandClock) -> None:
    """S12: working memory is saved for this process and the next although the deadline has passed."""
    with mem.deadline(5), mem.begin("Please deploy the API to Fly.io", model="gpt-4o") as run:
        clock.advance(6)
        with pytest.raises(EngramError):
            run.end("It is deployed.")
    assert mem.working.just_said is not None
    assert mem.working.just_said.text == "Please deploy the API to Fly.io"
    assert store_of(mem).working.load(mem.reader, "mind") is not None
    assert len(mem.list()) == 1
    with mem.begin("And the database?", model="gpt-4o") as run:
        assert run.end("That too.").counts["turns"] == 2


def test_an_episode_past_its_deadline_is_ended(mem: Engram, clock: HandClock) -> None:
    def late_in_it() -> None:
        with mem.deadline(5), mem.episode("deploy the API") as episode:
            clock.advance(6)
            episode.event("tried", "the script")

    with pytest.raises(EngramError):
        late_in_it()
    assert [one.outcome for one in mem.episodes()] == [EpisodeOutcome.FAILURE]


def test_a_vault_closes_cleanly_after_the_deadline_has_passed(tmp_path: Path, env: Env, clock: HandClock) -> None:
    mem = opened(tmp_path / "vault", env)
    mem.working.attend("ship the release")
    with mem.deadline(5):
        clock.advance(6)
        mem.close()
    with opened(tmp_path / "vault", env) as again:
        assert again.working.resume()
        assert "ship the release" in [slot.text for slot in again.working.slots]


def test_waiting_costs_nothing_when_there_is_no_deadline(real: Engram) -> None:
    """Without a deadline no thread is started for the encoder, and no SQLite progress handler is set."""
    names: list[str] = []

    def look() -> None:
        names.append(threading.current_thread().name)

    real.recall("Where does the API run?")
    assert rules.run_bounded(lambda: look() or 1, "looking") == 1
    assert names == [threading.current_thread().name]
    assert rules.acquire_in_time(threading.Semaphore(1), 0.0)


def test_a_backup_within_the_deadline_is_complete_and_a_cancelled_one_leaves_nothing(real: Engram, tmp_path: Path) -> None:
    with real.deadline(60):
        assert real.backup().intact
    with real.deadline(60) as until:
        until.cancel()
        with pytest.raises(SearchTimeout):
            real.backup()
    assert sorted(file.name for file in (tmp_path / "real" / "backups").iterdir()) == ["000001.db", "000001.toml"]
