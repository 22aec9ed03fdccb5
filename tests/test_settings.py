"""Settings: where a value comes from, how a wrong one is bent, and how one is written down."""

from __future__ import annotations

import logging
import os
import re
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hand_clock import HandClock
from hypothesis import example, given
from hypothesis import strategies as st

from engram import settings as room
from engram.bench.tuning import TUNABLE
from engram.errors import ConfigInvalid
from engram.recall.weights import RecallWeights
from engram.settings import TABLE, LiveSettings, Settings, coerce, save, with_line
from engram.settings.table import _MOVED, RETIRED
from engram.store.limits import StoreLimits
from engram.values.frozen import fields

NUMBERS = sorted(name for name, spec in TABLE.items() if type(spec.default) in (int, float))
WHOLE = sorted(name for name in NUMBERS if type(TABLE[name].default) is int)
CHOICES = sorted(name for name, spec in TABLE.items() if spec.metadata["choices"])


def live(clock: HandClock, **arguments: object) -> LiveSettings:
    return LiveSettings(arguments, monotonic=clock.monotonic)


# --- the table ---


def test_every_setting_says_what_it_is_for() -> None:
    assert all(spec.metadata["help"].endswith(".") for spec in TABLE.values())


def test_every_number_has_a_range_and_its_default_lies_in_it() -> None:
    for name in NUMBERS:
        spec = TABLE[name]
        assert spec.metadata["low"] <= spec.default <= spec.metadata["high"], name
        assert type(spec.default)(spec.metadata["low"]) == spec.metadata["low"], name


def test_every_choice_has_its_default_among_the_choices() -> None:
    assert all(TABLE[name].default in TABLE[name].metadata["choices"] for name in CHOICES)


def test_no_setting_is_named_like_a_variable_that_means_something_else() -> None:
    assert not {"config", "passphrase"} & set(TABLE)


def test_the_variable_goes_over_the_setting_that_names_a_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGRAM_HOME", raising=False)
    save("home", str(tmp_path / "filed"))
    assert room.home() == tmp_path / "filed"
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "named"))
    assert room.home() == tmp_path / "named"


def test_the_defaults_agree_with_each_other() -> None:
    assert room.consistent(Settings()) == (Settings(), [])


# --- bending what is wrong ---


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_out_of_range_is_clamped_with_a_warning(name: str) -> None:
    low, high = TABLE[name].metadata["low"], TABLE[name].metadata["high"]
    for wrong, bound in ((low - 1, low), (high + 1, high)):
        kept, warning = coerce(name, wrong)
        assert kept == bound
        assert re.fullmatch(rf"{name} = \S+ is outside {re.escape(str(low))} … {re.escape(str(high))}; using {kept}", warning)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_ends_of_a_range_belong_to_it(name: str) -> None:
    for bound in (TABLE[name].metadata["low"], TABLE[name].metadata["high"]):
        assert coerce(name, bound) == (bound, "")


@given(
    st.sampled_from(sorted(TABLE)),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.dates()),
)
@example("recall_limit", 10**400)
@example("recall_limit", -(10**400))
@example("turn_days", 10**400)
@example("recall_limit", float("inf"))
@example("turn_days", float("nan"))
@example("agent", "\udcff")
def test_whatever_is_given_a_setting_holds_a_value_of_its_type_and_range(name: str, value: object) -> None:
    kept, warning = coerce(name, value)
    spec = TABLE[name]
    assert type(kept) is type(spec.default)
    if spec.metadata["choices"]:
        assert kept in spec.metadata["choices"]
    if name in NUMBERS:
        assert spec.metadata["low"] <= kept <= spec.metadata["high"]
    if not warning and type(value) is type(kept):
        assert kept == value
    assert coerce(name, kept) == (kept, "")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["", "many", "1,5", None, True, [], {}, float("nan")])
def test_what_is_no_number_gives_the_default_with_a_warning(name: str, value: object) -> None:
    kept, warning = coerce(name, value)
    assert kept == TABLE[name].default
    assert f"{name} must be a" in warning
    assert "number" in warning


@pytest.mark.parametrize("name", WHOLE)
def test_a_fraction_is_no_whole_number(name: str) -> None:
    assert coerce(name, TABLE[name].default + 0.5)[0] == TABLE[name].default


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_no_choice_gives_the_default_and_lists_the_choices(name: str) -> None:
    kept, warning = coerce(name, "nonsense")
    assert kept == TABLE[name].default
    assert all(choice in warning for choice in TABLE[name].metadata["choices"])


@pytest.mark.parametrize(
    ("word", "meaning"), [("1", True), (" Yes ", True), ("on", True), ("FALSE", False), ("off", False), (0, False)]
)
def test_true_and_false_may_be_said_in_many_ways(word: object, meaning: bool) -> None:
    assert coerce("harden_process", word) == (meaning, "")


def test_the_same_number_may_come_as_text() -> None:
    assert coerce("recall_limit", " 12 ") == (12, "")
    assert coerce("turn_days", "1.5") == (1.5, "")
    assert coerce("turn_days", 2) == (2.0, "")


def test_critical_pressure_is_kept_above_the_warning(clock: HandClock) -> None:
    settings = live(clock, ram_warning_mib=400, ram_critical_mib=410)
    assert settings.now.ram_critical_mib == 450
    assert "ram_critical_mib = 410 must be 50 above" in settings.warnings[0]


def test_rules_between_settings_see_only_what_is_in_force(clock: HandClock, config_file: Path) -> None:
    config_file.write_text("ram_warning_mib = 900\n")
    settings = live(clock, ram_warning_mib=100)
    assert settings.now.ram_critical_mib == Settings().ram_critical_mib
    assert settings.warnings == ()


# --- names that do not exist ---


def test_an_argument_that_is_no_setting_is_refused_with_a_suggestion(clock: HandClock) -> None:
    with pytest.raises(ConfigInvalid, match=r"no setting 'recall_limt'; did you mean 'recall_limit'\?"):
        live(clock, recall_limt=3)
    with pytest.raises(ConfigInvalid, match="'reader_limit'"):
        live(clock).set(reader_limits=3)
    with pytest.raises(ConfigInvalid, match="'agent'"):
        save("agnet", "rex")


def test_a_name_like_no_other_gets_no_suggestion() -> None:
    assert room.unknown("zzzzzz") == "there is no setting 'zzzzzz'"


def test_a_refused_change_changes_nothing(clock: HandClock) -> None:
    settings = live(clock)
    with pytest.raises(ConfigInvalid):
        settings.set(recall_limit=5, nonsense=1)
    settings.set(agent="rex")
    assert settings.now.recall_limit == Settings().recall_limit


def test_a_line_of_the_file_that_is_no_setting_is_a_warning_and_the_rest_counts(clock: HandClock, config_file: Path) -> None:
    config_file.write_text('agnet = "rex"\nrecall_limit = 7\n')
    settings = live(clock)
    assert settings.now.recall_limit == 7
    assert settings.warnings == (f"{config_file}: there is no setting 'agnet'; did you mean 'agent'?",)


# --- names that are settings no longer ---


def test_a_retired_name_in_the_file_or_the_environment_is_a_warning(
    clock: HandClock, config_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config_file.write_text("queue_limit = 7\nrecall_limit = 7\n")
    monkeypatch.setenv("ENGRAM_GRAPH_WEIGHT", "0")
    settings = live(clock)
    assert settings.now.recall_limit == 7
    told = [(warning.split(": ")[0], warning.split()[1]) for warning in settings.warnings]
    assert told == [(str(config_file), "queue_limit"), ("environment", "graph_weight")]
    assert all("no longer a setting" in warning for warning in settings.warnings)


def test_a_program_that_still_sets_a_retired_name_opens_with_a_warning(clock: HandClock) -> None:
    settings = live(clock, queue_limit=7)
    assert settings.now == Settings()
    assert [warning.split()[1] for warning in settings.warnings] == ["queue_limit"]


def test_a_retired_name_can_be_neither_saved_nor_set(clock: HandClock, config_file: Path) -> None:
    with pytest.raises(ConfigInvalid, match="queue_limit is no longer a setting"):
        save("queue_limit", 7)
    assert not config_file.exists()
    with pytest.raises(ConfigInvalid, match="queue_limit is no longer a setting"):
        live(clock).set(queue_limit=7)


def test_a_setting_is_not_retired_and_a_retired_name_has_its_field() -> None:
    assert not RETIRED & set(TABLE)
    fields_of = {one.name for kind in TUNABLE for one in fields(kind)}
    gone = set(_MOVED["RecallWeights"].split()) | set(_MOVED["StoreLimits"].split()) | set(_MOVED["DreamLimits"].split())
    assert gone <= fields_of


# --- the numbers of rooms, which are no settings ---


def test_a_rooms_numbers_are_their_defaults_unless_they_are_tuned(clock: HandClock) -> None:
    settings = LiveSettings({}, monotonic=clock.monotonic, tuning=[StoreLimits(page_limit=3)])
    assert settings.tuned(StoreLimits).page_limit == 3
    assert settings.tuned(RecallWeights) == RecallWeights()
    settings.tune(RecallWeights(graph_weight=0.0))
    assert settings.tuned(RecallWeights).graph_weight == 0.0
    assert settings.tuned(StoreLimits).page_limit == 3


# --- where a value comes from ---


def test_later_sources_win(clock: HandClock, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert live(clock).now.recall_limit == Settings().recall_limit
    config_file.write_text("recall_limit = 11\nreader_limit = 12\nagent = 'file'\nuser = 'file'\n")
    monkeypatch.setenv("ENGRAM_READER_LIMIT", "22")
    monkeypatch.setenv("ENGRAM_AGENT", "environment")
    monkeypatch.setenv("ENGRAM_USER", "environment")
    settings = live(clock, agent="argument", user="argument")
    settings.set(user="later")
    now = settings.now
    assert (now.recall_limit, now.reader_limit, now.agent, now.user) == (11, 22, "argument", "later")
    assert settings.warnings == ()


def test_a_wrong_value_says_where_it_came_from(clock: HandClock, config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config_file.write_text("recall_limit = 'many'\n")
    monkeypatch.setenv("ENGRAM_TURN_DAYS", "-1")
    settings = live(clock, backups_kept=1000)
    assert [warning.split(": ")[0] for warning in settings.warnings] == [str(config_file), "environment", "argument"]
    now = settings.now
    assert (now.recall_limit, now.turn_days, now.backups_kept) == (50, 0.0, 100)


def test_a_warning_is_logged_once(clock: HandClock, config_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    config_file.write_text("recall_limit = 0\n")
    settings = live(clock)
    settings.set(agent="rex")
    settings.set(reader_limit=0)
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert "recall_limit" in caplog.messages[0]
    assert "reader_limit" in caplog.messages[1]


def test_the_folders_are_where_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENGRAM_CONFIG", "~/elsewhere.toml")
    monkeypatch.setenv("ENGRAM_HOME", "memory")
    monkeypatch.chdir(tmp_path)
    assert room.config_path() == Path(os.environ["HOME"]) / "elsewhere.toml"
    assert room.key_folder() == Path(os.environ["HOME"]) / "keys"
    assert room.home() == tmp_path / "memory"


def test_without_a_word_the_platforms_folders_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGRAM_CONFIG")
    home = Path(os.environ["HOME"])
    assert home in room.config_path().parents
    assert room.config_path().name == "config.toml"
    assert home in room.home().parents
    assert room.home().name == "vault"


def test_a_test_sees_nothing_of_this_machine() -> None:
    assert [name for name in os.environ if name.startswith("ENGRAM_")] == ["ENGRAM_CONFIG"]
    assert room.passphrase() is None


# --- while it runs ---


def test_a_changed_file_is_seen_within_a_second(clock: HandClock, config_file: Path) -> None:
    settings = live(clock)
    before = settings.now
    config_file.write_text("recall_limit = 5\n")
    clock.advance(0.9)
    assert settings.now is before
    clock.advance(0.1)
    assert settings.now.recall_limit == 5
    assert before.recall_limit == Settings().recall_limit  # who began with the old values ends with them


def test_saving_reaches_a_running_process(clock: HandClock) -> None:
    settings = live(clock)
    for limit in (6, 7, 8):  # the same length each time, perhaps within one tick of the file system's clock
        save("recall_limit", limit)
        clock.advance(1)
        assert settings.now.recall_limit == limit


def test_an_argument_outlives_a_change_of_the_file(clock: HandClock, config_file: Path) -> None:
    settings = live(clock, recall_limit=3)
    settings.set(reader_limit=4)
    config_file.write_text("recall_limit = 5\nreader_limit = 5\nbackups_kept = 5\n")
    clock.advance(1)
    assert (settings.now.recall_limit, settings.now.reader_limit, settings.now.backups_kept) == (3, 4, 5)


def test_a_file_that_goes_away_gives_the_defaults_back(clock: HandClock, config_file: Path) -> None:
    config_file.write_text("recall_limit = 5\n")
    settings = live(clock)
    config_file.unlink()
    clock.advance(1)
    assert settings.now == Settings()


@pytest.mark.parametrize("content", [b"recall_limit = \n", b"\xff\xfe", b"agent = 'a'\nagent = 'b'\n"])
def test_a_half_written_file_does_not_take_the_identity_away(clock: HandClock, config_file: Path, content: bytes) -> None:
    config_file.write_text("agent = 'rex'\nrecall_limit = 5\n")
    settings = live(clock)
    config_file.write_bytes(content)
    clock.advance(1)
    assert (settings.now.agent, settings.now.recall_limit) == ("rex", 5)
    assert "the last values that were read stay in force" in settings.warnings[0]
    config_file.write_text("agent = 'max'\n")
    clock.advance(1)
    assert (settings.now.agent, settings.warnings) == ("max", ())


def test_an_unreadable_file_at_the_start_leaves_the_defaults(clock: HandClock, config_file: Path) -> None:
    config_file.mkdir()
    settings = live(clock)
    assert settings.now == Settings()
    assert "not read (IsADirectoryError)" in settings.warnings[0]


# --- writing one down ---


FILE = """\
# who I am
agent = "rex"   # the dog
'reader_limit'=5

note = '''
recall_limit = 1
[not a header]
'''
list = [
  [1, 2],
]

# for later
[other]
recall_limit = 2  # not ours
"""


def test_only_the_line_of_the_setting_changes(config_file: Path) -> None:
    config_file.write_text(FILE)
    save("agent", "max # 2")
    assert config_file.read_text() == FILE.replace('"rex"', '"max # 2"')
    save("agent", "rex")
    save("reader_limit", 6)
    assert config_file.read_text() == FILE.replace("=5", "=6")


def test_a_new_line_stands_above_the_first_table(config_file: Path) -> None:
    config_file.write_text('# who I am\nagent = "rex"\n\n# for later\n[other]\nuser = 1\n')
    save("user", "ann")
    assert config_file.read_text() == '# who I am\nagent = "rex"\nuser = "ann"\n\n# for later\n[other]\nuser = 1\n'


def test_a_new_line_finds_a_place_even_where_headers_are_not_what_they_seem(config_file: Path) -> None:
    config_file.write_text(FILE)
    save("recall_limit", 9)
    written = config_file.read_text()
    assert tomllib.loads(written) == {**tomllib.loads(FILE), "recall_limit": 9}
    assert written.replace("recall_limit = 9\n", "") == FILE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "recall_limit = 9\n"),
        ("# nothing yet\n", "# nothing yet\nrecall_limit = 9\n"),
        ("# nothing yet", "# nothing yet\nrecall_limit = 9\n"),
        ("agent = 'rex'", "agent = 'rex'\nrecall_limit = 9\n"),
        ("[other]", "recall_limit = 9\n[other]\n"),
        ("agent = 'rex'\r\n\r\n[other]\r\n", "agent = 'rex'\r\nrecall_limit = 9\r\n\r\n[other]\r\n"),
        ("  recall_limit\t=\t1\t# few\r\n", "  recall_limit\t=\t9\t# few\r\n"),
        ("recall_limit = 1", "recall_limit = 9"),
        ("recall_limit = '#' # few\n", "recall_limit = 9 # few\n"),
    ],
)
def test_the_rest_stays_byte_for_byte(config_file: Path, before: str, after: str) -> None:
    config_file.write_bytes(before.encode())
    save("recall_limit", 9)
    assert config_file.read_bytes() == after.encode()


@pytest.mark.parametrize("content", ["recall_limit.x = 1\n", "recall_limit = [\n1]\n", "recall_limit = \n", "[recall_limit]\n"])
def test_a_file_that_cannot_be_edited_is_left_alone(config_file: Path, content: str) -> None:
    config_file.write_text(content)
    with pytest.raises(ConfigInvalid, match="left alone"):
        save("recall_limit", 9)
    assert config_file.read_text() == content
    assert list(config_file.parent.iterdir()) == [config_file]


plain_keys = st.text("abcxyz_-0123456789", min_size=1, max_size=8)
plain_values = st.one_of(
    st.integers(-(2**53), 2**53).map(str),
    st.booleans().map(lambda truth: str(truth).lower()),
    st.text(st.characters(min_codepoint=32, exclude_characters="'\x7f", exclude_categories=["Cs", "Cc"])).map("'{}'".format),
    st.sampled_from(["[1,\n 2]", "'''\nagent = 1\n[x]\n'''", '"""# \\""""', "1979-05-27T07:32:00Z", "{ a = 1 }"]),
)
odd_lines = st.one_of(
    st.sampled_from(["", "# agent = 'x'", "  ", "#", "\t# [no]"]),
    st.tuples(plain_keys, plain_values).map(" = ".join),
    plain_keys.map("[t-{}]".format),
)


@given(st.lists(odd_lines), st.sampled_from(sorted(TABLE)), st.data())
def test_any_file_reads_back_with_one_value_changed(lines: list[str], name: str, data: st.DataObject) -> None:
    text = "".join(f"{line}\n" for line in lines)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # the same key twice
    kind = type(TABLE[name].default)
    first, _ = coerce(name, data.draw({bool: st.booleans(), int: st.integers(), float: st.floats(), str: st.text()}[kind]))
    added = with_line(text, name, first)
    assert tomllib.loads(added) == {**before, name: first}
    place = next(i for i, line in enumerate(added.split("\n")) if line.startswith(f"{name} = "))
    rest = added.split("\n")
    del rest[place]
    assert "\n".join(rest) == text
    second = TABLE[name].default
    replaced = with_line(added, name, second)
    assert tomllib.loads(replaced) == {**before, name: second}
    rest = replaced.split("\n")
    del rest[place]
    assert "\n".join(rest) == text
    assert with_line(replaced, name, second) == replaced


@given(st.text())
@example("\"\\\x00\x1f\x7f\u2028\U0001f600'''\n\r")
def test_any_text_can_be_written_and_read_back(value: str) -> None:
    kept, _ = coerce("agent", value)
    assert tomllib.loads(with_line("", "agent", kept)) == {"agent": kept}


def test_saving_says_where_and_what_was_kept(config_file: Path) -> None:
    assert save("recall_limit", "0") == (config_file, 1, "recall_limit = 0 is outside 1 … 1000; using 1")
    assert config_file.read_text() == "recall_limit = 1\n"


def test_the_file_and_its_folder_are_for_the_owner_only() -> None:
    path, _, _ = save("agent", "rex")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    save("agent", "max")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_linked_file_stays_linked(config_file: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.write_text("# mine\n")
    config_file.symlink_to(kept)
    save("agent", "rex")
    assert config_file.is_symlink()
    assert kept.read_text() == '# mine\nagent = "rex"\n'


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(config_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save("agent", "rex")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ConfigInvalid, match="No space left on device"):
        save("agent", "max")
    assert config_file.read_text() == 'agent = "rex"\n'
    assert list(config_file.parent.iterdir()) == [config_file]


def test_a_process_killed_while_saving_leaves_a_whole_file(config_file: Path) -> None:
    save("agent", "rex")
    dying = "import os; from engram import settings; os.replace = lambda *_: os._exit(9); settings.save('agent', 'max')"
    assert subprocess.run([sys.executable, "-c", dying], check=False).returncode == 9
    assert config_file.read_text() == 'agent = "rex"\n'
    save("agent", "max")
    assert config_file.read_text() == 'agent = "max"\n'
