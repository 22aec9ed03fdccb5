"""The programs that child processes of the promises run: JSON lines in, JSON lines out, on real vaults."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import apsw
from promises.vaults_at_hand import ANY_STATUS, KEY, OWNER, SPACE, agent, credentials, inside, open_vault, store_of, word
from recall.vaults import open_engram

from engram.capture.limits import CaptureLimits
from engram.engine import Engram
from engram.env import Env
from engram.errors import EngramError
from engram.index.vectors.tiers import VectorLimits
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.limits import StoreLimits
from engram.store.sqlite import migrations
from engram.store.sqlite import migrations as schema
from engram.store.sqlite.maintenance import rotate_key
from engram.store.sqlite.vault import open_exclusively
from engram.types import Memory, Scope, Source, Status, Turn


def say(**values: object) -> None:
    """Print values as one line in one write, so that a kill leaves the whole line or none of it."""
    os.write(1, (json.dumps(values) + "\n").encode())


def heed() -> Any:
    """Return the parent's next line; exit when the parent has closed the pipe."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece:
            sys.exit(0)
        line += piece
    return json.loads(line)


def code_of(work: Callable[[], object]) -> str:
    """Return '' if the work succeeds, the error's code if it is refused, the type and text of any other exception."""
    try:
        work()
    except EngramError as error:
        return error.code
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def signal_at_step(step: int, number: int, *within: str, only_main: bool = False) -> Callable[[], int]:
    """Send this process a signal when the `step`th line of files whose path has one of `within` is about to run.

    Returns how to ask for the count of lines so far; step 0 only counts. Every instant of a piece of work can be named.
    """
    count = 0

    def local(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count == step:
                os.kill(os.getpid(), number)
        return local

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        return local if any(part in frame.f_code.co_filename for part in within) else None

    sys.settrace(trace)
    if not only_main:
        threading.settrace(trace)
    return lambda: count


# ── crash ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_without_end(path: str, seed: int) -> None:
    """Write from four threads until killed; each prints what was acknowledged, and beforehand what it will change or erase."""
    mem = open_vault(path, tuning=[StoreLimits(size_jitter_kib=16)])
    say(open=True, crashed_before=mem.health().crashed_before)
    heed()
    for work in (_singles, _batches, _updates, _erases):
        threading.Thread(target=work, args=(mem, random.Random(seed)), daemon=True).start()
    heed()


def _text(dice: random.Random, first: str) -> str:
    return first + " " + " ".join(word(dice.randrange(5000), "common") for _ in range(dice.randrange(1, 120)))


def _singles(mem: Engram, dice: random.Random) -> None:
    for number in range(10**6):
        first = word(number, f"single{dice.random()}")
        kept = mem.remember(_text(dice, first), attributes={"n": str(number)})
        say(ack="add", id=kept.id, text=kept.text, attributes=dict(kept.attributes))


def _batches(mem: Engram, dice: random.Random) -> None:
    for number in range(10**6):
        name = f"{os.getpid()}-{number}"
        drafts = [Memory(text=_text(dice, word(n, f"batch{name}")), attributes={"batch": name}) for n in range(6)]
        for kept in store_of(mem).memories.add(OWNER, drafts):
            say(ack="add", id=kept.id, text=kept.text, attributes=dict(kept.attributes))


def _updates(mem: Engram, dice: random.Random) -> None:
    one = mem.remember(_text(dice, word(0, f"update{dice.random()}")))
    say(ack="add", id=one.id, text=one.text, attributes={})
    for number in range(1, 10**6):
        text = _text(dice, word(number, f"update{one.id}"))
        say(trying="update", id=one.id, text=text)
        new = mem.update(one.id, text=text)
        say(ack="update", id=one.id, text=text, version=new.version)


def _erases(mem: Engram, dice: random.Random) -> None:
    for number in range(10**6):
        kept = mem.remember(_text(dice, word(number, f"erase{dice.random()}")))
        say(ack="add", id=kept.id, text=kept.text, attributes={})
        say(trying="erase", id=kept.id)
        mem.forget(kept.id, erase=True)
        say(ack="erase", id=kept.id)


def make_vault(path: str, step: int = 0, settings: dict[str, object] | None = None, key: bool = True) -> None:
    """Make a vault, and die at that step of it."""
    counted = signal_at_step(step, signal.SIGKILL, "/engram/")
    mem = Engram.open(path, reader=OWNER, key=KEY if key else None, settings={"backup_hours": 0, **(settings or {})})
    sys.settrace(None)
    say(made=True, steps=counted())
    mem.close()


def die_in_backup(path: str, step: int = 0) -> None:
    mem = open_vault(path)
    say(ack=mem.remember(f"{word(step, 'backup')} before the backup").id)
    counted = signal_at_step(step, signal.SIGKILL, "/engram/")
    made = mem.backup()
    sys.settrace(None)
    say(number=made.number, steps=counted())


def die_in_rotation(path: str, settings: dict[str, object], step: int = 0) -> None:
    """Rotate the vault's key, and die at that line of it."""
    live = LiveSettings(settings, monotonic=Env().monotonic)
    counted = signal_at_step(step, signal.SIGKILL, "/engram/")
    rotate_key(Path(path), live, Env(), Credentials())
    sys.settrace(None)
    say(rotated=True, steps=counted())


def die_in_correction(path: str, step: int = 0) -> None:
    """Correct the first memory, and die at that line of it."""
    mem = open_vault(path)
    old = mem.list()[0]
    counted = signal_at_step(step, signal.SIGKILL, "/engram/")
    new = mem.feedback(old.id, False, correction=f"{word(step, 'true')} is true")
    sys.settrace(None)
    say(ack=new.id, steps=counted())


def die_in_close(path: str, step: int = 0) -> None:
    mem = open_vault(path)
    counted = signal_at_step(step, signal.SIGKILL, "/engram/")
    for number in range(5):
        say(ack=mem.remember(f"{word(number, f'close{step}')} before the close").id, steps=counted())
    mem.close()
    say(closed=True, steps=counted())


def die_in_snapshot(path: str, step: int = 0) -> None:
    """Write the snapshot of the loaded index, and die at that line of it."""
    mem = open_engram(Path(path), tuning=[VectorLimits(snapshot_from=10**6)])
    index = mem._vault.index
    assert index is not None
    mem.settings.tune(VectorLimits(snapshot_from=1))
    counted = signal_at_step(step, signal.SIGKILL, "/engram/", only_main=True)
    index._write_snapshot()
    sys.settrace(None)
    say(steps=counted())


def second_migration(seconds: float = 0.0) -> tuple[tuple[str, migrations.Migration], ...]:
    def add_table(connection: apsw.Connection) -> None:
        connection.execute("CREATE TABLE second (key INTEGER PRIMARY KEY, word TEXT NOT NULL) STRICT")
        time.sleep(seconds)
        connection.execute("INSERT INTO second (word) SELECT text FROM contents")
        connection.execute("ALTER TABLE edges ADD COLUMN note TEXT")

    return (*migrations.MIGRATIONS, ("a second step", add_table))


def die_in_migration(path: str, step: int = 0) -> None:
    with inside(Path(path), write=True) as connection:
        counted = signal_at_step(step, signal.SIGKILL, "/engram/", "programs.py")
        steps = schema.migrate(connection, Env().now(), second_migration())
        sys.settrace(None)
        say(migrated=steps, steps=counted())


def hold_open(path: str, settings: dict[str, object] | None = None, write: bool = True) -> None:
    """Open a vault, write to its log unless `write` is false, and close it at the parent's signal."""
    mem = open_vault(path, **(settings or {}))
    if write:
        say(ack=mem.remember(f"{word(os.getpid(), 'held')} held open").id)
    else:
        say(count=mem.health().counts.memories)
    heed()
    mem.close()


# ── several processes ────────────────────────────────────────────────────────────────────────────────────────────────


def take_part(path: str, name: str, others: list[str], rounds: int) -> None:
    """Write as one agent, privately and for all, and look at what the others do."""
    with open_vault(path, reader=agent(name, "p")) as mem:
        dice = random.Random(name)
        say(open=True)
        heed()
        for number in range(rounds):
            own = mem.remember(f"{word(number, name)} of {name}", scope=Scope(agent=name))
            everyone = mem.remember(f"{word(number, 'all' + name)} for all", scope=Scope())
            say(ack="own", id=own.id, text=own.text)
            say(ack="all", id=everyone.id, text=everyone.text)
            if dice.random() < 0.3:
                mem.update(own.id, text=own.text + " again")
                say(ack="own", id=own.id, text=own.text + " again")
            seen = mem.list(limit=200)
            strangers = [memory.id for memory in seen if memory.scope.agent not in ("", name)]
            hits = store_of(mem).text.search(mem.reader, [word(number, other) for other in others], limit=9)
            if strangers or hits:
                say(leak=strangers + [hit.key for hit in hits])
        say(done=True)
        heed()


def see_at_once(path: str) -> None:
    """Read ids from the parent and print what is visible of each at once."""
    with open_vault(path, reader=agent("watcher")) as mem:
        say(open=True)
        while True:
            asked = heed()
            if asked is None:
                return
            found = mem.get(asked["id"])
            hits = store_of(mem).text.search(mem.reader, [asked["word"]], limit=5)
            say(text=found.text if found else None, hits=[hit.key for hit in hits])


def come_and_go(path: str, name: str, rounds: int) -> None:
    """Open, write, close, over and over."""
    for number in range(rounds):
        with open_vault(path, reader=agent(name)) as mem:
            say(ack=mem.remember(f"{word(number, 'come' + name)} came and went").id)


def open_at_once(path: str, settings: dict[str, object], key: bool = True) -> None:
    """Wait for the parent's signal, then open (or make) the vault as fast as possible."""
    say(ready=True)
    heed()
    mem = Engram.open(path, reader=OWNER, key=KEY if key else None, settings={"backup_hours": 0, **settings})
    kept = mem.remember(f"{word(os.getpid(), 'race')} raced")
    say(id=kept.id, notice=mem.notice)
    heed()
    say(count=mem.health().counts.memories)
    mem.close()


def migrate_at_once(path: str, seconds: float) -> None:
    with inside(Path(path), write=True) as connection:
        say(ready=True)
        heed()
        try:
            say(steps=schema.migrate(connection, Env().now(), second_migration(seconds)))
        except EngramError as error:
            say(code=error.code)


def have_it_alone(path: str, patience_s: float = 0.2) -> None:
    live = LiveSettings({"write_patience_s": patience_s}, monotonic=time.monotonic)
    try:
        with open_exclusively(Path(path), live, Env(), credentials()):
            say(alone=True)
            heed()
    except EngramError as error:
        say(code=error.code)
    else:
        say(over=True)


def try_to_open(path: str, settings: dict[str, object]) -> None:
    say(code=code_of(lambda: open_vault(path, **settings).close()))


def take_the_log_away(path: str) -> None:
    """Try to leave write-ahead mode, which removes the log and which SQLite allows only to the last connection."""
    with inside(Path(path), write=True) as connection:
        try:
            say(mode=connection.execute("PRAGMA journal_mode = DELETE").get)
        except apsw.BusyError:
            say(mode="wal")


def erase_beside_a_writer(path: str, rounds: int) -> None:
    with open_vault(path) as mem:
        for number in range(rounds):
            kept = mem.remember(f"{word(number, 'doomed')} doomed")
            say(code=code_of(lambda kept=kept: mem.forget(kept.id, erase=True)))


def erase_and_wait(path: str, number: int) -> None:
    mem = open_vault(path)
    one = mem.remember(f"{word(number, 'erased')} said", attributes={"a": word(number, "value")})
    mem.remember(f"{word(number, 'neighbour')} said")
    mem.forget(one.id, erase=True)
    say(erased=True)
    heed()


# ── full disk ────────────────────────────────────────────────────────────────────────────────────────────────────────


def fill_under_limit(path: str, limit: int) -> None:
    mem = open_vault(path, tuning=[StoreLimits(full_retry_s=0.3)])
    first = mem.remember(f"{word(0, 'first')} before the limit")
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    acked, code = _until_refused(mem)
    at_once = code_of(lambda: mem.remember("refused at once"))
    say(code=code, at_once=at_once, acked=[first.id, *acked], writes=mem.health().writes)
    say(read=mem.get(first.id) is not None, listed=len(mem.list(limit=500)), warnings=mem.health().warnings)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    time.sleep(0.4)
    say(code=code_of(lambda: mem.remember(f"{word(1, 'first')} after the limit")), writes=mem.health().writes)
    mem.close()


def erase_under_limit(path: str, limit: int) -> None:
    """Erase where the log can be used as it is but not be made long again; then see how commits are synced."""
    mem = open_vault(path, tuning=[StoreLimits(full_retry_s=0.0)])
    doomed = mem.remember(f"{word(0, 'doomed')} doomed")
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    code = code_of(lambda: mem.forget(doomed.id, erase=True))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    mem.remember("there is room again")
    synchronous = store_of(mem).gate.writer.run_outside_transaction(
        lambda connection: connection.execute("PRAGMA synchronous").get, "asking", None
    )
    say(code=code, gone=mem.get(doomed.id) is None, synchronous=synchronous)
    mem.close()


def _until_refused(mem: Engram, most: int = 3000, size: int = 4000) -> tuple[list[str], str]:
    acked: list[str] = []
    for number in range(most):
        text = f"{word(number, 'filler')} " + word(number, "more") * (size // 14)
        code = code_of(lambda text=text: acked.append(mem.remember(text).id))
        if code:
            return acked, code
    return acked, ""


def live_on_a_full_disk(path: str, filler: str) -> None:
    """Fill the file system, be refused, read on, wait for room (the parent makes it), write again."""
    mem = open_vault(path, tuning=[StoreLimits(full_retry_s=0.3)])
    first = mem.remember(f"{word(0, 'first')} while there was room")
    eat_room(filler)
    acked, code = _until_refused(mem)
    say(code=code, acked=[first.id, *acked], text=mem.get(first.id).text, warnings=mem.health().warnings)
    say(
        hits=len(store_of(mem).text.search(OWNER, [word(0, "first")], limit=5)),
        writes=mem.health().writes,
        backup=code_of(mem.backup),
        erase=code_of(lambda: mem.forget(first.id, erase=True)),
    )
    heed()
    time.sleep(0.4)
    say(code=code_of(lambda: mem.remember(f"{word(1, 'first')} when there was room again")), writes=mem.health().writes)
    mem.close()
    say(closed=True)


def eat_room(filler: str, leave: int = 0) -> None:
    with open(filler, "wb", buffering=0) as file:
        for size in (65536, 4096, 512):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass
    if leave:
        os.truncate(filler, os.path.getsize(filler) - leave)


def read_only_and_back(path: str) -> None:
    """Open on a file system that cannot be written; the parent makes it writable; try again without reopening."""
    mem = open_vault(path, tuning=[StoreLimits(full_retry_s=0.1)])
    held = sorted(memory.text for memory in mem.list())
    say(
        held=held,
        warnings=mem.health().warnings,
        writes=mem.health().writes,
        code=code_of(lambda: mem.remember("not now")),
        audit=code_of(lambda: mem.audit()),
        backup=code_of(mem.backup),
    )
    heed()
    time.sleep(0.2)
    text = f"{word(1, 'writable')} written after all"
    say(code=code_of(lambda: mem.remember(text)))
    say(seen=text in [memory.text for memory in mem.list()], writes=mem.health().writes)
    mem.close()
    say(after_close=code_of(lambda: mem.list()))


def open_read_only(path: str) -> None:
    code, held = "", []
    try:
        mem = open_vault(path)
        held = sorted(memory.text for memory in mem.list(limit=500))
        warnings = mem.health().warnings
        mem.close()
    except EngramError as error:
        code, warnings = error.code, ()
    say(code=code, held=held, warnings=warnings)


# ── shutdown ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_until_signalled(path: str) -> None:
    mem = open_vault(path)
    say(open=True)
    for number in range(10**6):
        kept = mem.remember(f"{word(number, 'signal')} written")
        say(ack=kept.id)


def write_in_threads_until_signalled(path: str) -> None:
    mem = open_vault(path)
    say(open=True)

    def write(name: str) -> None:
        for number in range(10**6):
            try:
                kept = mem.remember(f"{word(number, name)} written")
            except EngramError:
                return
            say(ack=kept.id)

    for name in "abc":
        threading.Thread(target=write, args=(name,), daemon=True).start()
    while True:
        time.sleep(0.01)
        mem.list(limit=3)


def terminate_at_step(path: str, step: int) -> None:
    """SIGTERM at that very line of a write or a read in the main thread, inside the locks of the standard library too."""
    mem = open_vault(path)
    mem.remember(f"{word(os.getpid(), 'warm')} warm")
    mem.list()
    counted = signal_at_step(step, signal.SIGTERM, "/engram/", "/queue.py", "/threading.py", "/futures/", only_main=True)
    for number in range(3):
        say(ack=mem.remember(f"{word(number, f'term{step}')} one more").id)
        mem.list(limit=1)
    sys.settrace(None)
    say(steps=counted())


def interrupt_in_with(path: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by whoever was started in a shell's background
    try:
        with open_vault(path) as mem:
            say(open=True)
            for number in range(10**6):
                say(ack=mem.remember(f"{word(number, 'interrupt')} written").id)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)


def exit_without_close(path: str) -> None:
    mem = open_vault(path)
    for number in range(5):
        say(ack=mem.remember(f"{word(number, 'exit')} written").id)


def fork_while_open(path: str) -> None:
    """Fork with the vault open: the child exits normally, and the parent goes on writing."""
    mem = open_vault(path)
    say(ack=mem.remember(f"{word(0, 'fork')} before the fork").id)
    mem.list()
    pid = os.fork()
    if not pid:
        sys.exit(0)
    _, status = os.waitpid(pid, 0)
    say(child=os.waitstatus_to_exitcode(status))
    for number in range(1, 20):
        say(ack=mem.remember(f"{word(number, 'fork')} after the fork").id)
    say(count=len(mem.list(limit=100)))
    mem.close()


def hardening(path: str, harden: bool) -> None:
    with open_vault(path, harden_process=harden):
        import ctypes

        dumpable = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
        say(core=resource.getrlimit(resource.RLIMIT_CORE), dumpable=dumpable)


def live_fully(path: str, words: int, umask: int, cwd: str) -> None:
    """Use every verb of a vault, then wait to be inspected, killed or closed."""
    os.umask(umask)
    os.chdir(cwd)
    mem = Engram.open(path, reader=OWNER, settings={"key_source": "file", "backup_hours": 24})
    ids = []
    for number in range(words):
        kept = mem.remember(
            f"{word(number, 'text')} {word(number, 'second')}",
            category=word(number, "category"),
            attributes={word(number, "name"): word(number, "value")},
            scope=Scope(agent=word(number % 7, "agent")),
            source=Source.TOOL,
        )
        ids.append(kept.id)
    store = store_of(mem)
    for number, one in enumerate(ids[: words // 2]):
        mem.update(one, text=f"{word(number, 'newer')} {word(number, 'newest')}")
        store.memories.set_status(OWNER, one, Status.ARCHIVED, word(number, "reason"))
        mem.relate(one, ids[-1], word(number, "edge"))
    store.vectors.put(OWNER, SPACE, {1: word(1, "vector").encode() * 8}, model=word(1, "model"), dimensions=108)
    mem.forget(ids[0], erase=True)
    for number in range(0, words, 9):
        store.text.search(OWNER, [word(number, "text")], limit=5, where=ANY_STATUS)
        mem.get(ids[number])
    mem.backup()
    mem.audit()
    mem.remember(f"{word(words, 'text')} {word(words, 'second')} after the backup")
    say(lived=True)
    heed()
    mem.close()
    say(closed=True)
    heed()


def suspend(path: str, names: list[str]) -> None:
    """Save working memory, and wait to be killed."""
    mem = open_vault(path, reader=agent("rex"))
    mem.working.attend(f"the {names[1]} is broken")
    mem.working.checkpoint(f"find {names[0]}", open=[names[2]])
    say(suspended=True)
    heed()


# ── recall and ingest beside others ──────────────────────────────────────────────────────────────────────────────────


def ask_again_and_again(path: str, question: str) -> None:
    """Open, recall and close until the parent's signal; print the hits of each round, or the code of the refusal."""
    over = threading.Event()
    threading.Thread(target=lambda: (heed(), over.set()), daemon=True).start()
    say(ready=True)
    while not over.is_set():
        try:
            with open_engram(Path(path), words_only=True) as mem:
                say(found=[hit.memory.text for hit in mem.recall(question, limit=3)])
        except EngramError as error:
            say(code=error.code)


def ingest_the_same(path: str, turns: int) -> None:
    """Ingest turns that another process ingests too."""
    with open_engram(Path(path), tuning=[CaptureLimits(ingest_batch=7)]) as mem:
        say(ready=True)
        heed()
        said = [Turn(f"I bought the boat {word(number)} in harbour {number}.", ref=f"r{number}") for number in range(turns)]
        say(**mem.ingest(said).counts)


def remember_once(path: str, key: str, text: str, rounds: int = 1) -> None:
    """Remember a text with the idempotency key that other processes use too."""
    with open_vault(path, model="none") as mem:
        say(ready=True)
        heed()
        kept = [mem.keyed(key).remember(text) for _ in range(rounds)]
        say(ids=[one.id for one in kept], corroborations=[one.corroborations for one in kept])


def die_in_a_keyed_step(path: str, episode: str, key: str, text: str, step: int = 0) -> None:
    """Record an event with an idempotency key, and die at that step of it."""
    with open_vault(path, model="none") as mem:
        counted = signal_at_step(step, signal.SIGKILL, "/engram/")
        mem.keyed(key).episode(resume=episode).event("tried", text)
        sys.settrace(None)
        say(steps=counted())


def die_in_a_keyed_write(path: str, key: str, text: str, step: int = 0) -> None:
    """Observe a turn with an idempotency key, and die at that step of it."""
    with open_vault(path, model="none") as mem:
        counted = signal_at_step(step, signal.SIGKILL, "/engram/")
        mem.keyed(key).observe(user=text)
        sys.settrace(None)
        say(steps=counted())
