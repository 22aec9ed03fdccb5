"""The main job from end to end, on a vault that is made for it and gone afterwards.

Comes in: how to print a title and a line. Everything told is what just happened: no figure and no answer is written
here. Folder, key and settings are its own, so that neither the vault nor the keychain of whoever runs it is touched. Lines fit
into 80 columns. `fast` leaves out what takes longest, the server in a process of its own.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap
from typing import Any

from engram.bench.warm import warm
from engram.engine import Engram
from engram.env import Env
from engram.errors import VaultLocked
from engram.serve.mcp import handshake
from engram.settings import TABLE, Settings, model_folder
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
_AGAIN = "Which day did the API go to Fly.io?"
_MESSAGE = "ok, deploy the API"
_UNHEARD = "the database password"
_TRIED = ("terraform apply", "the state was locked by another run")
_STEPS = ("build the image", "take the state lock", "terraform apply")
_STORED_WORD = "peanuts"
_WIDTH = 79
_TENTHS = 10
_PATIENCE_S = 30.0
_REX = Reader(Scope(agent="rex"))
_ADA = Reader(Scope(agent="ada"))
_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)


def run(*, title: Say, say: Say, fast: bool = False) -> None:
    say = _folding(say)
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as name:
        folder = Path(name)
        with _open(folder) as vault:
            health = vault.health()
            title("A new vault")
            say(f"  {health.path}, cipher {health.cipher}")
            say(f"  {vault.notice}")
            _keep_and_look(vault, title, say)
            _hear_and_ask(vault, title, say)
            _correct(vault, title, say)
            _read(vault, title, say)
            _do(vault, title, say)
            _know(vault, title, say)
            if not fast:
                _serve(folder, title, say)
            _figures(vault, title, say)
        _prove(folder, title, say)
    title("Gone again")
    say(f"  {folder} {'is still there' if folder.exists() else 'was removed; nothing of yours was touched'}")


def _open(folder: Path, key: bytes | None = None) -> Engram:
    """With the settings that ship, whatever this machine's configuration says, and a key file beside the vault."""
    shipped = {name: getattr(Settings(), name) for name in TABLE}
    own = {"key_source": "file", "key_file": str(_key_file(folder))}
    return Engram.open(folder / "vault", reader=_REX, key=key, settings=shipped | own)


def _key_file(folder: Path) -> Path:
    return folder / "keys" / "demo.key"


def _folding(say: Say) -> Say:
    """Lines of at most 80 columns; what is longer goes on below, indented."""

    def fold(line: str) -> None:
        indent = " " * (len(line) - len(line.lstrip()))
        for part in wrap(line, _WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False):
            say(part)

    return fold


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
    title("Corrected: the answer is another one, and nothing is lost")
    moved = _holding(vault, "Tuesday")
    new = vault.update(moved.id, text=moved.text.replace("Tuesday", "Wednesday"))
    for old in vault.versions(new.id):
        say(f"  v{old.number}  {old.text}")
    say(f"  v{new.version}  {new.text}  (now)")
    for hit in vault.recall(_AGAIN, limit=1):
        say(f"  {_AGAIN}  {hit.memory.text}")


def _read(vault: Engram, title: Say, say: Say) -> None:
    title("What an agent reads for a message, every token accounted for")
    window = vault.context(_MESSAGE, model="claude-opus-4-6", budget=200)
    for line in window.text.splitlines():
        say(f"  | {line}")
    parts = ", ".join(f"{one.name} {one.tokens} of {one.granted}" for one in window.sections if one.tokens)
    parts += f", the frame {window.tokens - sum(one.tokens for one in window.sections)}"
    left = sum(item.tier is None for item in window.items)
    say(f"  {window.tokens} of {window.budget} tokens ({parts}); {left} memories left out, each with a reason")


def _do(vault: Engram, title: Say, say: Say) -> None:
    title("Done: what failed becomes a warning, what worked three times a skill")
    tried, result = _TRIED
    with vault.episode("deploy the API") as going:
        going.event("ran", tried, ok=False)
        going.outcome("failure", result)
    for _ in range(3):
        with vault.episode("deploy the API") as going:
            for step in _STEPS:
                going.event("ran", step, ok=True)
    vault.learn_skills()
    with vault.episode("deploy the API") as going:
        for warning in going.warnings[:1]:
            say(f"  warning: {warning.text}")
        for match in going.skills[:1]:
            steps = ", ".join(step.text for step in match.skill.steps)
            say(f"  skill:   {steps}")
        going.outcome("abandoned")


def _know(vault: Engram, title: Say, say: Say) -> None:
    title("What it knows, and what it does not")
    for one in (*vault.knows(limit=3), vault.knows(_UNHEARD)):
        full = round(_TENTHS * one.confidence)
        bar = "#" * full + "." * (_TENTHS - full)
        say(f"  {bar}  {one.level.value:<9}  {one.subject}: {one.said}")


def _serve(folder: Path, title: Say, say: Say) -> None:
    title("A model's client, over MCP, to a server in a process of its own")
    if not handshake.sdk_installed():
        say('  left out: the SDK is not installed (pip install "engram-local[mcp]")')
        return
    import anyio  # both come with the extra, and take half a second to load
    from mcp import Client, StdioServerParameters

    own = {"ENGRAM_HOME": str(folder / "vault"), "ENGRAM_CONFIG": str(folder / "none.toml"), "ENGRAM_AGENT": "rex"}
    own |= {"ENGRAM_KEY_SOURCE": "file", "ENGRAM_KEY_FILE": str(_key_file(folder))}
    own |= {"ENGRAM_MODELS": str(model_folder()), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    server = StdioServerParameters(command=sys.executable, args=["-m", "engram.serve.cli", "mcp"], env=own)

    async def talk() -> tuple[int, Any]:
        async with Client(server) as client:
            tools = await client.list_tools()
            return len(tools.tools), await client.call_tool("memory_search", {"query": "who owns the API?", "limit": 1})

    tools, found = anyio.run(talk)
    say(f"  {tools} tools; memory_search: who owns the API?")
    for hit in found.structured_content["hits"]:
        say(f"    {hit['memory']['text']}")


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
