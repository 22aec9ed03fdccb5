"""Opening a vault: identity, path and key, and what the open vault reports about itself."""

from __future__ import annotations

import ast
import inspect
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

import pytest
from hand_clock import HandClock

import engram
from engram import types
from engram.engine import Engram, open_engram
from engram.errors import AccessDenied, ConfigInvalid, ContentTooLarge, EngramError, InvalidQuery, NotFound, VaultLocked
from engram.store.limits import StoreLimits
from engram.store.sqlite.migrations import VERSION
from engram.types import Health, Kind, Policy, Reader, Role, Scope, Source, Status
from engram.values import health as vitals
from engram.values import identity, memories, recall
from engram.values.query import Filter

KEY = bytes(range(32))
OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)


@pytest.fixture(autouse=True)
def gentle(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is pytest's: it keeps its debugger and its signals."""
    monkeypatch.setenv("ENGRAM_HARDEN_PROCESS", "0")
    monkeypatch.setenv("ENGRAM_CLOSE_ON_SIGTERM", "0")


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with engram.open(tmp_path / "vault", agent="rex", key=KEY) as mem:
        yield mem


def python(code: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments], capture_output=True, text=True, check=check, timeout=120
    )


# ── as DESIGN §6 has it ────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_memory_is_there_after_the_vault_is_closed_and_opened_again(tmp_path: Path) -> None:
    with engram.open(str(tmp_path / "memory"), agent="rex") as mem:
        assert "key" in mem.notice.lower()
        kept = mem.remember("I prefer dark mode in every editor", importance=0.8)
        assert (kept.text, kept.importance, kept.scope) == ("I prefer dark mode in every editor", 0.8, Scope(agent="rex"))
    with engram.open(tmp_path / "memory", agent="rex") as mem:
        assert mem.notice == ""
        assert mem.get(kept.id) == kept
        assert list(mem.list()) == [kept]


def test_the_basic_verbs_of_a_vault_work_together(mem: Engram) -> None:
    first = mem.remember("the API runs on Heroku", kind=Kind.FACT, category="ops", source=Source.TOOL, attributes={"a": "b"})
    second = mem.remember("the platform team owns the API", happened_at=datetime(2026, 1, 1, tzinfo=UTC))
    changed = mem.update(first.id, text="the API runs on Fly", importance=0.9)
    assert (changed.text, changed.importance, changed.version) == ("the API runs on Fly", 0.9, 2)
    assert [v.text for v in mem.versions(first.id)] == ["the API runs on Heroku"]
    assert mem.pin(first.id).pinned
    assert not mem.pin(first.id, False).pinned
    assert mem.relate(first.id, second.id, "about", weight=0.5) == 1
    assert [(e.source, e.target, e.kind, e.weight) for e in mem.edges(second.id)] == [(first.id, second.id, "about", 0.5)]
    assert mem.forget(second.id, reason="old").ids == (second.id,)
    assert [m.id for m in mem.list()] == [first.id]
    assert {m.id for m in mem.list(status=None)} == {first.id, second.id}
    assert [m.id for m in mem.list(status=Status.ARCHIVED)] == [second.id]
    assert mem.restore(second.id).status is Status.ACTIVE
    assert [c.reason for c in mem.status_history(second.id)] == ["old", "restored on request"]
    assert [m.id for m in mem.list(kind=Kind.FACT)] == [m.id for m in mem.list(category="ops")] == [first.id]
    assert [m.id for m in mem.list(until=datetime(2026, 1, 2, tzinfo=UTC))] == [second.id]
    page = mem.list(limit=1)
    assert [m.id for m in mem.list(limit=1, cursor=page.cursor)] == [first.id]
    assert mem.forget(first.id, erase=True).counts["memories"] == 1
    assert mem.get(first.id) is None
    assert mem.get("no such id") is None
    assert mem.audit(limit=3)[0].operation


def test_forgetting_several_memories_forgets_all_of_them_or_none(mem: Engram) -> None:
    kept = mem.remember("a")
    with pytest.raises(NotFound):
        mem.forget(kept.id, "no such id")
    assert [m.id for m in mem.list()] == [kept.id]


@pytest.mark.parametrize("importance", [float("nan"), float("inf"), "high"])
def test_an_invalid_importance_is_refused_with_its_name(mem: Engram, importance: float) -> None:
    if importance == float("inf"):
        assert mem.remember("a", importance=importance).importance == 1.0
        return
    with pytest.raises(EngramError) as caught:
        mem.remember("a", importance=importance)
    assert caught.value.code == "E4005"
    assert len(mem.list()) == 0


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda mem: mem.forget(5), "E1008"), (lambda mem: mem.pin(5), "E1008"), (lambda mem: mem.feedback(5, True), "E1008"),
        (lambda mem: mem.update(5, text="b"), "E1008"), (lambda mem: mem.list(since="2024-01-01"), "E2004"),
        (lambda mem: mem.list(until=5), "E2004"), (lambda mem: mem.ingest(5), "E4005"), (lambda mem: mem.ingest(None), "E4005"),
        (lambda mem: mem.context("hi", model="gpt-5", history=["x"]), "E2004"),
        (lambda mem: mem.context("hi", model="gpt-5", history=None), "E2004"),
        (lambda mem: mem.context("hi", model="gpt-5", history=[{"role": "user", "content": 5}]), "E2004"),
        (lambda mem: mem.remember("a", attributes="a"), "E4005"), (lambda mem: mem.update("x", attributes={"a": 1}), "E4005"),
        (lambda mem: mem.list(kind="bogus"), "E2004"), (lambda mem: mem.list(status="bogus"), "E2004"),
        (lambda mem: mem.recall("a", filters=Filter(kinds=("bogus",))), "E2004"),
        (lambda mem: mem.skills(limit=-1), "E2004"), (lambda mem: mem.entity("Ada", limit=-1), "E2004"),
        (lambda mem: mem.episodes(ids=["x"], limit=-1), "E2004"), (lambda mem: mem.traverse("x", depth="far"), "E2004"),
        (lambda mem: mem.context(None, model="gpt-5"), "E2004"), (lambda mem: mem.context(b"a", model="gpt-5"), "E2004"),
    ],
)  # fmt: skip
def test_an_argument_of_the_wrong_type_is_refused_with_an_error_code(
    mem: Engram, call: Callable[[Engram], object], code: str
) -> None:
    with pytest.raises(EngramError) as caught:
        call(mem)
    assert caught.value.code == code
    assert len(mem.list()) == 0


def test_remember_and_update_clamp_importance_to_0_and_1(mem: Engram) -> None:
    assert mem.remember("a", importance=7).importance == 1.0
    kept = mem.remember("b", importance=-7)
    assert kept.importance == 0.0
    assert mem.update(kept.id, importance=7).importance == 1.0


def test_open_accepts_the_documented_arguments() -> None:
    taken = set(inspect.signature(open_engram).parameters)
    assert {"path", "agent", "project", "squad", "channel", "user", "key", "settings", "clock"} <= taken


def test_a_given_clock_dates_everything(tmp_path: Path) -> None:
    clock = HandClock()
    with engram.open(tmp_path / "vault", key=KEY, clock=clock.now) as mem:
        assert mem.remember("a").learned_at == clock.now()


def test_a_given_clock_without_a_time_zone_is_read_as_utc(tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", key=KEY, clock=lambda: datetime(2026, 1, 1)) as mem:
        kept = mem.remember("I prefer dark mode")
        assert kept.learned_at == datetime(2026, 1, 1, tzinfo=UTC)
        assert mem.standing(kept.id)
        assert mem.recall("dark mode")


def test_an_unknown_model_is_refused_when_the_vault_is_opened(tmp_path: Path) -> None:
    for name in ("bogus", "openai:", "bogus:model"):
        with pytest.raises(ConfigInvalid, match="openai:NAME"):
            engram.open(tmp_path / "vault", key=KEY, llm=name)


def test_history_may_be_a_list_of_role_and_content_messages(mem: Engram) -> None:
    parts = [{"type": "text", "text": "It runs on Fly now."}, {"type": "image_url", "image_url": {}}]
    said = [{"role": "user", "content": "Where is the API?"}, {"role": "assistant", "content": parts}]
    window = mem.context("thanks, and since when?", model="gpt-5", history=[*said, {"role": "assistant", "content": None}])
    assert [(one.speaker, one.text) for one in window.history] == [
        ("user", "Where is the API?"), ("assistant", "It runs on Fly now.\n[image]"),
    ]  # fmt: skip


def test_a_vault_may_be_closed_twice_and_a_closed_vault_raises_an_error(tmp_path: Path) -> None:
    mem = engram.open(tmp_path / "vault", key=KEY)
    kept = mem.remember("a")
    assert "open" in repr(mem)
    mem.close()
    mem.close()
    assert "closed" in repr(mem)
    for call in (lambda: mem.remember("b"), lambda: mem.get(kept.id), mem.list, mem.health, lambda: mem.forget(kept.id)):
        with pytest.raises(EngramError, match="closed"):
            call()


# ── identity ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_identity_comes_from_arguments_then_environment_then_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config_file: Path
) -> None:
    config_file.write_text('agent = "from file"\nsquad = "from file"\nuser = "from file"\n')
    monkeypatch.setenv("ENGRAM_AGENT", "from environment")
    monkeypatch.setenv("ENGRAM_SQUAD", "from environment")
    with engram.open(tmp_path / "vault", key=KEY, agent="from argument", settings={"channel": "from settings"}) as mem:
        assert mem.reader.scope == Scope("", "from environment", "from argument", "from settings", "from file")
        assert (mem.reader.role, mem.reader.policy) == (Role.AGENT, Policy.AGENT_GLOBAL)
        assert mem.remember("a").scope == mem.reader.scope


def test_an_empty_argument_overrides_environment_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_AGENT", "rex")
    with engram.open(tmp_path / "vault", key=KEY, agent="") as mem:
        assert mem.reader.scope == Scope()


@pytest.mark.parametrize("agent", [7, b"rex", "\ud800", ["rex"]])
def test_an_invalid_identity_is_refused_and_not_dropped(tmp_path: Path, agent: str) -> None:
    """Falling back to no agent would store this agent's memories where everyone reads them."""
    with pytest.raises(ConfigInvalid):
        engram.open(tmp_path / "vault", key=KEY, agent=agent).close()


@pytest.mark.parametrize("policy", ["all", "project", "Own", "everything"])
def test_a_policy_that_settings_may_not_grant_is_refused_and_not_widened(tmp_path: Path, policy: str) -> None:
    with pytest.raises(ConfigInvalid):
        engram.open(tmp_path / "vault", key=KEY, agent="rex", settings={"policy": policy}).close()


def test_the_policy_in_the_settings_is_applied(tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", key=KEY) as everyone:
        everyone.remember("global")
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings={"policy": "own"}) as mem:
        mem.remember("mine")
        assert [m.text for m in mem.list()] == ["mine"]


def test_agents_see_global_memories_and_not_each_others(tmp_path: Path) -> None:
    place = tmp_path / "vault"
    with engram.open(place, key=KEY, agent="rex") as rex, engram.open(place, key=KEY, agent="zoe") as zoe:
        mine = rex.remember("mine")
        rex.remember("everyone's", scope=Scope())
        assert [m.text for m in zoe.list()] == ["everyone's"]
        assert zoe.get(mine.id) is None
        for call in (lambda: zoe.update(mine.id, text="x"), lambda: zoe.forget(mine.id), lambda: zoe.forget(mine.id, erase=True)):
            with pytest.raises(NotFound):
                call()
        with pytest.raises(AccessDenied):
            zoe.remember("forged", scope=Scope(agent="rex"))
        assert rex.health().counts.memories == 2
        assert zoe.health().counts.memories == 1


def test_as_reader_gives_the_same_vault_to_another_reader(mem: Engram) -> None:
    mine = mem.remember("mine")
    guest = mem.as_reader(Reader(Scope(agent="rex", channel="web"), role=Role.GUEST, may_write=False))
    assert type(guest) is Engram
    assert [m.id for m in guest.list()] == [mine.id]
    with pytest.raises(AccessDenied):
        guest.remember("b")
    with pytest.raises(AccessDenied):
        guest.backup()
    assert mem.as_reader(Reader(Scope(agent="zoe"))).get(mine.id) is None
    owner = mem.as_reader(OWNER)
    assert owner.check() == []
    assert owner.backup().memories == 1
    assert len(owner.backups()) == 1
    assert mem.reader.scope == Scope(agent="rex")
    guest.close()  # one vault, however many look through it
    with pytest.raises(EngramError, match="closed"):
        mem.list()


def test_the_holder_of_the_key_may_open_a_vault_as_its_owner(tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", agent="rex", key=KEY) as mem:
        mem.remember("I prefer dark mode")
        assert mem.reader.role is Role.AGENT
        with pytest.raises(AccessDenied, match="owner of the vault"):
            mem.purge(agent="rex")
    with engram.open(tmp_path / "vault", key=KEY, role="owner") as mem:
        assert [memory.text for memory in mem.list()] == ["I prefer dark mode"]
        assert mem.purge(agent="rex").counts["memories"] == 1
    with pytest.raises(ConfigInvalid):
        engram.open(tmp_path / "vault", key=KEY, role="king")


def test_no_verb_takes_a_reader_or_an_identity() -> None:
    verbs = {name: verb for name, verb in vars(Engram).items() if not name.startswith("_") and inspect.isfunction(verb)}
    for name in ("as_reader", "grant", "purge"):  # whose identity it is, whose token it becomes, whose memories go
        del verbs[name]
    taken = {name for verb in verbs.values() for name in inspect.signature(verb).parameters}
    taken.discard("user")  # of `observe`: what the user said, not who that is
    assert taken.isdisjoint({"reader", "agent", "project", "squad", "channel", "policy", "role"})


# ── keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 33, "not a recovery key", ""])
def test_an_invalid_key_is_e1001_and_creates_nothing(tmp_path: Path, key: bytes | str) -> None:
    with pytest.raises(VaultLocked) as caught:
        engram.open(tmp_path / "vault", key=key)
    assert caught.value.code == "E1001"
    assert not (tmp_path / "vault" / "vault.db").exists()


def test_a_vault_does_not_open_with_another_key(tmp_path: Path) -> None:
    engram.open(tmp_path / "vault", key=KEY).close()
    with pytest.raises(VaultLocked):
        engram.open(tmp_path / "vault", key=bytes(32))
    with pytest.raises(VaultLocked):
        engram.open(tmp_path / "vault")
    with engram.open(tmp_path / "vault", key=bytearray(KEY)) as mem:
        assert len(mem.list()) == 0


def test_a_vault_opened_without_a_key_keeps_its_generated_key_outside_its_folder(tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", settings={"key_source": "file"}) as mem:
        mem.remember("a")
    keys = list((Path(os.environ["ENGRAM_CONFIG"]).parent / "keys").iterdir())
    assert len(keys) == 1
    with engram.open(tmp_path / "vault") as mem:
        assert len(mem.list()) == 1


# ── which vault ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    ["with spaces", "ünï©ödé 日本 🚀", "100%", "%41", "what?", "a#b", "a&b=c", "a'b", 'a"b', "file:x", ":memory:", "-rf", "a\nb"],
)
def test_a_vaults_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    with engram.open(tmp_path / name, key=KEY) as mem:
        kept = mem.remember("a")
        assert mem.as_reader(OWNER).backup().intact
        assert mem.health().path == str(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert (tmp_path / name / "vault.db").stat().st_size > 0
    with engram.open(tmp_path / name, key=KEY) as mem:
        assert mem.get(kept.id) == kept


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text are possible here")
def test_a_vaults_folder_may_have_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    try:
        with engram.open(place, key=KEY) as mem:
            mem.remember("a")
            mem.health()
    except EngramError:
        assert not (place / "vault.db").exists()  # refused is as good


def test_a_relative_path_is_resolved_once_when_the_vault_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with engram.open("here/vault", key=KEY) as mem:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        mem.remember("a")
        assert len(mem.list()) == 1
    assert (tmp_path / "here" / "vault" / "vault.db").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_tilde_in_the_path_is_expanded(tmp_path: Path) -> None:
    with engram.open("~/memory", key=KEY) as mem:
        assert mem.health().path == str(Path(os.environ["HOME"]) / "memory")


def test_the_default_vault_is_engram_home_or_the_platforms_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with engram.open(key=KEY) as mem:
        assert Path(mem.health().path).is_relative_to(os.environ["HOME"])
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "home vault"))
    with engram.open(key=KEY) as mem:
        assert mem.health().path == str(tmp_path / "home vault")
    with engram.open(tmp_path / "named", key=KEY) as mem:
        assert mem.health().path == str(tmp_path / "named")


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000, "~no-such-user-anywhere/vault"])
def test_a_path_that_cannot_be_a_folder_raises_an_engram_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EngramError):
        engram.open(path, key=KEY)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_vaults_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotFound, match="file") as caught:
            engram.open(path, key=KEY)
        assert caught.value.code == "E1008"
    assert (tmp_path / "file").read_text() == "mine"


def test_a_symbolic_link_to_a_vault_opens_that_vault(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real").mkdir()
    with engram.open(tmp_path / "link", key=KEY) as mem:
        mem.remember("a")
    with engram.open(tmp_path / "real", key=KEY) as mem:
        assert len(mem.list()) == 1


def test_one_process_may_open_a_vault_twice(tmp_path: Path) -> None:
    first = engram.open(tmp_path / "vault", agent="rex", key=KEY)
    second = engram.open(tmp_path / "vault", agent="rex", key=KEY)
    one = first.remember("one")
    two = second.remember("two")
    assert [m.id for m in first.list()] == [m.id for m in second.list()] == [two.id, one.id]
    second.close()
    three = first.remember("three")
    first.close()
    with engram.open(tmp_path / "vault", agent="rex", key=KEY) as third:
        assert [m.id for m in third.list()] == [three.id, two.id, one.id]
        assert not third.health().crashed_before


# ── health ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_health_reports_every_figure_with_a_plausible_value(mem: Engram, tmp_path: Path) -> None:
    for n in range(10):
        mem.remember(f"number {n}", kind=Kind.FACT)
    mem.list()
    mem.forget(mem.list()[0].id)
    health = mem.health()
    assert health.path == str(tmp_path / "vault")
    assert (health.format, health.cipher) == (VERSION, "aegis")
    assert (health.counts.memories, health.counts.by_kind) == (10, {"fact": 10})
    assert health.counts.by_status == {"active": 9, "archived": 1}
    assert health.latencies["add"].calls == 10
    for latency in health.latencies.values():
        assert 0 <= latency.p50_ms <= latency.p99_ms < 60_000
    assert {"add", "list"} <= health.latencies.keys()
    assert (health.queue_depth, health.queue_limit) == (0, 1000)
    assert 0 < health.readers_idle <= health.readers_open <= 8
    assert 2**20 < health.rss_bytes < 2**40
    assert health.pressure in ("normal", "elevated", "critical")
    assert health.vault_bytes == (tmp_path / "vault" / "vault.db").stat().st_size > 0
    assert health.wal_bytes == (tmp_path / "vault" / "vault.db-wal").stat().st_size > 0
    assert health.pending_embeddings == 9, "what is archived waits for no vector"
    assert (health.degradation, health.writes, health.crashed_before) == ("words", "open", False)
    assert (health.last_backup, health.backups) == (None, 0)
    assert all("pressure" in warning or "words alone" in warning for warning in health.warnings)
    assert {f.name for f in fields(Health)} >= {"counts", "latencies", "queue_depth", "rss_bytes", "pressure"}


def test_health_reports_memory_pressure_warnings_and_backups(tmp_path: Path) -> None:
    settings = {"ram_warning_mib": 50, "ram_critical_mib": 1, "recall_limit": -1}
    with engram.open(tmp_path / "vault", key=KEY, settings=settings) as mem:
        health = mem.as_reader(OWNER).health()
        assert health.pressure in ("elevated", "critical") or health.rss_bytes < 50 * 2**20
        assert any("recall_limit" in warning for warning in health.warnings)
        mem.remember("a")
        made = mem.as_reader(OWNER).backup()
        assert (mem.health().backups, mem.health().last_backup) == (1, made.made_at)


def test_health_reports_the_queue_limit_in_force(mem: Engram) -> None:
    """The queue is made when the vault is opened; a changed setting applies from the next open."""
    mem.settings.tune(StoreLimits(queue_limit=5))
    assert mem.health().queue_limit == 1000


def test_a_memory_that_recall_never_returns_is_not_counted_as_waiting_for_a_vector(mem: Engram) -> None:
    assert mem.health().pending_embeddings == 0
    mem.remember("a")
    assert mem.health().pending_embeddings == 1


# ── settings ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_setting_changed_at_run_time_applies_to_the_next_operation(mem: Engram) -> None:
    mem.remember("x" * 200)
    mem.settings.set(content_bytes=100)
    mem.settings.tune(StoreLimits(page_limit=3))
    with pytest.raises(ContentTooLarge, match="100"):
        mem.remember("x" * 101)
    with pytest.raises(InvalidQuery):
        mem.list(limit=4)
    mem.settings.set(content_bytes=1000)
    mem.settings.tune(StoreLimits(page_limit=10))
    assert mem.remember("x" * 1000).key
    assert len(mem.list(limit=4)) == 2


def test_a_setting_changed_in_the_file_applies_to_an_open_vault(tmp_path: Path, config_file: Path) -> None:
    clock = HandClock()
    env = engram.engine.Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep)
    with Engram.open(tmp_path / "vault", key=KEY, env=env) as mem:
        config_file.write_text("content_bytes = 100\n")
        clock.advance(2)
        with pytest.raises(ContentTooLarge):
            mem.remember("x" * 101)
        config_file.unlink()
        clock.advance(2)
        assert mem.remember("x" * 101)


def test_an_unknown_setting_is_refused_with_the_nearest_name(tmp_path: Path, mem: Engram) -> None:
    with pytest.raises(ConfigInvalid, match="recall_limit"):
        engram.open(tmp_path / "other", key=KEY, settings={"recall_limits": 5})
    assert not (tmp_path / "other").exists()
    with pytest.raises(ConfigInvalid):
        mem.settings.set(no_such=1)


def test_the_identity_of_an_open_vault_does_not_change_with_the_settings(mem: Engram) -> None:
    mem.settings.set(agent="zoe")
    assert mem.remember("a").scope == Scope(agent="rex")


# ── the package ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_importing_engram_loads_neither_database_nor_ciphers() -> None:
    told = python("import sys, json, engram; print(json.dumps(sorted(sys.modules)))").stdout
    loaded = {name.split(".")[0] for name in json.loads(told)}
    assert loaded.isdisjoint({"apsw", "cryptography", "sqlite3", "typer", "numpy", "asyncio"})
    assert not [name for name in json.loads(told) if name.startswith("engram.")]


def test_importing_value_types_does_not_load_the_database() -> None:
    code = "import sys, engram; engram.Scope, engram.Memory, engram.EngramError; print(*sys.modules)"
    assert {"apsw", "cryptography"}.isdisjoint(python(code).stdout.split())


@pytest.mark.parametrize("name", engram.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(engram, name) is getattr(engram, name)
    assert name in dir(engram)


def test_type_checkers_see_exactly_the_public_names() -> None:
    block = next(one for one in ast.parse(inspect.getsource(engram)).body if isinstance(one, ast.If))
    told = {name.asname or name.name: one.module for one in block.body if isinstance(one, ast.ImportFrom) for name in one.names}
    assert sorted(told) == engram.__all__
    for name, module in told.items():
        if name not in ("aio", "open"):
            assert getattr(engram, name) is getattr(import_module(module or ""), name)


def test_every_value_type_can_be_imported_from_engram_types() -> None:
    for module in (recall, memories, vitals, identity):
        for name, held in vars(module).items():
            if isinstance(held, type) and held.__module__ == module.__name__:
                assert getattr(types, name) is held


def test_an_unknown_public_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such"):
        _ = engram.no_such  # type: ignore[attr-defined]
    assert engram.__version__


def test_a_program_that_exits_without_close_loses_nothing(tmp_path: Path) -> None:
    python(
        "import sys, engram; mem = engram.open(sys.argv[1], key=bytes(range(32)));"
        "[mem.remember(f'number {n}') for n in range(5)]; mem.list()",
        str(tmp_path / "vault"),
    )
    assert not (tmp_path / "vault" / "vault.db-wal").exists()
    with engram.open(tmp_path / "vault", key=KEY) as mem:
        assert len(mem.list()) == 5
        assert not mem.health().crashed_before


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_sigterm_closes_the_vault_in_order(tmp_path: Path) -> None:
    done = python(
        """
        import os, signal, sys, time, engram
        mem = engram.open(sys.argv[1], key=bytes(range(32)), settings={"close_on_sigterm": True, "harden_process": True})
        mem.remember("a")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)  # another thread may have been told
        """,
        str(tmp_path / "vault"),
        check=False,
    )
    assert done.returncode == -signal.SIGTERM, done.stderr
    assert done.stderr == ""
    assert not (tmp_path / "vault" / "vault.db-wal").exists()
