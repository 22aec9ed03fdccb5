"""The main job from end to end, on a vault that is made for it and gone afterwards.

Comes in: how to print a title and a line. Everything told is what just happened: no figure and no answer is written
here. Folder, key and settings are its own, so that neither the vault nor the keychain of whoever runs it is touched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from engram.engine import Engram
from engram.env import Env
from engram.errors import VaultLocked
from engram.serve.warm import warm
from engram.settings import TABLE, Settings
from engram.types import Fate, Memory, Policy, Reader, Role, Scope, Turn

Say = Callable[[str], None]

_SENTENCES = (
    ("I prefer dark mode in every editor", "preference", 0.8),
    ("We moved the API to Fly.io on Tuesday", "event", 0.6),
    ("The platform team owns the API now", "fact", 0.7),
    ("Lena is allergic to peanuts", "fact", 0.9),
    ("Ship on Thursdays, never on Fridays", "rule", 0.5),
)
_EXCHANGE = (
    Turn("Hi there! I finally moved to Lisbon in March, and I play the cello in a small orchestra.", "user"),
    Turn("That sounds wonderful! How can I help you today?", "assistant"),
)
_QUESTIONS = ("Which instrument do I play?", "Which town is home for me these days?")
_STORED_WORD = "peanuts"
_PATIENCE_S = 30.0
_REX = Reader(Scope(agent="rex"))
_ADA = Reader(Scope(agent="ada"))
_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)


def run(*, title: Say, say: Say) -> None:
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as name:
        folder = Path(name)
        with _open(folder) as vault:
            health = vault.health()
            title("A new vault")
            say(f"  {health.path}, cipher {health.cipher}")
            say(f"  {vault.notice}")
            _keep_and_look(vault, title, say)
            _correct(vault, title, say)
            _hear_and_ask(vault, title, say)
            _figures(vault, title, say)
        _prove(folder, title, say)
    title("Gone again")
    say(f"  {folder} {'is still there' if folder.exists() else 'was removed; nothing of yours was touched'}")


def _open(folder: Path, key: bytes | None = None) -> Engram:
    """With the settings that ship, whatever this machine's configuration says, and a key file beside the vault."""
    shipped = {name: getattr(Settings(), name) for name in TABLE}
    own = {"key_source": "file", "key_file": str(folder / "keys" / "demo.key")}
    return Engram.open(folder / "vault", reader=_REX, key=key, settings=shipped | own)


def _keep_and_look(vault: Engram, title: Say, say: Say) -> None:
    title("Remembered as rex, read back newest first")
    for text, category, importance in _SENTENCES:
        vault.remember(text, category=category, importance=importance)
    for memory in vault.list():
        say(f"  {memory.id}  {memory.category:<10}  {memory.text}")
    took = vault.health().latencies["add"]
    say(f"  {took.calls} durable writes, {took.p50_ms:.1f} ms each (median)")
    title("What another agent sees of it")
    say(f"  ada: {len(vault.as_reader(_ADA).list())} memories;  rex: {len(vault.list())} memories")


def _correct(vault: Engram, title: Say, say: Say) -> None:
    title("Corrected, and nothing lost")
    moved = _holding(vault, "Tuesday")
    new = vault.update(moved.id, text=moved.text.replace("Tuesday", "Wednesday"))
    for old in vault.versions(new.id):
        say(f"  v{old.number}  {old.text}")
    say(f"  v{new.version}  {new.text}  (now)")


def _hear_and_ask(vault: Engram, title: Say, say: Say) -> None:
    title("Overheard, and asked about in other words")
    report = vault.observe(*_EXCHANGE)
    for one in report.verdicts:
        piece = _EXCHANGE[one.turn].text[one.start : one.end].strip()
        say(f"  {one.fate.value:<7}  {piece}" + ("" if one.fate is Fate.KEPT else f"  ({one.reason})"))
    warm(vault, _PATIENCE_S)
    notes: dict[str, None] = {}
    for question in _QUESTIONS:
        found = vault.recall(question, limit=1)
        notes |= dict.fromkeys(found.notes)
        say(f"  {question}")
        for hit in found:
            say(f"    {hit.memory.text}  (trust {hit.trust.composite:.2f})")
            say(f"    because: {hit.why}")
        if not found.hits:
            say(f"    nothing found ({found.outcome.value})")
    for note in notes:
        say(f"  note: {note}")


def _holding(vault: Engram, word: str) -> Memory:
    return next(memory for memory in vault.list() if word in memory.text)


def _figures(vault: Engram, title: Say, say: Say) -> None:
    owner = vault.as_reader(_OWNER)
    backup = owner.backup()
    health = owner.health()
    title("Status")
    say(
        f"  {health.counts.memories} memories, vault {health.vault_bytes / 2**20:.1f} MiB, log {health.wal_bytes / 2**20:.1f} MiB"
    )
    say(f"  backup {backup.number} with {backup.memories} memories, {'intact' if backup.intact else 'damaged'}")
    say(f"  {health.rss_bytes / 2**20:.0f} MiB of RAM, pressure {health.pressure}, recall {health.degradation}")


def _prove(folder: Path, title: Say, say: Say) -> None:
    title("Encrypted at rest")
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [path.read_bytes().lower() for path in files]
    found = sum(_STORED_WORD.encode(encoding) in each for each in contents for encoding in ("utf-8", "utf-16-le"))
    size = sum(len(each) for each in contents) / 2**20
    say(
        f"  searched {len(files)} files, {size:.1f} MiB, for {_STORED_WORD!r}: {f'found {found} times' if found else 'not found'}"
    )
    try:
        _open(folder, key=Env().random(32)).close()
        say("  a wrong key opened the vault")
    except VaultLocked as refusal:
        say(f"  wrong key: {refusal.code}: {refusal.message}")
    with _open(folder) as again:
        say(f"  right key: {_holding(again, _STORED_WORD).text}")
