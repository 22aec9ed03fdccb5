"""Facts that are given by hand, beliefs with their evidence and revisions, and paths over facts, in a real vault."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hand_clock import HandClock

import engram
from engram.engine import Engram
from engram.errors import Conflict, InvalidQuery, NotFound
from engram.types import Memory, Reader, Scope, Status, Strength
from engram.values.frozen import replace


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


@pytest.fixture
def mem(tmp_path: Path, clock: HandClock) -> Iterator[Engram]:
    settings = {"model": "none", "harden_process": False}
    with engram.open(tmp_path / "vault", key=bytes(32), settings=settings, clock=clock.now) as made:
        yield made


def held(mem: Engram, subject: str, predicate: str = "", **how: datetime) -> dict[str, str]:
    return {one.object: one.status for one in mem.beliefs(subject, predicate, **how)}  # type: ignore[arg-type]


def test_a_fact_with_an_end_is_past_and_outdates_nothing(mem: Engram) -> None:
    mem.learn("Ada", "works at", "Acme", since=year(2015))
    over = mem.learn("Ada", "works at", "Globex", since=year(2010), until=year(2014))
    assert held(mem, "Ada") == {"acme": "held"}
    assert {one.object: one.status for one in mem.beliefs("Ada", past=True)} == {"acme": "held", "globex": "past"}
    assert (over.valid_from, over.valid_until) == (year(2010), year(2014))
    assert "from 2010-01-01 until 2014-01-01" in over.text


def test_beliefs_of_a_moment_are_those_that_held_then(mem: Engram) -> None:
    mem.learn("Ada", "works at", "Globex", since=year(2010), until=year(2014))
    mem.learn("Ada", "works at", "Acme", since=year(2015))
    mem.learn("Ada", "works at", "Hooli", since=year(2020))
    moments = {2009: {}, 2012: {"globex": "held"}, 2014: {}, 2016: {"acme": "held"}, 2021: {"hooli": "held"}}
    assert {number: held(mem, "Ada", as_of=year(number)) for number in moments} == moments


def test_a_fact_with_an_end_to_come_holds_until_then(mem: Engram, clock: HandClock) -> None:
    mem.learn("Ada", "works at", "Acme")
    mem.learn("Ada", "works at", "Hooli", until=clock.now() + timedelta(days=10))
    assert held(mem, "Ada") == {"hooli": "held"}
    clock.advance(timedelta(days=11).total_seconds())
    assert held(mem, "Ada") == {}


def test_a_memory_that_is_reinstated_keeps_the_end_of_its_fact(mem: Engram) -> None:
    over = mem.learn("Ada", "works at", "Globex", since=year(2010), until=year(2014))
    mem.forget(over.id)
    mem.restore(over.id)
    assert held(mem, "Ada") == {}
    assert held(mem, "Ada", as_of=year(2012)) == {"globex": "held"}


def test_hearsay_contests_a_statement_until_it_has_more_witnesses(mem: Engram) -> None:
    mem.learn("The office", "is in", "Lisbon")
    for _ in range(4):
        assert held(mem, "office", "is in").get("lisbon", "held") == "held"
        mem.learn("The office", "is in", "Porto", strength="hearsay")
    beliefs = {one.object: one for one in mem.beliefs("office", past=True)}
    assert {name: one.status for name, one in beliefs.items()} == {"lisbon": "retracted", "porto": "held"}
    assert beliefs["porto"].weight == pytest.approx(1 - 0.9 * 0.8**3)


@pytest.mark.parametrize(
    ("strength", "weight"),
    [("axiomatic", 1.0), ("observed", 0.95), ("computed", 0.9), ("consensus", 0.86), ("stated", 0.8), ("reported", 0.64),
     ("inferred", 0.62), ("hypothetical", 0.2), ("hearsay", 0.1)],
)  # fmt: skip
def test_the_weight_of_each_strength(mem: Engram, strength: str, weight: float) -> None:
    mem.learn("Ada", "works at", "Acme", strength=strength)
    (belief,) = mem.beliefs("Ada")
    assert (belief.strength, belief.weight) == (strength, pytest.approx(weight))


def test_a_report_names_its_teller_and_witnesses_make_a_consensus(mem: Engram) -> None:
    told = mem.learn("Ada", "works at", "Acme", teller="Tom")
    (belief,) = mem.beliefs("Ada")
    assert (belief.teller, belief.strength, told.text) == ("tom", Strength.HEARSAY, "Tom says that Ada works at Acme.")
    mem.learn("Eve", "works at", "Acme")
    mem.learn("Eve", "works at", "Acme")
    assert [one.strength for one in mem.beliefs("Eve")] == [Strength.CONSENSUS]


@pytest.mark.parametrize(
    "report",
    [
        lambda mem: mem.learn("The office", "is in", "Porto", teller="Tom"),
        lambda mem: mem.remember("Tom says that the office is in Porto."),
    ],
)
def test_a_report_contests_what_is_known_however_it_is_told(mem: Engram, report: Callable[[Engram], object]) -> None:
    known = mem.learn("The office", "is in", "Lisbon")
    report(mem)
    beliefs = {one.object: (one.status, one.strength, one.teller) for one in mem.beliefs("office", past=True)}
    assert beliefs == {"lisbon": ("held", Strength.STATED, ""), "porto": ("contested", Strength.HEARSAY, "tom")}
    assert mem.get(known.id).status is Status.ACTIVE


@pytest.mark.parametrize("teller", ["the user", "me", "Sam"])
def test_a_user_who_tells_it_states_it(mem: Engram, teller: str) -> None:
    sam = mem.as_reader(Reader(replace(mem.reader.scope, user="sam")))
    sam.learn("The office", "is in", "Lisbon")
    told = sam.learn("The office", "is in", "Porto", teller=teller)
    assert (held(sam, "office"), told.text) == ({"porto": "held"}, "The office is in Porto.")


def test_a_report_that_the_caller_vouches_for_replaces_what_is_known(mem: Engram) -> None:
    mem.learn("The office", "is in", "Lisbon")
    mem.learn("The office", "is in", "Porto", teller="Tom", strength="reported")
    assert held(mem, "office") == {"porto": "held"}


def test_what_is_heard_since_ends_no_later_statement(mem: Engram) -> None:
    mem.learn("Ada", "works at", "Initech", strength="hearsay")
    mem.learn("Ada", "works at", "Hooli", since=year(2024))
    assert held(mem, "Ada") == {"hooli": "held", "initech": "contested"}


def test_a_belief_shows_what_it_replaced_and_what_replaced_it(mem: Engram, clock: HandClock) -> None:
    first = mem.learn("The office", "is in", "Lisbon")
    clock.advance(3600)
    second = mem.learn("The office", "is in", "Porto")
    changed = clock.now()
    clock.advance(3600)
    third = mem.learn("The office", "is in", "Faro", strength="hearsay")
    beliefs = {one.object: one for one in mem.beliefs("office", past=True)}
    history = {name: [(one.relation, one.memory) for one in belief.revisions] for name, belief in beliefs.items()}
    assert history == {
        "lisbon": [("replaced_by", second.id)],
        "porto": [("replaces", first.id), ("contested_by", third.id)],
        "faro": [("contested_by", second.id)],
    }
    (replaced,) = beliefs["lisbon"].revisions
    assert (replaced.at, replaced.object) == (changed, "porto")
    assert "says otherwise" in replaced.reason
    assert "weaker by" in beliefs["porto"].revisions[1].reason


def test_a_challenged_memory_is_contested_and_not_retracted(mem: Engram) -> None:
    kept = mem.learn("Ada", "works at", "Acme")
    mem.review(kept.id, "challenge")
    assert held(mem, "Ada") == {"acme": "contested"}


def test_the_slot_of_a_memory_can_be_set_by_hand_and_taken_back(mem: Engram, clock: HandClock) -> None:
    old = mem.learn("The archive", "is in", "Bonn")
    clock.advance(60)
    talk = mem.remember("We spoke for an hour about the place of the archive, and settled on the north")
    mem.learn("The archive", "is in", "Kiel", memory=talk.id)
    assert [(one.object, one.memory) for one in mem.beliefs("archive")] == [("kiel", talk.id)]
    assert (found := mem.get(old.id)) is not None
    assert found.status is Status.SUPERSEDED
    mem.learn("The archive", "is in", "Husum", memory=talk.id)  # a memory has one value of a slot
    assert held(mem, "archive") == {"husum": "held"}
    mem.unlearn(talk.id, "the archive", "is in")
    assert [(one.object, one.memory) for one in mem.beliefs("archive", past=True)] == [("bonn", old.id)]
    assert (found := mem.get(old.id)) is not None
    assert found.status is Status.ACTIVE
    assert "withdrawn" in mem.status_history(old.id)[-1].reason


def test_a_slot_is_not_set_where_it_cannot_be(mem: Engram) -> None:
    kept = mem.learn("Ada", "works at", "Acme")
    mem.forget(kept.id)
    with pytest.raises(Conflict):
        mem.learn("Ada", "works at", "Hooli", memory=kept.id)
    with pytest.raises(NotFound):
        mem.learn("Ada", "works at", "Hooli", memory="01M7QCE5YZS57EXQD6NQ98E53W")
    with pytest.raises(NotFound):
        mem.unlearn(kept.id, "Ada", "lives in")
    assert held(mem, "Ada") == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"since": year(2020), "until": year(2019)},
        {"since": year(2020), "until": year(2020)},
        {"strength": "quite"},
        {"kind": "animal"},
        {"object_kind": "animal"},
        {"since": "2020"},
    ],
)
def test_a_wrong_argument_of_learn_is_refused_with_a_way_out_and_changes_nothing(mem: Engram, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery) as caught:
        mem.learn("Ada", "works at", "Acme", **wrong)  # type: ignore[arg-type]
    assert caught.value.way_out
    assert not mem.list()


def test_learned_names_are_entities_of_the_kind_that_the_predicate_asks_for(mem: Engram) -> None:
    mem.learn("quill", "works at", "brightwater")
    mem.learn("Falcon", "port", "8080")
    mem.learn("Falcon", "launch date", "June 4")
    mem.learn("Tamsin", "drinks with", "Orrin", kind="person", object_kind="person")
    kinds = {one.name: one.kind for one in mem.entities()}
    assert kinds.keys() == {"quill", "brightwater", "Falcon", "Tamsin", "Orrin"}
    assert [kinds[name] for name in ("quill", "brightwater", "Tamsin", "Orrin")] == ["person", "organisation", "person", "person"]


def test_the_profile_of_an_entity_shows_what_was_learned_of_it_on_both_sides(mem: Engram) -> None:
    kept = mem.learn("Ada", "works at", "Acme")
    for name in ("Ada", "Acme"):
        profile = mem.entity(name)
        assert profile is not None
        facts = profile.facts if name == "Ada" else profile.object_of
        assert [(one.subject, one.predicate, one.object, one.memory) for one in facts] == [("ada", "works at", "acme", kept.id)]


def test_a_type_is_a_fact_that_gives_the_entity_its_kind(mem: Engram) -> None:
    mem.learn("Bluebell", "is a", "project", many=True)
    assert [(one.name, one.kind) for one in mem.entities()] == [("Bluebell", "project")]
    assert held(mem, "Bluebell", "is a") == {"project": "held"}
    mem.learn("Ingrid", "works at", "Acme")
    mem.learn("Ingrid", "is a", "project", many=True)  # a ship's name, too
    assert {one.name: one.kind for one in mem.entities()}["Ingrid"] == "project"


def test_a_path_is_the_shortest_chain_of_facts_with_the_memories_that_state_them(mem: Engram) -> None:
    works = mem.learn("Ada", "works at", "Acme")
    lies = mem.learn("Acme", "located in", "Oslo", many=True)
    part = mem.learn("Oslo", "located in", "Norway", many=True)
    mem.learn("Ada", "knows", "Bo", many=True)
    mem.learn("Bo", "knows", "Cleo", many=True)
    mem.learn("Cleo", "lives in", "Oslo")
    path = mem.path("Ada", "norway")
    assert [step.memory for step in path.steps] == [works.id, lies.id, part.id]
    assert [step.backwards for step in mem.path("Norway", "Ada").steps] == [True, True, True]
    assert mem.path("Ada", "Norway", most=2).steps == ()
    assert mem.path("Ada", "Norway", predicates=["located in"]).steps == ()
    typed = mem.path("Ada", "Oslo", predicates=["knows", "Lives in"]).steps
    assert [step.object for step in typed] == ["bo", "cleo", "oslo"]
    assert mem.path("Ada", "nobody").steps == ()


def test_a_path_respects_validity_hearsay_and_scope(mem: Engram) -> None:
    mem.learn("Ada", "works at", "Globex", since=year(2010), until=year(2014))
    mem.learn("Bo", "works at", "Globex", many=True, strength="hearsay")
    assert mem.path("Ada", "Globex").steps == ()
    assert len(mem.path("Ada", "Globex", as_of=year(2012)).steps) == 1
    assert mem.path("Bo", "Globex").steps == ()
    other = mem.as_reader(Reader(Scope(agent="other")))
    own = mem.as_reader(Reader(Scope(agent="own")))
    own.learn("Cy", "works at", "Initech")
    assert len(own.path("Cy", "Initech").steps) == 1
    assert other.path("Cy", "Initech").steps == ()


def test_a_path_goes_over_all_names_of_an_entity(mem: Engram) -> None:
    mem.remember("Maria Lopez (@mlo) flew to Oslo with Jonas.")
    mem.learn("Maria", "works at", "Acme")
    mem.learn("Acme", "owner", "Priya")
    assert [step.object for step in mem.path("@mlo", "Priya").steps] == ["acme", "priya"]


def test_a_step_of_a_path_is_one_query(mem: Engram) -> None:
    for number in range(40):
        mem.learn("Hub", "knows", f"Spoke{number}", many=True)
        mem.learn(f"Spoke{number}", "knows", f"Rim{number}", many=True)
    store, calls = mem._vault.store, 0
    whole = store.facts.around

    def counted(*given: object, **how: object) -> object:
        nonlocal calls
        calls += 1
        return whole(*given, **how)  # type: ignore[arg-type]

    store.facts.around = counted  # type: ignore[method-assign,assignment]
    assert mem.path("Hub", "Nowhere", most=3).steps == ()
    assert calls == 3


def test_a_path_that_is_too_long_is_refused(mem: Engram) -> None:
    for most in (0, 7):
        with pytest.raises(InvalidQuery):
            mem.path("Ada", "Oslo", most=most)


def test_an_erased_memory_leaves_no_teller_behind(mem: Engram) -> None:
    kept = mem.learn("Ada", "works at", "Acme", teller="Quibblethorpe")
    mem.forget(kept.id, erase=True)
    store = mem._vault.store
    left = "SELECT count(*) FROM facts WHERE teller <> ''"
    assert store.gate.write(mem.reader, "test", lambda connection: connection.execute(left).get) == 0


def test_a_stated_fact_of_the_store_keeps_its_evidence(mem: Engram) -> None:
    (kept,) = mem._vault.store.memories.add(mem.reader, [Memory(text="The user lives in Rome.")])
    (belief,) = mem.beliefs("the user")
    assert (belief.memory, belief.strength, belief.weight) == (kept.id, Strength.STATED, kept.confidence)


def effect(mem: Engram, number: int, earlier: str, later: str) -> str:
    own = mem.as_reader(Reader(Scope(agent=f"case{number}")))
    old, new = own.remember(earlier), own.remember(later)
    links = {edge.kind for edge in own.edges(old.id)}
    found = own.get(old.id)
    assert found is not None
    assert new.id != old.id
    return "contest" if "contradicts" in links else "neither" if found.status is Status.ACTIVE and not links else "change"


@pytest.mark.parametrize(("name", "changes", "reports"), [("beliefs", 11, 15), ("beliefs-later", 3, 8)])
def test_changes_reports_and_look_alikes_are_told_apart_without_an_encoder(
    mem: Engram, name: str, changes: int, reports: int
) -> None:
    """The pairs of `beliefs` were written before the rules that read them, those of `beliefs-later` after them."""
    text = (Path(__file__).parents[1] / "labelled" / f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    found = Counter((row["effect"], effect(mem, n, row["earlier"], row["later"])) for n, row in enumerate(rows))
    assert found["change", "change"] >= changes
    assert found["contest", "contest"] >= reports
    assert {pair for pair in found if pair[0] != pair[1] and pair[1] != "neither"} == set()
