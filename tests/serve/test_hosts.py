"""Edits of other programs' settings files, and `engram mcp install`."""

from __future__ import annotations

import json
import stat
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serve.console import Engram

from engram.errors import ConfigInvalid
from engram.hosts import edits, jsonc
from engram.hosts.clients import CLIENTS

PLACE = ("mcpServers", "engram")
ENTRY = {"command": "engram", "args": ["mcp"], "env": {"ENGRAM_AGENT": "rex"}}
FILE = Path("settings.json")
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SETTINGS = st.fixed_dictionaries({}, optional={"mcpServers": st.dictionaries(NAMES, VALUES, max_size=3), "other": VALUES})


@given(SETTINGS, st.sampled_from([None, 2, 4, "\t"]))
def test_an_added_entry_is_there_and_the_rest_is_unchanged(settings: dict[str, object], indent: int | str | None) -> None:
    text = json.dumps(settings, indent=indent)
    put = edits.put_json(FILE, text, PLACE, ENTRY)
    assert put.after is not None
    expected = json.loads(text)
    expected.setdefault("mcpServers", {})["engram"] = ENTRY
    assert json.loads(put.after) == expected
    assert edits.put_json(FILE, put.after, PLACE, ENTRY).changes is False


@given(SETTINGS, st.sampled_from([2, 4, "\t"]), st.sampled_from(["", ' // it\'s "mine", {', " /* , } */"]), st.booleans())
def test_removing_an_entry_restores_the_text(settings: dict[str, object], indent: int | str, remark: str, windows: bool) -> None:
    servers = settings.get("mcpServers")
    if servers == {} or "engram" in (servers or {}):
        return
    text = json.dumps(settings, indent=indent, ensure_ascii=False).replace("\n", remark + ("\r\n" if windows else "\n"))
    put = edits.put_json(FILE, text, PLACE, ENTRY).after
    assert put is not None
    assert put.count(remark) == text.count(remark) or not remark
    assert put.count("\r\n") in (0, put.count("\n"))
    assert edits.take_json(FILE, put, PLACE).after == (text if settings else None)


COMMENTED = """\ufeff// for this machine
{
  "mcpServers": {
    // the one of the house
    "other": {"args": ["https://a/*b*/"],}, // do not touch
  }, /* end */
}
"""


def test_comments_and_trailing_commas_are_kept() -> None:
    put = edits.put_json(FILE, COMMENTED, PLACE, ENTRY).after
    assert put is not None
    assert jsonc.loads(put) == {"mcpServers": {"other": {"args": ["https://a/*b*/"]}, "engram": ENTRY}}
    kept = put.splitlines()
    assert [line for line in COMMENTED.splitlines() if line not in kept] == []
    assert kept[4].endswith("// do not touch")
    assert edits.take_json(FILE, put, PLACE).after == COMMENTED
    mine = '{"mcpServers": { // mine\n    "engram": {}\n  }}'
    assert edits.take_json(FILE, mine, PLACE).after == '{"mcpServers": { // mine\n  }}'


def test_text_around_an_entry_is_not_reformatted() -> None:
    text = '{"a": [1,2],\n    "mcpServers": {"x": {"args": ["a","b"]}}, "z": 1e5}'
    put = edits.put_json(FILE, text, PLACE, ENTRY).after
    assert put is not None
    assert put.startswith('{"a": [1,2],\n    "mcpServers": {"x": {"args": ["a","b"]},\n')
    assert put.endswith('}, "z": 1e5}')


@pytest.mark.parametrize(
    "text",
    [
        "{a: 1}",
        "[1]",
        '{"mcpServers": 7}',
        '{"mcpServers": null}',
        "not json",
        '{"a": 1 /* }',
        '{"mcpServers": {}, "mcpServers": {}}',
    ],
)
def test_a_file_of_unexpected_shape_is_refused(text: str) -> None:
    with pytest.raises(ConfigInvalid):
        edits.put_json(FILE, text, PLACE, ENTRY)


def test_toml_edits_keep_other_tables_and_comments() -> None:
    text = 'model = "x"  # mine\n\n[mcp_servers.other]\ncommand = "a"\n\n[mcp_servers.engram]\ncommand = "old"\n\n[tui]\nb = 1\n'
    place = ("mcp_servers", "engram")
    put = edits.put_toml(FILE, text, place, ENTRY).after
    assert put is not None
    read = tomllib.loads(put)
    assert read["mcp_servers"] == {"other": {"command": "a"}, "engram": ENTRY}
    assert read["tui"] == {"b": 1}
    assert put.startswith('model = "x"  # mine\n')
    assert edits.put_toml(FILE, put, place, ENTRY).changes is False
    taken = edits.take_toml(FILE, put, place).after
    assert taken is not None
    assert tomllib.loads(taken) == {"model": "x", "mcp_servers": {"other": {"command": "a"}}, "tui": {"b": 1}}


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers.engram.command = "inline"\n',
        'mcp_servers = {other = {command = "a"}}\n',
        'note = """\n[mcp_servers.engram]\nthat is how\n"""\n',
        "no toml",
    ],
)
def test_a_toml_table_written_in_another_form_is_refused(text: str) -> None:
    if "note" in text:
        put = edits.put_toml(FILE, text, ("mcp_servers", "other"), ENTRY).after
        assert put is not None
        assert put.startswith(text)
    with pytest.raises(ConfigInvalid):
        edits.put_toml(FILE, text, ("mcp_servers", "engram"), ENTRY)


def test_a_toml_table_is_found_in_any_spelling_and_comments_after_it_stay() -> None:
    text = 'a = 1\r\n\r\n[ mcp_servers . "engram" ]\r\ncommand = "old"\r\n\r\n# how it looks\r\n[tui]\r\nb = 1\r\n'
    place = ("mcp_servers", "engram")
    put = edits.put_toml(FILE, text, place, ENTRY).after
    assert put is not None
    assert tomllib.loads(put) == {"a": 1, "mcp_servers": {"engram": ENTRY}, "tui": {"b": 1}}
    assert put.count("\r\n") == put.count("\n")
    assert put.endswith("\r\n\r\n# how it looks\r\n[tui]\r\nb = 1\r\n")
    assert edits.take_toml(FILE, put, place).after == "a = 1\r\n\r\n# how it looks\r\n[tui]\r\nb = 1\r\n"


# ── engram mcp install ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.chdir(home)
    return home


@pytest.mark.parametrize("client", CLIENTS)
def test_the_server_is_added_to_a_host_once_and_removed(at_home: Path, engram: Engram, client: str) -> None:
    told = engram("--agent", "rex", "mcp", "install", "--client", client, "--yes")
    assert told.code == 0, told.err
    path = CLIENTS[client].file()
    assert path.is_relative_to(at_home)
    read = tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())
    for name in (*CLIENTS[client].place, "engram"):
        read = read[name]
    assert "mcp" in read["args"]
    assert read["env"]["ENGRAM_AGENT"] == "rex"
    assert "+" in told.err
    assert "Nothing to do" in engram("--agent", "rex", "mcp", "install", "--client", client, "--yes").out
    assert engram("mcp", "install", "--client", client, "--uninstall", "--yes").code == 0
    assert not path.exists()
    assert "Nothing to do" in engram("mcp", "install", "--client", client, "--uninstall", "--yes").out


def test_an_edit_keeps_a_backup_follows_links_and_keeps_file_modes(at_home: Path, engram: Engram) -> None:
    kept = at_home / "dotfiles.json"
    kept.write_text('{"mcpServers": {"other": {"env": {"KEY": "k"}}}}')
    kept.chmod(0o640)
    (at_home / ".claude.json").symlink_to(kept)
    assert engram("mcp", "install", "--client", "claude-code", "--yes").code == 0
    assert (at_home / ".claude.json").is_symlink()
    assert set(json.loads(kept.read_text())["mcpServers"]) == {"other", "engram"}
    (backup,) = at_home.glob("*.engram-backup")
    assert backup.read_text() == '{"mcpServers": {"other": {"env": {"KEY": "k"}}}}'
    if sys.platform != "win32":
        assert {stat.S_IMODE(one.stat().st_mode) for one in (kept, backup)} == {0o640}


def test_nothing_is_written_without_confirmation_or_into_invalid_json(at_home: Path, engram: Engram) -> None:
    path = at_home / ".cursor" / "mcp.json"
    assert engram("mcp", "install", "--client", "cursor").code == 2
    assert engram("mcp", "install", "--client", "cursor", "--print").json["mcpServers"]["engram"]["args"][-1] == "mcp"
    shown = engram("mcp", "install", "--client", "cursor", "--print", "--json").json
    assert (shown["path"], "mcpServers" in json.loads(shown["text"])) == (str(path), True)
    assert not path.exists()
    path.parent.mkdir()
    path.write_text("{ mine: 1 }")
    refused = engram("mcp", "install", "--client", "cursor", "--yes")
    assert refused.code == 1
    assert "E5003" in refused.err
    path.write_text("{}")
    path.chmod(0o444)
    refused = engram("mcp", "install", "--client", "cursor", "--yes")
    assert (refused.code, path.read_text()) == (1, "{}")
    assert "read-only" in refused.err
    assert engram("mcp", "install", "--client", "emacs").code == 2


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"mcpServers": {}}', '{"mcpServers": {} // none\n}', '{"a": 1,}\r\n'])
def test_install_and_uninstall_restore_a_json_file_byte_by_byte(at_home: Path, engram: Engram, text: str) -> None:
    path = at_home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    for words in ((), ("--profile", "full"), ("--uninstall",)):
        assert engram("mcp", "install", "--client", "cursor", "--yes", *words).code == 0
    assert path.read_bytes() == text.encode()
    assert len(list(path.parent.glob("*.engram-backup"))) == 3


def test_install_and_uninstall_restore_a_toml_file_byte_by_byte(at_home: Path, engram: Engram) -> None:
    path = at_home / ".codex" / "config.toml"
    path.parent.mkdir()
    for text in ("", "# nothing", "[mcp_servers]\n", 'model = "x"\n\n\n', "a = 1"):
        path.write_bytes(text.encode())
        for words in ((), ("--uninstall",)):
            assert engram("mcp", "install", "--client", "codex", "--yes", *words).code == 0
        assert path.read_bytes() == text.encode()


def test_a_project_install_writes_the_projects_own_file(at_home: Path, engram: Engram) -> None:
    assert engram("mcp", "install", "--client", "claude-code", "--project", "--profile", "full", "--yes").code == 0
    told = json.loads((at_home / ".mcp.json").read_text())["mcpServers"]["engram"]
    assert told["args"][-2:] == ["--profile", "full"]
    assert engram("mcp", "install", "--client", "openclaw", "--project", "--yes").code == 1
