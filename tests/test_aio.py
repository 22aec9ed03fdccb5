"""`engram.aio`: every verb with `await`, in parallel, and nothing left behind by calls that are cancelled."""

from __future__ import annotations

import asyncio
import inspect
import random
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from patience import wait_until
from recall.vaults import KEY

import engram
from engram import aio
from engram.aio import AsyncEngram, AsyncRecording, AsyncRun, AsyncWorking
from engram.context.run import Run
from engram.engine import Engram, open_engram
from engram.errors import EngramError, SearchTimeout
from engram.models.embedders import Vectors, hashing_embedder
from engram.types import Policy, Reader, Role, Scope, Turn
from engram.values.episodes import EpisodeOutcome
from engram.verbs.episodes import Recording
from engram.working.memory import Working

GIVEN: dict[str, object] = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}


def opening(path: Path, **more: Any) -> aio.Opening:
    return engram.aio.open(path / "vault", key=KEY, agent="rex", settings=GIVEN, **more)


class Gate:
    """An encoder that blocks until `open` is set; `entered` is set when a call is blocked in it."""

    fingerprint, dimensions, background = "gate", 8, (0.0, 1.0)

    def __init__(self) -> None:
        self.entered, self.open = threading.Event(), threading.Event()

    def query(self, text: str) -> Vectors:
        return self.passages([text])[0]  # type: ignore[no-any-return]

    def passages(self, texts: Sequence[str]) -> Vectors:
        self.entered.set()
        assert self.open.wait(120)
        return hashing_embedder(8).passages(texts)


def public(kind: type) -> dict[str, Any]:
    return {name: getattr(kind, name) for name in dir(kind) if not name.startswith("_")}


# ── parity ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sync", "awaited"), [(Engram, AsyncEngram), (Working, AsyncWorking), (Run, AsyncRun), (Recording, AsyncRecording)]
)
def test_every_verb_is_there_with_the_same_signature(sync: type, awaited: type) -> None:
    mine, theirs = public(awaited), public(sync)
    theirs.pop("open", None)  # `aio.open_as`
    missing = sorted(set(theirs) - set(mine))
    assert missing == [], f"add `name = Verb({sync.__name__}.name)` to {awaited.__name__} in aio.py"
    for name, verb in theirs.items():
        if callable(verb) and name not in ("as_reader", "keyed", "deadline", "close"):
            assert inspect.signature(mine[name]) == inspect.signature(verb), name
            assert inspect.getdoc(mine[name]) == inspect.getdoc(verb), name


def test_opening_takes_the_same_arguments() -> None:
    assert inspect.signature(aio.open).parameters == inspect.signature(open_engram).parameters
    assert inspect.signature(aio.open_as).parameters == inspect.signature(Engram.open).parameters


def test_importing_engram_does_not_import_aio() -> None:
    program = (
        "import sys, engram; assert 'engram.aio' not in sys.modules and 'asyncio' not in sys.modules; "
        "engram.aio.open; assert 'engram.aio' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


# ── use ────────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_main_verbs_work_with_await(tmp_path: Path) -> None:
    async def day() -> None:
        async with opening(tmp_path) as mem:
            kept = await mem.remember("The API runs on Fly.io", importance=0.8)
            await mem.observe(user="I moved to Lisbon in March.")
            found = await mem.recall("where does the API run?")
            assert found[0].memory.id == kept.id
            assert (await mem.get(kept.id)) == kept
            async with await mem.begin("ok, deploy it", model="gpt-4o", budget=600) as run:
                assert run.window.tokens <= 600
                await run.end("Deployed.")
            await mem.working.attend("ship the release")
            assert [slot.text for slot in await mem.working.slots if "ship" in slot.text] == ["ship the release"]
            other = mem.as_reader(Reader(Scope(agent="eve"), Policy.OWN, Role.AGENT))
            assert len(await other.list()) == 0
            assert mem.reader.scope.agent == "rex"
            assert "open" in repr(mem)
        with pytest.raises(EngramError):
            await mem.recall("anything")

    asyncio.run(day())


def test_a_vault_opened_with_await_is_closed_with_close(tmp_path: Path) -> None:
    before = set(threading.enumerate())

    async def day() -> None:
        mem = await opening(tmp_path)
        await mem.remember("Tea is green")
        await mem.close()
        await mem.close()
        async with opening(tmp_path) as again:
            assert len(await again.list()) == 1

    asyncio.run(day())
    assert not [one.name for one in set(threading.enumerate()) - before if one.name.startswith("engram")]


def test_calls_run_in_parallel_and_do_not_block_the_loop(tmp_path: Path) -> None:
    gate = Gate()

    async def day() -> None:
        async with opening(tmp_path, embedder=gate) as mem:
            kept = asyncio.create_task(mem.remember("Tea is green"))
            await asyncio.to_thread(gate.entered.wait, 120)
            assert len(await mem.list()) == 0  # while the other waits
            gate.open.set()
            assert (await kept).text == "Tea is green"

    asyncio.run(day())


# ── not waiting ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_cancelled_call_stops_at_its_next_step_and_close_waits_for_it(tmp_path: Path) -> None:
    gate = Gate()

    async def day() -> None:
        async with opening(tmp_path, embedder=gate) as mem:
            kept = asyncio.create_task(mem.remember("Tea is green"))
            await asyncio.to_thread(gate.entered.wait, 120)
            kept.cancel()
            with pytest.raises(asyncio.CancelledError):
                await kept
            closing = asyncio.create_task(mem.close())
            await asyncio.sleep(0.05)
            assert not closing.done()
            gate.open.set()
            await closing
        async with opening(tmp_path, embedder=gate) as mem:
            assert list(await mem.list()) == []
            assert (await mem.remember("Tea is green")).corroborations == 0

    asyncio.run(day())


def test_deadlines_and_idempotency_keys_work_with_await(tmp_path: Path) -> None:
    gate = Gate()

    async def day() -> None:
        async with opening(tmp_path, embedder=gate) as mem:
            with mem.deadline(60):
                kept = asyncio.create_task(mem.keyed("k").remember("Tea is green"))
                await asyncio.to_thread(gate.entered.wait, 120)
            gate.open.set()
            first = await kept
            assert (await mem.keyed("k").remember("Tea is green")) == first
            with mem.deadline(0.001):
                await asyncio.sleep(0.01)
                with pytest.raises(SearchTimeout):
                    await mem.recall("Tea?")

    asyncio.run(day())


def test_cancelling_withdraws_a_call_that_waits_for_a_thread(tmp_path: Path) -> None:
    gate = Gate()

    async def day() -> None:
        many = {**GIVEN, "reader_limit": 2}
        async with engram.aio.open(tmp_path / "vault", key=KEY, embedder=gate, settings=many) as mem:
            begun = [asyncio.create_task(mem.remember(f"Fact {n} is kept")) for n in range(2)]
            await asyncio.to_thread(gate.entered.wait, 120)
            waiting = [asyncio.create_task(mem.remember(f"Thing {n} is not kept")) for n in range(5)]
            await asyncio.sleep(0)
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            gate.open.set()
            await asyncio.gather(*begun)
            assert {one.text for one in await mem.list()} == {"Fact 0 is kept", "Fact 1 is kept"}

    asyncio.run(day())


def test_a_deadline_holds_while_every_thread_is_busy(tmp_path: Path) -> None:
    gate = Gate()

    async def day() -> None:
        async with engram.aio.open(tmp_path / "vault", key=KEY, embedder=gate, settings={**GIVEN, "reader_limit": 2}) as mem:
            begun = [asyncio.create_task(mem.remember(f"Fact {n} is kept")) for n in range(2)]
            await asyncio.to_thread(gate.entered.wait, 120)
            with mem.deadline(0.05), pytest.raises(SearchTimeout):
                await mem.remember("This one is not kept")
            assert not gate.open.is_set()
            gate.open.set()
            await asyncio.gather(*begun)
            assert len(await mem.list()) == 2

    asyncio.run(day())


def test_a_call_stops_when_its_loop_is_destroyed(tmp_path: Path) -> None:
    gate, loop = Gate(), asyncio.new_event_loop()

    async def opened() -> AsyncEngram:
        return await opening(tmp_path, embedder=gate)

    mem = loop.run_until_complete(opened())
    kept = mem.remember("Tea is green")
    task = loop.create_task(kept)
    loop.run_until_complete(asyncio.sleep(0))
    assert gate.entered.wait(120)
    kept.close()
    gate.open.set()
    with pytest.raises(RuntimeError):
        loop.run_until_complete(task)
    loop.close()
    asyncio.run(mem.close())
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=GIVEN) as again:
        assert list(again.list()) == []


def test_the_result_of_a_call_cancelled_too_late_is_discarded(tmp_path: Path) -> None:
    entered, go_on = threading.Event(), threading.Event()
    left: list[int] = []

    def call() -> int:
        entered.set()
        assert go_on.wait(120)
        return 7

    async def day() -> None:
        threads = aio.Threads(1)
        task = asyncio.create_task(threads.run(call, left.append))
        await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        go_on.set()
        threads.end()

    asyncio.run(day())
    assert left == [7]


def test_a_cancelled_close_still_closes_and_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())

    async def day() -> AsyncEngram:
        mem = await opening(tmp_path)
        for _ in range(2):
            closing = asyncio.create_task(mem.close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
        return mem

    mem = asyncio.run(day())
    wait_until(lambda: "closed" in repr(mem))
    wait_until(lambda: not [one for one in set(threading.enumerate()) - before if one.name.startswith("engram")])


def test_no_answered_write_is_lost_under_timeouts_and_cancellations(tmp_path: Path) -> None:
    dice = random.Random(3)
    kept: list[str] = []
    codes: set[str] = set()

    async def one(mem: AsyncEngram, n: int) -> None:
        try:
            with mem.deadline(dice.choice([None, 0.005, 0.05, 5])):
                if n % 3:
                    kept.append((await mem.remember(f"Item {n} stands on shelf {n * 7}")).id)
                else:
                    async with await mem.episode(f"fetch item {n}") as episode:
                        await episode.event("did", "walk")
        except EngramError as problem:
            codes.add(problem.code)

    async def day() -> None:
        async with opening(tmp_path) as mem:
            tasks = [asyncio.create_task(one(mem, n)) for n in range(90)]
            for task in dice.sample(tasks, 30):
                asyncio.get_running_loop().call_later(dice.random() * 0.1, task.cancel)
            await asyncio.gather(*tasks, return_exceptions=True)
            held = {memory.id for memory in await mem.list(limit=200, status=None)}
            assert set(kept) <= held
        assert EpisodeOutcome.ONGOING not in endings(tmp_path)  # closing waited for those that were being ended

    asyncio.run(day())
    assert kept
    assert codes <= {"E1005", "E2001"}


def test_one_vault_serves_several_loops(tmp_path: Path) -> None:
    async def opened() -> AsyncEngram:
        return await opening(tmp_path)

    mem = asyncio.run(opened())
    loops = [threading.Thread(target=lambda n=n: asyncio.run(mem.remember(f"Fact {n} is kept"))) for n in range(3)]
    for one in loops:
        one.start()
    for one in loops:
        one.join()
    assert len(asyncio.run(mem.list())) == 3
    asyncio.run(mem.close())


def test_a_cancelled_open_leaves_no_open_vault(tmp_path: Path) -> None:
    entered, go_on = threading.Event(), threading.Event()
    opened: list[Engram] = []

    def slowly() -> Engram:
        entered.set()
        assert go_on.wait(120)
        opened.append(open_engram(tmp_path / "vault", key=KEY, settings=GIVEN))
        return opened[0]

    async def day() -> None:
        task = asyncio.create_task(_awaiting(aio.Opening(slowly)))
        await asyncio.to_thread(entered.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(day())
    go_on.set()
    wait_until(lambda: bool(opened) and "closed" in repr(opened[0]))


def test_errors_are_the_same_as_without_await(tmp_path: Path) -> None:
    async def day() -> None:
        async with opening(tmp_path) as mem:
            with pytest.raises(EngramError) as caught:
                await mem.observe(Turn(""), Turn("x" * 2_000_000))
            assert caught.value.code == "E4004"

    asyncio.run(day())


async def _awaiting(opening: aio.Opening) -> AsyncEngram:
    return await opening


def test_an_episode_ends_although_its_task_is_cancelled(tmp_path: Path) -> None:
    """Every thread is busy when the block is left; then the task is cancelled, or its deadline passes."""

    async def day(seconds: float | None) -> None:
        async with opening(tmp_path) as mem:
            go, taken = threading.Event(), asyncio.Event()

            async def fetch() -> None:
                with mem.deadline(seconds):
                    async with await mem.episode("fetch the book"):
                        for _ in range(8):
                            mem._threads._pool.submit(go.wait, 30)
                        taken.set()

            task = asyncio.create_task(fetch())
            await taken.wait()
            await asyncio.sleep(0.05)
            if seconds is None:
                task.cancel()
            asyncio.get_running_loop().call_later(seconds or 0.05, go.set)
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(day(None))
    asyncio.run(day(1.0))
    assert endings(tmp_path) == {EpisodeOutcome.SUCCESS}


def endings(path: Path) -> set[EpisodeOutcome]:
    with engram.open(path / "vault", key=KEY, agent="rex", settings=GIVEN) as mem:
        return {found.outcome for found in mem.episodes(limit=100)}
