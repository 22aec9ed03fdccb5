"""Turns, capture, entities, facts, feedback, boxes, gaps and knowledge: what every engine must do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hand_clock import HandClock
from store.contract.engines import ME, OTHER, OWNER, SPACE, draft, remember, say, vector

from engram.env import Env
from engram.errors import AccessDenied, NotFound
from engram.store.ports import DuplicateTurns, Store
from engram.text.terms import digest_of, identity_of
from engram.types import Draft, Fact, Memory, Reader, Sensitivity, Status, Strength, Turn
from engram.values.entities import BeliefQuery, EntityAction, EntityDecision, Mention
from engram.values.episodes import FilledBox, SealReason
from engram.values.memories import Correction, CorrectionFate
from engram.values.query import Filter, JudgedQuestion


def test_turns_are_stored_with_their_memories_or_not_at_all(store: Store, env: Env) -> None:
    stored = say(store, env, "We moved the API to Fly.io", "The platform team owns it")
    assert [turn.text for turn in store.turns.of(ME, stored[0].id)] == ["We moved the API to Fly.io"]
    last = store.turns.last(ME, "s")
    assert last is not None
    assert last.text == "The platform team owns it"
    assert store.turns.last(OTHER, "s") is None
    assert store.turns.known_refs(ME, ["s:We moved the API to Fly.io", "unknown"]) == {"s:We moved the API to Fly.io"}
    with pytest.raises(DuplicateTurns):
        say(store, env, "The platform team owns it", "A third thing")
    assert store.memories.counts(ME).memories == 2


def test_turns_that_wait_for_a_model_are_listed_until_it_has_read_them(store: Store, env: Env) -> None:
    stored = say(store, env, "Ada leads the team", wait=True)
    waiting = store.turns.waiting(ME, "s", limit=9)
    assert [pending.turn.text for pending in waiting] == ["Ada leads the team"]
    assert store.turns.waiting_sessions(OWNER) == [(ME.scope, "s")]
    with pytest.raises(AccessDenied):
        store.turns.waiting_sessions(ME)
    keys = [pending.key for pending in waiting]
    assert [memory.id for memory in store.turns.derived(ME, keys)] == [stored[0].id]
    assert store.turns.before(ME, "s", keys[0] + 1, limit=9)[0].text == "Ada leads the team"
    made = store.capture.write_extracted(ME, keys, [draft("Ada is the team's lead", 0)], space=SPACE, outworn=[stored[0].id])
    assert [memory.text for memory in made] == ["Ada is the team's lead"]
    assert store.memories.get(ME, [stored[0].id])[0].status is Status.SUPERSEDED
    assert store.turns.waiting(ME, "s", limit=9) == []


def test_the_turns_of_memories_are_returned_with_the_keys_of_both(store: Store, env: Env) -> None:
    ferry, cat = say(store, env, "The ferry leaves at noon", "The cat is called Miso")
    by_hand = remember(store, "The shed is green")[0]
    found = store.turns.sources(ME, [ferry.key, cat.key, by_hand.key])
    assert [(memory, turn.text) for memory, _, turn in found] == [(ferry.key, "The ferry leaves at noon"), (cat.key, cat.text)]
    assert [turn.session for _, _, turn in found] == ["s", "s"]
    for _, key, turn in found:
        assert store.turns.stored(ME, key) == turn
        assert store.turns.stored(OTHER, key) is None
    assert store.turns.stored(ME, 999_999) is None
    assert store.turns.sources(OTHER, [ferry.key, cat.key]) == []
    assert store.turns.sources(ME, []) == []
    assert len(store.turns.sources(ME, [ferry.key, *range(10_000, 11_500)])) == 1, "more keys than one statement takes"


def test_the_last_turns_of_a_session_or_of_a_scope_are_listed_oldest_first(store: Store, env: Env) -> None:
    say(store, env, "one", "two", "three")
    say(store, env, "elsewhere", session="t")
    say(store, env, "foreign", reader=OTHER)

    def texts(reader: Reader, session: str | None, limit: int) -> list[str]:
        found = store.turns.recent(reader, session, limit=limit)
        assert all(store.turns.stored(reader, key) == turn for key, turn in found)
        return [turn.text for _, turn in found]

    assert texts(ME, "s", 2) == ["two", "three"]
    assert texts(ME, None, 9) == ["one", "two", "three", "elsewhere"]
    assert texts(OTHER, None, 9) == ["foreign"]
    assert texts(ME, "no such session", 9) == []


def test_a_statement_is_stored_with_the_place_of_its_own_words(store: Store, env: Env) -> None:
    turn = Turn("In Bergen.", "user", at=env.now(), session="s")
    stated = draft("The user: In Bergen. [your sister]", 0, words_at=(10, 20))
    store.capture.write(ME, ME.scope, [turn], [replace(stated, vector=None, passage="In Bergen. (asked: where?)")])
    [kept] = store.memories.page(ME, limit=9)
    assert (kept.words, kept.carries) == ("In Bergen.", "your sister")
    assert store.vectors.missing(ME, SPACE.name, after=0, limit=9) == [
        (kept.key, "", "The user: In Bergen. [your sister]", "In Bergen. (asked: where?)")
    ]
    changed = store.memories.update(ME, kept.id, {"text": "My sister lives in Bergen"})
    assert (changed.words, changed.carries) == ("My sister lives in Bergen", "")
    assert [row[3] for row in store.vectors.missing(ME, SPACE.name, after=0, limit=9)] == [""], "it is encoded as it reads now"


def test_a_memory_can_be_made_later_from_a_turn_that_is_stored(store: Store, env: Env) -> None:
    say(store, env, "Ada leads the team, and the canteen was full")
    [(key, turn)] = store.turns.recent(ME, "s", limit=9)
    [late] = store.capture.write(ME, ME.scope, [], [draft("The canteen was full", 0)], space=SPACE, sources=[key])
    assert [one.text for one in store.turns.of(ME, late.id)] == [turn.text]
    assert [one[1] for one in store.turns.sources(ME, [late.key])] == [key]
    assert late.key in {hit.key for hit in store.text.search(ME, ["leads"], limit=9)}, "the words around it find it too"
    assert len(store.turns.recent(ME, "s", limit=9)) == 1


def test_a_repeated_statement_is_counted_and_trusted_more(store: Store, env: Env) -> None:
    first = say(store, env, "The office is in Bergen")[0]
    turn = Turn("As I said, the office is in Bergen", "user", at=env.now(), session="s", ref="again")
    store.capture.write(ME, ME.scope, [turn], [], again={first.id: [0]})
    again = store.memories.get(ME, [first.id])[0]
    assert again.confidence > first.confidence
    assert again.corroborations == first.corroborations + 1


def test_words_have_the_same_digest_in_one_vault_only_for_the_same_words(store: Store) -> None:
    assert store.turns.digest("a") == store.turns.digest("a") != store.turns.digest("b")


def test_old_turns_expire_and_their_memories_stay(store: Store, env: Env, clock: HandClock) -> None:
    stored = say(store, env, "Ada plays chess")
    clock.advance(timedelta(days=4000).total_seconds())
    store.turns.expire(OWNER)
    assert [memory.text for memory in store.memories.get(ME, [stored[0].id])] == ["Ada plays chess"]


def test_entities_are_found_by_name_with_the_memories_that_name_them(store: Store) -> None:
    ada, both = remember(store, "Ada Lovelace wrote the first program", "Ada Lovelace met Charles Babbage in London")
    names = {entity.name for entity in store.entities.select(ME)}
    assert "Ada Lovelace" in names
    found = store.entities.get(ME, "ada lovelace")
    assert found is not None
    entity, keys = found
    assert (entity.name, set(keys)) == ("Ada Lovelace", {ada.key, both.key})
    assert "Charles Babbage" in store.entities.mentions(ME, both.id)
    assert "Charles Babbage" in {name for name, _ in store.entities.cooccurring(ME, "ada lovelace")}
    assert store.entities.get(OTHER, "ada lovelace") is None
    assert store.facts.backfill(OWNER, limit=9) == 0  # nothing is left of an earlier release


def test_mentions_that_come_with_a_draft_are_stored_and_not_read_from_its_words(store: Store) -> None:
    drafts = [
        Draft(memory=Memory(text="She wrote the first program"), mentions=(Mention("Ada", "person"),)),
        Draft(memory=Memory(text="Countess Lovelace played whist"), mentions=(Mention("Ada Lovelace", "person", ("@ada",)),)),
    ]
    she, countess = store.capture.write(ME, ME.scope, [], drafts)
    found = store.entities.get(ME, "ada lovelace")
    assert found is not None
    assert set(found[1]) == {she.key, countess.key}
    assert store.entities.mentions(ME, countess.id) == ["Ada Lovelace"]
    for tier in (Sensitivity.SENSITIVE, Sensitivity.CLEARTEXT):
        store.memories.update(ME, she.id, {"tier": tier})
        assert store.entities.mentions(ME, she.id) == (["Ada Lovelace"] if tier is Sensitivity.CLEARTEXT else [])
    store.erasure.erase(ME, [countess.id])
    assert store.entities.mentions(ME, she.id) == ["Ada"]
    assert store.entities.get(ME, "ada lovelace") is None


def test_a_name_that_was_read_out_of_erased_words_is_erased_from_the_memories_around(store: Store) -> None:
    ada = (Mention("Ada", "person"),)
    first, second, third = store.capture.write(
        ME,
        ME.scope,
        [],
        [
            Draft(memory=Memory(text="Ada came home", session="s"), mentions=ada),
            Draft(memory=Memory(text="She was tired", session="s"), mentions=ada),
            Draft(memory=Memory(text="She won the prize", session="another"), mentions=ada),
        ],
    )
    store.erasure.erase(ME, [first.id])
    assert store.entities.mentions(ME, second.id) == []
    assert store.entities.mentions(ME, third.id) == ["Ada"]


def test_a_role_has_holders_with_their_times(store: Store, clock: HandClock) -> None:
    march = clock.now()
    remember(store, "My manager is Ada Lovelace", happened_at=march)
    june = march + timedelta(days=92)
    remember(store, "Tom Baker is my manager now", happened_at=june)
    own, holders = store.entities.roles(ME, "my manager")
    assert [(one.holder, one.since, one.until) for one in holders] == [
        ("Tom Baker", june, None),
        ("Ada Lovelace", march, june),
    ]
    assert own == holders[:1]
    assert store.entities.roles(ME, "ada lovelace") == (holders[1:], [])
    assert store.entities.roles(OTHER, "my manager") == ([], [])


def test_the_speakers_of_visible_memories_are_listed_once(store: Store) -> None:
    for speaker in ("Sam", "assistant", "", "Sam"):
        remember(store, f"{speaker} and the {speaker} roof", speaker=speaker)
    assert store.entities.speakers(ME) == ["Sam", "assistant"]
    assert store.entities.speakers(OTHER) == []


def test_a_decision_on_an_entity_is_followed_until_it_is_taken_back(store: Store, clock: HandClock) -> None:
    remember(store, "I met Nimbus in the hall", "Tom Baker works at Acme")
    draft = EntityDecision(id="", action=EntityAction.MERGE, name="nimbus", other="tom baker", reason="his handle")
    made = store.entities.decide(ME, draft)
    assert (made.name, made.other, made.names, made.at) == ("Nimbus", "Tom Baker", ("nimbus",), clock.now())
    assert store.entities.decisions(ME, limit=9) == [(ME.scope, made)]
    assert store.entities.decisions(OTHER, limit=9) == []
    found = store.entities.get(ME, "nimbus")
    assert found is not None
    assert (found[0].name, len(found[1])) == ("Tom Baker", 2)
    assert store.entities.adopt_decisions(ME, ME.scope, [made]) == 0
    with pytest.raises(NotFound):
        store.entities.undo_decision(OTHER, made.id)
    undone = store.entities.undo_decision(ME, made.id)
    assert undone == replace(made, undone_at=clock.now())
    assert store.entities.decisions(ME, limit=9) == [(ME.scope, undone)]
    found = store.entities.get(ME, "nimbus")
    assert found is not None
    assert (found[0].name, len(found[1])) == ("Nimbus", 1)
    assert store.entities.adopt_decisions(ME, ME.scope, [made]) == 1


def test_a_newer_fact_supersedes_the_older_one_and_the_history_stays(store: Store, clock: HandClock) -> None:
    old = remember(store, "Ada lives in Oslo", happened_at=clock.now())[0]
    clock.advance(timedelta(days=30).total_seconds())
    new = remember(store, "Ada lives in Bergen", happened_at=clock.now())[0]
    assert store.memories.get(ME, [old.id])[0].status is Status.SUPERSEDED
    current = store.facts.beliefs(ME, BeliefQuery(subject="ada"))
    assert [belief.object for belief in current] == ["bergen"]
    assert {belief.object for belief in store.facts.beliefs(ME, BeliefQuery(subject="ada", past=True))} == {"oslo", "bergen"}
    predicate = current[0].predicate
    assert [fact.object for fact in store.facts.by(ME, [new.key])] == ["bergen"]
    assert [fact.object for fact in store.facts.of(ME, ["ada"], most=9)] == ["bergen"]
    assert store.facts.exists(ME, "ada", predicate)
    assert not store.facts.exists(OTHER, "ada", predicate)
    assert [fact.object for fact in store.facts.matching(ME, predicate, most=9)] == ["bergen"]


def test_a_fact_is_stated_of_a_memory_with_its_interval_and_evidence_and_withdrawn(store: Store, clock: HandClock) -> None:
    old = remember(store, "Ada lives in Oslo", happened_at=clock.now())[0]
    clock.advance(timedelta(days=30).total_seconds())
    talk = remember(store, "A long walk by the water with all of the family")[0]
    stated = Fact("ada", "lives in", "bergen", True, True, clock.now(), None, Strength.OBSERVED, "tom")
    assert store.facts.state(ME, talk.id, [stated]).id == talk.id
    (belief,) = store.facts.beliefs(ME, BeliefQuery(subject="ada", predicate="lives in"))
    assert (belief.object, belief.memory, belief.strength, belief.teller) == ("bergen", talk.id, "observed", "tom")
    assert [(one.relation, one.memory) for one in belief.revisions] == [("replaces", old.id)]
    then = BeliefQuery(subject="ada", as_of=clock.now() - timedelta(days=3))
    assert [one.object for one in store.facts.beliefs(ME, then)] == ["oslo"]
    backwards = BeliefQuery(subject="bergen", backwards=True)
    assert [one.subject for one in store.facts.beliefs(ME, backwards)] == ["ada"]
    with pytest.raises(NotFound):
        store.facts.state(OTHER, talk.id, [stated])
    with pytest.raises(NotFound):
        store.facts.withdraw(OTHER, talk.id, "ada", "lives in")
    store.facts.withdraw(ME, talk.id, "ada", "lives in")
    assert [one.object for one in store.facts.beliefs(ME, BeliefQuery(subject="ada"))] == ["oslo"]
    assert store.memories.get(ME, [old.id])[0].status is Status.ACTIVE


def test_facts_are_found_around_names_and_by_slots(store: Store) -> None:
    lives, works = remember(store, "Ada lives in Oslo", "Bo works at Acme")
    found = store.facts.around(ME, ["oslo", "bo"], most=9)
    assert {(fact.name, fact.backwards, fact.memory) for fact in found} == {("oslo", True, lives.id), ("bo", False, works.id)}
    assert [fact.name for fact in store.facts.around(ME, ["oslo", "bo"], predicates=["works at"], most=9)] == ["bo"]
    assert len(store.facts.around(ME, ["oslo", "bo"], most=1)) == 1
    assert store.facts.around(OTHER, ["oslo", "bo"], most=9) == []
    slots = [("ada", "lives in"), ("ada", "works at")]
    assert store.facts.sharing(ME, slots, most=3) == {("ada", "lives in"): [(lives.key, "oslo")]}
    assert store.facts.sharing(OTHER, slots, most=3) == {}
    assert store.facts.sharing(ME, [], most=3) == {}


def test_a_judgement_is_stored_with_its_question_and_moves_the_memory(store: Store) -> None:
    memory = remember(store, "Ada lives in Oslo")[0]
    question = JudgedQuestion(words="ada live")
    judged = store.feedback.judge(ME, memory.id, helpful=False, question=question)
    assert judged.id == memory.id
    judgements = store.feedback.judgements(ME, [memory.key], question)
    assert [(judgement.key, judgement.helpful, judgement.same_words) for judgement in judgements] == [(memory.key, False, True)]
    assert store.feedback.judgements(OTHER, [memory.key], question) == []


def test_a_corrected_wording_is_known_and_leads_to_its_replacement(store: Store) -> None:
    wrong = remember(store, "The API runs on Heroku")[0]
    right = store.feedback.correct(ME, wrong.id, draft("The API runs on Fly.io"))
    digest = identity_of(wrong)
    assert store.feedback.corrected(ME, [digest]) == {digest: right}
    assert store.feedback.corrections(ME) == [wrong.key]
    assert store.feedback.replacement(ME, wrong.key) == right
    assert store.feedback.corrected_facts(ME, []) == []
    assert store.feedback.corrected(OTHER, [digest]) == {}


def test_a_correction_of_another_vault_is_adopted_once(store: Store, clock: HandClock) -> None:
    wrong = remember(store, "The API runs on Heroku")[0]
    right = store.feedback.correct(ME, wrong.id, draft("The API runs on Fly.io"))
    mark = Correction("corrected", clock.now(), right.id)
    assert store.feedback.correction_marks(ME, [wrong.key, right.key]) == {wrong.key: mark}
    assert store.feedback.correction_marks(OTHER, [wrong.key]) == {}
    retired = Draft(memory=Memory(text="The API runs on Render", status=Status.SUPERSEDED))
    assert store.feedback.adopt_corrections(ME, ME.scope, [(retired, mark)]) == [CorrectionFate.NEW]
    assert store.feedback.adopt_corrections(ME, ME.scope, [(retired, mark)]) == [CorrectionFate.KNOWN]
    digest = digest_of("The API runs on Render")
    assert {one: heir.id for one, heir in store.feedback.corrected(ME, [digest]).items()} == {digest: right.id}
    own = remember(store, "Ada keeps bees")[0]
    bees = Draft(memory=Memory(text=own.text, status=Status.INVALIDATED))
    by_hand = Correction("invalidated by hand", clock.now())
    assert store.feedback.adopt_corrections(ME, ME.scope, [(bees, by_hand)]) == [CorrectionFate.LEFT]
    assert store.memories.get(ME, [own.id])[0].status is Status.ACTIVE
    assert store.feedback.adopt_corrections(ME, ME.scope, [(bees, by_hand)], trusted=True) == [CorrectionFate.NEW]
    assert store.memories.get(ME, [own.id])[0].status is Status.INVALIDATED
    with pytest.raises(AccessDenied):
        store.feedback.adopt_corrections(OTHER, ME.scope, [(retired, mark)])


def test_the_facts_of_memories_are_given_as_they_were_stated(store: Store, clock: HandClock) -> None:
    lives, works = remember(store, "Ada lives in Oslo", "Bo works at Acme")
    stated = Fact("ada", "owns", "boat", False, True, clock.now() - timedelta(days=9), None, Strength.OBSERVED, "tom")
    store.facts.state(ME, lives.id, [stated])
    found = store.facts.stated(ME, [lives.key, works.key])
    assert [(one.predicate, one.object, one.since) for one in found[works.key]] == [("works at", "acme", None)]
    assert [one for one in found[lives.key] if one.predicate == "owns"] == [stated]
    assert store.facts.stated(OTHER, [lives.key]) == {}


def test_facts_of_another_vault_are_added_unless_they_are_known_or_were_withdrawn(store: Store) -> None:
    lives, works = remember(store, "Ada lives in Oslo", "Bo works at Acme")
    boat, home, firm = Fact("ada", "owns", "boat"), Fact("ada", "lives in", "rome"), Fact("bo", "works at", "acme")
    store.facts.withdraw(ME, works.id, "bo", "works at")
    stated = {lives.id: [boat, home], works.id: [firm], "unknown": [boat]}
    assert store.facts.adopt(OTHER, stated) == 0
    assert store.facts.adopt(ME, stated) == 1
    assert store.facts.adopt(ME, stated) == 0
    assert {one.object for one in store.facts.beliefs(ME, BeliefQuery(subject="ada"))} == {"oslo", "boat"}
    assert store.facts.beliefs(ME, BeliefQuery(subject="bo")) == []
    assert [one.reason for one in store.memories.status_history(ME, works.id)] == ['the fact "bo works at" was withdrawn']
    assert store.facts.state(ME, works.id, [firm]).id == works.id
    assert [one.object for one in store.facts.beliefs(ME, BeliefQuery(subject="bo"))] == ["acme"]


def test_what_a_speaker_takes_back_is_invalidated_in_the_same_write(store: Store) -> None:
    known = remember(store, "Ada sells her car")[0]
    kept = store.capture.write(ME, ME.scope, [], [draft("Ada moves to Oslo"), draft("Ada keeps bees")], retracted=[known.id, 0])
    assert [memory.status for memory in kept] == [Status.INVALIDATED, Status.ACTIVE]
    assert store.memories.get(ME, [known.id])[0].status is Status.INVALIDATED
    assert [change.reason for change in store.memories.status_history(ME, known.id)] == ["taken back by its speaker"]
    assert store.feedback.corrections(ME) == [], "it may be said again"


def test_what_a_review_invalidated_counts_as_corrected(store: Store) -> None:
    wrong = remember(store, "The API runs on Heroku")[0]
    store.memories.review(ME, wrong.id, Status.INVALIDATED, "invalidated by hand: it moved")
    assert store.feedback.corrections(ME) == [wrong.key]
    assert store.feedback.replacement(ME, wrong.key).id == wrong.id
    store.memories.review(ME, wrong.id, Status.ACTIVE, "confirmed by hand", confirmed=True)
    assert store.feedback.corrections(ME) == []


def test_memories_of_a_session_are_boxed_once(store: Store, env: Env) -> None:
    first, second = say(store, env, "We plan the trip to Oslo", "The trip takes a week")
    start, rows = store.boxes.pending(OWNER, SPACE.name, 9)
    assert [row.key for row in rows] == [first.key, second.key]
    assert len(store.boxes.latest_vectors(OWNER, SPACE.name, upto=second.key, limit=9)) == 2
    box = FilledBox(0, rows[0].scope, "s", rows[0].at, rows[1].at, SealReason.GAP, ("trip",), (first.key, second.key))
    since = store.changes.latest(OWNER)
    assert store.boxes.put(OWNER, [box], start=start, upto=second.key, since=since)
    assert not store.boxes.put(OWNER, [box], start=start, upto=second.key, since=since), "another process was there first"
    boxes = store.boxes.select(ME)
    assert [kept.topic for kept in boxes] == [("trip",)]
    assert [memory.id for memory in store.boxes.get(ME, boxes[0].key)] == [first.id, second.id]
    assert store.boxes.select(OTHER) == []
    assert store.boxes.pending(OWNER, SPACE.name, 9)[1] == []
    assert boxes[0].key in store.boxes.topics(OWNER, [rows[0].scope])[rows[0].scope]
    assert store.boxes.growing(OWNER, [(rows[0].scope, "s")], SPACE.name) == []  # it is sealed
    assert store.boxes.unlabelled(OWNER, 9) == []
    store.boxes.relabel(OWNER, {}, since=since)


def test_unanswered_questions_are_kept_until_they_are_answered(store: Store) -> None:
    store.gaps.put(ME, "Who owns the API?")
    store.gaps.put(ME, "Who owns the API?")
    gaps = store.gaps.select(ME, limit=9)
    assert [gap.text for gap in gaps] == ["Who owns the API?"]
    assert store.gaps.select(OTHER, limit=9) == []
    assert store.gaps.recently_offered(ME, ["Who owns the API?"]) == set()
    store.gaps.put(ME, "Who owns the API?", answered=True)
    assert store.gaps.select(ME, limit=9) == []


def test_only_questions_raised_in_a_conversation_are_offered(store: Store) -> None:
    for question in ("Who owns the API?", "Who is the president?"):
        store.gaps.put(ME, question)
    store.gaps.put(ME, "Who owns the API?", raised=True)
    store.gaps.put(ME, "Who was never looked for?", raised=True)
    store.gaps.put(OTHER, "Who is the president?", raised=True)
    assert {gap.text for gap in store.gaps.select(ME, limit=9)} == {"Who owns the API?", "Who is the president?"}
    assert [gap.text for gap in store.gaps.select(ME, limit=9, to_offer=True)] == ["Who owns the API?"]
    store.gaps.put(ME, "Who is the president?", raised=True)
    store.gaps.put(ME, "Who owns the API?", offered=True)
    store.gaps.select(ME, limit=9)  # writes what waits
    assert [gap.text for gap in store.gaps.select(ME, limit=9, to_offer=True)] == ["Who is the president?"]


def test_the_survey_counts_memories_of_a_subject_and_names_doubts(store: Store) -> None:
    memories = remember(store, "Ada Lovelace likes tea", "Ada Lovelace likes trains")
    tally = store.knowledge.tally(ME, [memory.key for memory in memories])
    assert tally.memories == 2
    assert any(subject.name == "Ada Lovelace" for subject in store.knowledge.subjects(ME, limit=9))
    assert store.knowledge.subjects(OTHER, limit=9) == []
    assert store.knowledge.doubts(ME, limit=9) == []


def test_recall_reads_traits_frequencies_and_counts_its_use(store: Store, env: Env) -> None:
    memory = say(store, env, "The ferry leaves at noon")[0]
    assert set(store.memories.traits(ME, [memory.key])) == {memory.key}
    assert store.memories.traits(OTHER, [memory.key]) == {}
    assert store.memories.lasting(ME, [memory.key]) == set()
    store.memories.record_access(ME, [memory.key])
    assert store.memories.keys_having(ME, Filter(since=env.now() - timedelta(days=1))) == [memory.key]
    assert store.memories.by_digest(ME, [identity_of(memory)]) == {identity_of(memory): memory.id}
    assert store.text.frequencies(ME, ["ferri", "heron"], most=9)[1] == 0
    memories, turns, edges = store.memories.export(ME, after=0, limit=9)
    assert ([one.id for one in memories], [turn.text for _, _, turn in turns]) == ([memory.id], ["The ferry leaves at noon"])
    assert edges == []


def test_earlier_wordings_are_found_as_of_their_time(store: Store, clock: HandClock) -> None:
    memory = remember(store, "The API runs on Heroku")[0]
    then = clock.now()
    clock.advance(timedelta(days=1).total_seconds())
    store.memories.update(ME, memory.id, {"text": "The API runs on Fly.io"})
    hits = store.text.search_versions(ME, ["heroku"], limit=9, where=Filter(as_of=then))
    assert [hit.key for hit in hits] == [memory.key]
    assert store.memories.fetch(ME, [memory.key], as_of=then)[0].text == "The API runs on Heroku"


def test_several_memories_change_status_together_or_not_at_all(store: Store) -> None:
    a, b = remember(store, "a", "b")
    moved = store.memories.set_statuses(ME, [a.id, b.id], Status.ARCHIVED, "old")
    assert {memory.status for memory in moved} == {Status.ARCHIVED}
    store.memories.set_statuses(ME, [a.id, b.id], Status.ACTIVE, "needed")
    assert set(store.memories.archive(ME, [a.id, b.id], "old").ids) == {a.id, b.id}
    assert {memory.status for memory in store.memories.get(ME, [a.id, b.id])} == {Status.ARCHIVED}


def test_a_vector_index_reads_rows_and_knows_which_memories_lack_vectors(store: Store) -> None:
    a, b = remember(store, "a", "b")
    assert store.vectors.space("words") is None
    assert store.vectors.put(ME, "words", {a.key: vector(1, 2)}, model="model", dimensions=2, said={a.key: "a"}) == 1
    space = store.vectors.space("words")
    assert space is not None
    assert (space.model, space.dimensions) == ("model", 2)
    assert store.vectors.missing(ME, "words", after=0, limit=9) == [(b.key, "", "b", "")]
    assert store.vectors.lacks(ME, "words")
    assert [row[0] for row in store.vectors.rows(OWNER, "words", after=0, limit=9)] == [a.key]
    assert [row[0] for row in store.vectors.rows_of(OWNER, "words", [a.key, b.key])] == [a.key]
    assert store.vectors.size(OWNER, "words") >= 1
    with pytest.raises(AccessDenied):
        store.vectors.rows(ME, "words", after=0, limit=9)
    assert store.vectors.clear(OWNER, "words") == 1
    assert list(store.vectors.visible(ME, "words")) == []


def test_neighbours_are_reached_by_edges_and_by_shared_entities(store: Store, env: Env) -> None:
    from engram.types import Edge

    a, b = remember(store, "Ada Lovelace wrote the notes", "Ada Lovelace read the notes")
    store.edges.put(ME, [Edge(a.id, b.id, "supports")])
    assert store.edges.among(ME, [a.key], ["supports"]) == [(a.key, b.key, "supports")]
    assert b.key in {hop.there for hop in store.edges.linked(ME, [a.key], env.now(), most=9)}
    assert b.key in {hop.there for hop in store.edges.sharing_entities(ME, [a.key], fan=9, most=9)}
    assert {hop.there for hop in store.edges.naming(ME, ["ada lovelace"], most=9)} == {a.key, b.key}
    assert store.edges.naming(OTHER, ["ada lovelace"], most=9) == []
    assert store.edges.passing(ME, [a.key, b.key], Filter(categories=("no such category",))) == set()
