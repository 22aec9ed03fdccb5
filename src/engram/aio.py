"""The same verbs with `await`: a thin wrapper that runs each in a thread.

    async with engram.aio.open("~/memory", agent="rex") as mem:
        await mem.remember("I prefer dark mode in every editor")

Every verb has the signature of its namesake in `Engram` and runs in a thread of the vault's own pool; SQLite, BLAS and the
encoder release the interpreter's lock meanwhile. A call that is cancelled while it waits for a thread is never made. A running
call that is cancelled stops at its next step, and a write is made completely or not at all; `close` waits for it. Cancelling
`open` leaves no open vault.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast

from engram.context.run import Run
from engram.context.window import ContextWindow
from engram.deadline import Deadline, cancellable, current_deadline, deadline_error, without_deadline
from engram.engine import Engram, open_engram
from engram.env import Env
from engram.rules.working import Slot
from engram.settings import LiveSettings
from engram.types import Memory, Reader, Turn
from engram.values.episodes import SkillMatch
from engram.verbs.episodes import Recording
from engram.working.memory import Working

P = ParamSpec("P")
S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
T = TypeVar("T")
Later = Coroutine[Any, Any, T]


async def in_own_thread(call: Callable[[], T], discard: Callable[[T], object] | None = None) -> T:
    """Run a call in a new thread, so that no other call delays it.

    Cancelling does not stop the call; `discard` is then called with its result.
    """
    pool = ThreadPoolExecutor(1, "engram-apart")
    future = pool.submit(contextvars.copy_context().run, call)
    pool.shutdown(wait=False)
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except BaseException:
        _discard_result(future, discard)
        raise
    finally:
        if future.done():
            pool.shutdown(wait=True)  # returns at once: the thread is about to end


class Threads:
    """The threads of one open vault, shared by all its views."""

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, "engram-aio")

    async def run(self, call: Callable[[], T], discard: Callable[[T], object] | None = None) -> T:
        """Run a call in the pool and return its result.

        Cancelling, or a deadline that passes meanwhile, withdraws a call that waits for a thread and stops a running one at its
        next step. `discard` is called with the result of a call that was cancelled too late.
        """
        deadline = current_deadline()
        with cancellable() as call_deadline:
            context = contextvars.copy_context()
        try:
            future = self._pool.submit(context.run, call)
        except RuntimeError:  # the pool has ended
            return await in_own_thread(call)  # raises that the vault is closed
        waiting = asyncio.wrap_future(future)
        try:
            if deadline is not None and deadline.left < float("inf"):
                await asyncio.wait({waiting}, timeout=deadline.left)
                if future.cancel():
                    raise deadline_error("a thread was waited for")
            return await waiting
        except BaseException:  # not only CancelledError: a task that is destroyed with its loop gets GeneratorExit
            call_deadline.cancel()
            future.cancel()
            _discard_result(future, discard)
            raise

    async def finish(self, call: Callable[[], T]) -> T:
        """Run a call to its end, without a deadline and even if its caller is cancelled."""
        with without_deadline():
            context = contextvars.copy_context()
        try:
            future = self._pool.submit(context.run, call)
        except RuntimeError:  # the pool has ended
            return await in_own_thread(call)
        return await asyncio.shield(asyncio.wrap_future(future))

    def end(self) -> None:
        """Wait for running and queued calls. Later calls raise at once that the vault is closed."""
        self._pool.shutdown(wait=True)


def _discard_result(future: Future[T], discard: Callable[[T], object] | None) -> None:
    """Call `discard` with the result once there is one."""

    def when_done(done: Future[T]) -> None:
        if not done.cancelled() and done.exception() is None and discard is not None:
            discard(done.result())

    future.add_done_callback(when_done)


class _AsyncView(Protocol[S_co]):
    """An object with threads, and a synchronous counterpart whose verbs run in them. Getting the counterpart may block."""

    @property
    def _threads(self) -> Threads: ...

    def _sync(self) -> S_co: ...


class Verb(Generic[S, P, T]):
    """A method of the synchronous class `S` in an awaitable form, with the same signature and documentation."""

    def __init__(self, verb: Callable[Concatenate[S, P], T]) -> None:
        self._verb = verb
        functools.update_wrapper(self, verb)

    def __get__(self, view: _AsyncView[S], owner: type | None = None) -> Callable[P, Later[T]]:
        if view is None:
            return cast(Callable[P, Later[T]], self)  # accessed on the class, as `inspect.signature` does

        @functools.wraps(self._verb)
        async def awaited(*args: P.args, **named: P.kwargs) -> T:
            return await view._threads.run(lambda: self._verb(view._sync(), *args, **named))

        return awaited

    def __call__(self, view: _AsyncView[S], *args: P.args, **named: P.kwargs) -> Later[T]:
        return self.__get__(view)(*args, **named)


class AsyncWorking:
    """The working memory of the reader's scope; as `Working`, with `await` before properties too."""

    def __init__(self, mem: Engram, threads: Threads) -> None:
        self._mem = mem
        self._threads = threads

    def _sync(self) -> Working:
        return self._mem.working

    @property
    def slots(self) -> Later[tuple[Slot, ...]]:
        return self._threads.run(lambda: self._sync().slots)

    @property
    def tokens(self) -> Later[int]:
        return self._threads.run(lambda: self._sync().tokens)

    @property
    def just_said(self) -> Later[Turn | None]:
        return self._threads.run(lambda: self._sync().just_said)

    @property
    def turns(self) -> Later[Sequence[Turn]]:
        return self._threads.run(lambda: self._sync().turns)

    @property
    def confidence(self) -> Later[float]:
        return self._threads.run(lambda: self._sync().confidence)

    @property
    def talk(self) -> Later[str]:
        return self._threads.run(lambda: self._sync().talk)

    hear = Verb(Working.hear)
    candidates = Verb(Working.candidates)
    attend = Verb(Working.attend)
    refresh = Verb(Working.refresh)
    mention = Verb(Working.mention)
    tick = Verb(Working.tick)
    turn_to = Verb(Working.turn_to)
    export = Verb(Working.export)
    suspend = Verb(Working.suspend)
    wind_up = Verb(Working.wind_up)
    checkpoint = Verb(Working.checkpoint)
    hand_over = Verb(Working.hand_over)
    resume = Verb(Working.resume)
    clear = Verb(Working.clear)


class AsyncRun:
    """A run of an agent; as `Run`."""

    def __init__(self, run: Run, threads: Threads) -> None:
        self._run = run
        self._threads = threads

    def _sync(self) -> Run:
        return self._run

    @property
    def window(self) -> ContextWindow:
        return self._run.window

    end = Verb(Run.end)
    cancel = Verb(Run.cancel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._threads.finish(self._run.cancel)


def _returning_run(begin: Callable[Concatenate[Engram, P], Run]) -> Callable[Concatenate[AsyncEngram, P], Later[AsyncRun]]:
    @functools.wraps(begin)
    async def awaited(self: AsyncEngram, /, *args: P.args, **named: P.kwargs) -> AsyncRun:
        return AsyncRun(await self._threads.run(lambda: begin(self._mem, *args, **named)), self._threads)

    return awaited


class AsyncRecording:
    """An episode that is being recorded; as `Recording`, with `await` before its lists too."""

    def __init__(self, recording: Recording, threads: Threads) -> None:
        self._recording = recording
        self._threads = threads

    def _sync(self) -> Recording:
        return self._recording

    @property
    def id(self) -> str:
        return self._recording.id

    @property
    def goal(self) -> str:
        return self._recording.goal

    @property
    def warnings(self) -> Later[Sequence[Memory]]:
        return self._threads.run(lambda: self._recording.warnings)

    @property
    def skills(self) -> Later[Sequence[SkillMatch]]:
        return self._threads.run(lambda: self._recording.skills)

    event = Verb(Recording.event)
    outcome = Verb(Recording.outcome)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._threads.finish(lambda: self._recording.__exit__(kind, error, trace))


def _returning_recording(
    episode: Callable[Concatenate[Engram, P], Recording],
) -> Callable[Concatenate[AsyncEngram, P], Later[AsyncRecording]]:
    @functools.wraps(episode)
    async def awaited(self: AsyncEngram, /, *args: P.args, **named: P.kwargs) -> AsyncRecording:
        recording = await self._threads.run(lambda: episode(self._mem, *args, **named), _abandon)
        return AsyncRecording(recording, self._threads)

    return awaited


def _abandon(recording: Recording) -> None:
    """End an episode whose caller was cancelled before it got the recording."""
    recording.__exit__(asyncio.CancelledError, asyncio.CancelledError(), None)


class AsyncEngram:
    """An open vault as a reader sees it; as `Engram`. Use it as an async context manager, or await `close`."""

    def __init__(self, mem: Engram, threads: Threads) -> None:
        self._mem = mem
        self._threads = threads

    def _sync(self) -> Engram:
        return self._mem

    remember = Verb(Engram.remember)
    observe = Verb(Engram.observe)
    ingest = Verb(Engram.ingest)
    dropped = Verb(Engram.dropped)
    keep = Verb(Engram.keep)
    update = Verb(Engram.update)
    pin = Verb(Engram.pin)
    promote = Verb(Engram.promote)
    demote = Verb(Engram.demote)
    review = Verb(Engram.review)
    forget = Verb(Engram.forget)
    restore = Verb(Engram.restore)
    relate = Verb(Engram.relate)
    backfill = Verb(Engram.backfill)

    recall = Verb(Engram.recall)
    explain = Verb(Engram.explain)
    context = Verb(Engram.context)
    reason = Verb(Engram.reason)
    warm = Verb(Engram.warm)
    feedback = Verb(Engram.feedback)
    resume = Verb(Engram.resume)
    morning = Verb(Engram.morning)
    gaps = Verb(Engram.gaps)
    knows = Verb(Engram.knows)

    get = Verb(Engram.get)
    list = Verb(Engram.list)
    lacks_vector = Verb(Engram.lacks_vector)
    words = Verb(Engram.words)
    edges = Verb(Engram.edges)
    entity = Verb(Engram.entity)
    entities = Verb(Engram.entities)
    decide_entity = Verb(Engram.decide_entity)
    undo_entity_decision = Verb(Engram.undo_entity_decision)
    entity_decisions = Verb(Engram.entity_decisions)
    timeline = Verb(Engram.timeline)
    learn = Verb(Engram.learn)
    unlearn = Verb(Engram.unlearn)
    beliefs = Verb(Engram.beliefs)
    path = Verb(Engram.path)
    traverse = Verb(Engram.traverse)
    standing = Verb(Engram.standing)
    boxes = Verb(Engram.boxes)
    box = Verb(Engram.box)
    versions = Verb(Engram.versions)
    status_history = Verb(Engram.status_history)
    encoder = Verb(Engram.encoder)
    language = Verb(Engram.language)
    export = Verb(Engram.export)
    import_ = Verb(Engram.import_)
    consolidate = Verb(Engram.consolidate)
    dream = Verb(Engram.dream)
    undo_dream = Verb(Engram.undo_dream)
    dreams = Verb(Engram.dreams)
    purge = Verb(Engram.purge)
    backup = Verb(Engram.backup)
    backups = Verb(Engram.backups)
    health = Verb(Engram.health)
    doctor = Verb(Engram.doctor)
    check = Verb(Engram.check)
    audit = Verb(Engram.audit)
    ration = Verb(Engram.ration)
    release = Verb(Engram.release)
    coarse = Verb(Engram.coarse)
    sound = Verb(Engram.sound)

    events = Verb(Engram.events)
    grant = Verb(Engram.grant)
    holder = Verb(Engram.holder)
    revoke = Verb(Engram.revoke)
    tokens = Verb(Engram.tokens)

    begin = _returning_run(Engram.begin)

    episode = _returning_recording(Engram.episode)
    episodes = Verb(Engram.episodes)
    skills = Verb(Engram.skills)
    learn_skills = Verb(Engram.learn_skills)
    practise = Verb(Engram.practise)
    warnings = Verb(Engram.warnings)

    @property
    def working(self) -> AsyncWorking:
        """The working memory of this reader's scope."""
        return AsyncWorking(self._mem, self._threads)

    @property
    def reader(self) -> Reader:
        return self._mem.reader

    @property
    def notice(self) -> str:
        return self._mem.notice

    @property
    def env(self) -> Env:
        return self._mem.env

    @property
    def settings(self) -> LiveSettings:
        return self._mem.settings

    def keyed(self, key: str) -> AsyncEngram:
        """Return a view whose writes have this idempotency key; as `Engram.keyed`."""
        return AsyncEngram(self._mem.keyed(key), self._threads)

    def deadline(self, seconds: float | None) -> AbstractContextManager[Deadline]:
        """Set a deadline for all calls in this `with` block; as `Engram.deadline`."""
        return self._mem.deadline(seconds)

    def as_reader(self, reader: Reader) -> AsyncEngram:
        """Return the same open vault as another reader sees it. For code that establishes identities, such as a server."""
        return AsyncEngram(self._mem.as_reader(reader), self._threads)

    async def close(self) -> None:
        """Wait for running calls, then close the vault. Cancelling does not prevent it: the vault is closed a little later."""
        await in_own_thread(self._close)

    def _close(self) -> None:
        self._threads.end()
        self._mem.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Async{repr(self._mem)[1:]}"


class Opening:
    """A vault that is not open yet: `await` it, or enter it with `async with`."""

    def __init__(self, make: Callable[[], Engram]) -> None:
        self._make = make
        self._opened: AsyncEngram | None = None

    def __await__(self) -> Generator[Any, None, AsyncEngram]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncEngram:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open(self) -> AsyncEngram:
        mem = await in_own_thread(self._make, Engram.close)
        return AsyncEngram(mem, Threads(mem.settings.now.reader_limit))


def _awaitable(make: Callable[P, Engram]) -> Callable[P, Opening]:
    @functools.wraps(make)
    def opening(*args: P.args, **named: P.kwargs) -> Opening:
        return Opening(lambda: make(*args, **named))

    return opening


open = _awaitable(open_engram)
open_as = _awaitable(Engram.open)
"""`Engram.open` with `await`, for code that establishes identities."""
