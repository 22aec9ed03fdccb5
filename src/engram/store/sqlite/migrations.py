"""The tables, as an append-only list of migrations, and `migrate`, which brings a database up to the format of this release.

Each entry of `MIGRATIONS` brings the database from one version to the next; none is edited after a release. They run in one
exclusive transaction: of two processes that race, one migrates and the other finds it done.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import apsw

from engram.env import to_micros
from engram.errors import EngramError, MigrationFailed, VaultTooNew
from engram.store.sqlite.connection import engram_error
from engram.text.terms import digest_of, layout

Migration = Callable[[apsw.Connection], None]


def _first_tables(connection: apsw.Connection) -> None:
    """Create the first tables. `memories` is narrow, words stand in `contents`: filters read only narrow rows."""
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
    """Create the tables of turns and of the memories made from them; add the words around a statement to the text index."""
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
    """Add token counts of each tier (0: not counted yet), feedback, pending turns and working snapshots.

    `turns.waiting`: since when a turn waits for a model to read it; 0 if it does not. `memories_for_search` holds all columns
    that a text search filters by, key first: a probe reads 50 bytes instead of a row of 250. `feedback` holds the questions for
    which a memory did or did not help, as vectors and keyed digests, without words.
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


def _candidate_traits(connection: apsw.Connection) -> None:
    """Create an index of the traits that recall reads of every candidate, key first; of few candidates it reads the whole row."""
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN substance REAL NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN named INTEGER NOT NULL DEFAULT 0;
        CREATE INDEX memories_heard
            ON memories (key, scope, speaker, session, substance, named, happened_at, happened_until);
        """
    )


def _spendings(connection: apsw.Connection) -> None:
    """Create the table of spending on language models by minute since 1970."""
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
    """Create the side tables of episodes and skills, and the tables of boxes, each a stretch of memories.

    A part of a skill is a cue, a precondition, a step, a failure mode or a refinement. `topic` holds words of its memories: it
    is emptied when one of them is erased, and made again.
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
    """Create the tables of access tokens, by keyed digests of their secrets, and of receipts."""
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
    """Create the table of questions that found no answer, by scope."""
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
    """Add the injection verdict of a memory, and the edition of the rules that made it (0: not screened yet)."""
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN flagged INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE memories ADD COLUMN screened INTEGER NOT NULL DEFAULT 0;
        """
    )


def _world(connection: apsw.Connection) -> None:
    """Create the tables of entities, their names by scope, their mentions, and of facts with their dates."""
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
    if read_to:  # entities and facts of existing memories are read later, in the background
        connection.execute("INSERT INTO meta (name, value) VALUES ('unread_to', ?)", (read_to,))


def _tiers(connection: apsw.Connection) -> None:
    """Add the sensitivity tier of words, and the masked words of a sensitive memory for the text index."""
    connection.execute(
        """
        ALTER TABLE memories ADD COLUMN tier TEXT NOT NULL DEFAULT 'cleartext';
        ALTER TABLE turns ADD COLUMN tier TEXT NOT NULL DEFAULT 'cleartext';
        ALTER TABLE contents ADD COLUMN clear TEXT NOT NULL DEFAULT '';
        """
    )


def _probes(connection: apsw.Connection) -> None:
    """Create the table of question rates by identity, session and time. It holds keyed digests, no words and no names."""
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


_FORMAT_4: tuple[Migration, ...] = (
    _candidate_traits,
    _spendings,
    _kinds,
    _grants,
    _questions,
    _screened,
    _world,
    _tiers,
    _probes,
)


def _format_4(connection: apsw.Connection) -> None:
    """Create the tables and columns of format 4."""
    for part in _FORMAT_4:
        part(connection)


def _dreams(connection: apsw.Connection) -> None:
    """Create the tables of background passes: their figures, the cursor of each job, memories due to be looked at again, and the
    figures of rows before and after a pass, which undo it. They hold no words but the kinds of edges."""
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
    """Create the indexes of facts by object and by predicate."""
    connection.execute("CREATE INDEX facts_by_object ON facts (object, predicate)")
    connection.execute("CREATE INDEX facts_by_predicate ON facts (predicate)")


def _doubts(connection: apsw.Connection) -> None:
    """Create partial indexes of contradicting and of much used memories, which are few among many."""
    connection.execute(
        """
        CREATE INDEX edges_contested ON edges (source, target) WHERE kind = 'contradicts';
        CREATE INDEX memories_much_used ON memories (updated_at) WHERE accesses >= 5;
        """
    )


_FORMAT_5: tuple[Migration, ...] = (_dreams, _relations, _doubts)


def _format_5(connection: apsw.Connection) -> None:
    """Create the tables and indexes of dreams, relations and doubts."""
    for part in _FORMAT_5:
        part(connection)


def _format_6(connection: apsw.Connection) -> None:
    """Add the place of a speaker's own words in a memory's text, and the passage that its vector is made of."""
    connection.execute(
        """
        ALTER TABLE contents ADD COLUMN words_from INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contents ADD COLUMN words_to INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE contents ADD COLUMN passage TEXT NOT NULL DEFAULT '';
        """
    )


def _format_7(connection: apsw.Connection) -> None:
    """Add what each mention says, since and until when a name is held, decisions on entities by hand; the strength and the
    teller of facts, and the end that a fact was stated with. Old mentions get the name of their entity until they are read
    again."""
    connection.execute(
        """
        ALTER TABLE mentions RENAME TO old_mentions;
        CREATE TABLE mentions (
            memory  INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            number  INTEGER NOT NULL,
            entity  INTEGER REFERENCES entities (key) ON DELETE SET NULL,
            name    TEXT NOT NULL,
            kind    TEXT NOT NULL,
            aliases TEXT NOT NULL,
            is_speaker INTEGER NOT NULL,
            PRIMARY KEY (memory, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO mentions (memory, number, entity, name, kind, aliases, is_speaker)
            SELECT o.memory, row_number() OVER (PARTITION BY o.memory ORDER BY o.entity) - 1, e.key, e.name, e.kind, '', 0
              FROM old_mentions AS o JOIN entities AS e ON e.key = o.entity;
        DROP TABLE old_mentions;
        CREATE INDEX mentions_by_entity ON mentions (entity, memory);
        CREATE INDEX mentions_with_aliases ON mentions (entity) WHERE aliases <> '';
        CREATE INDEX mentions_by_role ON mentions (lower(name)) WHERE instr(name, '''s ') > 0;

        ALTER TABLE aliases RENAME TO old_aliases;
        CREATE TABLE aliases (
            name   TEXT NOT NULL,
            scope  INTEGER NOT NULL REFERENCES scopes (key),
            until  INTEGER NOT NULL,
            entity INTEGER NOT NULL REFERENCES entities (key) ON DELETE CASCADE,
            since  INTEGER,
            PRIMARY KEY (name, scope, until, entity)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO aliases (name, scope, until, entity) SELECT name, scope, 0, entity FROM old_aliases;
        DROP TABLE old_aliases;
        CREATE INDEX aliases_by_entity ON aliases (entity);

        CREATE TABLE entity_decisions (
            key       INTEGER PRIMARY KEY,
            id        TEXT NOT NULL,
            scope     INTEGER NOT NULL REFERENCES scopes (key),
            action    TEXT NOT NULL,
            body      TEXT NOT NULL,
            at        INTEGER NOT NULL,
            undone_at INTEGER,
            UNIQUE (id, scope)
        ) STRICT;
        CREATE INDEX entity_decisions_by_scope ON entity_decisions (scope);

        ALTER TABLE facts ADD COLUMN strength TEXT NOT NULL DEFAULT '';
        ALTER TABLE facts ADD COLUMN teller TEXT NOT NULL DEFAULT '';
        ALTER TABLE facts ADD COLUMN bound INTEGER;
        """
    )
    read_to = connection.execute("SELECT coalesce(max(key), 0) FROM memories").get
    if read_to and not connection.execute("SELECT 1 FROM meta WHERE name = 'unread_to'").get:
        connection.execute("INSERT INTO meta (name, value) VALUES ('unread_to', ?), ('facts_read', 1)", (read_to,))


def _format_8(connection: apsw.Connection) -> None:
    """Mark the questions that were raised in a conversation. Of those before nobody knows: they are offered to nobody."""
    connection.execute("ALTER TABLE questions ADD COLUMN raised INTEGER NOT NULL DEFAULT 0")


MIGRATIONS: tuple[tuple[str, Migration], ...] = (
    ("the first tables", _first_tables),
    ("turns, and where memories come from", _turns),
    ("token counts and feedback", _measures),
    ("who was heard", _format_4),
    ("what happens at rest", _format_5),
    ("the words of a statement", _format_6),
    ("the words of a mention, entities by hand, the evidence of facts", _format_7),
    ("questions raised in a conversation", _format_8),
)

_PATIENCE_MS = 600_000
"""Time a process waits for the migration of another: as long as a large vault may take."""

VERSION = 8
"""The version of this release: the number of migrations."""


def version_of(connection: apsw.Connection) -> int:
    """Return the version of a database; 0 if it is empty."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").get:
        return 0
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").get or 0)


def require_known(version: int, newest: int = VERSION) -> None:
    """Raise VaultTooNew for a version of a later release."""
    if version > newest:
        raise VaultTooNew(f"this vault has schema version {version}; this release reads versions up to {newest}.")


def migrate(connection: apsw.Connection, now: datetime, steps: tuple[tuple[str, Migration], ...] | None = None) -> int:
    """Run the migrations that a database lacks, all or none, and return how many ran."""
    steps = MIGRATIONS if steps is None else steps
    try:
        connection.set_busy_timeout(_PATIENCE_MS)
        connection.execute("BEGIN EXCLUSIVE")
        # The version is read inside the transaction: a process that waited may find the work done.
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
        explained = engram_error(error, "migrating the vault")
        raise (explained if explained.code in ("E1002", "E1003", "E1006") else MigrationFailed(explained.message)) from error
    except EngramError:
        _undo(connection)
        raise
    except Exception as error:  # noqa: BLE001  a step may raise anything, and must then be rolled back
        _undo(connection)
        raise MigrationFailed(f"a step failed ({type(error).__name__}) while migrating the vault.") from None
    except BaseException:
        _undo(connection)
        raise
    return len(steps) - start


def _undo(connection: apsw.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
