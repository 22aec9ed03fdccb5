"""The schema as an append-only list of migrations."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from store.vaults import connect, database_key, sqlite_store

from engram.errors import MigrationFailed, VaultTooNew
from engram.store.folder import VaultFolder
from engram.store.sqlite import connection as opening
from engram.store.sqlite import migrations
from engram.store.sqlite import migrations as schema

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def says(*statements: str) -> migrations.Migration:
    def step(connection: apsw.Connection) -> None:
        for statement in statements:
            connection.execute(statement)

    return step


ONE = ("one", says("CREATE TABLE steps (n)", "INSERT INTO steps VALUES (1)"))
TWO = ("two", says("INSERT INTO steps VALUES (2)"))
THREE = ("three", says("INSERT INTO steps VALUES (3)"))


def database(path: Path) -> apsw.Connection:
    return opening.connect_to_write(path / "steps.db", database_key(), synchronous="full", cache_kib=1024)


def tables(connection: apsw.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def test_migrations_run_once_in_order_and_are_recorded(tmp_path: Path) -> None:
    connection = database(tmp_path)
    assert schema.version_of(connection) == 0
    assert schema.migrate(connection, NOW, (ONE, TWO)) == 2
    assert schema.migrate(connection, NOW, (ONE, TWO)) == 0
    assert schema.migrate(connection, NOW, (ONE, TWO, THREE)) == 1
    assert connection.execute("SELECT n FROM steps ORDER BY rowid").fetchall() == [(1,), (2,), (3,)]
    recorded = connection.execute("SELECT version, applied_at, what FROM schema_version ORDER BY version").fetchall()
    assert recorded == [(i, 1772600767000000, what) for i, what in enumerate(("one", "two", "three"), 1)]
    assert schema.version_of(connection) == 3


def broken(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM steps; CREATE TABLE half (n)")
    connection.execute("INSERT INTO no_such_table VALUES (1)")


def mistaken(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM steps; CREATE TABLE half (n)")
    raise KeyError("a row that no release should have written")


@pytest.mark.parametrize("failing", [broken, mistaken])
@pytest.mark.parametrize("before", [(), (ONE,), (ONE, TWO)])
def test_a_migration_that_fails_undoes_all_pending_ones(
    tmp_path: Path, failing: migrations.Migration, before: tuple[object, ...]
) -> None:
    connection = database(tmp_path)
    schema.migrate(connection, NOW, before)  # type: ignore[arg-type]
    was = tables(connection), schema.version_of(connection)
    with pytest.raises(MigrationFailed) as caught:
        schema.migrate(connection, NOW, (ONE, TWO, ("broken", failing), THREE))
    assert caught.value.code == "E1004"
    assert not connection.in_transaction
    assert (tables(connection) - {"schema_version"}, schema.version_of(connection)) == (was[0] - {"schema_version"}, was[1])
    assert schema.migrate(connection, NOW, (ONE, TWO, THREE)) == 3 - len(before)
    assert connection.execute("SELECT n FROM steps ORDER BY n").fetchall() == [(1,), (2,), (3,)]


def test_an_interrupted_migration_is_undone_and_the_interrupt_is_raised(tmp_path: Path) -> None:
    def interrupted(connection: apsw.Connection) -> None:
        raise KeyboardInterrupt

    connection = database(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        schema.migrate(connection, NOW, (ONE, ("interrupted", interrupted)))
    assert schema.version_of(connection) == 0
    assert "steps" not in tables(connection)


def test_a_later_schema_version_is_refused_with_its_number_and_not_changed(tmp_path: Path) -> None:
    connection = database(tmp_path)
    schema.migrate(connection, NOW, (ONE, TWO, THREE))
    with pytest.raises(VaultTooNew, match=r"version 3.*up to 2") as caught:
        schema.migrate(connection, NOW, (ONE, TWO))
    assert caught.value.code == "E1007"
    assert not connection.in_transaction
    assert schema.version_of(connection) == 3


def test_a_vault_of_a_later_release_is_refused_on_opening(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    connection = connect(folder.database)
    connection.execute("INSERT INTO schema_version VALUES (999, 0, 'of the future')")
    connection.close()
    before = folder.database.read_bytes()
    with pytest.raises(VaultTooNew, match="999"):
        sqlite_store(folder.path)
    assert folder.database.read_bytes() == before


@pytest.mark.parametrize("seconds", [0.0, 0.7])
def test_of_two_racing_processes_one_migrates_and_the_other_finds_it_done(tmp_path: Path, seconds: float) -> None:
    """A migration of a large vault takes long; the second process waits for it."""
    begun, go = threading.Event(), threading.Event()
    database(tmp_path).close()

    def slow(connection: apsw.Connection) -> None:
        begun.set()
        go.wait(seconds)
        connection.execute("INSERT INTO steps VALUES (2)")

    steps = (ONE, ("slow", slow))
    taken: list[object] = []

    def migrate(connection: apsw.Connection) -> None:
        try:
            taken.append(schema.migrate(connection, NOW, steps))
        except BaseException as error:
            taken.append(error)

    first, second = (threading.Thread(target=migrate, args=(database(tmp_path),)) for _ in range(2))
    first.start()
    assert begun.wait(120)
    second.start()
    first.join(120)
    second.join(120)
    assert sorted(taken, key=str) == [0, 2]
    assert database(tmp_path).execute("SELECT n FROM steps ORDER BY n").fetchall() == [(1,), (2,)]


def test_a_new_vault_is_at_the_newest_version_with_every_table_strict(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    connection = connect(folder.database)
    assert schema.version_of(connection) == schema.VERSION == len(migrations.MIGRATIONS)
    lax = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict"
    ).fetchall()
    assert [name for (name,) in lax if not name.startswith("sqlite_")] == []
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


def test_memories_of_the_fifth_format_have_no_words_apart_from_their_text_and_no_passage(tmp_path: Path) -> None:
    """Such a text was written by the rules of that release: which of its words are the speaker's is not known."""
    connection = database(tmp_path)
    schema.migrate(connection, NOW, migrations.MIGRATIONS[:5])
    connection.execute("INSERT INTO scopes (key, project, squad, agent, channel, user) VALUES (1, '', '', 'rex', '', '')")
    connection.execute(
        """
        INSERT INTO memories (key, id, scope, kind, category, source, status, pinned, version, importance, confidence, strength,
                              accesses, learned_at, updated_at)
        VALUES (7, 'old', 1, 'proposition', 'fact', 'user', 'active', 0, 1, 0.5, 0.5, 1.0, 0, 0, 0);
        INSERT INTO contents (memory, text, summary, key_fact, tag, around, digest)
        VALUES (7, 'The user lives in Oslo.', '', '', '', '', x'00');
        """
    )
    assert schema.migrate(connection, NOW, migrations.MIGRATIONS[:6]) == 1
    rows = connection.execute("SELECT memory, text, words_from, words_to, passage FROM contents").fetchall()
    assert rows == [(7, "The user lives in Oslo.", 0, 0, "")]
