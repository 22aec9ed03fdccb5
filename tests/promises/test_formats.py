"""Vaults of every older format open, newer ones are refused by version, and SQLCipher's tools open ours (V2, V6)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from promises.vaults import make
from promises.vaults_at_hand import (
    ANY_STATUS,
    KEY,
    OWNER,
    SPACE,
    credentials,
    dated,
    everything,
    files,
    halves,
    inside,
    open_vault,
    store_of,
    word,
)

from engram.capture.screen import rescreen
from engram.crypto.keys import MasterKey, Purpose
from engram.env import Env
from engram.errors import VaultTooNew
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.header import FORMAT, Header, read_header, write_header
from engram.store.open import open_store
from engram.store.sqlite import migrations
from engram.text.terms import terms
from engram.types import Edge, Reader, Scope, Sensitivity, Status

KEPT = Path(__file__).parent / "vaults"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "vault"
    shutil.copytree(KEPT / "format-1", path)
    return path


def test_a_vault_of_every_released_format_is_kept_for_these_tests() -> None:
    """V6: a schema version without a kept vault would be untested."""
    assert {folder.name for folder in KEPT.iterdir() if folder.is_dir() and folder.name.startswith("format-")} == {
        f"format-{number}" for number in range(1, migrations.VERSION + 1)
    }
    assert all(file.stat().st_size <= 1.1 * 2**20 for file in KEPT.rglob("*") if file.is_file())


def test_a_vault_of_the_first_format_opens_with_every_row_as_it_was_written(old: Path) -> None:
    """V6: all kinds of rows, any Unicode, dates outside the century, links, vectors, versions, statuses, audit."""
    with open_vault(old) as mem:
        store = store_of(mem)
        found = {memory.id: memory for memory in store.memories.page(OWNER, limit=100, where=ANY_STATUS)}
        wrote = {memory.id: memory for memory in make.drafts()}
        assert found.keys() == wrote.keys()
        ids = list(wrote)
        changed = {ids[0]: {"pinned"}, ids[5]: {"status"}, ids[6]: {"text", "version", "importance"}}
        for one, memory in found.items():
            skip = {"key", "learned_at", "updated_at", *changed.get(one, ())}
            names = [name for name in memory.__dataclass_fields__ if name not in skip]
            assert {n: getattr(memory, n) for n in names} == {n: getattr(wrote[one], n) for n in names}
            assert memory.learned_at == memory.updated_at == make.START
        assert found[ids[0]].pinned
        assert found[ids[5]].status is Status.SUPERSEDED
        assert (found[ids[6]].text, found[ids[6]].version) == ("The API moved to Fly.io on Thursday", 3)
        assert [version.text for version in store.memories.versions(OWNER, ids[6])] == [
            "The API moved to Fly.io on Tuesday",
            "The API moved to Fly.io on Wednesday",
        ]
        assert [change.reason for change in store.memories.status_history(OWNER, ids[1])] == [
            "forgotten on request",
            "restored on request",
        ]
        assert store.edges.of(OWNER, ids) == [
            Edge(ids[0], ids[1], "related_to", 0.5, 0.25, make.START),
            Edge(ids[6], ids[0], "caused_by", 1.0, 1.0, make.START),
        ]
        assert sorted(vector for _, vector in store.vectors.visible(OWNER, SPACE)) == [bytes(64), bytes(range(64))]
        assert {entry.operation for entry in mem.audit(limit=500)} >= {"add", "update", "erase", "relate", "status:archived"}


def test_a_vault_of_the_sixth_format_has_the_words_of_a_statement_apart_from_those_that_it_carries(tmp_path: Path) -> None:
    """V6: the place of the words, the passage that is encoded, and the turns that both are from."""
    shutil.copytree(KEPT / "format-6", tmp_path / "vault")
    with open_vault(tmp_path / "vault") as mem:
        store, (turns, statement) = store_of(mem), make.talk()
        [found] = [memory for memory in mem.list() if memory.text == statement.memory.text]
        assert (found.words, found.carries) == (make.SAID, make.CARRIED)
        assert mem.words(found.id) == [turns[1]]
        missing = {row[0]: row[3] for row in store.vectors.missing(OWNER, SPACE, after=0, limit=99)}
        assert missing[found.key] == statement.passage
        assert {passage for key, passage in missing.items() if key != found.key} == {""}


def test_a_vault_of_the_seventh_format_has_mentions_with_their_words_and_decisions_by_hand(tmp_path: Path) -> None:
    """V6: a vault of the sixth gets the words of its mentions in the background."""
    for number in (6, 7):
        shutil.copytree(KEPT / f"format-{number}", tmp_path / f"{number}")
    with open_vault(tmp_path / "7") as mem:
        [(_, kept)] = store_of(mem).entities.decisions(OWNER, limit=9)
        assert replace(kept, id="", at=None) == make.decision()
        assert (named := mem.entity("Rexy")) is not None
        assert named.entity.name == "Rex"
    with open_vault(tmp_path / "6") as mem:
        store = store_of(mem)
        before = store.entities.select(OWNER)
        assert store.facts.backfill(OWNER, limit=99) == 9
        assert store.facts.backfill(OWNER, limit=99) == 0
        assert store.entities.select(OWNER) == before
        assert mem.check() == []


def test_a_vault_of_the_seventh_format_has_the_interval_the_evidence_and_the_teller_of_a_fact(tmp_path: Path) -> None:
    shutil.copytree(KEPT / "format-7", tmp_path / "vault")
    with open_vault(tmp_path / "vault") as mem:
        (belief,) = mem.beliefs("Ada", past=True)
        assert (belief.object, belief.since, belief.until) == (make.HEARD.object, make.HEARD.since, make.HEARD.until)
        assert (belief.strength, belief.teller) == (make.HEARD.strength, make.HEARD.teller)


@pytest.mark.parametrize("number", range(1, migrations.VERSION + 1))
def test_memories_of_an_older_release_are_sealed_and_screened_and_read_as_before(tmp_path: Path, number: int) -> None:
    """V6, C8, C9: one page at a time; only tier, screening version and flag may differ afterwards."""
    if not (KEPT / f"format-{number}").exists():
        pytest.skip("its vault is made when the format is released")
    shutil.copytree(KEPT / f"format-{number}", tmp_path / "vault")
    with open_vault(tmp_path / "vault") as mem:
        store, settings = store_of(mem), mem.settings.now

        def read() -> list[tuple[object, ...]]:
            return [
                (
                    replace(one, tier=Sensitivity.CLEARTEXT, screened=0, flagged=False),
                    store.memories.versions(OWNER, one.id),
                    [change for change in store.memories.status_history(OWNER, one.id) if change.old is not change.new],
                    [turn.text for turn in mem.words(one.id)],
                )
                for one in store.memories.page(OWNER, limit=200, where=ANY_STATUS)
            ]

        before, after = read(), 0
        while store.sensitivity.seal_old(OWNER, limit=3):
            pass
        while (upto := rescreen(store, OWNER, settings, after=after, page=3)) is not None:
            after = upto
        assert len(before) > 3
        assert read() == before
        assert store.sensitivity.seal_old(OWNER, limit=3) == 0
        assert mem.check() == []


def test_text_search_and_scopes_work_on_a_vault_of_the_first_format(old: Path) -> None:
    """V6, M11: the text index of the old format answers present queries."""
    with open_vault(old) as mem:
        store = store_of(mem)
        for text in ("Gotthard", "Zürich", "editor", "Thursday", "東京"):
            hits = store.text.search(OWNER, terms(text), limit=5, where=ANY_STATUS)
            assert len(hits) == 1, text
        for text in ("Wednesday", "erased"):
            assert store.text.search(OWNER, terms(text), limit=5, where=ANY_STATUS) == []
        assert len(mem.as_reader(Reader()).list(status=None)) == 2
        assert len(mem.as_reader(Reader(Scope(agent="rex"))).list(status=None)) == 4


def test_a_vault_of_the_first_format_is_whole_and_can_be_written(old: Path) -> None:
    """V6: opening migrates it to the present format and keeps its rows."""
    with open_vault(old) as mem:
        assert mem.check() == []
        assert mem.health().format == migrations.VERSION
        before = everything(mem)["memories"]
        kept = mem.remember(f"{word(0, 'new')} written today")
        assert everything(mem)["memories"][1:] == before
    with open_vault(old) as mem:
        assert mem.get(kept.id) == kept
    assert {what: count for what, count in halves(old).items() if what != "rows without an audit entry"} == {}


def test_a_hook_migrates_an_old_vault_and_leaves_neutral_dates(old: Path) -> None:
    """V6, S15: after an upgrade a hook is usually the first to open the vault."""
    env = Env()
    live = LiveSettings({}, monotonic=env.monotonic)
    store, _ = open_store(old, live, env, MemoryRules(live), credentials(), brief=True)
    texts = [memory.text for memory in store.memories.page(OWNER, limit=99)]
    store.close()
    assert dated(old) == []
    assert len(list((old / "backups").glob("*.db"))) == 1
    with open_vault(old) as mem:
        assert [memory.text for memory in store_of(mem).memories.page(OWNER, limit=99)] == texts != []


def test_a_vault_with_a_newer_schema_is_refused_with_its_version_and_not_changed(path: Path) -> None:
    """V6: E1007 names both versions."""
    with open_vault(path) as mem:
        mem.remember("from the future")
    with inside(path, write=True) as connection:
        connection.execute("INSERT INTO schema_version VALUES (?, 0, 'a later release')", (migrations.VERSION + 7,))
    before = files(path)
    with pytest.raises(VaultTooNew, match=rf"{migrations.VERSION + 7}.*{migrations.VERSION}\b") as caught:
        open_vault(path)
    assert caught.value.code == "E1007"
    assert files(path) == before


def test_a_vault_with_a_newer_header_is_refused_with_its_version_and_not_changed(path: Path) -> None:
    """V6: whatever the rest of a newer header means."""
    open_vault(path).close()
    header = read_header(path / "vault.toml")
    write_header(path / "vault.toml", Header(header.cipher, header.key, FORMAT + 4))
    before = files(path)
    with pytest.raises(VaultTooNew, match=rf"{FORMAT + 4}.*{FORMAT}\b"):
        open_vault(path)
    assert files(path) == before


def test_sqlcipher_opens_a_vault_made_with_its_cipher(path: Path) -> None:
    """V2: SQLCipher reads a row with the database key and finds the file intact."""
    sqlcipher = pytest.importorskip("sqlcipher3.dbapi2")
    text = f"{word(0, 'foreign')} read by another program"
    with open_vault(path, cipher="sqlcipher") as mem:
        kept = mem.remember(text)
    with MasterKey(bytearray(KEY)) as master:
        key = bytes(master.subkey(Purpose.DATABASE)).hex()
    connection = sqlcipher.connect(str(path / "vault.db"))
    try:
        connection.execute(f"PRAGMA key = \"x'{key}'\"")
        rows = connection.execute("SELECT m.id, c.text FROM memories AS m JOIN contents AS c ON c.memory = m.key").fetchall()
        assert rows == [(kept.id, text)]
        assert connection.execute("PRAGMA cipher_integrity_check").fetchall() == []
    finally:
        connection.close()
    with open_vault(path) as mem:
        assert mem.get(kept.id) == kept
        assert mem.health().cipher == "sqlcipher"


def test_sqlcipher_does_not_open_such_a_vault_with_another_key(path: Path) -> None:
    """V2."""
    sqlcipher = pytest.importorskip("sqlcipher3.dbapi2")
    open_vault(path, cipher="sqlcipher").close()
    connection = sqlcipher.connect(str(path / "vault.db"))
    try:
        connection.execute(f"PRAGMA key = \"x'{bytes(32).hex()}'\"")
        with pytest.raises(sqlcipher.DatabaseError):
            connection.execute("SELECT count(*) FROM memories")
    finally:
        connection.close()
