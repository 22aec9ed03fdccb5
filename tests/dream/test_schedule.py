"""K13: an idle open vault consolidates automatically, one pass at a time, and stops when it is used."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Thread

from dream.vaults import context_of, keep
from hand_clock import HandClock
from patience import wait_until
from recall.vaults import KEY, OWNER

import engram
from engram.crypto.hardening import rss_bytes
from engram.deadline import deadline_passed
from engram.dream.duplicates import MERGE
from engram.dream.jobs import JOBS
from engram.dream.limits import DreamLimits
from engram.dream.runner import run
from engram.dream.schedule import Idle, verb_due
from engram.engine import Engram
from engram.values.dreams import PassStatus

PAIR = ("The API runs on Fly in Frankfurt", "The API also runs on Fly in Frankfurt")
LONG_AGO = Idle(0.0, 10_000.0)
AMPLE = {"ram_warning_mib": 100_000, "ram_critical_mib": 200_000}
"""A limit that the test process never reaches."""


def is_due(mem: Engram, idle: Idle = LONG_AGO, **settings: object) -> bool:
    context = context_of(mem, OWNER)
    return bool(verb_due(replace(context, settings=replace(context.settings, **{"dream": True, **settings})), idle))  # type: ignore[arg-type]


def test_a_pass_is_due_after_changes_and_idle_time(mem: Engram, clock: HandClock) -> None:
    assert not is_due(mem), "there is nothing"
    keep(mem, *PAIR)
    assert is_due(mem)
    assert not is_due(mem, dream=False)
    assert not is_due(mem, Idle(9_990.0, 10_000.0)), "somebody asks"

    mem.as_reader(OWNER).consolidate()
    assert not is_due(mem), "it was done a moment ago"
    clock.advance(7 * 3600)
    mem.as_reader(OWNER).consolidate()
    clock.advance(7 * 3600)
    assert not is_due(mem), "nothing changed since"
    keep(mem, "The harbour has four cranes")
    assert is_due(mem)
    clock.set(clock.now() - timedelta(days=365))
    assert is_due(mem), "the clock was wrong, and was put right"


def test_an_idle_open_vault_consolidates_automatically(tmp_path: Path) -> None:
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    given |= {"agent": "rex", "dream_idle_s": 0.0, **AMPLE}
    soon = DreamLimits(warm_after_s=0.05, care_pause_s=0.1)
    with Engram.open(tmp_path / "vault", key=KEY, settings=given, tuning=[soon]) as mem:
        keep(mem, *PAIR)
        dreamt = mem.as_reader(OWNER).dreams
        wait_until(lambda: dreamt() and dreamt()[0].ending is PassStatus.DONE and dreamt()[0].changed)
        assert dreamt()[0].counts == {"merge.merged": 1}
        assert len(mem.list()) == 1


def test_a_short_process_starts_no_pass(tmp_path: Path) -> None:
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False, "dream_idle_s": 0.0}
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=given) as mem:
        keep(mem, *PAIR)
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings={**given, "dream": False}) as mem:
        assert not mem.as_reader(OWNER).dreams()


def test_a_pass_stops_between_pages_when_the_vault_is_used(mem: Engram) -> None:
    held = rss_bytes()
    mem.list()
    assert mem._vault.upkeep.should_stop_pass(held)
    mem._vault.store.gate.used_at -= 60.0
    assert not mem._vault.upkeep.should_stop_pass(held)
    mem.settings.set(ram_warning_mib=50, ram_critical_mib=100)
    assert not mem._vault.upkeep.should_stop_pass(held), "a program that is large anyway rests too"
    assert mem._vault.upkeep.should_stop_pass(held - 2**30), "but not if it grows by that"


def test_an_unfinished_dream_is_resumed_as_a_dream(mem: Engram) -> None:
    keep(mem, *PAIR)
    owner = mem.as_reader(OWNER)
    longer = replace(MERGE, page=lambda context, cursor: replace(MERGE.page(context, cursor), more=True))
    run(context_of(mem, OWNER), [longer], None, verb="dream", should_stop=lambda: True)
    assert owner.dreams()[0].ending is PassStatus.RUNNING
    context = context_of(mem, OWNER)
    assert verb_due(replace(context, settings=replace(context.settings, dream=True)), LONG_AGO) == "dream"
    assert verb_due(context, LONG_AGO) == "", "it is switched off"
    mem.settings.set(dream=True, dream_idle_s=0.0)
    mem._vault.store.gate.used_at -= 60.0
    mem._vault.upkeep.run_due_pass()
    assert (owner.dreams()[0].ending, owner.dreams()[0].verb) == (PassStatus.DONE, "dream")
    assert mem._vault.store.dreams.cursor(OWNER, "gaps").change >= 0, "with the jobs that only a dream has"


def test_reads_of_a_pass_are_neither_counted_nor_audited(filled: Engram, clock: HandClock) -> None:
    keep(filled, *PAIR)
    filled.backfill()
    store = filled._vault.store
    store.gate.used_at = used = store.gate.used_at - 60.0
    clock.set(clock.now() + timedelta(minutes=1))

    report = run(context_of(filled), JOBS, filled._vault.searcher, verb="dream")

    assert report.before is not None, "it asked itself questions"
    assert store.gate.used_at == used
    noted = {entry.operation.partition(":")[0] for entry in filled.as_reader(OWNER).audit(limit=1000) if entry.at == clock.now()}
    assert noted == {"dream"}


def test_closing_the_vault_stops_a_running_pass(tmp_path: Path) -> None:
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False, "dream": False}
    mem = engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=given)
    with mem._vault.upkeep.cancelled_by_stop():
        assert not deadline_passed()
        closing = Thread(target=mem.close)
        closing.start()
        closing.join()
        assert deadline_passed()
    with mem._vault.upkeep.cancelled_by_stop():
        assert deadline_passed(), "nor is one begun then"
