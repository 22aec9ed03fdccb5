"""No stored word and no key is in any file, log, audit row, exception or repr; no file is open to others (V1–V3, V18)."""

from __future__ import annotations

import gc
import logging
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from promises.children import Child, Nursery
from promises.vaults_at_hand import KEY, OWNER, agent, entropy, inside, open_vault, store_of, word

from engram.crypto.keys import MasterKey, Purpose
from engram.engine import Engram
from engram.errors import EngramError
from engram.types import Edge, Memory, Reader, Role, Scope, Status

WORDS = 150
CANARY = "the zqcanarybirdsings at dawn in the old mill"
PLACES = ("text", "second", "category", "name", "value", "agent", "newer", "newest", "reason", "edge", "vector", "model")


def stored_words() -> set[bytes]:
    return {word(number, place)[:10].encode() for place in PLACES for number in range(WORDS + 1)}


def words_in(content: bytes) -> set[bytes]:
    """Which stored words stand in these bytes, in UTF-8 or UTF-16, as `strings` would find them."""
    seen = set(re.findall(rb"zq[a-z]{8}", content))
    seen |= {wide.replace(b"\0", b"") for wide in re.findall(rb"z\0q\0(?:[a-z]\0){8}|\0z\0q(?:\0[a-z]){8}", content)}
    return seen & stored_words()


def every_file(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield from (file for file in folder.rglob("*") if file.is_file())


@pytest.fixture
def life(children: Nursery, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Child, Path, list[Path]]:
    """A vault in full use by another process under the loosest umask; its folder, and all folders it could write to."""
    temporary, cwd = tmp_path / "tmp", tmp_path / "cwd"
    temporary.mkdir()
    cwd.mkdir()
    for name in ("TMPDIR", "SQLITE_TMPDIR", "TMP", "TEMP"):
        monkeypatch.setenv(name, str(temporary))
    home = Path(os.environ["HOME"]).parent
    child = children.start("live_fully", path=str(path), words=WORDS, umask=0, cwd=str(cwd))
    child.line()
    return child, path, [path, temporary, cwd, home, Path(os.environ["ENGRAM_CONFIG"]).parent]


def leaks(folders: list[Path]) -> dict[str, int]:
    return {str(file): len(found) for file in every_file(*folders) if (found := words_in(file.read_bytes()))}


def loose(folder: Path) -> dict[str, str]:
    """What others could read, or what is not exactly the owner's."""
    wanted = {folder: 0o700} | {each: 0o700 if each.is_dir() else 0o600 for each in folder.rglob("*")}
    return {str(each): oct(each.stat().st_mode & 0o7777) for each, mode in wanted.items() if each.stat().st_mode & 0o7777 != mode}


def flat(path: Path) -> dict[str, float]:
    """Data files whose bytes are not as even as chance."""
    data = [path / "vault.db", path / "vault.db-wal", *path.glob("backups/*.db*"), *path.glob("index/*")]
    return {file.name: even for file in data if file.exists() and (even := entropy(file.read_bytes())) <= 7.99}


def test_the_files_of_an_open_vault_show_no_word_and_are_closed_to_others(life: tuple[Child, Path, list[Path]]) -> None:
    """V1, V2: database, log, shared memory, backups and all other files, while the vault is in use."""
    child, path, folders = life
    assert path.joinpath("vault.db-wal").stat().st_size > 0
    assert len(list(path.glob("backups/*.db"))) >= 1
    assert leaks(folders) == {}
    assert flat(path) == {}
    assert loose(path) == {}
    child.tell()
    child.line()


def test_the_files_of_a_closed_vault_show_no_word_and_are_closed_to_others(life: tuple[Child, Path, list[Path]]) -> None:
    """V1, V2, V3: after closing; the key file lies outside the vault and is closed to others too."""
    child, path, folders = life
    child.tell()
    assert child.line() == {"closed": True}
    assert leaks(folders) == {}
    assert flat(path) == {}
    assert loose(path) == {}
    keys = Path(os.environ["ENGRAM_CONFIG"]).parent / "keys"
    assert loose(keys) == {}
    assert len(list(keys.iterdir())) == 1
    text = next(keys.iterdir()).read_text().splitlines()[-1]
    with MasterKey.from_recovery_text(text) as master:
        raw = [bytes(master.subkey(purpose)) for purpose in Purpose] + [bytes(master._alive())]
    for file in every_file(path):
        content = file.read_bytes()
        assert not [key for key in raw if key in content or key.hex().encode() in content], file.name
    child.tell()


def test_the_files_of_a_crashed_vault_show_no_word_and_are_closed_to_others(life: tuple[Child, Path, list[Path]]) -> None:
    """V1, V2: after a kill that leaves the log."""
    child, path, folders = life
    child.kill()
    assert path.joinpath("vault.db-wal").stat().st_size > 0
    assert leaks(folders) == {}
    assert flat(path) == {}
    assert loose(path) == {}


def test_the_scan_of_these_tests_finds_a_word_in_every_encoding(tmp_path: Path) -> None:
    """Else the tests above prove nothing."""
    for number, code in enumerate(("utf-8", "utf-16-le", "utf-16-be")):
        tmp_path.joinpath(str(number)).write_bytes(b"\x01" + word(number, "text").encode(code) + b"\x02")
    assert len(leaks([tmp_path])) == 3


@pytest.mark.parametrize("cipher", ["aegis", "sqlcipher"])
def test_both_ciphers_hide_everything(path: Path, cipher: str) -> None:
    """V2: also the cipher that SQLCipher's tools open."""
    with open_vault(path, cipher=cipher) as mem:
        for number in range(60):
            mem.remember(f"{word(number, 'text')} {word(number, 'second')}")
        mem.backup()
    assert leaks([path]) == {}
    assert flat(path) == {}


class Listener(logging.Handler):
    """Everything that is logged, with its arguments and tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter("%(message)s").format(record) + repr(record.args) + repr(record.msg))


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener, root = Listener(), logging.getLogger()
    level = root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    yield listener
    root.removeHandler(listener)
    root.setLevel(level)


def told_by(error: BaseException | None, seen: set[int] | None = None) -> str:
    """All that an exception and those behind it tell in text."""
    seen = set() if seen is None else seen
    if error is None or id(error) in seen:
        return ""
    seen.add(id(error))
    parts = [
        str(error),
        repr(error),
        repr(error.args),
        repr(getattr(error, "__notes__", "")),
        repr(getattr(error, "__dict__", "")),
    ]
    if isinstance(error, UnicodeError):
        parts.append(repr(getattr(error, "object", "")))
    return " ".join(parts) + told_by(error.__cause__, seen) + told_by(error.__context__, seen)


def refusals(mem: Engram) -> dict[str, Any]:
    """Every way to be refused that has words in its arguments."""
    store = store_of(mem)
    kept, other = mem.remember("something plain"), mem.remember("something else")
    guest = mem.as_reader(Reader(role=Role.GUEST))
    half = CANARY + "\ud800"
    return {
        "too large": lambda: mem.remember(CANARY * 400),
        "attribute too large": lambda: mem.remember("x", attributes={"a": CANARY * 40}),
        "summary too large": lambda: store.memories.add(OWNER, [Memory(text="x", summary=CANARY * 40)]),
        "half a character": lambda: mem.remember(half),
        "half a character in an attribute": lambda: mem.remember("x", attributes={"a": half}),
        "half a character in an attribute's name": lambda: mem.remember("x", attributes={half: "a"}),
        "half a character in a category": lambda: mem.remember("x", category=half),
        "half a character in a scope": lambda: mem.remember("x", scope=Scope(agent=half)),
        "half a character in a reason": lambda: store.memories.set_status(OWNER, kept.id, Status.ARCHIVED, half),
        "half a character in a link": lambda: mem.relate(kept.id, other.id, half),
        "half a character in a search": lambda: store.text.search(OWNER, [half], limit=3),
        "half a character in an id": lambda: mem.get(half),
        "half a character in an update": lambda: mem.update(kept.id, text=half),
        "half a character in a space": lambda: store.vectors.put(OWNER, half, {kept.key: b"x"}, model="m", dimensions=1),
        "unknown id updated": lambda: mem.update(CANARY, text=CANARY),
        "unknown id forgotten": lambda: mem.forget(CANARY),
        "unknown id erased": lambda: mem.forget(CANARY, erase=True),
        "unknown id linked": lambda: mem.relate(CANARY, CANARY, CANARY),
        "unknown id's versions": lambda: mem.versions(CANARY),
        "unknown field": lambda: store.memories.update(OWNER, kept.id, {"text": CANARY, "version": 3}),
        "denied scope": lambda: mem.as_reader(agent("a")).remember(CANARY, scope=Scope(agent="b")),
        "denied role": lambda: guest.remember(CANARY),
        "denied policy": lambda: mem.as_reader(Reader(policy=OWNER.policy)).remember(CANARY),
        "bad cursor": lambda: mem.list(cursor=CANARY),
        "bad number": lambda: store.memories.add(OWNER, [Memory(text=CANARY, accesses=2**70)]),
        "no number": lambda: store.memories.add(OWNER, [Memory(text=CANARY, importance=float("nan"))]),
        "same id twice": lambda: store.memories.add(OWNER, [Memory(text=CANARY, id=kept.id)]),
        "bad link weight": lambda: store.edges.put(OWNER, [Edge(kept.id, other.id, CANARY, float("nan"))]),
        "no time left": lambda: mem.remember(CANARY, timeout=0.0),
        "other dimensions": lambda: [
            store.vectors.put(OWNER, "s", {kept.key: bytes(n + 4)}, model="m", dimensions=n) for n in (1, 2)
        ],
        "closed": lambda: (mem.close(), mem.remember(CANARY)),
    }


def test_no_error_log_or_audit_row_of_a_refusal_holds_the_refused_words(path: Path, listener: Listener) -> None:
    """V3, V17, V18: exceptions and their causes, log records at every level, audit rows in every column."""
    mem = open_vault(path)
    told, strangers = [], []
    for name, call in refusals(mem).items():
        try:
            call()
        except Exception as error:
            if "zqcanary" in told_by(error):
                told.append(name)
            if not isinstance(error, EngramError):
                strangers.append(f"{name}: {type(error).__name__}")
    mem.close()
    assert not [line for line in listener.lines if "zqcanary" in line]
    with inside(path) as connection:
        rows = [repr(row) for row in connection.execute("SELECT * FROM audit")]
    assert len(rows) > 10
    audited = [row for row in rows if "zqcanary" in row]
    assert {"audit rows with the words": audited, "errors with the words": told, "errors that are not ours": strangers} == {
        "audit rows with the words": [],
        "errors with the words": [],
        "errors that are not ours": [],
    }


def test_no_verb_writes_words_to_the_log_or_the_audit_trail(path: Path, listener: Listener) -> None:
    """V3, V18: every verb once with the canary in its arguments, with all loggers at DEBUG."""
    mem = open_vault(path, reader=OWNER)
    store = store_of(mem)
    kept = mem.remember(CANARY, category="fact", attributes={"said": CANARY})
    mem.update(kept.id, text=CANARY + " again")
    store.text.search(OWNER, CANARY.split(), limit=5)
    mem.forget(kept.id, reason=CANARY)
    mem.restore(kept.id)
    mem.pin(kept.id)
    mem.relate(kept.id, mem.remember("another").id, "related_to")
    mem.list()
    mem.get(kept.id)
    mem.backup()
    mem.health()
    shown = [
        repr(thing) for thing in (mem, store, mem.reader, mem.settings, mem.health(), mem.audit(limit=500), store.gate.opened.key)
    ]
    mem.forget(kept.id, erase=True)
    mem.close()
    open_vault(path).close()
    assert not [line for line in listener.lines if "zqcanary" in line]
    assert not [one for one in shown if "zqcanary" in one]
    with inside(path) as connection:
        for table in ("audit", "changes", "meta", "schema_version"):
            assert not [row for row in connection.execute(f"SELECT * FROM {table}") if "zqcanary" in repr(row)]


def test_no_key_appears_in_a_log_an_error_or_a_repr(path: Path, tmp_path: Path, listener: Listener) -> None:
    """V3: raw, in hexadecimal, or as recovery text; the right key and a wrong one."""
    wrong = bytes(range(100, 132))
    secrets = [KEY, wrong]
    for one in (KEY, wrong):
        with MasterKey(bytearray(one)) as master:
            secrets += [bytes(master.subkey(purpose)) for purpose in Purpose]
            secrets.append(master.recovery_text().encode())
    shown = []
    mem = open_vault(path)
    mem.remember("kept")
    store = store_of(mem)
    shown += [repr(one) for one in (mem, store, store.gate.opened, store.gate.opened.key, mem.settings, mem.health(), mem._vault)]
    mem.close()
    for key in (wrong, bytes(5), "engram1-not-a-key", MasterKey(bytearray(wrong)).recovery_text()):
        with pytest.raises(EngramError) as caught:
            open_vault(path, key=key)
        shown.append(told_by(caught.value))
    path.joinpath("vault.db").write_bytes(os.urandom(8192))
    with pytest.raises(EngramError) as caught:
        open_vault(path)
    shown.append(told_by(caught.value))
    everything = "\n".join([*shown, *listener.lines])
    for secret in secrets:
        written_down = secret.startswith(b"engram1")
        forms = [secret.decode()] if written_down else [secret.hex(), repr(secret), repr(bytearray(secret))]
        assert not [form for form in forms if form in everything], "a key is shown"


def test_keys_are_wiped_from_memory_when_the_vault_is_closed(path: Path) -> None:
    """V3, V10: no buffer of ours holds the key or a sub-key after closing (docs/security.md says what Python may still hold)."""
    mem = open_vault(path)
    mem.remember("kept")
    opened = store_of(mem).gate.opened
    mem.close()
    assert not any(opened.key._material)
    assert not any(opened.audit_key)
    assert not any(opened.snapshot_key)
    assert not any(opened.token_key)
    gc.collect()
    with MasterKey(bytearray(KEY)) as master:
        live = {bytes(master.subkey(purpose)) for purpose in Purpose}
    held = [one for one in gc.get_objects() if isinstance(one, bytearray) and bytes(one) in live]
    assert held == []


def test_a_vault_made_under_a_loose_umask_is_closed_to_others(path: Path) -> None:
    """V1: modes 0700 and 0600 whatever the umask; a folder that existed before is closed too."""
    old = os.umask(0)
    try:
        path.mkdir(mode=0o777)
        with open_vault(path) as mem:
            mem.remember("kept")
            mem.backup()
            assert loose(path) == {}
        assert loose(path) == {}
    finally:
        os.umask(old)
    assert path.joinpath(".gitignore").read_text() == "*\n"
    assert {".nomedia", ".noindex"} <= {file.name for file in path.iterdir()}


def test_nothing_is_left_in_the_temporary_folder(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2: large sorts and statements stay in memory."""
    temporary = tmp_path / "t"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("SQLITE_TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with open_vault(path) as mem:
        store_of(mem).memories.add(OWNER, [Memory(text=f"{word(n, 'text')} " + "z" * 2000) for n in range(300)])
        mem.list(limit=300)
        assert list(temporary.iterdir()) == []
