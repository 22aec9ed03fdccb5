"""Turns become statements, each a verbatim piece with what is known about it, and every other character has a reason.

What the statement model decides is tested on plain cases only, so that the tests hold for weights that are fitted anew.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.capture import redaction
from engram.capture.pieces import PieceWeights
from engram.capture.statements import (
    NOT_KEPT,
    Reading,
    Statement,
    StatementWeights,
    propositions,
    statement_by_hand,
    statement_to_remember,
    statements_to_remember,
)
from engram.models.statement_reader import StatementReader
from engram.text.marks import fence
from engram.types import Kind, Proposition, Turn, Verdict

AT = datetime(2026, 3, 4, 13, 56, tzinfo=UTC)  # a Wednesday
READING = Reading(StatementReader())
ALL_KEPT = Reading(
    READING.reader,
    StatementWeights(keep=0.0, keep_between_people=0.0, keep_answer=0.0, keep_document=0.0),
    PieceWeights(border=0.02, joint=0.02, needs=0.0, sure=0.0),
)
"""Everything is kept, cut and carried that may be: what holds here holds for any weights."""
WORD = re.compile(r"[^\W_]+")
SPEAKERS = st.sampled_from(["user", "assistant", "Ann", "Ben Lee", "", "AI", "tool"])
SCRAPS = st.lists(
    st.sampled_from(
        ["I went home yesterday. ", "Wow! ", "Thanks, Ben! ", "How are you? ", "It was great. ", "<private>", "</private>",
         "- item\n", "# Head\n", "Here are some:\n", "```\ncode\n```\n", "| a | b |\n", "[shares an image: a cat] ",
         "⟦engram:recalled⟧", "⟦/engram:recalled⟧", "我住在柏林。", "\n\n", "  ", "and I ", "; ", "\u200b", "🎉", "\x0c",
         "> quoted\n", "09:14:07 started\n", "I don't eat meat, and Ben won't either, ", "Ich fliege am 3. Mai. ",
         "We use Fly.io now, ", "From: Ann\nDate: Monday\nSubject: tea\n", "1. **one**: two\n"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def read(
    said: str, speaker: str = "user", previous: str | None = None, by: str = "assistant", reading: Reading = READING
) -> tuple[list[Statement], list[Verdict]]:
    return propositions(Turn(said, speaker, AT), reading, previous=Turn(previous, by, AT) if previous is not None else None)


def kept(said: str, speaker: str = "user", previous: str | None = None, by: str = "assistant") -> list[Proposition]:
    return [statement.proposition for statement in read(said, speaker, previous, by)[0]]


def texts(said: str, speaker: str = "user", previous: str | None = None, by: str = "assistant") -> list[str]:
    return [proposition.text for proposition in kept(said, speaker, previous, by)]


def words(said: str, speaker: str = "user") -> list[str]:
    return [proposition.words for proposition in kept(said, speaker)]


def reasons(said: str, speaker: str = "user") -> list[str]:
    return [verdict.reason for verdict in read(said, speaker)[1]]


def only(said: str, speaker: str = "user") -> Proposition:
    (found,) = kept(said, speaker)
    return found


# ── verbatim pieces ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_facts_are_kept_as_they_were_said_and_small_talk_is_not() -> None:
    said = "Hello there! I use Rust for the backend. What time is it? My sister Carla lives in Lisbon."
    assert texts(said) == ["The user: I use Rust for the backend.", "The user: My sister Carla lives in Lisbon."]
    assert words(said) == ["I use Rust for the backend.", "My sister Carla lives in Lisbon."]
    assert reasons(said) == ["a greeting", "a question"]


@pytest.mark.parametrize(
    ("speaker", "head"),
    [("user", "The user: "), ("", "The user: "), ("human", "The user: "), ("Ann", "Ann: "), (" Ben  Lee", "Ben Lee: ")],
)
def test_the_speaker_stands_before_the_words(speaker: str, head: str) -> None:
    found = only("I am allergic to peanuts.", speaker)
    assert found.text == f"{head}I am allergic to peanuts."
    assert found.words == "I am allergic to peanuts."
    assert found.text[slice(*found.words_at)] == found.words
    assert found.carries == ""


@given(
    st.text(max_size=200) | SCRAPS, SPEAKERS, st.none() | SCRAPS, st.none() | st.datetimes(), st.sampled_from([READING, ALL_KEPT])
)
def test_every_character_has_one_statement_or_one_verdict(
    text: str, speaker: str, before: str | None, at: datetime | None, reading: Reading
) -> None:
    previous = Turn(before, "Ben", at) if before is not None else None
    found, verdicts = propositions(Turn(text, speaker, at), reading, previous=previous)
    places = [place for statement in found for place in statement.spans] + [(verdict.start, verdict.end) for verdict in verdicts]
    position = 0
    for start, end in sorted(places):
        assert start == position
        assert end > start
        position = end
    assert position == len(text)
    assert all(verdict.reason for verdict in verdicts)


@given(SCRAPS, SPEAKERS, st.sampled_from([READING, ALL_KEPT]))
def test_no_word_of_a_kept_piece_is_changed(text: str, speaker: str, reading: Reading) -> None:
    for statement in read(text, speaker, reading=reading)[0]:
        source = "".join(text[start:end] for start, end in statement.spans)
        said, there = WORD.findall(statement.proposition.words), WORD.findall(source)
        assert any(there[at : at + len(said)] == said for at in range(len(there)))
        assert statement.proposition.words in redaction.cut(text).text


@given(SCRAPS, SCRAPS, st.sampled_from([READING, ALL_KEPT]))
def test_a_statement_carries_at_most_eight_words_and_shows_them_in_brackets(text: str, before: str, reading: Reading) -> None:
    for statement in read(text, "Ann", before, "Ben", reading)[0]:
        proposition = statement.proposition
        assert len(proposition.carries.split()) <= 8
        shown = f" [{proposition.carries}]" if proposition.carries else ""
        assert proposition.text == f"Ann: {proposition.words}{shown}"


def test_a_long_heading_is_carried_in_part() -> None:
    head = "# All of the many things that my sister and I still have to do before the summer"
    found = kept(
        f"{head}\n\nOur plumber Karl comes on Friday.\n\nWhat is done:\n- I paid the rent for May.\n- My sister has the keys.\n"
    )
    assert len(found) >= 2
    for proposition in found:
        assert 0 < len(proposition.carries.split()) <= 8


@given(SCRAPS, SPEAKERS)
def test_no_statement_is_empty_or_endless(text: str, speaker: str) -> None:
    for statement in read(text * 5, speaker)[0]:
        proposition = statement.proposition
        assert WORD.search(proposition.words)
        assert proposition.reason
        assert len(proposition.text) <= 3_000
        assert 0 < proposition.confidence <= 1
        assert 0 < proposition.importance <= 1


@pytest.mark.parametrize("unit", ["I went home. ", "一", "a ", "- x\n", "oh, ", "if you need "])
def test_a_huge_turn_is_cut_into_bounded_statements(unit: str) -> None:
    for speaker in ("Ann", "assistant"):
        found, _ = read(unit * (20_000 // len(unit)), speaker, reading=ALL_KEPT)
        assert found
        assert max(len(statement.proposition.text) for statement in found) <= 3_000


def test_the_turn_number_is_passed_on() -> None:
    assert propositions(Turn("Hello there!", "Ann"), READING, number=7)[1][0].turn == 7


@pytest.mark.parametrize(
    "said",
    [
        "No peanuts in Mila's lunch box.",
        "I don't eat meat.",
        "I no longer work at Acme.",
        "We are not moving to Porto.",
        "My brother never drinks coffee.",
        "I can't stand cilantro.",
        "Nobody in my family speaks German.",
        "Ich esse kein Fleisch.",
        "Never push straight to main.",
    ],
)
def test_a_negation_survives(said: str) -> None:
    assert words(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Ich fliege am 3. Mai nach Lissabon.",
        "3. Mai ist der Umzug nach Bremen.",
        "We moved the API to Fly.io last week.",
        "My supervisor is Prof. Weber.",
        "Dr. Sato is my dentist.",
        "We run Python 3.11 on our servers.",
    ],
)
def test_a_point_inside_a_name_or_a_date_does_not_cut_a_statement(said: str) -> None:
    assert words(said) == [said]


@pytest.mark.parametrize(
    "said",
    [
        "Ich wohne seit Mai in Berlin.",
        "J'habite à Lyon avec ma sœur.",
        "Abito a Torino con mio fratello.",
        "Ik woon in Utrecht met mijn zus.",
        "Me mudé a Madrid el año pasado.",
        "私は東京に住んでいます。",
    ],
)
def test_other_languages_are_kept_as_they_stand(said: str) -> None:
    assert texts(said, "Ann") == [f"Ann: {said}"]


# ── shapes and speakers ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("speaker", ["tool", "function", "system", " Tool ", "tool_result", "bash", "tool-output", "stderr"])
def test_the_output_of_a_tool_is_left_to_its_turn(speaker: str) -> None:
    said = "exit 0\nI live in Rome.\n| a | b |"
    assert texts(said, speaker) == []
    assert reasons(said, speaker) == ["tool output: the turn keeps it"]


@pytest.mark.parametrize(
    ("pasted", "reason"),
    [
        ("```py\nmy_sister = 'lives in Lisbon'\n```", "code: the turn keeps it"),
        ("2026-03-02 09:14:07 ERROR my sister lives in Lisbon", "log output: the turn keeps it"),
        ("| my sister | lives in Lisbon |\n| my brother | lives in Porto |", "a table: the turn keeps it"),
        ("> My sister Carla lives in Lisbon.", "a quotation: the turn keeps it"),
        ("---------- Forwarded message ---------\nFrom: Ann\n\nMy sister lives in Lisbon.", "forwarded text: the turn keeps it"),
    ],
)
def test_what_was_pasted_into_a_message_is_left_to_its_turn(pasted: str, reason: str) -> None:
    said = f"I am allergic to peanuts.\n{pasted}\n"
    assert words(said) == ["I am allergic to peanuts."]
    assert reasons(said) == [reason]


def test_a_long_forwarded_mail_is_left_to_its_turn_to_its_end() -> None:
    mail = "\n\n".join(
        f"Dear all, I moved to house {n} in Graz last week, with my {n} cats and my brother Jonas." for n in range(40)
    )
    said = f"I said yes to Marta.\n\n---------- Forwarded message ---------\nFrom: Marta\nDate: Monday\n\n{mail}"
    assert words(said) == ["I said yes to Marta."]
    assert reasons(said) == ["forwarded text: the turn keeps it"]


def test_private_parts_never_reach_a_statement() -> None:
    found, verdicts = read("My pin is <private>1234</private> and my bank is in Oslo.", "Ann")
    assert "1234" not in repr(found)
    assert "private" in [verdict.reason for verdict in verdicts]


def test_recalled_text_is_not_stored_again() -> None:
    said = f"Here is what I know.\n{fence('Ann owns a red boat.', 'v1')}\nI sold the boat in May."
    found, verdicts = read(said, "Ann")
    assert not any("red" in statement.proposition.text for statement in found)
    assert any("sold" in statement.proposition.text for statement in found)
    assert "recalled" in [verdict.reason for verdict in verdicts]


# ── kept or not ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Hello there!", "a greeting"),
        ("Good morning!", "a greeting"),
        ("What is the capital of Norway?", "a question"),
        ("Wie spät ist es?", "a question"),
        ("Write a poem about the sea.", "a request of the moment"),
        ("🎉🎉", "empty"),
        ("  \n", "empty"),
    ],
)
def test_what_states_nothing_is_dropped_with_a_reason(said: str, reason: str) -> None:
    assert texts(said) == []
    assert reasons(said) == [reason]


@pytest.mark.parametrize(
    "said", ["Thanks so much!", "Wow, awesome!", "lol", "ok cool", "Bye!", "Danke schön!", "haha that's hilarious"]
)
def test_courtesies_and_reactions_are_not_kept(said: str) -> None:
    assert texts(said) == []
    assert set(reasons(said)) <= {NOT_KEPT[kind] for kind in ("greeting", "reaction", "filler", "meta")}


@pytest.mark.parametrize(
    "said",
    [
        "From now on always answer in German.",
        "Never push straight to main.",
        "Always use metric units when you answer me.",
        "In this repo we use tabs, never spaces.",
        "Never deploy on Fridays.",
        "When I ask for code, always add type hints.",
    ],
)
def test_a_standing_instruction_is_kept(said: str) -> None:
    assert "".join(words(said)) == said


@pytest.mark.parametrize(
    "said",
    [
        "Please summarise this email for me.",
        "Translate this into French.",
        "Rewrite this paragraph in a friendlier tone.",
        "Fix the typo in line 3.",
        "Give me five ideas for dinner.",
        "Tell me a joke.",
        "Make it shorter.",
        "Schreib mir ein Gedicht über das Meer.",
    ],
)
def test_a_request_of_the_moment_is_not_kept(said: str) -> None:
    assert texts(said) == []
    assert reasons(said) == ["a request of the moment"]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I'm allergic to nuts. What can I eat in Thailand?", "I'm allergic to nuts."),
        ("I just bought a house in Graz, which insurance do I need?", "I just bought a house in Graz"),
        ("We use Postgres 16 at work, how do I upgrade to 17?", "We use Postgres 16 at work"),
        ("My son Leo is six and scared of dogs, how can I help him?", "My son Leo is six and scared of dogs"),
    ],
)
def test_a_question_that_carries_a_fact_leaves_the_fact(said: str, fact: str) -> None:
    assert " ".join(words(said)) == fact
    assert reasons(said) == ["a question"]


@pytest.mark.parametrize(
    "said",
    [
        "Remember: the wifi code is on the fridge.",
        "please remember the blue door",
        "Merk dir: blaue Tür",
        "Don't forget the keys",
    ],
)
def test_what_is_asked_to_be_remembered_is_kept(said: str) -> None:
    assert " ".join(words(said)).endswith(said.split()[-1])


@pytest.mark.parametrize(
    ("said", "speaker"),
    [
        ("Do you remember my dog's name?", "user"),
        ("I don't remember that at all", "user"),
        ("Can you remind me what my dog is called?", "user"),
        ("Note that Python lists are zero-indexed.", "assistant"),
        ("Got it, I'll remember that!", "assistant"),
    ],
)
def test_who_speaks_of_remembering_does_not_always_ask_for_it(said: str, speaker: str) -> None:
    assert texts(said, speaker) == []


@pytest.mark.parametrize(
    "said", ["Can you remember that I'm vegan?", "hey remember that i hate olives", "Could you remind me to call mom on Friday?"]
)
def test_what_somebody_asks_to_be_remembered_is_sure(said: str) -> None:
    assert only(said).confidence == 0.95


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("I live in Oslo.", "states a fact"),
        ("I prefer tea over coffee.", "states a preference"),
        ("I flew to Rome last Friday.", "tells of an event"),
        ("I will fly to Rome next Friday.", "tells a plan"),
        ("From now on always answer in German.", "gives a standing instruction"),
    ],
)
def test_what_is_kept_has_a_reason_that_says_why_and_how_surely(said: str, reason: str) -> None:
    assert re.fullmatch(rf"{reason} \([01]\.\d\d\)", only(said).reason)


def test_the_best_piece_of_a_turn_between_people_is_kept_even_if_it_is_doubtful() -> None:
    """Nobody asks anything of an assistant there: what people tell each other is worth more than it looks."""
    strict = Reading(READING.reader, StatementWeights(keep=0.9999, keep_between_people=0.9999, keep_one=0.0))
    said = "Thanks, Ben! I went to the lake, it was lovely."
    assert len(read(said, "Ann", "How was your day?", "Ben", strict)[0]) == 1
    assert read("Thanks a lot!", "user", "Anything else?", "assistant", strict)[0] == []


# ── answers and what they need ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_is_encoded_with_its_question_and_shown_as_it_was_said() -> None:
    (found,) = kept("It is a golden retriever.", "Ann", "Cute! What breed is your dog?", "Ben")
    assert found.words == "It is a golden retriever."
    assert "What breed is your dog?" not in found.words
    assert "What breed is your dog?" in found.passage


def test_nothing_private_comes_back_through_the_question() -> None:
    asked = "<private>" + "x " * 500 + "is my pin 1234?</private>"
    assert "1234" not in repr(kept("Yes, I own a boat in Oslo.", "Ann", asked, "Ben"))


def test_a_later_piece_of_a_sentence_may_carry_the_piece_before_it() -> None:
    said = "My flight to Rome leaves at nine on Friday, and it was booked under Carla's name."
    found, _ = read(said, reading=ALL_KEPT)
    assert len(found) > 1
    assert any(statement.proposition.carries for statement in found[1:])
    for statement in found:
        assert set(statement.proposition.carries.split()) <= set(re.split(r"[\s,]+", said))


def test_a_caption_belongs_to_the_statement_before_it() -> None:
    said = "I built this boat last week. [shares an image: a wooden boat]"
    assert words(said, "Ann") == [said]


def test_a_caption_after_small_talk_is_kept() -> None:
    assert any("a wooden boat" in said for said in words("Wow! [shares an image: a wooden boat]", "Ann"))


# ── dates ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def day(year: int, month: int, number: int) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "start"),
    [
        ("I will fly to Rome on Friday.", day(2026, 3, 6)),
        ("I flew to Rome on Friday.", day(2026, 2, 27)),
        ("We will have dinner with Ben on Saturday.", day(2026, 3, 7)),
        ("We had dinner with Ben on Saturday.", day(2026, 2, 28)),
        ("The conference will be on April 3.", day(2026, 4, 3)),
        ("I visited my aunt on December 12.", day(2025, 12, 12)),
        ("I went to the zoo yesterday.", day(2026, 3, 3)),
        ("I will go to the zoo tomorrow.", day(2026, 3, 5)),
    ],
)
def test_plans_go_forward_and_reports_go_back(said: str, start: datetime) -> None:
    found = only(said)
    assert found.happened_at == start
    assert found.happened_until == start + timedelta(days=1)
    assert found.kind is Kind.EPISODE


def test_each_piece_is_dated_by_its_own_words_and_language() -> None:
    found = kept("I flew to Rome yesterday. Am 3. Mai fliegen wir nach Lissabon. My sister Carla lives in Porto.")
    assert [proposition.happened_at for proposition in found] == [day(2026, 3, 3), day(2026, 5, 3), None]


def test_a_german_word_is_not_read_as_an_english_one() -> None:
    assert only("Wir treffen uns im Juni in Köln.").happened_at == day(2026, 6, 1)


def test_the_words_of_a_date_stay_as_they_were_said() -> None:
    assert only("I went to the zoo yesterday.").words == "I went to the zoo yesterday."


def test_what_an_assistant_reports_is_dated() -> None:
    assert only("Your flight to Rome leaves on Friday.", "assistant").happened_at == day(2026, 3, 6)


def test_a_turn_without_a_time_has_statements_without_one() -> None:
    found, _ = propositions(Turn("I went to the zoo yesterday.", "Ann"), READING)
    assert found[0].proposition.happened_at is None


# ── documents and long answers ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_document_yields_about_one_statement_a_sentence() -> None:
    towns = ("Graz", "Porto", "Lyon", "Turin", "Bergen", "Ghent", "Basel", "Krakow", "Malmö", "Cork")
    text = "\n\n".join(
        " ".join(f"Room {10 * n + m} of the {towns[m]} office belongs to team {n} since 2019." for m in range(10))
        for n in range(30)
    )
    found, _ = read(text)
    assert 270 <= len(found) <= 330
    assert all(statement.proposition.words in text for statement in found)


def test_each_item_of_a_persons_list_is_a_statement_under_what_leads_to_it() -> None:
    found = kept(
        "# Family\nWhere everybody lives:\n- Carla lives in Lisbon\n- my brother Tom lives in Graz\n- my parents live in Oslo\n"
    )
    assert [proposition.words for proposition in found] == [
        "Carla lives in Lisbon", "my brother Tom lives in Graz", "my parents live in Oslo",
    ]  # fmt: skip
    assert {proposition.carries for proposition in found} == {"Family: Where everybody lives"}


@pytest.mark.parametrize(
    "said",
    ["1. FC Köln ist mein Verein.", "2. Stock links wohnt Frau Huber.", "3. Mai ist der Umzug nach Bremen."],
)
def test_a_number_before_a_single_line_belongs_to_its_words(said: str) -> None:
    assert words(said) == [said]


def test_the_numbers_of_a_list_belong_to_no_statement() -> None:
    assert words("1. I moved to Graz in May\n2. My sister has two cats") == ["I moved to Graz in May", "My sister has two cats"]


def test_a_request_above_a_list_is_not_carried_by_its_items() -> None:
    said = "Write a mail to Bob with these points:\n- I moved to Linz in May\n- I have a new phone\n- my cat is called Miso"
    assert [proposition.carries for proposition in kept(said)] == ["", "", ""]


def test_a_lead_in_is_carried_by_the_paragraph_below_it_only() -> None:
    parts = [f"Team {n} of the Graz office moved to house {n} in May, and its lead Karl {n} has a new phone." for n in range(12)]
    text = "Where everybody works now:\n\n" + "\n\n".join(parts) + "\n\n" + "I have two cats. " * 70
    assert not any(proposition.carries for proposition in kept(text) if "Team 9" in proposition.words)


@pytest.mark.parametrize("said", ["Never push to main", "Mila is allergic to peanuts"])
def test_a_bold_line_that_states_something_is_kept(said: str) -> None:
    assert words(f"**{said}**\n") == [said]
    assert words(f"**{said}**\n\nI work at Acme.") == [said, "I work at Acme."]
    assert kept(f"**{said}**\n\nI work at Acme.")[1].carries == ""


def test_a_long_paste_is_left_to_its_turn() -> None:
    rows = "\n".join(f"Ana{n},{n},Porto" for n in range(200))
    code = "\n\n".join(
        f'def handler_{n}(name):\n    """Return it."""\n    if not name:\n        return None\n    return f"hi {{name}}"'
        for n in range(40)
    )
    for pasted, reason in ((rows, "a table: the turn keeps it"), (code, "code: the turn keeps it")):
        said = f"I am allergic to peanuts.\n\n{pasted}"
        assert words(said) == ["I am allergic to peanuts."]
        assert set(reasons(said)) == {reason}


def test_code_inside_a_long_text_is_kept_with_it() -> None:
    prose = "\n\n".join(f"Room {n} of the Graz office belongs to team {n} since 2019." for n in range(60))
    said = f"{prose}\n\n```py\ndef open_door(room):\n    return room.door.open()\n```\n"
    assert any("def open_door(room)" in proposition.words for proposition in kept(said))


@pytest.mark.parametrize(
    "said",
    ["Noted.", "You're welcome! Is there anything else?", "Sure! I'd be happy to help.", "I hope this helps! Feel free to ask."],
)
def test_what_assistants_say_around_an_answer_is_dropped(said: str) -> None:
    assert texts(said, "assistant") == []


def test_what_an_assistant_reports_is_kept() -> None:
    said = "The deploy of the payment API finished and version 2.3 is live in Frankfurt."
    assert "".join(words(said, "assistant")) == said
    assert texts(said, "assistant")[0].startswith("The assistant: ")


def test_a_long_answer_is_kept_in_chunks_under_their_heading() -> None:
    items = "\n".join(f"{n}. **Place {n}**: a quiet harbour with boats, cafés and a long pier to walk on." for n in range(1, 13))
    found = kept(f"Sure! Here are some harbours in Norway:\n\n{items}\n\nI hope this helps!", "assistant")
    assert 2 <= len(found) <= 6
    for proposition in found[1:]:
        assert proposition.text.startswith("The assistant: ")
        assert proposition.carries == "harbours in Norway"
        assert len(proposition.text) <= 520
        assert proposition.kind is Kind.PROPOSITION
        assert proposition.importance < 0.5
        assert proposition.reason == "part of an answer"
    assert not any("helps" in proposition.text for proposition in found)


def test_items_of_an_assistants_list_share_a_statement_and_stay_apart_in_it() -> None:
    text = "Here are some tips for the trip:\n- Stretch daily\n- Drink water\n\n1. Pack light\n2. Go early."
    (found,) = kept(text, "assistant")
    assert found.words == text
    assert found.passage == (
        "The assistant: Here are some tips for the trip: Stretch daily; Drink water; 1. Pack light; 2. Go early."
    ), "the encoder reads it without the signs"


def test_a_long_answer_is_kept_in_the_words_it_was_given_in() -> None:
    sentence = "The test 2*3=6 uses 2**10, `__init__`, FOO_BAR__BAZ and *.log files on the **main** server in Frankfurt."
    text = f"# Setup\n\n- one\n- two\n\n{' '.join(f'{sentence[:-1]} {n}.' for n in range(12))}"
    found = kept(text, "assistant")
    assert len(found) > 1
    assert all(proposition.words in text for proposition in found)
    assert "2*3=6 uses 2**10, `__init__`, FOO_BAR__BAZ and *.log" in found[-1].words


def test_code_in_an_answer_is_kept_whole() -> None:
    said = "Use this:\n```py\ndef f(x):\n    return x + 1.\n```\nDone."
    assert any("def f(x):\n    return x + 1." in text for text in texts(said, "assistant"))


def test_a_title_stays_above_its_parts() -> None:
    said = "**Onion Soup**\n\n**Ingredients:**\n\n- onions\n- butter\n\n**Steps:**\n\n1. Chop the onions.\n2. Melt the butter."
    assert all("Onion Soup" in text for text in texts(said, "assistant"))


# ── texts to be remembered, and pieces kept by hand ────────────────────────────────────────────────────────────────────


SEVERAL = "I moved to Graz in January. My sister Carla works as a nurse in Lisbon. I am allergic to peanuts."


def test_a_text_of_several_facts_is_several_statements_to_remember() -> None:
    found = statements_to_remember(SEVERAL, AT, READING)
    assert [proposition.words for proposition in found] == [
        "I moved to Graz in January.", "My sister Carla works as a nurse in Lisbon.", "I am allergic to peanuts.",
    ]  # fmt: skip
    assert [proposition.text for proposition in found] == [proposition.words for proposition in found]
    assert [proposition.happened_at for proposition in found] == [day(2026, 1, 1), None, None]


@pytest.mark.parametrize(
    "text", ["use uv not pip\nuse ruff\nnever push to main", "1. FC Köln ist mein Verein. 2. Wahl ist der HSV."]
)
def test_the_statements_of_a_text_to_be_remembered_hold_all_its_words(text: str) -> None:
    found = statements_to_remember(text, AT, READING)
    assert len(found) > 1
    assert " ".join(proposition.words for proposition in found) == " ".join(text.split())


def test_a_request_in_a_text_to_be_remembered_is_kept() -> None:
    text = "Run the migrations first. Then restart the workers. Check the logs. The database is Postgres 16. Tom owns it."
    assert [one.words for one in statements_to_remember(text, AT, READING)] == [f"{one.rstrip('.')}." for one in text.split(". ")]


@pytest.mark.parametrize(
    "text",
    [
        "I am allergic to peanuts",
        "zebra placeholder",
        "ok",
        "🎉",
        "| a | b |\n| 1 | 2 |",
        "I moved to Graz. My cat is grey.\n```\nx = 1\n```",
        "> I moved to Graz. My cat is grey.",
    ],
)
def test_a_text_that_is_not_several_facts_is_one_statement_to_remember(text: str) -> None:
    assert [proposition.text for proposition in statements_to_remember(text, AT, READING)] == [text]


def test_a_text_as_one_statement_has_the_time_that_its_words_name() -> None:
    assert statement_to_remember(SEVERAL, AT, READING).text == SEVERAL
    assert statement_to_remember("I will fly to Rome on Friday", AT, READING).happened_at == day(2026, 3, 6)


@pytest.mark.parametrize("piece", ["Thanks a lot!", "What time is it?", "🎉", "\u200b", "My sister lives in Porto"])
def test_a_piece_kept_by_hand_is_kept_whatever_the_model_thinks_of_it(piece: str) -> None:
    found = statement_by_hand(Turn(f"Well. {piece}", "Ann", AT), piece, READING)
    assert (found.text, found.words, found.reason) == (f"Ann: {piece}", piece, "kept by hand")
    assert found.confidence >= 0.95


# ── without the model ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_without_the_model_every_sentence_is_kept_whole_and_dated() -> None:
    said = "Hello there! I moved to Graz yesterday, and my cat is grey.\n> quoted"
    found, verdicts = read(said, reading=Reading(None))
    assert [statement.proposition.text for statement in found] == [
        "The user: Hello there!", "The user: I moved to Graz yesterday, and my cat is grey.",
    ]  # fmt: skip
    assert found[1].proposition.happened_at == day(2026, 3, 3)
    assert [verdict.reason for verdict in verdicts] == ["a quotation: the turn keeps it"]


@given(SCRAPS, SPEAKERS)
def test_without_the_model_every_character_has_its_place_too(text: str, speaker: str) -> None:
    found, verdicts = read(text, speaker, reading=Reading(None))
    places = [place for statement in found for place in statement.spans] + [(verdict.start, verdict.end) for verdict in verdicts]
    assert "".join(text[start:end] for start, end in sorted(places)) == text


@pytest.mark.parametrize(
    "text",
    [
        "Tom is on leave until May. She is nice. The VPN is Wireguard.",
        "Hi! I moved to Oslo in May. My rent is 900 euros. Thanks!",
        "Does Ana eat meat? No, Ana eats no meat at all. Her brother Ben is allergic to peanuts.",
        "# Project Apollo\n\n- The launch is in May.\n- Tom owns the database.",
    ],
)
def test_no_word_of_a_text_that_is_to_be_remembered_is_lost(text: str) -> None:
    kept = WORD.findall(" ".join(one.words for one in statements_to_remember(text, AT, READING)))
    assert [word for word in WORD.findall(text) if word not in kept] == []
