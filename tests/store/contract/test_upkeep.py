"""Episodes, skills, working memory, dreams, change log, purge, tokens, receipts, quotas, figures, health: every engine."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hand_clock import HandClock
from store.contract.engines import ME, OTHER, OWNER, SPACE, draft, remember, say, vector

from engram.crypto.access_tokens import AccessToken, new_secret
from engram.env import Env
from engram.errors import AccessDenied, RateLimited
from engram.guard.limits import RateLimits
from engram.store.ports import Store
from engram.store.receipts import ReceiptRequest
from engram.types import Kind, Memory, Policy, Role, Scope, Status
from engram.values.dreams import Archive, Cursor, Recapture
from engram.values.episodes import EpisodeEvent, EpisodeOutcome, Participant, Practice, Skill, SkillStep
from engram.values.frozen import replace
from engram.values.working import CHECKPOINT


def test_an_episode_is_recorded_event_by_event_and_ended_once(store: Store, env: Env) -> None:
    begun = store.episodes.begin(
        ME, draft("deploy the API", kind=Kind.EPISODE), "deploy the API", participants=[Participant("rex")]
    )
    store.episodes.append(ME, begun.id, EpisodeEvent(env.now(), "ran", "terraform apply", ok=True))
    ended = store.episodes.end(ME, replace(draft("deployed"), memory=begun.memory), EpisodeOutcome.SUCCESS, "it is up", 0.5)
    assert (ended.outcome, ended.result, [event.text for event in ended.events]) == (
        EpisodeOutcome.SUCCESS,
        "it is up",
        ["terraform apply"],
    )
    assert [episode.id for episode in store.episodes.select(ME, outcomes=[EpisodeOutcome.SUCCESS])] == [begun.id]
    assert store.episodes.select(OTHER) == []


def test_a_skill_is_stored_once_and_changed_in_place(store: Store) -> None:
    memory = Memory(text="Deploy the API", scope=ME.scope, kind=Kind.SKILL)
    skill = Skill(memory, "deploy", (), 0.5, (), (SkillStep("terraform apply"),), Practice())
    stored = store.skills.put(ME, skill, replace(draft("Deploy the API"), memory=memory))
    assert [kept.name for kept in store.skills.select(ME)] == ["deploy"]
    better = replace(stored, steps=(*stored.steps, SkillStep("check the page")))
    store.skills.put(ME, better, replace(draft("Deploy the API"), memory=stored.memory))
    assert [len(kept.steps) for kept in store.skills.select(ME, ids=[stored.id])] == [2]
    assert store.skills.select(OTHER) == []


def test_working_memory_is_saved_and_loaded_for_its_scope_alone(store: Store) -> None:
    store.working.save(ME, CHECKPOINT, b"slots", "s")
    saved = store.working.load(ME, CHECKPOINT)
    assert saved is not None
    assert saved[1] == b"slots"
    assert store.working.load(OTHER, CHECKPOINT) is None
    assert store.working.drop(ME) == 1
    assert store.working.load(ME, CHECKPOINT) is None


def test_a_pass_holds_its_lease_applies_pages_and_is_undone(store: Store, env: Env) -> None:
    memory = remember(store, "The old office was in Oslo")[0]
    begun = store.dreams.begin(ME, "dream")
    assert begun is not None
    assert store.dreams.begin(ME, "dream") is None, "another one is at work"
    assert store.dreams.unfinished(ME) == "dream"
    start = store.dreams.cursor(ME, "fade")
    touched, *_ = store.dreams.touched(ME, start, 9)
    assert [seen.id for seen in touched] == [memory.id]
    archive = [Archive(memory.id, "faded")]
    assert store.dreams.preview(ME, "fade", archive, since=store.changes.latest(ME)).ids
    store.dreams.heartbeat(ME, begun.id, before=1.0, probes=[memory.id])
    assert store.dreams.probes(ME, begun.id) == (memory.id,)
    upto = Cursor(memory.key)
    applied = store.dreams.apply(ME, begun.id, "fade", archive, start=start, upto=upto, since=store.changes.latest(ME))
    assert applied is not None
    assert store.dreams.apply(ME, begun.id, "fade", archive, start=start, upto=upto, since=0) is None, "the page is done"
    assert store.memories.get(ME, [memory.id])[0].status is Status.ARCHIVED
    store.dreams.end(ME, begun.id, after=1.0)
    assert [done.id for done in store.dreams.select(ME, limit=9)] == [begun.id]
    store.dreams.undo(ME, begun.id)
    assert store.memories.get(ME, [memory.id])[0].status is Status.ACTIVE
    assert store.dreams.successors(ME, [memory.id]) == {memory.id: memory.id}
    assert [seen.id for seen in store.dreams.sample(ME, 9)] == [memory.id]
    assert store.dreams.contested(ME, [memory.key]) == set()
    assert store.dreams.due(ME, "fade", env.now(), 9) == []


def test_statements_read_anew_take_the_place_of_all_memories_of_a_turn_or_of_none(store: Store, env: Env) -> None:
    [old] = say(store, env, "Ada leads the team and plays chess")
    [other] = say(store, env, "Bob sails", session="t")
    wrong = remember(store, "Bob sails on Sundays")[0]
    store.feedback.correct(ME, wrong.id, draft("Bob sails on Mondays"))
    begun = store.dreams.begin(ME, "dream")
    assert begun is not None
    said = Recapture((old.id,), (draft("Ada leads the team", words_at=(0, 18)), draft("Ada plays chess")), (0,))
    corrected = Recapture((other.id,), (draft("Bob has a boat"), draft("Bob sails on Sundays")), (1,))
    now = store.changes.latest(ME)
    store.dreams.apply(ME, begun.id, "recapture", [said, corrected], start=Cursor(), upto=Cursor(99), since=now)
    store.dreams.end(ME, begun.id, after=1.0)
    made = {memory.text: memory for memory in store.memories.page(ME, limit=9)}
    assert made.keys() == {"Ada leads the team", "Ada plays chess", "Bob sails", "Bob sails on Mondays"}
    assert [turn.text for turn in store.turns.of(ME, made["Ada plays chess"].id)] == [old.text]
    assert made["Ada leads the team"].learned_at == old.learned_at
    assert store.memories.get(ME, [old.id])[0].status is Status.SUPERSEDED
    assert store.dreams.successors(ME, [old.id]) == {old.id: made["Ada leads the team"].id}
    store.dreams.undo(ME, begun.id)
    assert {memory.text for memory in store.memories.page(ME, limit=9)} == {old.text, "Bob sails", "Bob sails on Mondays"}


def test_a_pass_that_is_released_can_be_resumed_at_once(store: Store) -> None:
    remember(store, "a")
    begun = store.dreams.begin(ME, "dream")
    assert begun is not None
    store.dreams.release(ME, begun.id)
    resumed = store.dreams.begin(ME, "dream")
    assert resumed is not None
    assert resumed.id == begun.id


def test_subscribers_see_changes_of_what_they_may_read(store: Store) -> None:
    start = store.changes.latest(ME)
    mine = remember(store, "mine")[0]
    remember(store, "theirs", reader=OTHER)
    assert store.changes.latest(ME) > start
    assert [event.id for event in store.changes.events(ME, start, 9).events] == [mine.id]
    assert store.changes.keys_since(OWNER, start, 9)[0][1] == mine.key
    assert store.changes.visible_scopes(OWNER) is None
    assert len(store.changes.visible_scopes(ME) or ()) == 1
    with pytest.raises(AccessDenied):
        store.changes.keys_since(ME, 0, 9)


def test_a_purge_removes_all_of_a_place_and_a_trial_removes_nothing(store: Store, env: Env) -> None:
    say(store, env, "Ada lives in Oslo")
    kept = remember(store, "theirs", reader=OTHER)[0]
    trial = store.erasure.purge(OWNER, "agent", "rex", dry_run=True)
    assert trial.counts["memories"] == store.memories.counts(ME).memories == 1
    report = store.erasure.purge(OWNER, "agent", "rex")
    assert report.counts["memories"] == 1
    assert store.memories.counts(ME).memories == 0
    assert store.memories.get(OTHER, [kept.id]) == [kept]


def test_a_token_opens_until_it_is_revoked(store: Store, env: Env) -> None:
    token = AccessToken(
        id="01", name="laptop", scope=Scope(agent="rex"), policy=Policy.OWN, role=Role.AGENT, writes=True, created_at=env.now()
    )
    secret, other = new_secret(env.random), new_secret(env.random)
    granted = store.access_tokens.grant(OWNER, token, secret)
    holder = store.access_tokens.holder(secret)
    assert holder is not None
    assert holder.id == granted.id
    assert store.access_tokens.holder(other) is None
    assert [known.name for known in store.access_tokens.select(OWNER)] == ["laptop"]
    store.access_tokens.revoke(OWNER, granted.id)
    assert store.access_tokens.holder(secret) is None


def test_a_receipt_answers_the_same_request_once_more(store: Store) -> None:
    request = ReceiptRequest("key", "what is asked", lambda _: "answer")
    assert store.receipts.answer(ME, request) is None
    with store.receipts.in_progress(ME, request):
        store.receipts.write(ME, request)
    assert store.receipts.answer(ME, request) == "answer"
    assert store.receipts.answer(OTHER, request) is None


def test_spending_is_written_down_unless_its_check_refuses(store: Store, env: Env) -> None:
    store.quotas.spend(ME, env.now(), 1, 100, lambda *_: None)
    assert store.quotas.spent(ME, env.now() - timedelta(minutes=5)) == (1, 100)

    def refuse(*_: object) -> None:
        raise RateLimited("spent")

    with pytest.raises(RateLimited):
        store.quotas.spend(ME, env.now(), 1, 100, refuse)
    assert store.quotas.spent(ME, env.now() - timedelta(minutes=5)) == (1, 100)


def test_questions_over_the_rate_are_refused_and_not_counted(store: Store, env: Env, clock: HandClock) -> None:
    rates = RateLimits(per_minute=1, per_session=0)
    store.quotas.count_question(ME, "s", env.now(), rates)
    with pytest.raises(RateLimited):
        store.quotas.count_question(ME, "s", env.now(), rates)
    clock.advance(timedelta(minutes=2).total_seconds())
    store.quotas.count_question(ME, "s", env.now(), rates)


def test_a_figure_is_read_as_it_was_put(store: Store) -> None:
    assert store.figures.get("weight") is None
    store.figures.put(ME, "weight", 0.25)
    assert store.figures.get("weight") == 0.25


def test_a_healthy_store_reports_its_counts_and_can_be_backed_up(store: Store) -> None:
    remember(store, "a")
    assert store.health.check(OWNER) == []
    assert store.health.report(OWNER).counts.memories == 1
    store.health.backup(OWNER)
    assert len(store.health.backups(OWNER)) == 1
    assert not store.health.backup_due()
    store.health.backup_if_due(OWNER)
    assert len(store.health.backups(OWNER)) == 1
    assert all(finding.what for finding in store.health.doctor(OWNER))
    with store.health.filling(0.0) as mine:
        assert mine
    assert store.health.relieve() >= 0
    store.health.stop_check()
    assert store.health.unchecked in (True, False)


def test_rows_of_this_release_need_no_sealing_and_are_screened_by_edition(store: Store) -> None:
    memory = remember(store, "Ada lives in Oslo")[0]
    while store.sensitivity.seal_old(OWNER, limit=100):
        pass
    assert store.sensitivity.put_screened(OWNER, 7, {memory.key: ""}) == 0
    assert store.sensitivity.screened_otherwise(OWNER, 7, after=0, limit=9) == []
    assert [seen.id for seen in store.sensitivity.screened_otherwise(OWNER, 8, after=0, limit=9)] == [memory.id]


def test_reads_of_the_background_leave_no_entry_in_the_audit_trail(store: Store) -> None:
    memory = remember(store, "a")[0]
    with store.background():
        store.memories.get(ME, [memory.id])
    assert "get" not in {entry.operation for entry in store.audit.select(OWNER, limit=99)}
    store.memories.get(ME, [memory.id])
    assert "get" in {entry.operation for entry in store.audit.select(OWNER, limit=99)}


def test_use_by_the_upkeep_thread_is_no_use(store: Store, clock: HandClock) -> None:
    used = store.last_used
    store.ignore_this_thread()
    clock.advance(timedelta(minutes=1).total_seconds())
    store.memories.counts(ME)
    assert store.last_used == used


def test_an_index_snapshot_is_read_back_and_gone_after_an_erasure(store: Store) -> None:
    memory = remember(store, "a")[0]
    store.vectors.put(ME, SPACE.name, {memory.key: vector(1, 2)}, model=SPACE.model, dimensions=2)
    seen = store.changes.latest(OWNER)

    def fill(file: object) -> int:
        file.write(b"index")  # type: ignore[attr-defined]
        return seen

    store.vectors.put_snapshot(OWNER, SPACE.name, fill)
    assert store.vectors.has_snapshot(SPACE.name)
    with store.vectors.snapshot(OWNER, SPACE.name) as stream:
        assert stream is not None
        assert stream.read(5) == b"index"
    store.erasure.erase(ME, [memory.id])
    assert not store.vectors.has_snapshot(SPACE.name)
