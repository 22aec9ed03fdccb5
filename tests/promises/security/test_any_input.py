"""§10.15, §10.17, §10.24.3: whatever is thrown at what reads files, questions, cursors, tokens, settings and the words of other
programs, it reads or it refuses with an error of ours; nothing else comes out, and nothing is changed by what is refused.

More of the same where the readers live: files/test_imports.py, files/test_archive.py, text/english/test_dates.py,
text/english/test_relative_dates.py, text/english/test_entities.py, text/english/test_facts.py;
the routes in serve/test_openapi.py.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from promises.vaults_at_hand import KEY, OWNER, store_of
from serve.talking import As

import engram
from engram.engine import Engram
from engram.errors import EngramError
from engram.files import archive, formats, records
from engram.models import language_models
from engram.serve.hook import events, transcripts
from engram.serve.hook.events import InvalidEvent
from engram.serve.mcp.handshake import _request, handshake, messages
from engram.serve.mcp.profiles import tools_of
from engram.serve.mcp.tools import Tool
from engram.settings import LiveSettings, Settings
from engram.text.transcripts import speeches
from engram.types import Memory, Turn
from engram.values.query import Filter

TEXT = st.text(max_size=60) | st.sampled_from(
    ["%", "_", "\\", '"', "'", "*", "NEAR(a b)", "words:x", "a OR b", "-- ;", "\0", "\ud800"]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    path = tmp_path_factory.mktemp("any") / "vault"
    with engram.open(path, key=KEY, agent="rex", settings={"model": "none", "backup_hours": 0, "ask_per_minute": 0}) as opened:
        opened.remember("The harbour is closed on Sundays", attributes={"where": "Bergen"})
        yield opened


def held(mem: Engram) -> tuple[int, list[tuple[str, int]]]:
    found = store_of(mem).memories.page(OWNER, limit=100, where=Filter(statuses=())).memories
    return store_of(mem).changes.latest(OWNER), [(memory.text, memory.version) for memory in found]


@FEW
@given(question=TEXT, where=st.dictionaries(TEXT, TEXT, max_size=2), kinds=st.lists(TEXT, max_size=2))
def test_any_question_and_filter_is_answered_or_refused(
    mem: Engram, question: str, where: dict[str, str], kinds: list[str]
) -> None:
    """R1, §10.15.1: no word of a query or a filter acts as an operator."""
    before = held(mem)
    for ask in (mem.recall, mem.list):
        try:
            filters = Filter(attributes=where, kinds=tuple(kinds))
            ask(question, filters=filters) if ask == mem.recall else ask(filters=filters)  # type: ignore[operator]
        except EngramError:
            continue
    assert held(mem) == before


@FEW
@given(cursor=TEXT | st.binary(max_size=40).map(lambda raw: raw.hex()), limit=st.integers(-5, 10_000_000))
def test_any_cursor_is_a_place_in_ones_own_list_or_refused(mem: Engram, cursor: str, limit: int) -> None:
    """S3: a forged cursor shows nobody else's page."""
    try:
        page = mem.list(cursor=cursor, limit=limit)
    except EngramError:
        return
    assert {memory.text for memory in page} <= {"The harbour is closed on Sundays"}


@FEW
@given(secret=TEXT | st.binary(max_size=60).map(lambda raw: f"engram_{raw.hex()}"))
def test_only_a_granted_token_is_accepted(mem: Engram, secret: str) -> None:
    """M12"""
    assert store_of(mem).access_tokens.holder(secret) is None


@settings(FEW, max_examples=25)
@given(tool=st.sampled_from(tools_of("full")), arguments=st.dictionaries(TEXT, ANY, max_size=4), data=st.data())
def test_any_arguments_of_a_tool_are_taken_or_refused(
    mem: Engram, tool: Tool, arguments: dict[str, Any], data: st.DataObject
) -> None:
    """S4: arguments that a model made up, under known and unknown names."""
    known = sorted(tool.listing()["inputSchema"].get("properties", {}))
    if known:
        arguments |= data.draw(st.dictionaries(st.sampled_from(known), ANY, max_size=3))
    with contextlib.suppress(EngramError):
        tool.run(As(mem).vault(None), arguments)


@FEW
@given(content=st.binary(max_size=80) | ANY.map(lambda value: json.dumps(value).encode("utf-8", "surrogatepass")))
def test_any_input_of_a_hook_is_read_as_an_event_or_ignored(tmp_path: Path, content: bytes) -> None:
    """S6: the host's JSON, and a transcript that another program wrote."""
    with contextlib.suppress(InvalidEvent):
        events.read(content, "claude-code")
    file = tmp_path / "transcript.jsonl"
    file.write_bytes(content + b"\n" + content)
    for client in ("claude-code", "codex"):
        assert all(isinstance(turn, Turn) for turn in transcripts.turns(file, client, "s"))


def test_a_hook_ignores_input_of_any_nesting_depth() -> None:
    with pytest.raises(InvalidEvent):
        events.read(b"[" * 100_000, "claude-code")


@FEW
@given(line=TEXT | ANY.map(json.dumps))
def test_any_line_to_the_tool_server_is_a_request_or_ignored(line: str) -> None:
    """S4: the line is read before the SDK gets it."""
    for told, message in messages(line):
        assert message is not None or "error" in json.loads(told)
        request = None if message is None else _request(message)
        if request is not None:
            handshake(request)


@FEW
@given(told=TEXT | ANY.map(json.dumps) | ANY.map(lambda value: f"Sure! ```json\n{json.dumps(value)}\n``` Done"))
def test_any_answer_of_a_model_fits_the_schema_or_is_refused(told: str) -> None:
    """C7: the answer is validated against the requested schema."""
    try:
        value = language_models.parse_json(told)
    except ValueError:
        return
    assert isinstance(
        language_models.schema_violation(value, {"type": "object", "properties": {"facts": {"type": "array"}}}), str
    )


@FEW
@given(content=st.binary(max_size=120) | TEXT.map(lambda text: f'page_cache_kib = "{text}"\n'.encode("utf-8", "replace")))
def test_any_settings_file_is_read_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """V16"""
    file = tmp_path / "config.toml"
    file.write_bytes(content)
    monkeypatch.setenv("ENGRAM_CONFIG", str(file))
    try:
        live = LiveSettings({}, monotonic=lambda: 0.0)
    except EngramError:
        return
    assert live.now.page_cache_kib > 0


FIELDS = (
    "type", "text", "id", "kind", "at", "speaker", "number", "scope", "turns", "weight", "source", "target", "status",
    "confidence", "importance", "attributes", "tier", "learned_at", "accesses", "words_at", "facts",
    "correction",
)  # fmt: skip


@FEW
@given(record=st.dictionaries(st.sampled_from(FIELDS), ANY, max_size=8))
def test_any_record_of_an_archive_is_imported_or_refused(record: dict[str, Any]) -> None:
    """§10.24.3: from a file that an attacker made."""
    for read in (records.memory_of, records.turn_of, records.edge_of):
        try:
            made: Any = read({"type": "memory", **record})
        except EngramError:
            continue
        assert made is not None


@FEW
@given(place=ANY | st.lists(st.integers(-3, 30), max_size=4), text=st.text(max_size=20))
def test_the_place_of_the_words_in_a_record_lies_in_its_text_or_is_refused(place: Any, text: str) -> None:
    """§10.24.3: whatever place a file names, a memory has words."""
    record = records.of_memory(records.FiledMemory(Memory(text=text, id="x", category="fact")))
    try:
        memory = records.memory_of({**record, "words_at": place}).memory
    except EngramError:
        return
    assert 0 <= memory.words_at[0] <= memory.words_at[1] <= len(text)
    assert memory.words in text
    assert memory.carries in text


@FEW
@given(piece=TEXT | st.builds("{}:{}-{}".format, *([st.integers(-2, 10**20)] * 3)))
def test_any_name_of_a_piece_keeps_words_of_ones_own_turn_or_is_refused(mem: Engram, piece: str) -> None:
    """S3: nobody's words are reached by a number that was made up."""
    before = held(mem)
    with pytest.raises(EngramError):
        mem.keep(piece)
    assert held(mem) == before


@FEW
@given(content=st.binary(max_size=200))
def test_random_bytes_are_never_accepted_as_an_archive(content: bytes) -> None:
    with pytest.raises(EngramError):
        list(archive.read(io.BytesIO(archive.MAGIC + b"\x0a\x01" + content), "a passphrase of words"))


FORMS = ("text", "jsonl", "markdown", "chatgpt", "claude", "mem0", "mcp-memory", "sqlite", "json")


@FEW
@given(content=st.binary(max_size=200) | ANY.map(lambda value: json.dumps(value).encode()), form=st.sampled_from(FORMS))
def test_any_bytes_are_read_as_any_format_or_refused(tmp_path: Path, content: bytes, form: str) -> None:
    """C13"""
    file = tmp_path / "file"
    file.write_bytes(content)
    try:
        read = formats.own_records if form == "json" else lambda path, limits, refused: formats.read(path, form, limits, refused)
        found = list(read(file, Settings(), lambda *_: None))
    except EngramError:
        return
    assert all(isinstance(one, Turn | Memory | dict) for one in found)


@FEW
@given(text=st.lists(st.sampled_from(["Ann", "Bob", ":", " ", "\n", "I", "user", "x.", "\u2028", "é"]), max_size=40).map("".join))
def test_any_text_read_as_a_conversation_keeps_all_its_lines(text: str) -> None:
    """C13: a speaker may be read wrongly, but no line is dropped."""
    said = speeches(text)
    if said is not None:
        words = [word for line in text.splitlines() for word in line.split()]
        assert sum(len(part.split()) for _, part in said) <= len(words)
        assert "".join("".join(part.split()) for _, part in said) != ""
