"""`engram config`: show the values in force, change them for all processes, print the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hand_clock import HandClock
from serve.console import Engram

import engram as library
from engram.env import Env
from engram.errors import ContentTooLarge
from engram.settings import TABLE


def test_the_table_shows_every_setting_with_its_value(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_READER_LIMIT", "5")
    rows = {row.split("\t")[0]: row.split("\t")[1:] for row in engram("config").lines}
    assert list(rows) == list(TABLE)
    assert rows["reader_limit"] == ["5", "environment", "connections", "1 … 64", TABLE["reader_limit"].metadata["help"]]
    assert rows["neutral_times"][:4] == ["true", "default", "", "true, false"]
    assert rows["cipher"][3] == "aegis, sqlcipher"
    shown = {each["name"]: each for each in engram("config", "--json").json["settings"]}
    assert (shown["reader_limit"]["value"], shown["reader_limit"]["default"]) == (5, 8)
    assert set(shown) == set(TABLE)


def test_config_get_returns_what_config_set_wrote(engram: Engram, config_file: Path) -> None:
    assert engram("config", "set", "agent", "rex").out == "agent = rex\n"
    assert engram("config", "get", "agent").out == "rex\n"
    assert engram("config", "get", "agent", "--json").json == {"name": "agent", "value": "rex"}
    assert engram("config", "set", "neutral_times", "off", "--json").json == {
        "name": "neutral_times",
        "value": False,
        "path": str(config_file),
        "warning": "",
    }
    assert engram("config", "get", "neutral_times").out == "false\n"
    assert config_file.read_text() == 'agent = "rex"\nneutral_times = false\n'


def test_a_number_out_of_range_is_clamped_with_a_warning(engram: Engram) -> None:
    bent = engram("config", "set", "backups_kept", "500")
    assert bent.out == "backups_kept = 100\n"
    assert bent.err == "warning: backups_kept = 500 is outside 1 … 100; using 100\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [("reader_limit", "many"), ("turn_days", "many"), ("reader_limit", "1.5"), ("cipher", "rot13"), ("neutral_times", "maybe")],
)
def test_an_invalid_value_of_a_setting_is_bad_usage(engram: Engram, config_file: Path, name: str, value: str) -> None:
    refused = engram("config", "set", name, value)
    assert refused.code == 2
    assert refused.err.startswith(f"{name} must be ")
    assert not config_file.exists()


def test_an_unknown_setting_is_refused_with_the_nearest_name(engram: Engram) -> None:
    for command in (("get", "reader_limt"), ("set", "reader_limt", "5")):
        refused = engram("config", *command)
        assert refused.code == 1
        assert refused.err.startswith("E5003: there is no setting 'reader_limt'; did you mean 'reader_limit'?.")


def test_config_set_warns_if_another_source_overrides_the_value(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_BACKUPS_KEPT", "7")
    assert "goes over backups_kept here" in engram("config", "set", "backups_kept", "5").err
    assert "read when a vault is opened" in engram("config", "set", "reader_limit", "5").err


def test_a_changed_setting_takes_effect_in_a_running_process(made: Engram, vault: Path, clock: HandClock, env: Env) -> None:
    with library.Engram.open(vault, env=env) as running:
        running.remember("x" * 100)
        assert made("config", "set", "content_bytes", "64").code == 0
        clock.advance(1.1)
        with pytest.raises(ContentTooLarge):
            running.remember("x" * 100)


def test_the_settings_documentation_lists_every_setting_with_its_default(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_AGENT", "rex")
    page = engram("config", "--markdown").out
    assert page.startswith("# Settings\n")
    assert page.endswith("|\n")
    assert "rex" not in page
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(TABLE)
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}
