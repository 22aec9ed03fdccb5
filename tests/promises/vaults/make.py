"""Makes the vault of the present format that every later release must open: run it once per format, keep what it makes.

    python tests/promises/vaults/make.py format-8

The key is the test key (bytes 0 to 31), the clock stands still and the dice are fixed, so that only encryption nonces differ
between two runs. The vault holds every kind of row there is; `contents` below is what `test_formats.py` compares it with.
Never regenerate the vault of a format that was released: a new format gets a new folder beside it.
"""

from __future__ import annotations

import random
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from promises.vaults_at_hand import OWNER, SPACE, open_vault, store_of  # noqa: E402  the path comes first

from engram.env import Env  # noqa: E402
from engram.types import Draft, Edge, Fact, Kind, Memory, Scope, Source, Status, Strength, Turn  # noqa: E402
from engram.values.entities import EntityAction, EntityDecision  # noqa: E402

START = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
TEXTS = (
    "Rex prefers dark mode in every editor",
    "Die Straße nach Zürich führt über den Gotthard",
    "東京オフィスは月曜日に移転しました",
    "The emoji 🦜🇨🇭 and a family 👨‍👩‍👧 survive, e\u0301 stays as it was typed",
    "Quotes \"double\" and 'single', a tab\t, a line\nand a NUL \x00 inside",
    "שלום עולם, مرحبا بالعالم",
    "The API moved to Fly.io on Tuesday",
    "x" * 8000,
)


def drafts() -> list[Memory]:
    kinds, sources = list(Kind), list(Source)
    return [
        Memory(
            text=text,
            id=f"01M7FORMAT000000000000000{number}"[-26:],
            kind=kinds[number % len(kinds)],
            category=("fact", "preference", "event")[number % 3],
            summary=f"summary {number}" if number % 2 else "",
            key_fact=f"key fact {number}" if number % 3 else "",
            tag=f"tag-{number}",
            scope=(Scope(), Scope(agent="rex"), Scope("apollo", "flight", "rex", "chat", "ann"), Scope(project="apollo"))[
                number % 4
            ],
            source=sources[number % len(sources)],
            happened_at=START - timedelta(days=number, microseconds=number) if number % 2 else None,
            happened_until=START if number % 4 == 1 else None,
            valid_from=datetime(1969, 7, 20, 20, 17, 40, 123456, tzinfo=UTC) if number == 2 else None,
            valid_until=datetime(9999, 12, 31, tzinfo=UTC) if number == 2 else None,
            importance=number / 10,
            confidence=1 - number / 10,
            strength=0.1 + number,
            accesses=number,
            accessed_at=START if number == 3 else None,
            attributes={"number": str(number), "größe": "groß"} if number % 2 == 0 else {},
        )
        for number, text in enumerate(TEXTS)
    ]


ASKED, SAID, CARRIED = "Where does your sister live these days?", "In Zürich, near the lake.", "your sister"
"""A question and its answer; a statement of the answer carries words of the question (since format 6)."""


def talk() -> tuple[list[Turn], Draft]:
    text = f"Ann: {SAID} [{CARRIED}]"
    memory = Memory(
        text=text,
        summary=text,
        key_fact=text,
        tag=text,
        scope=Scope(agent="rex"),
        speaker="Ann",
        session="talk",
        words_at=(5, 5 + len(SAID)),
    )
    turns = [Turn(ASKED, "Bob", START, "talk", "q1"), Turn(SAID, "Ann", START, "talk", "a1")]
    return turns, Draft(memory=memory, turns=(1,), passage=f'{text} (asked: "{ASKED}")')


def decision() -> EntityDecision:
    """Return a decision on an entity by hand (since format 7)."""
    return EntityDecision(id="", action=EntityAction.ALIAS, name="Rex", other="Rexy", reason="so it says on the collar")


HEARD = Fact("ada", "works at", "acme", True, True, START, START + timedelta(days=400), Strength.HEARSAY, "tom")
"""A fact with an interval, its evidence and its teller (since format 7)."""


def make(path: Path) -> None:
    dice = random.Random(1)
    env = Env(now=lambda: START, random=dice.randbytes)
    with open_vault(path, env=env) as mem:
        store = store_of(mem)
        kept = store.memories.add(OWNER, drafts())
        ids = [memory.id for memory in kept]
        store.memories.update(OWNER, ids[6], {"text": "The API moved to Fly.io on Wednesday"})
        store.memories.update(OWNER, ids[6], {"text": "The API moved to Fly.io on Thursday", "importance": 0.9})
        store.memories.update(OWNER, ids[0], {"pinned": True})
        store.memories.set_status(OWNER, ids[1], Status.ARCHIVED, "forgotten on request")
        store.memories.set_status(OWNER, ids[1], Status.ACTIVE, "restored on request")
        store.memories.set_status(OWNER, ids[5], Status.SUPERSEDED, "newer words")
        store.edges.put(OWNER, [Edge(ids[0], ids[1], "related_to", 0.5, 0.25), Edge(ids[6], ids[0], "caused_by")])
        store.vectors.put(OWNER, SPACE, {kept[0].key: bytes(range(64)), kept[3].key: bytes(64)}, model="fake", dimensions=60)
        turns, statement = talk()
        store.capture.write(OWNER, statement.memory.scope, turns, [statement])
        store.entities.decide(OWNER, decision())
        store.facts.state(OWNER, ids[0], [HEARD])
        doomed = store.memories.add(OWNER, [Memory(text="erased before it was kept", id="01M7FORMAT0000000000ERASED")])
        store.erasure.erase(OWNER, [doomed[0].id])
    path.joinpath("vault.lock").unlink(missing_ok=True)
    for marker in (".gitignore", ".nomedia", ".noindex"):  # the first would keep the vault out of version control
        path.joinpath(marker).unlink()


if __name__ == "__main__":
    target = HERE / sys.argv[1]
    shutil.rmtree(target, ignore_errors=True)
    make(target)
    print(f"{target}: {sum(file.stat().st_size for file in target.iterdir())} bytes")
