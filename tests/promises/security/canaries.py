"""One life with the same strange word in all that it leaves behind, and where each table would show it.

Every table of the schema stands here: with a look that finds the word, or with the reason why it cannot hold any. A table that a
later release adds stands in neither, and a test says so.
"""

from __future__ import annotations

from pathlib import Path

import apsw
from promises.vaults_at_hand import OWNER, image
from recall.vaults import settle

from engram.capture.boxes import fill_boxes
from engram.engine import Engram
from engram.types import Edge, Turn
from engram.values.dreams import AddLink, Cursor

CANARY = "Zqorvathbirke"
"""A name that is nowhere else. It is looked for in small letters; the text index has it so."""

_WORD = f"'%{CANARY.lower()}%'"
_OF_IT = f"SELECT memory FROM contents WHERE lower(text) LIKE {_WORD}"

LOOKS = {
    "memories": f"SELECT speaker FROM memories WHERE lower(speaker) LIKE {_WORD}",
    "contents": _OF_IT,
    "attributes": f"SELECT value FROM attributes WHERE lower(value) LIKE {_WORD}",
    "edges": f"SELECT kind FROM edges WHERE source IN ({_OF_IT}) AND lower(kind) LIKE {_WORD}",
    "embeddings": f"SELECT vector FROM embeddings WHERE memory IN ({_OF_IT})",
    "versions": f"SELECT text FROM versions WHERE lower(text) LIKE {_WORD}",
    "status_history": f"SELECT reason FROM status_history WHERE lower(reason) LIKE {_WORD}",
    "audit": "SELECT digest FROM audit WHERE operation IN ('add', 'capture') AND digest <> ''",
    "turns": f"SELECT text FROM turns WHERE lower(text) LIKE {_WORD}",
    "sources": f"SELECT memory FROM sources WHERE memory IN ({_OF_IT})",
    "working_snapshots": "SELECT name FROM working_snapshots",
    "feedback": f"SELECT vector FROM feedback WHERE memory IN ({_OF_IT}) AND length(vector) > 0",
    "episodes": f"SELECT goal FROM episodes WHERE lower(goal) LIKE {_WORD} AND lower(result) LIKE {_WORD}",
    "events": f"SELECT text FROM events WHERE lower(text) LIKE {_WORD} AND lower(actor) LIKE {_WORD}",
    "participants": f"SELECT name FROM participants WHERE lower(name) LIKE {_WORD}",
    "skills": f"SELECT name FROM skills WHERE lower(name) LIKE {_WORD}",
    "skill_parts": f"SELECT text FROM skill_parts WHERE lower(text) LIKE {_WORD}",
    "boxes": f"SELECT topic FROM boxes WHERE lower(topic) LIKE {_WORD}",
    "boxed": f"SELECT memory FROM boxed WHERE memory IN ({_OF_IT})",
    "questions": "SELECT key FROM questions",
    "entities": f"SELECT name FROM entities WHERE lower(name) LIKE {_WORD}",
    "aliases": f"SELECT name FROM aliases WHERE lower(name) LIKE {_WORD}",
    "mentions": f"SELECT name || aliases FROM mentions WHERE memory IN ({_OF_IT})",
    "entity_decisions": "SELECT key FROM entity_decisions",
    "facts": f"SELECT object FROM facts WHERE lower(subject) LIKE {_WORD}",
    "undoing": f"SELECT part FROM undoing WHERE lower(part) LIKE {_WORD}",
    "lexicon": f"SELECT rowid FROM lexicon WHERE lexicon MATCH '{CANARY.lower()}'",
}
"""By table, a question that has an answer while something of the word is there."""

EXEMPT = {
    "meta": "numbers, and keys that are wrapped",
    "schema_version": "which migrations ran",
    "scopes": "names of places; `purge` renames them",
    "spaces": "names of encoders",
    "changes": "numbers and three words of ours",
    "padding": "nothing, in order to be full",
    "spendings": "counts",
    "tokens": "names that the owner gave to tokens",
    "probes": "counts under keyed digests",
    "receipts": "keyed digests, and ids and numbers; words of older releases are emptied (test_once.py)",
    "passes": "names of jobs, counts, ids",
    "jobs": "numbers under keyed digests",
    "dues": "numbers",
}


def tables(connection: apsw.Connection) -> set[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {str(row[0]) for row in found if not str(row[0]).startswith("lexicon_")}


def shown_in(connection: apsw.Connection) -> set[str]:
    """Which tables show something of it."""
    return {table for table, look in LOOKS.items() if connection.execute(look).fetchall()}


def live(mem: Engram) -> None:
    """Everyday use, by the verbs, with the word wherever a word can be put."""
    mem.observe(Turn(f"My dentist {CANARY} works at the harbour clinic.", CANARY, session="s"), Turn("Noted.", session="s"))
    mem.observe(Turn(f"{CANARY} Blimm lives in Aalborg now.", "user", session="s"))
    kept = mem.remember(f"{CANARY} prefers the window seat", attributes={"who": CANARY})
    mem.update(kept.id, text=f"{CANARY} prefers the aisle seat")
    tea = mem.remember(f"{CANARY} drinks tea")
    mem.relate(kept.id, tea.id, f"as-{CANARY}-said")
    _dream(mem, Edge(kept.id, tea.id, f"as-{CANARY}-dreamt"))
    mem.forget(kept.id, reason=f"{CANARY} asked for it")
    mem.restore(kept.id)
    settle(mem)
    mem.feedback(kept.id, False, query=f"what does {CANARY} drink?")
    for number in range(3):
        with mem.episode(f"Deploy the {CANARY} service to staging", participants={CANARY: "reviewer"}) as one:
            one.event("did", f"build the {CANARY} image", actor=CANARY)
            one.event("did", f"push the {CANARY} image", actor=CANARY)
            one.outcome("success", f"{CANARY} is up, round {number}")
    mem.learn_skills()
    mem.decide_entity(CANARY, "alias", f"Dr. {CANARY}", reason=f"{CANARY} said so")
    mem.context(f"Which shoe size does {CANARY} have?", model="gpt-4o")
    mem.working.attend(f"{CANARY} waits for an answer")
    mem.working.checkpoint(f"Write to {CANARY}", decided=[f"{CANARY} comes first"])
    mem.working.hand_over(f"Ask {CANARY}")
    fill_boxes(mem._vault.store, OWNER, mem.settings)
    mem.as_reader(OWNER).audit()  # what waits is written


def _dream(mem: Engram, edge: Edge) -> None:
    """A pass at rest that links two memories, and can be undone."""
    store, latest = mem._vault.store, mem._vault.store.changes.latest(mem.reader)
    begun = store.dreams.begin(mem.reader, "dream")
    assert begun is not None
    assert store.dreams.apply(mem.reader, begun.id, "latent", [AddLink(edge)], start=Cursor(), upto=Cursor(), since=latest)
    store.dreams.end(mem.reader, begun.id)


def in_pages(path: Path, database: Path | None = None) -> bool:
    """Does the word stand in any page, whole, or as the text index writes it?"""
    held = image(path, database=database).lower()
    return CANARY.lower().encode() in held or CANARY.lower().encode("utf-16-le") in held
