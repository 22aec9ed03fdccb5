"""C13: reading the files of other programs, and files that are made to do harm."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.crypto.hardening import wipe_file
from engram.errors import ContentTooLarge, EngramError, InvalidContent
from engram.files import formats
from engram.settings import Settings
from engram.types import Memory, Turn

CHATGPT = [
    {
        "conversation_id": "c1",
        "title": "Moving",
        "create_time": 1700000000.0,
        "current_node": "n3",
        "mapping": {
            "root": {"parent": None, "message": None},
            "n1": {"parent": "root", "message": {"author": {"role": "user"}, "create_time": 1700000001.5,
                   "content": {"content_type": "text", "parts": ["I moved to Porto."]}}},
            "other": {"parent": "n1", "message": {"author": {"role": "assistant"}, "content": {"parts": ["Not taken."]}}},
            "n2": {"parent": "n1", "message": {"author": {"role": "tool"}, "content": {"parts": ["noise"]}}},
            "n3": {"parent": "n2", "message": {"author": {"role": "assistant"}, "content": {"parts": ["Welcome!", {"i": 1}]}}},
        },
    }
]  # fmt: skip
CLAUDE = [
    {
        "uuid": "k1",
        "name": "Tea",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "created_at": "2024-05-01T10:00:00Z", "text": "I drink green tea.", "content": []},
            {"uuid": "m2", "sender": "assistant", "created_at": "2024-05-01T10:00:05Z", "text": "",
             "content": [{"type": "text", "text": "Noted."}, {"type": "tool_use", "input": {}}]},
        ],
    }
]  # fmt: skip


def taken(path: Path, form: str | None = None, limits: Settings | None = None) -> tuple[list[Any], list[tuple[int, str]]]:
    refused: list[tuple[int, str]] = []
    found = formats.read(
        path, form or formats.format_of(path), limits or Settings(), lambda _, line, why: refused.append((line, why))
    )
    return list(found), refused


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return path


def test_of_a_chatgpt_conversation_the_branch_last_shown_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "export.zip", {"conversations.json": json.dumps(CHATGPT).encode(), "user.json": b"{}"})
    assert formats.format_of(path) == "chatgpt"
    found, refused = taken(path)
    assert [(turn.speaker, turn.text, turn.session) for turn in found] == [
        ("user", "I moved to Porto.", "c1"),
        ("assistant", "Welcome!", "c1"),
    ]
    assert found[0].ref == "c1/n1"
    assert found[0].at is not None
    assert found[0].at.year == 2023
    assert refused == []


def test_all_files_of_an_export_are_read(tmp_path: Path) -> None:
    second = [{**CHATGPT[0], "conversation_id": "c2"}]
    path = zipped(
        tmp_path / "export.zip",
        {"a/conversations-000.json": json.dumps(CHATGPT).encode(), "a/conversations-001.json": json.dumps(second).encode()},
    )
    assert {turn.session for turn in taken(path)[0]} == {"c1", "c2"}
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "conversations-000.json").write_text(json.dumps(CHATGPT))
    assert len(taken(folder)[0]) == 2


def test_a_claude_export_is_read_as_turns(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(CLAUDE))
    assert formats.format_of(path) == "claude"
    found, _ = taken(path)
    assert [(turn.speaker, turn.text, turn.ref) for turn in found] == [
        ("user", "I drink green tea.", "k1/m1"),
        ("assistant", "Noted.", "k1/m2"),
    ]


def test_notes_of_a_folder_are_read_without_hidden_ones_and_links_that_lead_out(tmp_path: Path) -> None:
    notes = tmp_path / "vault"
    (notes / ".obsidian").mkdir(parents=True)
    (notes / ".obsidian" / "secret.md").write_text("settings")
    (notes / "tea.md").write_text("---\ndate: 2024-05-01\ntags: [x]\n---\nI drink green tea.\n")
    (tmp_path / "outside.md").write_text("not yours")
    os.symlink(tmp_path / "outside.md", notes / "link.md")
    found, refused = taken(notes)
    assert [(turn.text.strip(), turn.session, turn.at.date().isoformat()) for turn in found] == [
        ("I drink green tea.", "tea.md", "2024-05-01")
    ]
    assert [why for _, why in refused] == ["a link that leads out of the folder"]


def test_a_note_that_is_a_conversation_is_read_as_the_turns_of_its_speakers(tmp_path: Path) -> None:
    (tmp_path / "talk.md").write_text("---\ndate: 2024-05-01\n---\n**Ann:** I live in Rome.\n\n**Bob:** My cat is Tiger.\n")
    found, refused = taken(tmp_path / "talk.md")
    assert [(turn.speaker, turn.text, turn.at.date().isoformat()) for turn in found] == [
        ("Ann", "I live in Rome.", "2024-05-01"),
        ("Bob", "My cat is Tiger.", "2024-05-01"),
    ]
    assert len({turn.ref for turn in found}) == 2
    assert not refused


@pytest.mark.parametrize("name", ["plan.txt", "plan.md"])
@pytest.mark.parametrize("code", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_read_in_the_encoding_of_its_byte_order_mark(tmp_path: Path, name: str, code: str) -> None:
    (tmp_path / name).write_bytes("Der Fährmann wartet.".encode(code))
    found, refused = taken(tmp_path / name)
    assert [turn.text for turn in found] == ["Der Fährmann wartet."]
    assert refused == []


def test_a_mem0_export_is_read_as_memories(tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    held = [
        {"id": "1", "memory": "Likes tea", "created_at": "2024-05-01T10:00:00-07:00", "metadata": {"topic": "drinks"}},
        {"id": "2"},
    ]
    path.write_text(json.dumps({"results": held}))
    assert formats.format_of(path) == "mem0"
    found, refused = taken(path)
    assert [(one.text, dict(one.attributes)) for one in found if isinstance(one, Memory)] == [("Likes tea", {"topic": "drinks"})]
    assert refused == [(2, "not a mem0 memory")]


def test_the_file_of_the_reference_memory_server_is_read_as_memories(tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    rows = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea", "lives in Porto"]},
        {"type": "relation", "from": "Ada", "relationType": "works_at", "to": "Acme"},
        {"type": "nothing"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    assert formats.format_of(path) == "mcp-memory"
    found, refused = taken(path)
    assert [one.text for one in found] == ["Ada (person): likes tea", "Ada (person): lives in Porto", "Ada works at Acme"]
    assert refused == [(3, "neither an entity nor a relation")]


def legacy(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as old:
        old.execute(
            "CREATE TABLE memories (id TEXT, content TEXT, created_at TEXT, agent_id TEXT, importance REAL, embedding BLOB)"
        )
        old.execute("INSERT INTO memories VALUES ('m1', 'Ada likes tea', '2024-05-01 10:00:00', 'rex', 8, x'00')")
        old.execute("INSERT INTO memories VALUES ('m2', NULL, NULL, NULL, NULL, NULL)")
        old.commit()
    return path


def test_a_flat_table_of_memories_is_read_and_never_written(tmp_path: Path) -> None:
    path = legacy(tmp_path / "engine.db")
    before = path.read_bytes()
    assert formats.format_of(path) == "sqlite"
    found, refused = taken(path)
    assert [(one.text, one.importance, dict(one.attributes)) for one in found] == [
        ("Ada likes tea", 0.8, {"legacy_id": "m1", "legacy_agent_id": "rex"})
    ]
    assert found[0].happened_at.isoformat() == "2024-05-01T10:00:00+00:00"
    assert refused == [(2, "a row without text")]
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["engine.db"]
    path.write_bytes(b"SQLite format 3\x00" + b"nonsense" * 1000)
    with pytest.raises(InvalidContent):
        taken(path)


def test_a_file_is_overwritten_and_gone(tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_text("my life" * 1000)
    os.link(path, tmp_path / "other name")  # shows what was written over it
    wipe_file(path, os.urandom)
    assert [one.name for one in tmp_path.iterdir()] == ["other name"]
    assert b"my life" not in (tmp_path / "other name").read_bytes()


def test_a_zip_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "bomb.zip", {"conversations.json": b"[" + b" " * (64 << 20) + b"]"})
    with pytest.raises(ContentTooLarge):
        taken(bomb, "chatgpt")
    plain = zipped(tmp_path / "large.zip", {"conversations.json": os.urandom(200_000)})
    with pytest.raises(ContentTooLarge):
        taken(plain, "chatgpt", Settings(import_bytes=100_000))


def test_the_root_of_the_disk_is_refused_as_a_folder_of_notes() -> None:
    with pytest.raises(InvalidContent):
        formats.format_of(Path("/"))


@pytest.mark.parametrize(("name", "form"), [("t.jsonl.gz", "jsonl"), ("m.jsonl.gz", "mcp-memory"), ("t.txt.gz", "text")])
def test_a_gzip_that_unpacks_without_end_is_skipped(tmp_path: Path, name: str, form: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"x" * (1 << 20) + b'\n{"text": "I moved to Porto."}\n'))
    found, refused = taken(path, form, Settings(turn_bytes=1024, import_bytes=1 << 16))
    assert refused[0][0] == 1
    assert [one.text for one in found] == (["I moved to Porto."] if form == "jsonl" else [])


def test_member_names_of_a_zip_are_never_used_as_paths(tmp_path: Path) -> None:
    path = zipped(tmp_path / "evil.zip", {"../../conversations.json": json.dumps(CHATGPT).encode()})
    before = set(tmp_path.rglob("*"))
    assert len(taken(path, "chatgpt")[0]) == 2
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "content", [b"", b"{", b"null", b"[" * 100_000, b'{"mapping": {}}', b'[{"mapping": [1]}]', b"\xff\xfe", b"[1, null]"]
)
@pytest.mark.parametrize("form", ["chatgpt", "claude", "mem0"])
def test_broken_exports_raise_an_error_or_are_refused(tmp_path: Path, content: bytes, form: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(content)
    try:
        found, _ = taken(path, form)
    except InvalidContent:
        return
    assert found == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["mapping", "message", "author", "role", "content", "parts", "parent", "chat_messages", "text", "memory",
                         "results", "metadata", "create_time", "created_at", "current_node", "sender", "type", "name"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=120, deadline=None)
@given(held=_JSON, form=st.sampled_from(["chatgpt", "claude", "mem0", "mcp-memory", "jsonl"]))
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, held: Any, form: str) -> None:
    path = tmp_path_factory.mktemp("any") / "conversations.json"
    path.write_text(json.dumps(held))
    try:
        found, _ = taken(path, form)
    except EngramError:
        return
    assert all(isinstance(one, Turn | Memory) for one in found)


def test_a_conversation_in_a_text_file_is_read_as_the_turns_of_its_speakers(tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text("Bob: I am allergic to shellfish.\nEve: My flat is near Termini.\n")
    found, _ = taken(path)
    assert [(turn.speaker, turn.text) for turn in found] == [
        ("Bob", "I am allergic to shellfish."),
        ("Eve", "My flat is near Termini."),
    ]
    assert len({turn.ref for turn in found}) == 2
    assert [turn.ref for turn in taken(path)[0]] == [turn.ref for turn in found]


def test_a_text_too_long_for_one_turn_is_read_as_several(tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("The lighthouse keeper counted ships before dawn.\n\n" * 50)
    found, refused = taken(path, limits=Settings(turn_bytes=1024))
    assert "".join(turn.text for turn in found) == path.read_text()
    assert (refused, all(turn.text.startswith("The") for turn in found)) == ([], True)
    assert len({turn.ref for turn in found}) == len(found) > 2
