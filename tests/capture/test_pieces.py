"""Prose is cut into pieces that are stretches of it: nothing is lost but words that join, and no word is cut or changed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.capture.pieces import Piece, PieceWeights, pieces
from engram.models.statement_reader import StatementReader

READER = StatementReader()
USUAL = PieceWeights()
EAGER = PieceWeights(border=0.02, joint=0.02, needs=0.0, sure=0.0)
"""Borders, joints and carried words wherever the model sees the least chance of one: what holds here holds for any weights."""
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
SCRAPS = st.lists(
    st.sampled_from(
        ["I moved to Graz in May", "my sister Carla lives in Lisbon", "we use Fly.io for the API", "Prof. Weber was there",
         "ich fliege am 3. Mai nach Rom", "j'habite à Lyon", "我住在柏林", "it costs 3.50 €", "hi", "never push",
         "“ok then”",
         "(with Ben)", "she said \"I quit\"", "and", "but", "und", ", ", "; ", ". ", "! ", "? ", ": ", " – ", " ",
         "\n", "，", "。", "…",
         "https://a.example/x?y=1", "🎉", "\u200b", "12 .4", "[a photo]"]
    ),
    max_size=14,
).map(" ".join)  # fmt: skip
THREE_FACTS = {
    "I'm vegetarian, my husband is allergic to shellfish, and our son won't touch mushrooms.": 3,
    "My flight leaves at nine on Friday and the hotel is booked under Carla's name.": 2,
    "I moved to Graz in May, I have two cats called Miso and Momo, and my sister Carla works as a nurse in Lisbon.": 3,
    "my name is Jonas, i'm 34, i live in Leipzig with my wife Mara and we have two cats": 4,
    "The API runs on Fly.io; the database is on Hetzner; backups go to S3.": 3,
}


def cut(text: str, weights: PieceWeights = USUAL, speaker: str = "user", before: str = "") -> list[Piece]:
    return pieces(READER, speaker, before, text, weights)


def words(text: str, weights: PieceWeights = USUAL) -> list[str]:
    return [text[piece.start : piece.end] for piece in cut(text, weights)]


def check_cuts(text: str, found: list[Piece]) -> None:
    """Between two pieces stand only joints and punctuation, and no border lies inside a word."""
    end = 0
    for piece in found:
        assert end <= piece.start < piece.end <= len(text)
        between = " ".join(WORD.findall(text[end : piece.start].lower()))
        assert not between or between in READER.joints, between
        for border in (piece.start, piece.end):
            around = text[max(border - 1, 0) : border + 1]
            assert not (len(around) == 2 and around.isascii() and around.isalnum()), around
        end = piece.end
    assert not WORD.findall(text[end:])


@given(st.text(max_size=120) | SCRAPS, st.sampled_from([USUAL, EAGER]))
def test_nothing_but_joints_is_lost_and_no_word_is_cut(text: str, weights: PieceWeights) -> None:
    check_cuts(text, cut(text, weights))


@given(SCRAPS, SCRAPS, st.sampled_from([USUAL, EAGER]))
def test_carried_words_are_few_and_were_said_before(text: str, before: str, weights: PieceWeights) -> None:
    for piece in cut(text, weights, before=before):
        carried = piece.carries.split()
        assert len(carried) <= weights.carried_words == 8
        said = f"{before} {text[: piece.start]}".split()
        assert all(any(word.strip("?") in one for one in said) for word in carried)
        assert not set("[]") & set(piece.carries)


def test_what_stands_alone_carries_nothing() -> None:
    for piece in cut("My sister Carla lives in Lisbon. I am allergic to peanuts."):
        assert piece.carries == ""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I moved to Graz. My cat is grey.", ["I moved to Graz.", "My cat is grey."]),
        ("I moved to Graz\nMy cat is grey", ["I moved to Graz", "My cat is grey"]),
        ("我住在柏林。我妹妹住在慕尼黑。", ["我住在柏林。", "我妹妹住在慕尼黑。"]),
        ("- I paid the rent\n- My sister has the keys", ["I paid the rent", "My sister has the keys"]),
    ],
)
def test_sentences_lines_and_items_are_borders(text: str, found: list[str]) -> None:
    assert [said.removeprefix("- ") for said in words(text)] == found


def test_a_sentence_of_several_facts_is_cut_between_them() -> None:
    """Most of such sentences: which ones depends on the fitted weights."""
    right = [text for text, facts in THREE_FACTS.items() if len(cut(text)) == facts]
    assert len(right) >= len(THREE_FACTS) - 1, right


def test_a_word_that_joins_two_facts_belongs_to_neither() -> None:
    text = "My flight leaves at nine on Friday, and the hotel is booked under Carla's name."
    first, second = words(text, PieceWeights(border=0.1, joint=0.1))
    assert first == "My flight leaves at nine on Friday"
    assert second == "the hotel is booked under Carla's name."


@pytest.mark.parametrize(
    "text",
    [
        "We moved the API to Fly.io on Tuesday",
        "My supervisor is Prof. Weber in Jena",
        "Dr. Sato and Mrs. Lind came with us",
        "Ich fliege am 3. Mai nach Lissabon",
        "Das 2. Mal war besser",
        "We run Python 3.11.4 on v2.0 servers",
        "The price is 3.50 now",
        "See https://a.example/x.html?y=1",
        'She said "I quit. I mean it." to me',
        "The flat (in Rome. by the river) is mine",
        "I met J. R. Lind",
    ],
)
def test_points_inside_names_numbers_and_quotations_are_no_borders(text: str) -> None:
    borders = {piece.start for piece in cut(text, EAGER)} - {0}
    inside = [match.end() for match in re.finditer(r"\.\s?", text)]
    assert not borders & set(inside)


@pytest.mark.parametrize(
    "text", ["We moved the API to Fly.io on Tuesday", "Ich fliege am 3. Mai nach Lissabon", "Prof. Weber is ill"]
)
def test_a_sentence_of_one_fact_is_one_piece(text: str) -> None:
    assert words(text) == [text]


def test_no_piece_is_a_bare_number_or_a_bare_joint() -> None:
    for text in ("12 .4: The zebra protocol runs on port 4711", "I quit and and and I moved to Rome", "and I moved to Rome"):
        for said in words(text, EAGER):
            assert any(word.isalpha() and word.lower() not in READER.joints for word in WORD.findall(said)), said


def test_a_text_beyond_what_is_read_at_once_is_cut_between_words() -> None:
    for text in (
        "the harbour and the boats and " * 200,
        "I visited the harbour. " * 200,
        "x" * 5_000,
        "漢字" * 1_000,
        "-" * 3_000,
    ):
        check_cuts(text, cut(text))


def test_without_the_model_each_sentence_is_a_piece_that_is_kept() -> None:
    text = "Hello there! I moved to Graz, and my cat is grey. Am 3. Mai fliege ich."
    found = pieces(None, "user", "", text, USUAL)
    assert [text[piece.start : piece.end] for piece in found] == [
        "Hello there!", "I moved to Graz, and my cat is grey.", "Am 3. Mai fliege ich.",
    ]  # fmt: skip
    assert all(piece.judgement.keep == 1.0 and not piece.carries for piece in found)


@pytest.mark.parametrize("text", ["Am 12.3. hab ich Zahnarzt und am 13.3. hab ich frei.", "Sie wohnt z.B. nicht in Wien."])
def test_a_point_that_ends_no_sentence_begins_no_piece(text: str) -> None:
    for said in words(text, EAGER):
        assert not re.fullmatch(r".*\d\.|.*z\.B\.", said), said


def test_a_sentence_beyond_what_is_read_at_once_is_cut_where_something_new_begins() -> None:
    for text in (
        "i moved to house number seven in the old town of graz, " * 30,
        "i moved to house number seven in the old town of graz and " * 30,
    ):
        found = words(text, PieceWeights(border=1.1))
        assert len(found) > 1
        assert all(said.startswith(("i moved", "and i moved")) for said in found), found


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u200b"])
def test_a_text_without_words_has_no_piece_or_an_empty_one(text: str) -> None:
    assert not any(WORD.search(said) for said in words(text))


@pytest.mark.parametrize("text", ["ฉันอาศัยอยู่ที่กรุงเทพฯ", "მე თბილისში ვცხოვრობ.", "እኔ በአዲስ አበባ እኖራለሁ።", "ខ្ញុំរស់នៅភ្នំពេញ។"])
def test_a_piece_in_a_script_that_the_model_does_not_know_is_kept(text: str) -> None:
    assert [piece.judgement.keep for piece in cut(text)] == [1.0]


def test_emoji_beside_known_words_leave_the_judgement_to_the_model() -> None:
    assert all(piece.judgement.keep < 1.0 for piece in cut("🎉🥳💖 thanks! 👩‍👩‍👧‍👦"))


def test_a_joint_before_an_unsure_border_belongs_to_no_piece() -> None:
    text = "The server runs Debian 12 and the backup starts at 3."
    assert [text[piece.start : piece.end] for piece in cut(text)] == ["The server runs Debian 12", "the backup starts at 3."]


def test_a_long_question_without_spaces_is_not_carried() -> None:
    question = (
        "你妹妹还在那家位于浦东新区并且去年刚刚被一家瑞士集团收购的跨国制药公司里担任负责临床试验数据管理工作的高级研究员吗？"
    )
    eager = PieceWeights(needs=0.0, sure=1.1)
    assert [piece.carries for piece in cut("对，三年了", eager, before=question)] == [""]
    assert [piece.carries for piece in cut("对，三年了", eager, before="你住在柏林吗？")] == ["你住在柏林吗？"]
