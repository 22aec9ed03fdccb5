"""A tour of Engram's main functions on a temporary vault.

Input: functions that print a title and a line. Every printed figure and answer is the result of a real call; none is written
here. The tour has its own folder, key and settings and does not touch the user's vault or keychain. Lines fit into 80 columns.
`fast` leaves out the longest part, the MCP server in a process of its own.
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
_UNKNOWN = "the database password"
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
    """Run the whole tour."""
    say = _folding(say)
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as name:
        folder = Path(name)
        with _open(folder) as vault:
            health = vault.health()
            title("A new vault")
            say(f"  {health.path}, cipher {health.cipher}")
            say(f"  {vault.notice}")
            _remember_and_list(vault, title, say)
            _observe_and_recall(vault, title, say)
            _update(vault, title, say)
            _context(vault, title, say)
            _episodes(vault, title, say)
            _knows(vault, title, say)
            if not fast:
                _mcp_server(folder, title, say)
            _status(vault, title, say)
        _encryption(folder, title, say)
    title("Gone again")
    say(f"  {folder} {'is still there' if folder.exists() else 'was removed; nothing of yours was touched'}")


def _open(folder: Path, key: bytes | None = None) -> Engram:
    """Open the vault with the default settings, whatever this machine's configuration says, and a key file of its own."""
    defaults = {name: getattr(Settings(), name) for name in TABLE}
    own = {"key_source": "file", "key_file": str(_key_file(folder))}
    return Engram.open(folder / "vault", reader=_REX, key=key, settings=defaults | own)


def _key_file(folder: Path) -> Path:
    return folder / "keys" / "demo.key"


def _folding(say: Say) -> Say:
    """Return a function that prints lines of at most 80 columns; a longer one continues below, indented."""

    def fold(line: str) -> None:
        indent = " " * (len(line) - len(line.lstrip()))
        for part in wrap(line, _WIDTH, subsequent_indent=f"{indent}  ", break_long_words=False, break_on_hyphens=False):
            say(part)

    return fold


def _remember_and_list(vault: Engram, title: Say, say: Say) -> None:
    title("Remembered as rex, read back newest first")
    for text, category, importance in _SENTENCES:
        vault.remember(text, category=category, importance=importance)
    for memory in vault.list():
        say(f"  {memory.id}  {memory.category:<10}  {memory.text}")
    took = vault.health().latencies["add"]
    say(f"  {took.calls} durable writes, {took.p50_ms:.1f} ms each (median)")
    title("What another agent sees of it")
    say(f"  ada: {len(vault.as_reader(_ADA).list())} memories;  rex: {len(vault.list())} memories")


def _update(vault: Engram, title: Say, say: Say) -> None:
    title("Corrected: the answer is another one, and nothing is lost")
    moved = _memory_with(vault, "Tuesday")
    new = vault.update(moved.id, text=moved.text.replace("Tuesday", "Wednesday"))
    for old in vault.versions(new.id):
        say(f"  v{old.number}  {old.text}")
    say(f"  v{new.version}  {new.text}  (now)")
    for hit in vault.recall(_AGAIN, limit=1):
        say(f"  {_AGAIN}  {hit.memory.text}")


def _context(vault: Engram, title: Say, say: Say) -> None:
    title("What an agent reads for a message, every token accounted for")
    window = vault.context(_MESSAGE, model="claude-opus-4-6", budget=200)
    for line in window.text.splitlines():
        say(f"  | {line}")
    parts = ", ".join(f"{section.name} {section.tokens} of {section.granted}" for section in window.sections if section.tokens)
    parts += f", the frame {window.tokens - sum(section.tokens for section in window.sections)}"
    left_out = sum(item.tier is None for item in window.items)
    say(f"  {window.tokens} of {window.budget} tokens ({parts}); {left_out} memories left out, each with a reason")


def _episodes(vault: Engram, title: Say, say: Say) -> None:
    title("Done: what failed becomes a warning, what worked three times a skill")
    tried, result = _TRIED
    with vault.episode("deploy the API") as episode:
        episode.event("ran", tried, ok=False)
        episode.outcome("failure", result)
    for _ in range(3):
        with vault.episode("deploy the API") as episode:
            for step in _STEPS:
                episode.event("ran", step, ok=True)
    vault.learn_skills()
    with vault.episode("deploy the API") as episode:
        for warning in episode.warnings[:1]:
            say(f"  warning: {warning.text}")
        for match in episode.skills[:1]:
            steps = ", ".join(step.text for step in match.skill.steps)
            say(f"  skill:   {steps}")
        episode.outcome("abandoned")


def _knows(vault: Engram, title: Say, say: Say) -> None:
    title("What it knows, and what it does not")
    for knowledge in (*vault.knows(limit=3), vault.knows(_UNKNOWN)):
        full = round(_TENTHS * knowledge.confidence)
        bar = "#" * full + "." * (_TENTHS - full)
        say(f"  {bar}  {knowledge.level.value:<9}  {knowledge.subject}: {knowledge.said}")


def _mcp_server(folder: Path, title: Say, say: Say) -> None:
    title("A model's client, over MCP, to a server in a process of its own")
    if not handshake.sdk_installed():
        say('  left out: the SDK is not installed (pip install "engram-local[mcp]")')
        return
    import anyio  # both come with the extra and take half a second to load
    from mcp import Client, StdioServerParameters

    own = {"ENGRAM_HOME": str(folder / "vault"), "ENGRAM_CONFIG": str(folder / "none.toml"), "ENGRAM_AGENT": "rex"}
    own |= {"ENGRAM_KEY_SOURCE": "file", "ENGRAM_KEY_FILE": str(_key_file(folder))}
    own |= {"ENGRAM_MODELS": str(model_folder()), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    server = StdioServerParameters(command=sys.executable, args=["-m", "engram.serve.cli", "mcp"], env=own)

    async def talk() -> tuple[int, Any]:
        async with Client(server) as client:
            tools = await client.list_tools()
            return len(tools.tools), await client.call_tool("memory_search", {"query": "who owns the API?", "limit": 1})

    tools, answer = anyio.run(talk)
    say(f"  {tools} tools; memory_search: who owns the API?")
    for hit in answer.structured_content["hits"]:
        say(f"    {hit['memory']['text']}")


def _observe_and_recall(vault: Engram, title: Say, say: Say) -> None:
    title("Overheard, and asked about in other words")
    report = vault.observe(*_EXCHANGE)
    for verdict in report.verdicts:
        piece = _EXCHANGE[verdict.turn].text[verdict.start : verdict.end].strip()
        say(f"  {verdict.fate.value:<7}  {piece}" + ("" if verdict.fate is Fate.KEPT else f"  ({verdict.reason})"))
    warm(vault, _PATIENCE_S)
    notes: dict[str, None] = {}
    for question in _QUESTIONS:
        recall = vault.recall(question, limit=1)
        notes |= dict.fromkeys(recall.notes)
        say(f"  {question}")
        for hit in recall:
            say(f"    {hit.memory.text}  (trust {hit.trust.composite:.2f})")
            say(f"    because: {hit.why}")
        if not recall.hits:
            say(f"    nothing found ({recall.outcome.value})")
    for note in notes:
        say(f"  note: {note}")


def _memory_with(vault: Engram, word: str) -> Memory:
    return next(memory for memory in vault.list() if word in memory.text)


def _status(vault: Engram, title: Say, say: Say) -> None:
    owner = vault.as_reader(_OWNER)
    backup = owner.backup()
    health = owner.health()
    title("Status")
    say(
        f"  {health.counts.memories} memories, vault {health.vault_bytes / 2**20:.1f} MiB, log {health.wal_bytes / 2**20:.1f} MiB"
    )
    say(f"  backup {backup.number} with {backup.memories} memories, {'intact' if backup.intact else 'damaged'}")
    say(f"  {health.rss_bytes / 2**20:.0f} MiB of RAM, pressure {health.pressure}, recall {health.degradation}")


def _encryption(folder: Path, title: Say, say: Say) -> None:
    title("Encrypted at rest")
    files = [path for path in folder.rglob("*") if path.is_file()]
    contents = [path.read_bytes().lower() for path in files]
    found = sum(_STORED_WORD.encode(encoding) in content for content in contents for encoding in ("utf-8", "utf-16-le"))
    size = sum(len(content) for content in contents) / 2**20
    result = f"found {found} times" if found else "not found"
    say(f"  searched {len(files)} files, {size:.1f} MiB, for {_STORED_WORD!r}: {result}")
    try:
        _open(folder, key=Env().random(32)).close()
        say("  a wrong key opened the vault")
    except VaultLocked as refusal:
        say(f"  wrong key: {refusal.code}: {refusal.message}")
    with _open(folder) as vault:
        say(f"  right key: {_memory_with(vault, _STORED_WORD).text}")
