"""What belongs to a memory, or came of it, is kept as closely as it is: a word is planted everywhere and found nowhere. C8

Whoever has the database key and not that of the fields sees every column as these tests read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from recall.vaults import OWNER, open_engram, settle

from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.errors import InvalidContent
from engram.rules.checkpoints import checkpoint_from_bytes
from engram.store.sqlite import connection as sealed
from engram.types import Draft, Edge, Memory, Sensitivity, Status, Turn
from engram.values.query import Filter
from engram.values.working import HANDOFF

UNASKED = DreamLimits(warm_after_s=3600.0, care_pause_s=3600.0)  # no background work within a test
CARD = "4111 1111 1111 1111"
WORD = "zanzibar"

PLAIN = {
    "aliases": {"name"},  # of cleartext memories alone
    "attributes": {"name"},
    "audit": {"operation", "subject", "project", "squad", "agent", "channel", "user", "digest"},  # ids and keyed digests
    "boxes": {"session", "sealed", "topic"},  # a topic is made of what the text index may hold
    "changes": {"what"},
    "contents": {"text", "summary", "key_fact", "tag", "around", "digest", "clear", "passage"},  # by the tier in the row
    "edges": {"kind"},
    "embeddings": {"vector"},
    "entities": {"name", "kind"},
    "entity_decisions": {"id", "action", "body"},  # the body is always sealed
    "episodes": {"outcome"},
    "facts": {"strength"},
    "feedback": {"digest", "vector"},
    "memories": {"id", "kind", "category", "source", "status", "session", "speaker", "tier"},
    "meta": {"name", "value"},
    "jobs": {"name", "walker"},
    "mentions": {"kind"},
    "dues": {"job"},
    "padding": {"bytes"},
    "passes": {"id", "verb", "walker", "holder", "ending", "counts", "probes"},
    "probes": {"identity", "session"},
    "questions": {"digest", "text"},  # sealed whatever they ask
    "receipts": {"name", "request", "body"},  # keyed digests, and ids and numbers
    "schema_version": {"what"},
    "scopes": {"project", "squad", "agent", "channel", "user"},
    "skill_parts": {"part"},
    "spaces": {"name", "model"},
    "status_history": {"old", "new"},
    "tokens": {"id", "name", "digest", "policy", "role"},
    "undoing": {"place", "part", "was", "now"},  # figures, and kinds of links as `edges` has them
    "turns": {"session", "speaker", "text", "ref", "tier"},  # by the tier in the row
    "working_snapshots": {"name", "session", "body"},  # a mind is sealed; a checkpoint by its words and what they came from
}
"""Columns of text or bytes that `sealed.SIDE_TABLES` does not name, and why a memory's words are not in them in the clear. A new
one belongs here or there, and into `everything` below."""


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault", tuning=[UNASKED]) as mem:
        yield mem


def seen(mem: Engram, *words: str) -> set[str]:
    """Where any of the words stands in the clear: columns as table.column, and `lexicon` for the text index."""
    mem._vault.store.gate.flush_audit(wait=True)
    found = set()
    with mem._vault.store.gate.readers.use("test") as connection:
        for table, column in _columns(connection):
            for (value,) in connection.execute(f"SELECT CAST({column} AS BLOB) FROM {table}"):
                if any(word.encode() in bytes(value or b"").lower() for word in words):
                    found.add(f"{table}.{column}")
        if any(connection.execute("SELECT count(*) FROM lexicon WHERE lexicon MATCH ?", (f'"{word}"',)).get for word in words):
            found.add("lexicon")
    return found


def _columns(connection: object) -> list[tuple[str, str]]:
    sql = """
        SELECT t.name, c.name FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type IN ('TEXT', 'BLOB', 'ANY')
    """
    return list(connection.execute(sql))  # type: ignore[attr-defined]


def everything(mem: Engram, said: str) -> None:
    """Ordinary use, with these words wherever words may be given."""
    one = mem.remember(f"Remember {said}", attributes={"what": f"about {said}"})
    mem.update(one.id, text=f"Remember well {said}")
    mem.feedback(one.id, False, query=f"what of {said}?")
    mem.forget(one.id, reason=f"because of {said}")
    mem.restore(one.id)
    mem.learn("Ann", "has", said)
    mem.learn(said, "belongs to", "Ann")
    mem.learn("Ann", "likes", "tea", teller=said)
    mem.observe(Turn(f"I told you of {said} yesterday.", session="s"), Turn("Yes, that is noted down.", session="s"))
    for outcome in ("success", "success", "success", "failure"):
        with mem.episode(f"Settle {said}", participants=("Ann",)) as course:
            course.event("did", f"typed {said}", actor="Ann")
            course.event("did", "closed the till")
            course.outcome(outcome, f"it was {said}")
    mem._vault.store.gaps.put(mem.reader, f"who lost {said}?")
    mem.working.attend(f"Think of {said}")
    mem.working.checkpoint(f"Settle {said}", decided=[f"use {said}"], open=[f"where is {said}?"])
    mem.working.suspend()
    mem.keyed("key").observe(user=f"My notes are about {said}, mind you.")
    mem._vault.upkeep.fill_boxes()
    mem.backfill()


def test_every_column_of_the_database_is_listed_as_sealed_or_harmless(mem: Engram) -> None:
    known = {(table, column) for table, columns in PLAIN.items() for column in columns}
    known |= {(table, column) for table, (_, columns) in sealed.SIDE_TABLES.items() for column in columns}
    with mem._vault.store.gate.readers.use("test") as connection:
        there = {pair for pair in _columns(connection) if not pair[0].startswith("lexicon")}
    assert there == known


def test_a_confidential_number_is_in_no_column_in_plaintext(mem: Engram) -> None:
    everything(mem, f"the card {CARD}")
    assert not seen(mem, CARD, "4111")
    assert mem.skills(), "there was a skill to be learned"
    assert mem.warnings(), "and a warning"
    assert [one.object for one in mem.beliefs("Ann", "has")] == [f"card {CARD}"]
    assert [one.teller for one in mem.beliefs("Ann", "likes")] == [f"card {CARD}"]


def test_all_that_belongs_to_a_sealed_memory_reads_as_it_was_written(mem: Engram) -> None:
    everything(mem, f"the card {CARD}")
    [told] = [one for one in mem.list() if one.text == f"Remember well the card {CARD}"]
    assert told.attributes == {"what": f"about the card {CARD}"}
    assert mem.versions(told.id)[0].text == f"Remember the card {CARD}"
    assert list(mem.list(filters=Filter(attributes={"what": f"about the card {CARD}"}))) == [told]
    assert f"because of the card {CARD}" in [change.reason for change in mem._vault.store.memories.status_history(OWNER, told.id)]
    course = mem.episodes(limit=1)[0]
    assert (course.goal, course.events[0].text, course.participants[0].name) == (
        f"Settle the card {CARD}",
        f"typed the card {CARD}",
        "Ann",
    )
    assert mem.skills()[0].skill.steps
    assert mem.resume().goal == f"Settle the card {CARD}"
    assert mem.remember(f"Remember well the card {CARD}").id == told.id, "it is known again by its digest"


def test_personal_words_beside_a_cleartext_memory_are_sealed_and_it_is_found_as_before(mem: Engram) -> None:
    one = mem.remember("The piano was tuned in May", attributes={"paid": CARD})
    with mem.episode("Tune the piano") as course:
        course.event("did", f"paid with {CARD}")
        course.event("did", "swept the keys")
        assert seen(mem, "swept") == {"events.text"}
        assert "lexicon" in seen(mem, "piano")
        assert not seen(mem, "4111")
    assert not seen(mem, "4111", "swept"), "it is told as its events, and so as closely as they are"
    assert one.tier is Sensitivity.CLEARTEXT


def test_raising_the_tier_of_a_memory_seals_all_that_belongs_to_it(mem: Engram) -> None:
    said = mem.observe(
        Turn("The harbour pilot sails at noon.", session="s"),
        Turn(f"Our partner in the merger is {WORD.title()} Freight.", session="s"),
        Turn("The crane is painted green by now.", session="s"),
    )
    assert said.ids
    mem._vault.upkeep.fill_boxes()
    [told] = [one for one in mem.list() if WORD in one.text.lower()]
    mem.feedback(told.id, False, query="who is the partner?")
    derived = mem.remember(f"Bought through {WORD} in spring")
    mem.relate(derived.id, told.id, "derived_from")
    mem.working.checkpoint(f"Ask about {WORD}")
    assert {"turns.text", "contents.around", "lexicon", "entities.name", "working_snapshots.body"} <= seen(mem, WORD)
    vectors = _vectors(mem)
    mem.update(told.id, tier="confidential")
    assert not seen(mem, WORD)
    assert _vectors(mem).isdisjoint(vectors)
    assert mem.get(derived.id).tier is Sensitivity.CONFIDENTIAL  # type: ignore[union-attr]
    assert [turn.text for turn in mem.words(told.id)] == [f"Our partner in the merger is {WORD.title()} Freight."]
    assert mem.resume().goal == f"Ask about {WORD}"
    mem._vault.upkeep.fill_boxes()
    mem.update(told.id, text=f"Our partner in the merger was {WORD.title()} Freight.")
    assert mem.get(told.id).tier is Sensitivity.CONFIDENTIAL, "its words did not make it so"  # type: ignore[union-attr]
    assert not seen(mem, WORD)


def said_and_answered(mem: Engram, asked: str, *, carried: str = "") -> tuple[Memory, Memory]:
    """Store a question and the answer to it, of which the second is shown and encoded with words of the first."""
    words = "In Lisbon, near the river."
    text = f"The user: {words} [{carried}]" if carried else f"The user: {words}"
    answer = Memory(text=text, summary=text, key_fact=text, tag=text, words_at=(10, 10 + len(words)), session="s")
    turns = [Turn(asked, "ann", at=mem._vault.env.now(), session="s"), Turn(words, "user", at=mem._vault.env.now(), session="s")]
    question = Memory(text=f"ann: {asked}", words_at=(5, 5 + len(asked)), session="s")
    drafts = [Draft(memory=question, turns=(0,)), Draft(memory=answer, turns=(1,), passage=f'{text} (asked: "{asked}")')]
    first, second = mem._vault.store.capture.write(mem.reader, mem.reader.scope, turns, drafts)
    return first, second


def test_the_question_that_a_memory_is_encoded_with_is_sealed_with_it_and_readable_again(mem: Engram) -> None:
    _, answer = said_and_answered(mem, f"Where does {WORD} live?")
    store = mem._vault.store
    assert "contents.passage" in seen(mem, WORD)
    mem.update(answer.id, tier="confidential")
    assert "contents.passage" not in seen(mem, WORD, "lisbon")
    store.gate.writer.run(lambda connection: connection.execute("DELETE FROM embeddings").get, "a test")
    [(_, _, _, passage)] = [row for row in store.vectors.missing(OWNER, "text", after=0, limit=9) if row[0] == answer.key]
    assert passage == f'The user: In Lisbon, near the river. (asked: "Where does {WORD} live?")'
    for tier in ("sensitive", "cleartext"):
        mem.update(answer.id, tier=tier)
        assert [row[3] for row in store.vectors.missing(OWNER, "text", after=0, limit=9) if row[0] == answer.key] == [passage]
    assert mem.backfill() == 2


def test_raising_the_tier_of_a_memory_takes_its_words_from_those_that_carry_them(mem: Engram) -> None:
    question, answer = said_and_answered(mem, f"Where does {WORD} live?", carried=f"Where does {WORD}")
    mem.backfill()
    mem.update(question.id, tier="confidential")
    assert not seen(mem, WORD)
    left = mem.get(answer.id)
    assert left is not None
    assert (left.text, left.carries, left.tier) == ("The user: In Lisbon, near the river.", "", Sensitivity.CLEARTEXT)
    assert mem._vault.store.vectors.lacks(OWNER, "text"), "its vector was made of the words that are sealed now"
    assert [version.text for version in mem.versions(answer.id)] == []


def test_a_memory_that_is_kept_as_closely_keeps_the_words_that_it_carries(mem: Engram) -> None:
    question, answer = said_and_answered(mem, f"Where does {WORD} live?", carried=f"Where does {WORD}")
    mem.update(answer.id, tier="confidential")
    mem.update(question.id, tier="sensitive")
    assert mem.get(answer.id).carries == f"Where does {WORD}"  # type: ignore[union-attr]
    assert not seen(mem, WORD)


def test_a_statement_of_a_remembered_text_is_taken_from_the_others_when_its_tier_is_raised(mem: Engram) -> None:
    words = "She works at the harbour."
    drafts = [
        Memory(text=f"My sister {WORD} lives in Lisbon.", scope=mem.reader.scope),
        Memory(text=f"{words} [My sister {WORD}]", words_at=(0, len(words)), scope=mem.reader.scope),
    ]
    first, second = mem._vault.store.memories.add(mem.reader, drafts)
    mem.update(first.id, tier="confidential")
    assert mem.get(second.id).text == words  # type: ignore[union-attr]
    assert not seen(mem, WORD)


def test_what_is_said_after_a_confidential_turn_carries_none_of_its_words(mem: Engram) -> None:
    mem.observe(Turn(f"My cousin {WORD.title()} works at the harbour in Lisbon.", "ann", session="s"))
    for one in mem.list():
        mem.update(one.id, tier="confidential")
    mem.observe(Turn("He lives in Lisbon, near the river.", "bob", session="s"))
    mem.observe(Turn("Is he well?", "ann", session="s"), Turn("Yes, he still works there.", "bob", session="s"))
    mem.backfill()
    assert not seen(mem, WORD)


def test_a_piece_that_is_kept_by_hand_is_kept_as_closely_as_its_turn(mem: Engram) -> None:
    report = mem.observe(Turn(f"Thanks! Our partner in the merger is {WORD.title()} Freight.", session="s"))
    mem.update(report.ids[0], tier="confidential")
    [thanks] = [piece for piece in mem.dropped() if piece.words == "Thanks!"]
    assert mem.keep(thanks.piece).tier is Sensitivity.CONFIDENTIAL
    assert not seen(mem, "thanks")


def test_a_handoff_has_the_sensitivity_of_its_source(mem: Engram) -> None:
    mem.observe(Turn("The harbour pilot sails at noon.", session="s", ref="r1"), Turn("Fine.", session="s"))
    plain, close = mem.remember("The piano is black"), mem.remember("The organ is blue", tier="sensitive")
    body = "working_snapshots.body"

    def clear_of(*sources: str, goal: str = f"Find {WORD}") -> bool:
        assert mem.working.hand_over(goal, sources=sources)
        kept = mem._vault.store.working.load(mem.reader, HANDOFF)
        assert kept is not None
        assert checkpoint_from_bytes(kept[1], kept[0]).goal == goal  # type: ignore[union-attr]
        return body in seen(mem, WORD)

    assert clear_of()
    assert clear_of("r1", plain.id)
    assert not clear_of("r1", plain.id, "nobody's"), "what is not there may have been anything"
    assert not clear_of(*close.id), "an id in place of a list of ids"
    assert not clear_of(*(f"r{number}" for number in range(40_000))), "more than one statement takes"
    assert not clear_of("r1", plain.id, close.id)
    assert not clear_of(goal=f"Find {WORD}:\n{CARD}")
    assert clear_of("r1", goal=f"Find ’{WORD}’")
    [heard] = [one for one in mem.list() if "noon" in one.text]
    mem.update(heard.id, tier="confidential")
    assert body not in seen(mem, WORD), "what it has of it may be the words that were raised"
    assert not clear_of("r1"), "the turn was raised with the memory"


def _vectors(mem: Engram) -> set[bytes]:
    with mem._vault.store.gate.readers.use("test") as connection:
        found = connection.execute("SELECT vector FROM feedback WHERE vector <> x''").fetchall()
        return {bytes(row[0]) for row in found}


def test_a_memory_derived_from_a_confidential_one_inherits_its_tier(mem: Engram) -> None:
    origin = mem.remember(f"The code name is {WORD}", tier="confidential")
    derived = mem.remember("It has a code name of eight letters")
    mem.relate(derived.id, origin.id, "inferred_from")
    mem.relate(mem.remember("The piano is black").id, origin.id, "related_to")
    tiers = {one.text: one.tier for one in mem.list()}
    assert tiers["It has a code name of eight letters"] is Sensitivity.CONFIDENTIAL
    assert tiers["The piano is black"] is Sensitivity.CLEARTEXT


def test_a_tier_is_inherited_through_any_number_of_derivations(mem: Engram) -> None:
    drafts = [Memory(text=f"Step {n} of the recipe", scope=mem.reader.scope) for n in range(400)]
    ids = [one.id for one in mem._vault.store.memories.add(mem.reader, drafts)]
    mem._vault.store.edges.put(mem.reader, [Edge(later, before, "derived_from") for before, later in pairwise(ids)])
    mem.update(ids[0], tier="confidential")
    assert {one.tier for one in mem._vault.store.memories.get(OWNER, ids)} == {Sensitivity.CONFIDENTIAL}


def test_changing_a_tier_supersedes_nothing(mem: Engram) -> None:
    old, new = mem.remember("I live in Berlin"), mem.remember("I live in Paris")
    mem.restore(old.id)
    mem.forget(new.id)
    for tier in ("confidential", "cleartext"):
        mem.update(new.id, tier=tier)
        assert mem.get(old.id).status is Status.ACTIVE  # type: ignore[union-attr]
    sure = mem.get(old.id).confidence  # type: ignore[union-attr]
    assert mem.update(old.id, tier="sensitive").confidence == sure
    assert [one.object for one in mem.beliefs("user")] == ["berlin"]


def test_a_restored_confidential_memory_can_be_contested_like_any_other(mem: Engram) -> None:
    old, new = mem.remember("My phone number is +49 30 12345671"), mem.remember("My phone number is +49 30 76543212")
    assert mem.get(old.id).status is Status.SUPERSEDED  # type: ignore[union-attr]
    mem.restore(old.id)
    assert {(one.memory, one.status) for one in mem.beliefs("user")} == {(old.id, "contested"), (new.id, "contested")}


def test_entity_names_of_a_memory_are_removed_and_added_with_its_tier(mem: Engram) -> None:
    told = [mem.remember(f"Ada Lovelace wrote note {n} on the engine").id for n in range(5)]
    alone = mem.remember("My manager is Ada Lovelace, and Bo Diddley plays on Friday", whole=True).id
    key = _entity(mem, "Ada Lovelace")
    mem.update(told[2], tier="sensitive")
    assert _entity(mem, "Ada Lovelace") == key, "others tell all of it: nobody is made anew"
    assert mem.entity("Ada").entity.mentions == 5  # type: ignore[union-attr]
    mem.update(told[2], tier="cleartext")
    assert mem.entity("Ada").entity.mentions == 6  # type: ignore[union-attr]
    mem.update(alone, tier="confidential")
    assert not seen(mem, "diddley", "manager"), "what it alone has told is gone"
    assert mem.entity("Ada Lovelace") is not None


def _entity(mem: Engram, name: str) -> int:
    with mem._vault.store.gate.readers.use("test") as connection:
        return int(connection.execute("SELECT key FROM entities WHERE name = ?", (name,)).get)


def test_a_confidential_memory_without_a_vector_does_not_stop_background_work(tmp_path: Path) -> None:
    with Engram.open(tmp_path / "bare", settings={"model": "none"}, tuning=[UNASKED]) as mem:
        for number in range(5):
            mem.remember(f"Pay invoice {number} with {CARD}")
        assert mem._vault.upkeep.fill_boxes() == 5
        assert not seen(mem, "4111")


def test_earlier_wordings_stay_sealed_when_the_new_one_is_harmless(mem: Engram) -> None:
    one = mem.remember(f"Pay with {CARD}")
    assert mem.update(one.id, text="Pay in cash").tier is Sensitivity.CLEARTEXT
    assert not seen(mem, "4111")
    assert mem.versions(one.id)[0].text == f"Pay with {CARD}"


def test_words_that_look_like_sealed_text_are_stored_as_words(mem: Engram) -> None:
    odd = f"{sealed.MARK}QUJD"
    one = mem.remember("The piano is black", attributes={"odd": odd})
    assert mem.get(one.id).attributes == {"odd": odd}  # type: ignore[union-attr]


def test_plaintext_that_older_releases_left_is_sealed_page_by_page(mem: Engram) -> None:
    everything(mem, f"the card {CARD}")
    harmless = mem.remember("The piano is black", attributes={"colour": "black"})
    store, before = mem._vault.store, {one.id: one for one in mem.list(limit=200)}
    assert not seen(mem, "4111")
    store.gate.writer.run(_as_it_was, "undoing")
    assert {"events.text", "questions.text", "facts.object", "turns.text"} <= seen(mem, "4111")
    while store.sensitivity.seal_old(OWNER, limit=3):
        pass
    assert not seen(mem, "4111")
    assert {one.id: one for one in mem.list(limit=200)} == before
    assert mem.get(harmless.id) == harmless
    assert store.sensitivity.seal_old(OWNER, limit=3) == 0
    assert mem.remember(f"Remember well the card {CARD}").id in before, "it is known again by its digest"


_SEALED_BEFORE = {"attributes": "0, 'attribute/' || t.name", "versions": "t.memory, 'version/' || t.number"}


def _as_it_was(connection: object) -> None:
    """The tables as an older release left them: most words beside memories in the clear, two kinds sealed without a mark."""
    run = connection.execute  # type: ignore[attr-defined]
    for table, (_, columns) in sealed.SIDE_TABLES.items():
        for column in columns:
            was = sealed.read_side(table, column, "t", "'cleartext'")
            if table in _SEALED_BEFORE:
                was = f"seal((SELECT tier FROM memories WHERE key = t.memory), {was}, {_SEALED_BEFORE[table]})"
            run(f"UPDATE {table} AS t SET {column} = {was}")
    said = sealed.read_words("text", table="t", tier="t.tier", row="t.key", place="'turn'")
    run(f"UPDATE turns AS t SET text = {said}, tier = 'cleartext'")
    run("UPDATE questions SET text = unseal_side(text, 'questions.text/' || hex(digest))")
    run("DELETE FROM meta WHERE name = 'sealed_all'")


PAYMENT = "Pay the tuning with 4111 1111 1111 1111 for the piano"
MAIL = "Write to ann.quist@mail.example about the piano"


def raw(mem: Engram, word: str) -> bool:
    """Does a word stand in any table, or in the text index, for whoever lacks the field key?"""
    with mem._vault.store.gate.readers.use("test") as connection:
        for table in ("contents", "versions", "attributes", "turns", "working_snapshots", "episodes", "events"):
            if word in str(connection.execute(f"SELECT * FROM {table}").fetchall()):
                return True
        return bool(connection.execute("SELECT count(*) FROM lexicon WHERE lexicon MATCH ?", (f'"{word}"',)).get)


def test_the_words_of_a_memory_decide_its_confidentiality_tier(mem: Engram) -> None:
    assert mem.remember(PAYMENT).tier is Sensitivity.CONFIDENTIAL
    assert mem.remember(MAIL).tier is Sensitivity.SENSITIVE
    assert mem.remember("The piano is black").tier is Sensitivity.CLEARTEXT


def test_personal_words_are_nowhere_in_the_database_in_plaintext(mem: Engram) -> None:
    mem.remember(PAYMENT, attributes={"what": "card 4111 1111 1111 1111"})
    kept = mem.remember(MAIL)
    mem.update(kept.id, text="Write to ann.quist@mail.example about the organ")
    mem.observe(Turn("You can reach me at ann.quist@mail.example or +44 20 7946 0958.", session="s"), Turn("Fine.", session="s"))
    mem.working.suspend()
    assert not [word for word in ("4111", "quist", "7946") if raw(mem, word)]
    assert raw(mem, "organ"), "the rest of a sensitive memory can be searched"


def test_a_sealed_memory_reads_as_it_was_written(tmp_path: Path) -> None:
    with open_engram(tmp_path / "other") as mem:
        ids = [mem.remember(PAYMENT, attributes={"what": "card"}).id, mem.remember(MAIL).id]
        mem.update(ids[1], text="Write to ann.quist@mail.example about the organ")
        mem.observe(Turn("You can reach me at ann.quist@mail.example tomorrow.", session="s"))
    with open_engram(tmp_path / "other") as mem:
        assert mem.get(ids[0]).text == PAYMENT
        assert mem.get(ids[0]).summary
        assert mem.versions(ids[1])[0].text == MAIL
        assert [memory.id for memory in mem.list(filters=Filter(attributes={"what": "card"}))] == [ids[0]]
        said = [turn.text for memory in mem.list() for turn in mem.words(memory.id)]
        assert "You can reach me at ann.quist@mail.example tomorrow." in said


def test_a_sensitive_memory_is_found_by_its_other_words_and_a_confidential_one_by_meaning(mem: Engram) -> None:
    sensitive, confidential = mem.remember(MAIL), mem.remember(PAYMENT)
    settle(mem)
    arms = {hit.memory.id: {one.arm for one in hit.why.signals if one.rank} for hit in mem.recall("piano", limit=10)}
    assert "words" in arms[sensitive.id]
    assert arms[confidential.id] == {"vectors"}


def test_a_tier_given_by_the_owner_overrides_the_detected_one(mem: Engram) -> None:
    kept = mem.remember(PAYMENT, tier="cleartext")
    assert kept.tier is Sensitivity.CLEARTEXT
    assert raw(mem, "4111")
    mem.update(kept.id, tier="confidential")
    assert not raw(mem, "4111")
    assert mem.get(kept.id).text == PAYMENT
    hidden = mem.remember("The piano was a gift from the mayor", tier=Sensitivity.SENSITIVE)
    assert not raw(mem, "mayor")
    mem.update(hidden.id, tier="cleartext")
    assert raw(mem, "mayor")
    with pytest.raises(InvalidContent):
        mem.remember("x y z", tier="secret")


def test_the_vector_of_a_memory_is_stored_as_its_tier_asks(mem: Engram) -> None:
    kept = mem.remember(PAYMENT)

    def stored() -> bytes:
        with mem._vault.store.gate.readers.use("test") as connection:
            return bytes(connection.execute("SELECT vector FROM embeddings WHERE memory = ?", (kept.key,)).get)

    hidden = stored()
    mem.update(kept.id, tier="cleartext")
    assert stored() != hidden
    mem.update(kept.id, tier="confidential")
    settle(mem)
    assert kept.id in [hit.memory.id for hit in mem.recall("tuning the piano", limit=3)]


def test_erasing_a_memory_removes_its_sealed_words(mem: Engram) -> None:
    kept = mem.remember(MAIL)
    mem.forget(kept.id, erase=True)
    assert not raw(mem, "piano")


def test_sealing_can_be_switched_off(tmp_path: Path) -> None:
    with open_engram(tmp_path / "open", guard_personal=False) as mem:
        assert mem.remember(PAYMENT).tier is Sensitivity.CLEARTEXT


def test_a_given_tier_is_exported_with_an_archive(tmp_path: Path) -> None:
    with open_engram(tmp_path / "one") as mem:
        mem.remember("The piano was a gift from the mayor", tier="confidential")
        mem.export(tmp_path / "out.engram", passphrase="a few words that nobody knows")
    with open_engram(tmp_path / "two") as mem:
        mem.import_(tmp_path / "out.engram", passphrase="a few words that nobody knows")
        assert [memory.tier for memory in mem.list()] == [Sensitivity.CONFIDENTIAL]


def test_a_given_tier_survives_an_update_of_the_words(mem: Engram) -> None:
    """C8: a stricter tier stays; a looser one stays as long as the new words need no stricter tier than the old."""
    plain, card = mem.remember("The piano was a gift"), mem.remember(PAYMENT)
    mem.update(plain.id, tier="confidential")
    assert mem.update(plain.id, text="The piano was a gift from the mayor").tier is Sensitivity.CONFIDENTIAL
    assert not raw(mem, "mayor")
    assert mem.update(card.id, text="Pay the tuning in cash").tier is Sensitivity.CLEARTEXT  # nobody said otherwise
    lowered = mem.remember(MAIL, tier="cleartext")
    assert mem.update(lowered.id, text="Write to ben.quist@mail.example about the organ").tier is Sensitivity.CLEARTEXT
    assert mem.update(lowered.id, text=PAYMENT).tier is Sensitivity.CONFIDENTIAL
