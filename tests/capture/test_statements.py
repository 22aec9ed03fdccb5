"""Turns become statements that stand by themselves, and every other character has a reason."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.capture.statements import propositions
from engram.text.marks import fence
from engram.types import Kind, Turn

AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
SPEAKERS = st.sampled_from(["user", "assistant", "Ann", "Ben Lee", "", "AI"])
SCRAPS = st.lists(
    st.sampled_from(
        ["I went home yesterday. ", "Wow! ", "Thanks, Ben! ", "How are you? ", "It was great. ", "<private>", "</private>",
         "- item\n", "# Head\n", "Here are some:\n", "```\ncode\n```\n", "| a | b |\n", "[shares an image: a cat] ",
         "⟦engram:recalled⟧", "⟦/engram:recalled⟧", "我住在柏林。", "\n\n", "  ", "and I ", "; ", "\u200b", "🎉"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def texts(said: str, speaker: str = "Ann", previous: str | None = None, by: str = "Ben") -> list[str]:
    found, _ = propositions(Turn(said, speaker, AT), previous=Turn(previous, by, AT) if previous else None)
    return [statement.proposition.text for statement in found]


def reasons(said: str, speaker: str = "Ann") -> list[str]:
    return [verdict.reason for verdict in propositions(Turn(said, speaker, AT))[1]]


def test_every_statement_is_taken_and_small_talk_is_not() -> None:
    said = "Hey Ben! I use Rust for the backend. Wow. I've been coding for 10 years. How are you?"
    assert texts(said) == ["Ann uses Rust for the backend.", "Ann has been coding for 10 years."]
    assert reasons(said) == ["greeting", "reaction", "question"]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("Hello there!", "greeting"),
        ("Hey Ben, long time no see!", "greeting"),
        ("Thanks so much!", "thanks"),
        ("Thank you for the kind words!", "thanks"),
        ("Bye! ", "farewell"),
        ("That’s awesome!", "reaction"),
        ("Wow, you're amazing!", "reaction"),
        ("Sounds like a solid plan!", "reaction"),
        ("What is the capital of Norway?", "question"),
        ("Can you recommend a book?", "question"),
        ("Write a poem about the sea.", "request"),
        ("Let me know if you need any help.", "offer"),
        ("Less jargon", "fragment"),
        ("🎉🎉", "empty"),
        ("  \n", "empty"),
    ],
)
def test_what_states_nothing_is_dropped_with_a_reason(said: str, reason: str) -> None:
    assert texts(said) == []
    assert reasons(said) == [reason]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Eve likes tea", "Ann: Eve likes tea"),
        ("The server crashed", "Ann: The server crashed"),
        ("Kafka is fast", "Ann: Kafka is fast"),
        ("Kim quit.", "Ann: Kim quit."),
        ("Tests pass", "Ann: Tests pass"),
        ("hello I like fish", "Ann likes fish"),
        ("Hey I love jazz", "Ann loves jazz"),
        ("Hi I'm Petra", "Ann is Petra"),
        ("thanks I hate mondays", "Ann hates mondays"),
        ("thanks, it works on Linux only", "Ann: It works on Linux only"),
    ],
)
def test_a_short_statement_is_a_statement_also_after_a_greeting(said: str, kept: str) -> None:
    assert texts(said) == [kept]


@pytest.mark.parametrize(
    "said",
    [
        "hi I need help", "Hi I'm fine", "hello I have a question", "Hi Eve, thanks", "thanks, that helps",
        "Thanks, I love it!", "thanks, I'll try it", "That makes sense", "Fixed bugs", "The blue door", "Less is more",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_short_statement_is_not_kept(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    "said",
    [
        "ok noted", "I've saved that for you.", "Done! The file is updated.", "I have updated your list.", "Updated.",
        "That sounds like a nice arrangement.", "Verstanden, ich merke mir das.", "Entendido, lo tendré en cuenta.",
        "好的,祝您旅途愉快!",
    ],
)  # fmt: skip
def test_what_an_assistant_says_it_did_is_boilerplate(said: str) -> None:
    assert texts(said, "assistant") == []


@pytest.mark.parametrize(
    "said", ["The file is updated nightly by cron.", "I've saved the report as march.csv.", "Alles klar: der Port ist 8080."]
)
def test_an_assistants_report_that_tells_more_is_kept(said: str) -> None:
    assert texts(said, "assistant") == [f"The assistant: {said}"]


@pytest.mark.parametrize(
    "said",
    [
        "Ich wohne seit Mai in Berlin.",
        "我住在柏林。",
        "Вчера я ходил в кино.",
        "أنا أعيش في برلين.",
        "Me mudé a Madrid el año pasado.",
        "私は東京に住んでいます。",
    ],
)
def test_other_languages_are_kept_with_their_speaker(said: str) -> None:
    assert texts(said) == [f"Ann: {said}"]


def test_what_leans_on_a_statement_is_kept_with_it() -> None:
    assert texts("I went to a concert yesterday. It was so powerful.") == ["Ann went to a concert yesterday. It was so powerful."]


def test_a_reaction_with_nothing_to_lean_on_is_dropped() -> None:
    assert texts("It was so powerful.") == []


def test_two_independent_clauses_are_two_statements() -> None:
    said = "I use React for the frontend and I prefer TypeScript over Flow."
    assert texts(said) == ["Ann uses React for the frontend", "Ann prefers TypeScript over Flow."]


_TWO = [("I paint the old fence,", "and I play the cello."), ("I paint the old fence;", "I play the old cello.")]


@pytest.mark.parametrize("pieces", _TWO)
def test_a_conjunction_goes_with_what_it_leads_to(pieces: tuple[str, str]) -> None:
    said = " ".join(pieces)
    found, _ = propositions(Turn(said, "Ann"))
    assert tuple(said[start:end].strip() for one in found for start, end in one.spans) == pieces


@pytest.mark.parametrize(
    "said",
    [
        "I went to the show with my sister and it was so good.",
        "When I was in Rome with my class and I lost my passport, everyone helped.",
        "I use Rust for the backend and React for the frontend.",
    ],
)
def test_clauses_that_need_each_other_stay_together(said: str) -> None:
    assert len(texts(said)) == 1


def test_a_statement_before_a_question_is_kept_and_the_question_dropped() -> None:
    said = "I bought a vintage tent last week. Do you have any tips?"
    assert texts(said, "user") == ["The user bought a vintage tent last week."]
    assert reasons(said, "user") == ["question"]


def test_a_question_that_carries_news_is_kept_as_asked() -> None:
    said = "Which pan suits the stove I just bought?"
    assert texts(said, "user") == [f"The user asked: {said}"]


def test_a_short_answer_is_kept_with_its_question() -> None:
    assert texts("A golden retriever.", previous="Cute! What breed is your dog?") == [
        'Ann, asked "What breed is your dog?": A golden retriever.'
    ]


def test_a_bare_yes_is_an_answer_only_to_a_question() -> None:
    assert texts("Yes!", previous="Do you own a boat?") == ['Ann, asked "Do you own a boat?": Yes!']
    assert texts("Yes!", previous="You own a boat.") == []
    assert texts("Yes!", previous="How are you?") == []


def test_an_offer_of_help_is_no_question_that_is_answered() -> None:
    assert texts("I own a boat.", previous="I'm well! How can I help you today?") == ["Ann owns a boat."]


def test_a_full_answer_carries_the_words_it_was_asked_with() -> None:
    assert texts("I painted it last year.", previous="Is this your own work?") == [
        'Ann painted it last year. (asked: "Is this your own work?")'
    ]


def test_nothing_private_comes_back_through_the_question() -> None:
    asked = "<private>" + "x " * 500 + "is my pin 1234?</private>"
    assert "1234" not in " ".join(texts("Yes, I do.", previous=asked))


def test_whom_it_was_said_to_is_named_when_it_matters() -> None:
    assert texts("You have lived in Norway since your childhood.", previous="I love snow.") == [
        "Ann to Ben: You have lived in Norway since your childhood."
    ]


def test_a_caption_belongs_to_the_statement_before_it() -> None:
    assert texts("I built this last week. [shares an image: a wooden boat]") == [
        "Ann built this last week. [shares an image: a wooden boat]"
    ]
    assert texts("Wow! [shares an image: a wooden boat]") == ["Ann shares an image: a wooden boat"]


def test_the_time_is_resolved() -> None:
    found, _ = propositions(Turn("I went to the zoo yesterday.", "Ann", AT))
    assert found[0].proposition.happened_at == datetime(2023, 5, 7, tzinfo=UTC)
    assert found[0].proposition.happened_until == datetime(2023, 5, 8, tzinfo=UTC)
    assert found[0].proposition.kind is Kind.EPISODE


def test_a_turn_without_a_time_has_statements_without_one() -> None:
    found, _ = propositions(Turn("I went to the zoo yesterday.", "Ann"))
    assert found[0].proposition.happened_at is None


def test_private_parts_never_reach_a_statement() -> None:
    said = "My pin is <private>1234</private> and my bank is in Oslo."
    found, verdicts = propositions(Turn(said, "Ann", AT))
    assert "1234" not in repr(found)
    assert [verdict.reason for verdict in verdicts] == ["private"]


def test_recalled_text_is_not_stored_again() -> None:
    said = f"Here is what I know.\n{fence('Ann owns a red boat.', 'v1')}\nI sold the boat in May."
    found, verdicts = propositions(Turn(said, "Ann", AT))
    assert not any("red" in statement.proposition.text for statement in found)
    assert any("sold" in statement.proposition.text for statement in found)
    assert "recalled" in [verdict.reason for verdict in verdicts]


@pytest.mark.parametrize(
    "said",
    [
        "Sure! I'd be happy to help. Let me know if you have any questions.",
        "As an AI language model, I don't have feelings.",
        "I hope this helps! Feel free to ask.",
        "Noted.",
        "You're welcome! Is there anything else?",
    ],
)
def test_what_assistants_say_around_an_answer_is_dropped(said: str) -> None:
    assert texts(said, "assistant") == []


def test_a_long_answer_is_kept_in_chunks_under_their_heading() -> None:
    items = "\n".join(f"{n}. **Place {n}**: a quiet harbour with boats, cafés and a long pier to walk on." for n in range(1, 13))
    found, _ = propositions(Turn(f"Sure! Here are some harbours in Norway:\n\n{items}\n\nI hope this helps!", "assistant", AT))
    assert 2 <= len(found) <= 6
    for statement in found[1:]:
        assert statement.proposition.text.startswith("The assistant: harbours in Norway: ")
        assert len(statement.proposition.text) <= 520
        assert statement.proposition.kind is Kind.PROPOSITION
        assert statement.proposition.importance < 0.5


def test_each_item_of_a_persons_list_is_a_statement_under_what_leads_to_it() -> None:
    text = """# Trip to Rome
What we still need:
- book the train by Friday
- ask Ann about the cat
- for the flat:
  - two new keys
  - a plumber
- passports

That is all we have so far."""
    found, _ = propositions(Turn(text))
    assert [one.proposition.text for one in found] == [
        "The user: Trip to Rome: What we still need: book the train by Friday",
        "The user: Trip to Rome: What we still need: ask Ann about the cat",
        "The user: Trip to Rome: What we still need: for the flat: two new keys",
        "The user: Trip to Rome: What we still need: for the flat: a plumber",
        "The user: Trip to Rome: What we still need: passports",
        "The user: Trip to Rome: That is all we have so far.",
    ]


def test_items_of_an_assistants_list_share_a_statement_and_stay_apart_in_it() -> None:
    text = "Here are some tips for the trip:\n- Stretch daily\n- Drink water\n\n1. Pack light\n2. Go early."
    found, _ = propositions(Turn(text, "assistant"))
    assert [one.proposition.text for one in found] == [
        "The assistant: Here are some tips for the trip: Stretch daily; Drink water; 1. Pack light; 2. Go early."
    ]


def test_code_is_kept_whole() -> None:
    said = "Use this:\n```py\ndef f(x):\n    return x + 1.\n```\nDone."
    assert any("def f(x):\n    return x + 1." in text for text in texts(said, "assistant"))


def test_a_title_stays_above_its_parts() -> None:
    said = "**Onion Soup**\n\n**Ingredients:**\n\n- onions\n- butter\n\n**Steps:**\n\n1. Chop the onions.\n2. Melt the butter."
    assert any(
        text.startswith("The assistant: Onion Soup: Steps:") or "Onion Soup" in text for text in texts(said, "assistant")[1:]
    )


def test_the_turn_number_is_passed_on() -> None:
    assert propositions(Turn("Hi!", "Ann"), number=7)[1][0].turn == 7


@given(st.text(max_size=200) | SCRAPS, SPEAKERS, st.none() | SCRAPS, st.none() | st.datetimes())
def test_every_character_is_in_exactly_one_place(text: str, speaker: str, before: str | None, at: datetime | None) -> None:
    found, verdicts = propositions(Turn(text, speaker, at), previous=Turn(before, "Ben", at) if before is not None else None)
    places = [place for statement in found for place in statement.spans] + [(verdict.start, verdict.end) for verdict in verdicts]
    position = 0
    for start, end in sorted(places):
        assert start == position
        assert end > start
        position = end
    assert position == len(text)


@given(SCRAPS, SPEAKERS)
def test_no_statement_is_empty_or_endless(text: str, speaker: str) -> None:
    for statement in propositions(Turn(text * 20, speaker, AT))[0]:
        assert statement.proposition.text.strip()
        assert statement.proposition.said.strip()
        assert len(statement.proposition.text) <= 3_000
        assert 0 < statement.proposition.confidence <= 1
        assert 0 < statement.proposition.importance <= 1


@pytest.mark.parametrize("unit", ["I went home. ", "一", "a ", "- x\n", "oh, ", "if you need "])
def test_a_huge_turn_is_cut_into_bounded_statements(unit: str) -> None:
    found, _ = propositions(Turn(unit * (300_000 // len(unit)), "Ann", AT))
    assert found
    assert max(len(statement.proposition.text) for statement in found) <= 3_000
