"""Entities, facts, and which facts supersede which, in a real vault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hand_clock import HandClock
from rules.stories import open_story

import engram
from engram.engine import Engram
from engram.errors import InvalidContent, InvalidQuery
from engram.models.embedders import CallableEmbedder, hashing_embedder
from engram.recall.weights import RecallWeights
from engram.text.english.entities import folded
from engram.types import Memory, Reader, Scope, Sensitivity, Status, Turn

TALKS = [
    json.loads(line)["talk"] for line in (Path(__file__).parent.parent / "labelled" / "entities.jsonl").read_text().splitlines()
]
DAY = datetime(2024, 5, 1, tzinfo=UTC)


def opened(path: Path, **identity: str) -> Engram:
    return engram.open(path, key=bytes(32), settings={"model": "none", "harden_process": False}, clock=lambda: DAY, **identity)


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with opened(tmp_path / "vault") as made:
        yield made


def say(mem: Engram, text: str, days: int = 0, speaker: str = "user") -> None:
    mem.observe(Turn(text, speaker, DAY + timedelta(days=days)))


def test_labelled_mentions_are_resolved_to_the_right_entities(mem: Engram) -> None:
    right = extra = missing = 0
    for number, talk in enumerate(TALKS):
        own = mem.as_reader(Reader(Scope(agent=f"talk{number}")))
        store = own._vault.store
        drafts = [
            Memory(text=text if who == "user" else f"{who}: {text}", speaker=who, scope=own.reader.scope) for who, text, _ in talk
        ]
        for memory, (_, _, expected) in zip(store.memories.add(own.reader, drafts), talk, strict=True):
            found = {folded(name) for name in store.entities.mentions(own.reader, memory.id)}
            wanted = {folded(name) for name in expected}
            right, extra, missing = right + len(found & wanted), extra + len(found - wanted), missing + len(wanted - found)
    assert right + missing >= 200
    assert 2 * right / (2 * right + extra + missing) >= 0.9


def test_a_name_with_a_similar_vector_is_another_entity(tmp_path: Path) -> None:
    """All vectors of names are similar here, as those of short names are in small encoders."""
    apart = hashing_embedder(1024)

    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[(1 - 0.85) ** 0.5 * float(part) for part in vector] + [0.85**0.5] for vector in apart.passages(texts)]

    near = CallableEmbedder(embed, name="near", dimensions=1025)
    settings = {"model": "none", "harden_process": False}
    with engram.open(tmp_path / "vault", key=bytes(32), settings=settings, embedder=near) as mem:
        say(mem, "My colleague Quentin moved to Lisbon.")
        for stranger in ("%", "!!!", "Portugal", "Bob", "7"):
            assert mem.entity(stranger) is None
        for meant in ("quentin%", "Quentins", "Quentin?"):
            found = mem.entity(meant)
            assert found is not None
            assert found.entity.name == "Quentin"


def test_a_warning_after_a_failed_episode_adds_no_entity(mem: Engram) -> None:
    with mem.episode("deploy the API with Jonas") as doing:
        doing.outcome("failure", "the quota was used up")
    assert mem.warnings()
    assert {one.name for one in mem.entities()} <= {"API", "Jonas"}


def test_a_person_is_found_by_name_handle_and_role(mem: Engram) -> None:
    say(mem, "My manager approved the plan.")
    say(mem, "My manager is Maria.")
    say(mem, "Maria Lopez (@mlo) flew to Oslo with Jonas.")
    profiles = [mem.entity(name) for name in ("Maria", "@mlo", "my manager", "maria lopez")]
    assert {profile.entity.name if profile else None for profile in profiles} == {"Maria Lopez"}
    assert profiles[0] is not None
    assert profiles[0].entity.mentions == 3
    assert {"Jonas", "Oslo"} <= {name for name, _ in profiles[0].relations}
    assert mem.entity("Nobody Known") is None


def test_an_update_supersedes_a_fact_and_questions_about_the_past_get_the_old_one(tmp_path: Path) -> None:
    now = [DAY]
    with engram.open(
        tmp_path / "v", key=bytes(32), settings={"model": "none", "harden_process": False}, clock=lambda: now[0]
    ) as mem:
        old = mem.remember("I live in Hamburg")
        now[0] = DAY + timedelta(days=30)
        new = mem.remember("I live in Leipzig now")
        assert [hit.memory.id for hit in mem.recall("live in Hamburg or Leipzig")] == [new.id]
        assert [hit.memory.id for hit in mem.recall("live in Hamburg", as_of=DAY + timedelta(days=3))] == [old.id]
        edges = mem.edges(old.id)
        assert [(edge.source, edge.target, edge.kind) for edge in edges] == [(new.id, old.id, "supersedes")]
        assert [one.object for one in mem.beliefs("the user")] == ["leipzig"]
        assert [(one.object, one.status) for one in mem.beliefs("the user", past=True)] == [
            ("leipzig", "held"),
            ("hamburg", "retracted"),
        ]


def test_a_memory_that_says_more_than_the_superseded_fact_stays_active(mem: Engram) -> None:
    say(mem, "I live in Hamburg and I love the harbour there.")
    say(mem, "I moved to Leipzig.", days=30)
    texts = [memory.text for memory in mem.list()]
    assert any("Hamburg" in text for text in texts)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My wife is Kim", "My wife is a doctor"),
        ("Our database is Postgres", "Our database is slow"),
        ("My phone is a Pixel", "My phone is at 5 percent"),
        ("I like tea", "I don't like tea in the evening"),
        ("I use vim", "I don't use vim on Windows"),
        ("Tom lives in Rome", "Tom Baker lives in Oslo"),
        ("Tom Baker lives in Oslo", "Tom lives in Rome"),
    ],
)
def test_ordinary_talk_supersedes_nothing(mem: Engram, first: str, second: str) -> None:
    say(mem, first)
    say(mem, second, days=1)
    assert len(mem.list()) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("We moved the API to Heroku", "We moved the API from Heroku to Fly"),
        ("Our database is MySQL", "Our database is now Postgres"),
        ("I like tea", "I don't like tea anymore"),
        ("Tom Baker lives in Rome", "Tom Baker lives in Oslo"),
        ("My phone number is 040 555 1234, for forms", "My new number is 0151 998 7766"),
        ("My home address is 12 Elm Street", "My home address is 9 Oak Street"),
    ],
)
def test_a_stated_update_supersedes_the_old_memory(mem: Engram, first: str, second: str) -> None:
    say(mem, first)
    say(mem, second, days=1)
    assert len(mem.list()) == 1


def test_the_facts_of_a_confidential_memory_are_sealed(mem: Engram) -> None:
    say(mem, "My phone number is 0151 998 7766")
    assert [one.tier for one in mem.list()] == [Sensitivity.SENSITIVE]
    assert [(one.predicate, one.object) for one in mem.beliefs("the user")] == [("phone number", "01519987766")]
    with mem._vault.store.gate.readers.use("facts") as connection:
        rows = connection.execute("SELECT subject || predicate || object FROM facts").fetchall()
    assert len(rows) == 1
    assert not any(word in rows[0][0] for word in ("user", "phone", "998"))


def test_a_much_less_certain_fact_contests_and_does_not_supersede(mem: Engram) -> None:
    store, reader = mem._vault.store, mem.reader
    sure, doubtful = store.memories.add(
        reader,
        [Memory(text="The user lives in Rome.", confidence=0.9), Memory(text="The user lives in Oslo.", confidence=0.3)],
    )
    assert store.memories.get(reader, [sure.id])[0].status is Status.ACTIVE
    assert [(edge.source, edge.kind) for edge in mem.edges(sure.id)] == [(doubtful.id, "contradicts")]
    assert {one.object: one.status for one in mem.beliefs("the user")} == {"rome": "held", "oslo": "contested"}


def test_a_fact_can_be_stored_directly_with_learn(mem: Engram) -> None:
    first = mem.learn("Falcon", "owner", "Maria")
    mem.learn("Falcon", "owner", "Jonas")
    mem.learn("Falcon", "tag", "red", many=True)
    mem.learn("Falcon", "tag", "blue", many=True)
    assert {(one.predicate, one.object) for one in mem.beliefs("falcon")} == {("owner", "jonas"), ("tag", "red"), ("tag", "blue")}
    assert (found := mem.get(first.id)) is not None
    assert found.status is Status.SUPERSEDED


def test_learn_stores_a_fact_with_its_memory_or_neither(mem: Engram) -> None:
    store = mem._vault.store
    full = "CREATE TEMP TRIGGER full BEFORE INSERT ON facts BEGIN SELECT RAISE(ABORT, 'no room'); END"
    store.gate.write(mem.reader, "test", lambda connection: connection.execute(full).get)
    with pytest.raises(engram.EngramError):
        mem.learn("Ada", "works at", "Acme")
    assert not mem.list()
    store.gate.write(mem.reader, "test", lambda connection: connection.execute("DROP TRIGGER full").get)
    kept = mem.learn("Ada", "works at", "Acme")
    assert mem.learn("Ada", "works at", "Acme").id == kept.id
    assert [(one.object, one.memory) for one in mem.beliefs("Ada")] == [("acme", kept.id)]
    assert mem.get(kept.id).corroborations == 1


def test_a_confidential_fact_is_stored_and_adds_no_entity(mem: Engram) -> None:
    kept = mem.learn("Ada", "mail", "ada.quist@mail.example")
    assert kept.tier is not Sensitivity.CLEARTEXT
    assert [one.object for one in mem.beliefs("Ada")] == ["ada.quist@mail.example"]
    assert mem.entity("Ada") is None


def test_a_superseding_fact_takes_over_a_fifth_of_the_old_confidence(mem: Engram) -> None:
    old = mem.learn("Ada", "works at", "Acme")
    new = mem.learn("Ada", "works at", "Globex")
    assert new.confidence == pytest.approx(0.8 + 0.2 * old.confidence) == mem.get(new.id).confidence
    last = mem.learn("Ada", "works at", "Initech")
    assert new.confidence < last.confidence <= 1.0
    chain = [(one.source, one.target) for one in mem.edges(new.id) if one.kind == "supersedes"]
    assert sorted(chain) == sorted([(new.id, old.id), (last.id, new.id)])
    assert [one.object for one in mem.beliefs("Ada", past=True)] == ["initech", "globex", "acme"]


def test_a_corroborated_fact_is_superseded_only_by_a_second_witness(mem: Engram, tmp_path: Path) -> None:
    hearsay = tmp_path / "memories.json"
    hearsay.write_text('{"results": [{"id": "1", "memory": "The office is owned by Bert."}]}')
    for _ in range(6):
        old = mem.remember("The office is owned by Ann.")
    new = mem.get(mem.import_(hearsay).ids[0])
    assert mem.get(old.id).status is Status.ACTIVE
    assert {one.object: one.status for one in mem.beliefs("the office")} == {"bert": "contested", "ann": "held"}
    for _ in range(2):
        mem.remember("The office is owned by Bert.")
    assert mem.get(old.id).status is Status.SUPERSEDED
    assert [(one.object, one.status, one.memory) for one in mem.beliefs("the office")] == [("bert", "held", new.id)]


def test_a_change_reported_late_supersedes_facts_stated_after_it_happened(mem: Engram) -> None:
    """On the 20th the user says to have moved last week, so the city stated on the 16th was already outdated."""
    say(mem, "I live in Hamburg.", days=15)
    say(mem, "I moved to Berlin last week.", days=19)
    assert [one.object for one in mem.beliefs("the user")] == ["berlin"]
    say(mem, "I live in Rostock.", days=-20)  # an old talk that comes in late
    assert [one.object for one in mem.beliefs("the user")] == ["berlin"]
    past = {one.object: one.until for one in mem.beliefs("the user", past=True)}
    assert past.keys() == {"berlin", "hamburg", "rostock"}
    assert past["rostock"] is not None
    assert [one.words for one in mem.list()] == ["I moved to Berlin last week."]


def test_a_memory_that_says_more_is_linked_to_what_outdates_a_part_of_it(mem: Engram) -> None:
    old = mem.remember("The office is owned by Ann, and it has a garden with a pond.")
    new = mem.remember("The office is owned by Bert.")
    assert mem.get(old.id).status is Status.ACTIVE
    assert [(one.source, one.target, one.kind) for one in mem.edges(old.id)] == [(new.id, old.id, "outdates")]
    assert [one.object for one in mem.beliefs("the office")] == ["bert"]


def test_a_restored_memory_is_contested_by_its_successor(tmp_path: Path) -> None:
    clock = HandClock()
    with open_story(tmp_path, clock) as mem:
        old = mem.remember("The office is owned by Ann.")
        clock.advance(86_400)
        new = mem.remember("The office is owned by Bert.")
        assert mem.get(old.id).status is Status.SUPERSEDED
        mem.restore(old.id)
        assert {one.object: one.status for one in mem.beliefs("the office")} == {"ann": "contested", "bert": "contested"}
        mem.forget(new.id)
        assert [(one.object, one.status) for one in mem.beliefs("the office")] == [("ann", "held")]
        mem.restore(new.id)
        assert mem.get(old.id).status is Status.SUPERSEDED, "the newer wins again"


def test_a_correction_is_the_current_fact(mem: Engram) -> None:
    old = mem.remember("The office is owned by Ann.")
    new = mem.feedback(old.id, False, correction="The office is owned by Bert.")
    assert [(one.object, one.status, one.memory) for one in mem.beliefs("the office")] == [("bert", "held", new.id)]
    assert new.confidence >= 0.9
    assert {one.object: one.status for one in mem.beliefs("the office", past=True)} == {"bert": "held", "ann": "retracted"}


def test_a_timeline_is_ordered_by_when_things_happened(mem: Engram) -> None:
    say(mem, "I met Priya in Oslo.", days=3)
    say(mem, "Priya moved to Bergen.", days=9)
    say(mem, "I had lunch with Priya.", days=1)
    told = mem.timeline("Priya")
    assert [memory.happened_at for memory in told] == sorted(memory.happened_at for memory in told if memory.happened_at)
    assert len(told) == 3
    assert len(mem.timeline("Priya", since=DAY + timedelta(days=2), until=DAY + timedelta(days=5))) == 1


def test_a_timeline_shows_superseded_memories_and_the_days_with_most_of_them(mem: Engram) -> None:
    say(mem, "Priya lives in Oslo.", days=1)
    say(mem, "Priya lives in Bergen.", days=5)
    say(mem, "I went fishing with Priya.", days=9)
    say(mem, "I had lunch with Priya.", days=9)
    told = mem.timeline("Priya")
    assert [(one.text.split()[-1], one.status) for one in told[:2]] == [
        ("Oslo.", Status.SUPERSEDED),
        ("Bergen.", Status.ACTIVE),
    ]
    assert [(one.memory, one.other, one.kind) for one in told.revisions] == [(told[1].id, told[0].id, "supersedes")]
    assert told.width == "day"
    assert [one.count for one in told.buckets] == [1, 0, 0, 0, 1, 0, 0, 0, 2]
    assert [one.start.date() for one in told.peaks] == [(DAY + timedelta(days=9)).date()]
    assert mem.timeline("nobody at all of that name").buckets == ()


def test_the_timeline_of_an_unknown_subject_is_empty(tmp_path: Path) -> None:
    settings = {"harden_process": False}
    with engram.open(tmp_path / "v", key=bytes(32), settings=settings, embedder=hashing_embedder(256), clock=lambda: DAY) as mem:
        for number, text in enumerate(
            ("The harbour tour starts at nine.", "The bakery sells rye bread.", "Rosa repairs violins.")
        ):
            say(mem, text, number)
        assert len(mem.timeline("harbour tour")) == 1
        assert len(mem.timeline("quantum chromodynamics")) == 0


def test_entities_of_other_scopes_are_invisible(mem: Engram) -> None:
    rex, ada = (mem.as_reader(Reader(Scope(agent=name))) for name in ("rex", "ada"))
    rex.remember("Priya lives in Oslo", scope=Scope(agent="rex"))
    assert rex.entity("Priya") is not None
    assert ada.entity("Priya") is None
    assert ada.beliefs("Priya") == []
    assert [one.name for one in ada.entities()] == []


def test_erasing_a_memory_removes_its_entities_and_facts(mem: Engram) -> None:
    kept = mem.remember("Priya likes tea")
    gone = mem.remember("Priya Raman lives in Oslo")
    assert mem.entity("@praman") is not None
    mem.forget(gone.id, erase=True)
    assert mem.entity("Oslo") is None
    assert mem.entity("@praman") is None
    profile = mem.entity("Priya")
    assert profile is not None
    assert [memory.id for memory in profile.timeline] == [kept.id]
    assert mem.beliefs("priya raman", past=True) == []


def test_facts_are_extracted_again_when_a_memory_is_updated(mem: Engram) -> None:
    memory = mem.remember("Priya lives in Oslo")
    mem.update(memory.id, text="Priya lives in Bergen")
    assert mem.entity("Oslo") is None
    assert [one.object for one in mem.beliefs("priya")] == ["bergen"]


def test_memories_of_older_releases_are_read_for_facts_in_the_background(mem: Engram, tmp_path: Path) -> None:
    memory = mem.remember("Priya lives in Oslo")
    store = mem._vault.store

    def unlearn(connection: object) -> None:
        connection.execute("DELETE FROM entities")  # type: ignore[attr-defined]
        connection.execute("DELETE FROM facts")  # type: ignore[attr-defined]
        connection.execute("INSERT INTO meta (name, value) VALUES ('unread_to', ?)", (memory.key,))  # type: ignore[attr-defined]

    owner = replace(mem.reader, role=engram.types.Role.OWNER, policy=engram.types.Policy.ALL)
    store.gate.write(owner, "test", unlearn)
    assert mem.entity("Priya") is None
    assert store.facts.backfill(owner, limit=10) == 1
    assert store.facts.backfill(owner, limit=10) == 0
    assert mem.entity("Priya") is not None


def test_a_fact_that_was_superseded_can_become_current_again(tmp_path: Path) -> None:
    now = [DAY]
    settings = {"model": "none", "harden_process": False}
    with engram.open(tmp_path / "v", key=bytes(32), settings=settings, clock=lambda: now[0]) as mem:
        for days, city in enumerate(("Hamburg", "Leipzig", "Hamburg")):
            now[0] = DAY + timedelta(days=days)
            mem.remember(f"I live in {city}")
        assert [memory.text for memory in mem.list()] == ["I live in Hamburg"]
        assert [one.object for one in mem.beliefs("the user")] == ["hamburg"]


def test_a_profile_is_found_by_any_name_of_the_person(mem: Engram) -> None:
    say(mem, "Maria Lopez (@mlo) is our manager.")
    say(mem, "Maria bought a house in Bergen last spring.", days=1)
    say(mem, "The kettle is broken.", days=2)
    found = mem.recall("Tell me about @mlo", limit=5)
    assert {"Maria" in hit.memory.text for hit in found} == {True}
    assert any("Bergen" in hit.memory.text for hit in found)
    assert "entity" in found.quality.strategy
    mem.settings.tune(RecallWeights(entity_weight=0.0))
    assert "entity" not in mem.recall("Tell me about @mlo", limit=5).quality.strategy


def test_a_first_name_that_two_people_share_is_attributed_to_neither(mem: Engram) -> None:
    for text in ("Tom lives in Oslo.", "Tom Baker works at Acme.", "Tom Hardy lives in Rome.", "Tom likes chess."):
        mem.remember(text)
    assert [one.object for one in mem.beliefs("Tom Baker")] == ["acme"]
    assert [one.object for one in mem.beliefs("Tom Hardy")] == ["rome"]
    assert "oslo" in [one.object for one in mem.beliefs("Tom")]
    baker, plain = mem.entity("Tom Baker"), mem.entity("Tom")
    assert baker is not None
    assert plain is not None
    assert [one.text for one in baker.timeline] == ["Tom Baker works at Acme."]
    assert {one.text for one in plain.timeline} == {"Tom lives in Oslo.", "Tom likes chess."}
    mem.remember("Tom Stone sails.")  # a third one takes nothing over either
    again = mem.entity("Tom")
    assert again is not None
    assert again.entity.name == "Tom"


def test_a_first_name_that_one_person_has_means_that_person(mem: Engram) -> None:
    mem.remember("Tom lives in Oslo.")
    mem.remember("Tom Baker works at Acme.")
    assert {one.object for one in mem.beliefs("Tom Baker")} == {"oslo", "acme"}


def test_a_title_with_a_last_name_means_the_person_of_that_full_name(mem: Engram) -> None:
    for number, text in enumerate(("My manager is Dr. Amélie Fournier.", "Dr. Fournier likes short reports.")):
        say(mem, text, number)
    for number, text in enumerate(("Dr. Lund called.", "I saw Dr. Karin Lund today.", "Dr. Lund is kind.")):
        say(mem, text, number)
    for name in ("Dr. Fournier", "Amélie", "amelie", "my manager"):
        found = mem.entity(name)
        assert found is not None
        assert (found.entity.name, len(found.timeline)) == ("Dr. Amélie Fournier", 2)
    assert [one.name for one in mem.entities(kind="person")] == ["Dr. Karin Lund", "Dr. Amélie Fournier"]
    say(mem, "Dr. Fournier works at Globex.", 3)
    assert ("works at", "globex") in [(one.predicate, one.object) for one in mem.beliefs("Amélie")]


def test_names_in_any_script_become_entities(mem: Engram) -> None:
    say(mem, "王芳 works at 阿里巴巴 as an engineer.")
    say(mem, "I met Мария and Óscar Núñez, Prof. van der Berg was there too.")
    say(mem, "我住在上海，王芳也住在上海。")
    named = {one.name: one.kind for one in mem.entities()}
    assert named == {
        "王芳": "person",
        "阿里巴巴": "organisation",
        "Мария": "person",
        "Óscar Núñez": "person",
        "Prof. van der Berg": "person",
    }
    assert [(one.predicate, one.object) for one in mem.beliefs("王芳")] == [("works at", "阿里巴巴")]
    assert mem.entity("Oscar Nunez") is not None


def test_an_invalid_name_is_refused_and_i_means_the_user(mem: Engram) -> None:
    say(mem, "I live in Porto.")
    assert [one.object for one in mem.beliefs("I")] == [one.object for one in mem.beliefs("me")] == ["porto"]
    for call in (
        lambda: mem.entity(None),  # type: ignore[arg-type]
        lambda: mem.beliefs(3),  # type: ignore[arg-type]
        lambda: mem.timeline(b"Ada"),  # type: ignore[arg-type]
        lambda: mem.timeline("Ada", limit=0),
        lambda: mem.entities(kind="dragon"),
        lambda: mem.entities(limit=-1),
        lambda: mem.traverse(mem.list()[0].id, depth=0),
    ):
        with pytest.raises(InvalidQuery):
            call()
    with pytest.raises(InvalidContent):
        mem.learn("Ada", "knows", 3)  # type: ignore[arg-type]


def test_contractions_are_not_names(mem: Engram) -> None:
    mem.remember("Yes, I'm sure that I'll paint, and so We've planned it.")
    assert [one.name for one in mem.entities()] == []


def test_a_speaker_is_one_person_with_the_one_who_is_talked_of(mem: Engram) -> None:
    say(mem, "I adopted a cat from the shelter.", speaker="Caroline")
    say(mem, "I met Caroline Moss at the museum.", days=1, speaker="Melanie")
    say(mem, "My sister Mel moved to Oslo.", days=2, speaker="Jon")
    say(mem, "The museum opens at nine.", days=3, speaker="Caroline")
    found = mem.entity("Caroline")
    assert found is not None
    assert found.entity.name == "Caroline Moss"
    assert [(one.speaker, one.words) for one in found.timeline] == [
        ("Melanie", "I met Caroline Moss at the museum."),
        ("Caroline", "I adopted a cat from the shelter."),
    ]
    mel = mem.entity("Mel")
    assert mel is not None
    assert (mel.entity.name, mel.entity.mentions) == ("Melanie", 2)
    assert mem.entity("Jon's sister") is not None


def test_the_user_and_assistants_are_no_people(mem: Engram) -> None:
    for speaker in ("user", "assistant", "GPT-4", "agent_7"):
        say(mem, "I painted the kitchen green.", speaker=speaker)
    assert [one.name for one in mem.entities()] == []


def test_a_role_means_who_has_it_now_and_tells_who_had_it(mem: Engram) -> None:
    march, june = 0, 92
    say(mem, "My manager is Ada.", march)
    say(mem, "My manager approved the travel plan.", march + 20)
    say(mem, "Tom is my manager now.", june)
    asked = mem.entity("my manager")
    assert asked is not None
    assert asked.entity.name == "Tom"
    assert [(one.holder, one.since, one.until) for one in asked.holders] == [
        ("Tom", DAY + timedelta(days=june), None),
        ("Ada", DAY, DAY + timedelta(days=june)),
    ]
    ada = mem.entity("Ada")
    assert ada is not None
    assert [(one.role, one.until) for one in ada.roles] == [("user's manager", DAY + timedelta(days=june))]
    assert [one.words for one in ada.timeline] == ["My manager approved the travel plan."]
    assert asked.holders == asked.roles + ada.roles
    assert ada.holders == ()


@pytest.mark.parametrize("names", [("Dr. Kim", "Kim Lee"), ("Kim Lee", "Dr. Kim")])
def test_a_name_that_may_be_a_first_or_a_last_name_means_neither_person(mem: Engram, names: tuple[str, str]) -> None:
    for name in names:
        mem.remember(f"I met {name} in the hall.")
    assert mem.entity("Kim") is None
    mem.remember("I asked Kim about the roof.")
    assert [mem.entity(name).entity.mentions for name in names] == [1, 1]  # type: ignore[union-attr]


def holder_of(mem: Engram, role: str) -> str | None:
    profile = mem.entity(role)
    return None if profile is None else profile.entity.name


def test_my_manager_is_the_manager_of_the_only_one_who_speaks(mem: Engram) -> None:
    mem.observe(Turn("My manager is Ada Quist.", "Sam", at=DAY))
    mem.observe(Turn("Noted, Ada Quist it is.", "assistant", at=DAY))
    assert holder_of(mem, "my manager") == "Ada Quist"
    mem.observe(Turn("Tom Baker is my manager now.", "Sam", at=DAY + timedelta(days=40)))
    asked = mem.entity("my manager")
    assert asked is not None
    assert (asked.entity.name, [one.holder for one in asked.holders]) == ("Tom Baker", ["Tom Baker", "Ada Quist"])
    assert mem.timeline("my manager").memories == mem.timeline("Tom Baker").memories
    assert holder_of(mem, "my dentist") is None
    mem.observe(Turn("My dentist is Ida Moss.", "Kim", at=DAY))
    assert holder_of(mem, "my dentist") is None, "Kim may be the user, or Sam"


def test_my_manager_is_the_manager_of_the_user_of_the_scope(mem: Engram) -> None:
    sam = mem.as_reader(Reader(replace(mem.reader.scope, user="sam")))
    sam.observe(Turn("My manager is Ada Quist.", "Kim", at=DAY))
    sam.observe(Turn("My manager is Ida Moss.", "Sam", at=DAY))
    assert holder_of(sam, "my manager") == "Ida Moss"
    sam.observe(Turn("Tom Baker is my manager now.", "user", at=DAY + timedelta(days=40)))
    assert holder_of(sam, "my manager") == "Tom Baker"


def test_a_profile_lists_present_and_former_facts_with_the_memories_that_state_them(mem: Engram) -> None:
    old = mem.remember("Priya lives in Oslo")
    new = mem.remember("Priya lives in Bergen")
    other = mem.learn("Falcon", "owner", "Priya")
    found = mem.entity("Priya")
    assert found is not None
    assert [(one.object, one.memory) for one in found.facts] == [("bergen", new.id)]
    assert [(one.object, one.memory) for one in found.former] == [("oslo", old.id)]
    assert [(one.subject, one.predicate, one.memory) for one in found.object_of] == [("falcon", "owner", other.id)]
