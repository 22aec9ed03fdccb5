"""The tables, as an append-only list of migrations.

Each entry is a function that brings the database from one version to the next; none is ever edited after a release.

The tables of format 5, in the parts that they came in.

Bringing a database up to the format of this release.

The migrations run in one exclusive transaction, so that of two processes that race one migrates and the other finds it done.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import apsw

from engram.env import to_micros
from engram.errors import EngramError, MigrationFailed, VaultTooNew
from engram.store.sqlite.connection import engram_error
from engram.text.terms import digest_of, layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


def _dreams(connection: apsw.Connection) -> None:
    """Passes at rest: what each did, in figures; how far each job has come; when it should look at what again; and what undoes a
    pass, as figures of rows before and after it. No words but the kinds of links."""
    connection.execute(
        """
        CREATE TABLE passes (
            key      INTEGER PRIMARY KEY AUTOINCREMENT,
            id       TEXT NOT NULL UNIQUE,
            verb     TEXT NOT NULL,
            walker   TEXT NOT NULL,
            holder   TEXT NOT NULL,
            began_at INTEGER NOT NULL,
            beat_at  INTEGER NOT NULL,
            ended_at INTEGER,
            ending   TEXT NOT NULL,
            counts   TEXT NOT NULL,
            probes   TEXT NOT NULL,
            before   REAL,
            after    REAL
        ) STRICT;

        CREATE TABLE jobs (
            name   TEXT NOT NULL,
            walker TEXT NOT NULL,
            row    INTEGER NOT NULL,
            change INTEGER NOT NULL,
            PRIMARY KEY (name, walker)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE dues (
            job    TEXT NOT NULL,
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            at     INTEGER NOT NULL,
            PRIMARY KEY (job, memory)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX dues_by_time ON dues (job, at);
        CREATE INDEX dues_by_memory ON dues (memory);

        CREATE TABLE undoing (
            pass   INTEGER NOT NULL REFERENCES passes (key) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            other  INTEGER REFERENCES memories (key) ON DELETE CASCADE,
            place  TEXT NOT NULL,
            part   TEXT NOT NULL,
            was    TEXT,
            now    TEXT,
            PRIMARY KEY (pass, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX undoing_by_memory ON undoing (memory);
        CREATE INDEX undoing_by_other ON undoing (other) WHERE other IS NOT NULL;
        """
    )


def _relations(connection: apsw.Connection) -> None:
    """What leads to something is looked up by that; and who else has something that is told of one."""
    connection.execute("CREATE INDEX facts_by_object ON facts (object, predicate)")
    connection.execute("CREATE INDEX facts_by_predicate ON facts (predicate)")


def _doubts(connection: apsw.Connection) -> None:
    """Which memories stand against each other, and which are much used: few of many, found without looking at the others."""
    connection.execute(
        """
        CREATE INDEX edges_contested ON edges (source, target) WHERE kind = 'contradicts';
        CREATE INDEX memories_much_used ON memories (updated_at) WHERE accesses >= 5;
        """
    )


_PARTS = (_dreams, _relations, _doubts)


def fifth(connection: apsw.Connection) -> None:
    for part in _PARTS:
        part(connection)


Migration = Callable[[apsw.Connection], None]


def _first_tables(connection: apsw.Connection) -> None:
    """Narrow rows in `memories`, words in `contents`: filters of a search touch only the narrow table."""
    connection.execute(
        """
        CREATE TABLE meta (
            name  TEXT PRIMARY KEY,
            value ANY
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE scopes (
            key     INTEGER PRIMARY KEY,
            project TEXT NOT NULL,
            squad   TEXT NOT NULL,
            agent   TEXT NOT NULL,
            channel TEXT NOT NULL,
            user    TEXT NOT NULL,
            UNIQUE (project, squad, agent, channel, user)
        ) STRICT;

        CREATE TABLE memories (
            key            INTEGER PRIMARY KEY AUTOINCREMENT,
            id             TEXT NOT NULL UNIQUE,
            scope          INTEGER NOT NULL REFERENCES scopes (key),
            kind           TEXT NOT NULL,
            category       TEXT NOT NULL,
            source         TEXT NOT NULL,
            status         TEXT NOT NULL,
            pinned         INTEGER NOT NULL,
            version        INTEGER NOT NULL,
            importance     REAL NOT NULL,
            confidence     REAL NOT NULL,
            strength       REAL NOT NULL,
            accesses       INTEGER NOT NULL,
            accessed_at    INTEGER,
            happened_at    INTEGER,
            happened_until INTEGER,
            valid_from     INTEGER,
            valid_until    INTEGER,
            learned_at     INTEGER NOT NULL,
            updated_at     INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX memories_by_scope ON memories (scope, status);

        CREATE TABLE contents (
            memory   INTEGER PRIMARY KEY REFERENCES memories (key) ON DELETE CASCADE,
            text     TEXT NOT NULL,
            summary  TEXT NOT NULL,
            key_fact TEXT NOT NULL,
            tag      TEXT NOT NULL
        ) STRICT;

        CREATE TABLE attributes (
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            name   TEXT NOT NULL,
            value  TEXT NOT NULL,
            PRIMARY KEY (memory, name)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX attributes_by_value ON attributes (name, value);

        CREATE VIRTUAL TABLE lexicon USING fts5 (
            words, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
        );
        INSERT INTO lexicon (lexicon, rank) VALUES ('secure-delete', 1);

        CREATE TABLE edges (
            source     INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            target     INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            kind       TEXT NOT NULL,
            weight     REAL NOT NULL,
            confidence REAL NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (source, target, kind)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX edges_by_target ON edges (target);

        CREATE TABLE spaces (
            key        INTEGER PRIMARY KEY,
            name       TEXT NOT NULL UNIQUE,
            model      TEXT NOT NULL,
            dimensions INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE embeddings (
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            space  INTEGER NOT NULL REFERENCES spaces (key),
            vector BLOB NOT NULL,
            PRIMARY KEY (memory, space)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE versions (
            memory      INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            number      INTEGER NOT NULL,
            text        TEXT NOT NULL,
            replaced_at INTEGER NOT NULL,
            PRIMARY KEY (memory, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE status_history (
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            old    TEXT NOT NULL,
            new    TEXT NOT NULL,
            reason TEXT NOT NULL,
            at     INTEGER NOT NULL,
            PRIMARY KEY (memory, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE changes (
            seq    INTEGER PRIMARY KEY AUTOINCREMENT,
            memory INTEGER NOT NULL,
            what   TEXT NOT NULL
        ) STRICT;

        CREATE TABLE audit (
            key       INTEGER PRIMARY KEY AUTOINCREMENT,
            at        INTEGER NOT NULL,
            operation TEXT NOT NULL,
            subject   TEXT NOT NULL,
            project   TEXT NOT NULL,
            squad     TEXT NOT NULL,
            agent     TEXT NOT NULL,
            channel   TEXT NOT NULL,
            user      TEXT NOT NULL,
            count     INTEGER NOT NULL,
            digest    TEXT NOT NULL,
            ok        INTEGER NOT NULL
        ) STRICT;

        CREATE TABLE padding (
            key   INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL
        ) STRICT;
        """
    )


def _turns(connection: apsw.Connection) -> None:
    """What was said, verbatim, and which memories came from it. The text index learns what stood around a statement."""
    connection.execute(
        """
        CREATE TABLE turns (
            key     INTEGER PRIMARY KEY AUTOINCREMENT,
            scope   INTEGER NOT NULL REFERENCES scopes (key),
            session TEXT NOT NULL,
            speaker TEXT NOT NULL,
            text    TEXT NOT NULL,
            at      INTEGER NOT NULL,
            ref     TEXT NOT NULL
        ) STRICT;
        CREATE INDEX turns_by_session ON turns (scope, session);
        CREATE INDEX turns_by_ref ON turns (ref) WHERE ref <> '';

        CREATE TABLE sources (
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            turn   INTEGER NOT NULL REFERENCES turns (key) ON DELETE CASCADE,
            PRIMARY KEY (memory, turn)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX sources_by_turn ON sources (turn);

        ALTER TABLE memories ADD COLUMN session TEXT NOT NULL DEFAULT '';
        ALTER TABLE memories ADD COLUMN speaker TEXT NOT NULL DEFAULT '';
        ALTER TABLE memories ADD COLUMN surprise REAL NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN corroborations INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contents ADD COLUMN around TEXT NOT NULL DEFAULT '';
        ALTER TABLE contents ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
        CREATE INDEX contents_by_digest ON contents (digest);

        DROP TABLE lexicon;
        CREATE VIRTUAL TABLE lexicon USING fts5 (
            words, around, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
        );
        INSERT INTO lexicon (lexicon, rank) VALUES ('secure-delete', 1);
        """
    )
    memories = connection.execute("SELECT memory, text FROM contents").fetchall()
    for memory, text in memories:
        connection.execute("UPDATE contents SET digest = ? WHERE memory = ?", (digest_of(str(text)), memory))
        connection.execute("INSERT INTO lexicon (rowid, words, around) VALUES (?, ?, '')", (memory, layout(str(text))))


def _measures(connection: apsw.Connection) -> None:
    """What each tier of a memory costs in a prompt (0: not counted yet), and what its readers thought of it.

    A turn waits, since when that was heard, for a model to read it; 0 if it does not.
    The index holds all that a text search filters by, key first: a probe reads 50 bytes and not a row of 250. `feedback`
    holds for which questions a memory did or did not help: vectors and keyed digests of those, no words.
    """
    connection.execute(
        """
        ALTER TABLE contents ADD COLUMN text_tokens INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contents ADD COLUMN summary_tokens INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contents ADD COLUMN key_fact_tokens INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contents ADD COLUMN tag_tokens INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN helpful INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN unhelpful INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE turns ADD COLUMN waiting INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX turns_waiting ON turns (scope, session) WHERE waiting <> 0;
        CREATE INDEX memories_for_search ON memories (key, scope, status, kind, category, happened_at, learned_at);
        CREATE TABLE working_snapshots (
            scope    INTEGER NOT NULL REFERENCES scopes (key),
            name     TEXT NOT NULL,
            session  TEXT NOT NULL,
            saved_at INTEGER NOT NULL,
            body     BLOB NOT NULL,
            PRIMARY KEY (scope, name)
        ) STRICT;

        CREATE TABLE feedback (
            key     INTEGER PRIMARY KEY,
            memory  INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            scope   INTEGER NOT NULL REFERENCES scopes (key),
            at      INTEGER NOT NULL,
            helpful INTEGER NOT NULL,
            digest  TEXT NOT NULL,
            vector  BLOB NOT NULL,
            space   INTEGER REFERENCES spaces (key)
        ) STRICT;
        CREATE INDEX feedback_by_memory ON feedback (memory);
        """
    )


def _heard(connection: apsw.Connection) -> None:
    """Who said it, when, and how much it tells, key first: recall asks this of every candidate, and of few the whole row."""
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN substance REAL NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX memories_heard
            ON memories (key, scope, speaker, session, substance, named, happened_at, happened_until);
        """
    )


def _spendings(connection: apsw.Connection) -> None:
    """What language models cost, by the minute since 1970. No words."""
    connection.execute(
        """
        CREATE TABLE spendings (
            minute INTEGER PRIMARY KEY,
            calls  INTEGER NOT NULL,
            tokens INTEGER NOT NULL
        ) STRICT
        """
    )


def _kinds(connection: apsw.Connection) -> None:
    """What only one kind of memory has: the course of an episode, the parts of a skill; and boxes, each a stretch of memories.

    A part of a skill is a cue, a precondition, a step, a failure mode or a refinement. `topic` has words of a box's memories: it
    is emptied when one of them is erased, and made anew.
    """
    connection.execute(
        """
        ALTER TABLE edges ADD COLUMN reinforced_at INTEGER;

        CREATE TABLE episodes (
            memory     INTEGER PRIMARY KEY REFERENCES memories (key) ON DELETE CASCADE,
            goal       TEXT NOT NULL,
            outcome    TEXT NOT NULL,
            result     TEXT NOT NULL,
            valence    REAL NOT NULL,
            started_at INTEGER NOT NULL,
            ended_at   INTEGER
        ) STRICT;
        CREATE INDEX episodes_by_start ON episodes (started_at);

        CREATE TABLE events (
            memory INTEGER NOT NULL REFERENCES episodes (memory) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            at     INTEGER NOT NULL,
            type   TEXT NOT NULL,
            text   TEXT NOT NULL,
            actor  TEXT NOT NULL,
            ok     INTEGER,
            PRIMARY KEY (memory, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE participants (
            memory INTEGER NOT NULL REFERENCES episodes (memory) ON DELETE CASCADE,
            name   TEXT NOT NULL,
            role   TEXT NOT NULL,
            PRIMARY KEY (memory, name)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE skills (
            memory     INTEGER PRIMARY KEY REFERENCES memories (key) ON DELETE CASCADE,
            name       TEXT NOT NULL,
            threshold  REAL NOT NULL,
            executions INTEGER NOT NULL,
            successes  INTEGER NOT NULL,
            failures   INTEGER NOT NULL,
            partials   INTEGER NOT NULL,
            rate       REAL NOT NULL,
            seconds    REAL NOT NULL,
            used_at    INTEGER
        ) STRICT;

        CREATE TABLE skill_parts (
            memory INTEGER NOT NULL REFERENCES skills (memory) ON DELETE CASCADE,
            part   TEXT NOT NULL,
            number INTEGER NOT NULL,
            text   TEXT NOT NULL,
            extra  TEXT NOT NULL,
            weight REAL NOT NULL,
            count  INTEGER NOT NULL,
            at     INTEGER,
            PRIMARY KEY (memory, part, number)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE boxes (
            key       INTEGER PRIMARY KEY AUTOINCREMENT,
            scope     INTEGER NOT NULL REFERENCES scopes (key),
            session   TEXT NOT NULL,
            opened_at INTEGER NOT NULL,
            last_at   INTEGER NOT NULL,
            sealed    TEXT NOT NULL,
            trace     INTEGER NOT NULL,
            topic     TEXT NOT NULL
        ) STRICT;
        CREATE INDEX boxes_by_stream ON boxes (scope, session);

        CREATE TABLE boxed (
            memory INTEGER PRIMARY KEY REFERENCES memories (key) ON DELETE CASCADE,
            box    INTEGER NOT NULL REFERENCES boxes (key)
        ) STRICT;
        CREATE INDEX boxed_by_box ON boxed (box);
        """
    )


def _grants(connection: apsw.Connection) -> None:
    """Whom tokens stand for, under keyed digests of their secrets; and what was answered under a caller's own key."""
    connection.execute(
        """
        CREATE TABLE tokens (
            id         TEXT PRIMARY KEY,
            name       TEXT NOT NULL,
            digest     BLOB NOT NULL UNIQUE,
            scope      INTEGER NOT NULL REFERENCES scopes (key),
            policy     TEXT NOT NULL,
            role       TEXT NOT NULL,
            writes     INTEGER NOT NULL,
            created_at INTEGER NOT NULL,
            expires_at INTEGER,
            revoked_at INTEGER
        ) STRICT;

        CREATE TABLE receipts (
            name    BLOB PRIMARY KEY,
            request BLOB NOT NULL,
            at      INTEGER NOT NULL,
            body    BLOB,
            plain   INTEGER NOT NULL DEFAULT 0  -- has no word of a memory
        ) STRICT, WITHOUT ROWID;
        """
    )


def _questions(connection: apsw.Connection) -> None:
    """What was asked and found no answer, by its scope."""
    connection.execute(
        """
        CREATE TABLE questions (
            key        INTEGER PRIMARY KEY,
            scope      INTEGER NOT NULL REFERENCES scopes (key),
            digest     BLOB NOT NULL,
            text       TEXT NOT NULL,
            times      INTEGER NOT NULL,
            asked_at   INTEGER NOT NULL,
            offered_at INTEGER,
            UNIQUE (scope, digest)
        ) STRICT
        """
    )


def _screened(connection: apsw.Connection) -> None:
    """Whether a memory reads as an attack on the model, and by which rules that was decided (0: by none yet)."""
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN flagged INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN screened INTEGER NOT NULL DEFAULT 0;
        """
    )


def _world(connection: apsw.Connection) -> None:
    """Who and what memories name, by every name it goes by in a scope; and what they say of it, since when and until when."""
    connection.execute(
        """
        CREATE TABLE entities (
            key   INTEGER PRIMARY KEY,
            scope INTEGER NOT NULL REFERENCES scopes (key),
            name  TEXT NOT NULL,
            kind  TEXT NOT NULL
        ) STRICT;

        CREATE TABLE aliases (
            scope  INTEGER NOT NULL REFERENCES scopes (key),
            name   TEXT NOT NULL,
            entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
            PRIMARY KEY (name, scope)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX aliases_by_entity ON aliases (entity);

        CREATE TABLE mentions (
            entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            PRIMARY KEY (entity, memory)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX mentions_by_memory ON mentions (memory);

        CREATE TABLE facts (
            memory    INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            number    INTEGER NOT NULL,
            subject   TEXT NOT NULL,
            predicate TEXT NOT NULL,
            object    TEXT NOT NULL,
            single    INTEGER NOT NULL,
            holds     INTEGER NOT NULL,
            since     INTEGER,
            until     INTEGER,
            PRIMARY KEY (memory, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX facts_by_subject ON facts (subject, predicate);
        """
    )
    read_to = connection.execute("SELECT coalesce(max(key), 0) FROM memories").get
    if read_to:  # what an older vault holds is read when there is time for it
        connection.execute("INSERT INTO meta (name, value) VALUES ('unread_to', ?)", (read_to,))


def _tiers(connection: apsw.Connection) -> None:
    """How closely words are kept, and what of a sensitive memory's may stand in the text index."""
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN tier TEXT NOT NULL DEFAULT 'cleartext';
        ALTER TABLE turns ADD COLUMN tier TEXT NOT NULL DEFAULT 'cleartext';
        ALTER TABLE contents ADD COLUMN clear TEXT NOT NULL DEFAULT '';
        """
    )


def _probes(connection: apsw.Connection) -> None:
    """How often each identity has asked, in each session and at each moment. No words, and no names: keyed digests."""
    connection.execute(
        """
        CREATE TABLE probes (
            identity TEXT NOT NULL,
            session  TEXT NOT NULL,
            tick     INTEGER NOT NULL,
            times    INTEGER NOT NULL,
            PRIMARY KEY (identity, session, tick)
        ) STRICT, WITHOUT ROWID
        """
    )


_FOURTH: tuple[Migration, ...] = (_heard, _spendings, _kinds, _grants, _questions, _screened, _world, _tiers, _probes)


def _fourth(connection: apsw.Connection) -> None:
    for part in _FOURTH:
        part(connection)


MIGRATIONS: tuple[tuple[str, Migration], ...] = (
    ("the first tables", _first_tables),
    ("turns, and where memories come from", _turns),
    ("token counts and feedback", _measures),
    ("who was heard", _fourth),
    ("what happens at rest", fifth),
)

_PATIENCE_MS = 600_000
"""How long a process waits for another one's migration: as long as a large vault may take."""

VERSION = 5
"""As many as there are migrations; they are loaded where there is something to migrate."""


def version_of(connection: apsw.Connection) -> int:
    """The version this database is at; 0 for an empty one."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").get:
        return 0
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").get or 0)


def require_known(version: int, newest: int = VERSION) -> None:
    if version > newest:
        raise VaultTooNew(f"this vault has schema version {version}; this release reads versions up to {newest}.")


def migrate(connection: apsw.Connection, now: datetime, steps: tuple[tuple[str, Migration], ...] | None = None) -> int:
    """Bring the database up to date, by these steps or all of ours; returns how many it took. Fails as a whole or not at all."""

    steps = MIGRATIONS if steps is None else steps
    try:
        connection.set_busy_timeout(_PATIENCE_MS)
        connection.execute("BEGIN EXCLUSIVE")
        # Inside the transaction: a process that waited here finds the work done by the one it waited for.
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version"
            " (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, what TEXT NOT NULL) STRICT"
        )
        start = version_of(connection)
        require_known(start, len(steps))
        for number, (what, step) in enumerate(steps[start:], start + 1):
            step(connection)
            connection.execute("INSERT INTO schema_version VALUES (?, ?, ?)", (number, to_micros(now), what))
        connection.execute("COMMIT")
    except apsw.Error as error:
        _undo(connection)
        told = engram_error(error, "bringing the vault's format up to date")
        raise (told if told.code in ("E1002", "E1003", "E1006") else MigrationFailed(told.message)) from error
    except EngramError:
        _undo(connection)
        raise
    except Exception as error:  # noqa: BLE001  a step is any function; what it raised must not leave half of it
        _undo(connection)
        raise MigrationFailed(f"a step failed ({type(error).__name__}) while bringing the vault's format up to date.") from None
    except BaseException:
        _undo(connection)
        raise
    return len(steps) - start


def _undo(connection: apsw.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
