"""Words as the text index sees them."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.terms import digest_of, layout, terms

ANY = st.text(max_size=60)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Who runs the API?", ("who", "runs", "the", "api")),
        ("the The THE the", ("the",)),
        ("don't stop", ("don", "t", "stop")),
        ("O’Brien", ("o", "brien")),
        ("a AND b OR NOT c NEAR(d)", ("a", "and", "b", "or", "not", "c", "near", "d")),
        ('words:x "quoted" star* ^caret -minus', ("words", "x", "quoted", "star", "caret", "minus")),
        ("v2.0 is 3,14", ("v2", "0", "is", "3", "14")),
        ("ﬁne ＡＢＣ", ("fine", "abc")),
        ("Ä Ö", ("a", "o")),
        ("привет МИР", ("привет", "мир")),
        ("مرحبا بالعالم", ("مرحبا", "بالعالم")),
        ("東京都", ("東京", "京都")),
        ("猫", ("猫",)),
        ("我用Python写代码", ("我用", "python", "写代", "代码")),
        ("한국어 문장", ("한국어", "문장")),
        ("", ()),
        ("   \n\t", ()),
        ("?!… --- «»", ()),
        ("🦀🚀", ()),
        ("\x00", ()),
    ],
)
def test_the_words_of_a_question(question: str, wanted: tuple[str, ...]) -> None:
    assert terms(question) == wanted


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("snake_case_name", ("snake", "case", "name")),
        ("__init__", ("init",)),
        ("my_var var", ("my", "var")),  # the index sees one word; counting it twice would weigh it twice
        ("_private", ("private",)),
        ("HttpClient.get_url()", ("httpclient", "get", "url")),
    ],
)
def test_code_identifiers_come_apart_at_underscores_as_in_the_index(question: str, wanted: tuple[str, ...]) -> None:
    assert terms(question) == wanted


def test_marks_that_have_no_composed_letter_stay_in_their_word() -> None:
    """The index drops them and goes on with the word (Yoruba, IPA, …); the question must not break it there."""
    assert len(terms("o\u0323\u0300re\u0323\u0301")) == 1


@given(ANY)
def test_terms_are_distinct_and_never_empty(question: str) -> None:
    found = terms(question)
    assert len(set(found)) == len(found)
    assert all(found)


@given(ANY)
def test_no_term_can_leave_its_quotes(question: str) -> None:
    assert not any(set(term) & set("\"'*^:(){}+- \t\n\0") for term in terms(question))


@given(ANY)
def test_equivalent_spellings_are_laid_out_alike(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert layout(unicodedata.normalize(form, text)) == layout(text)


@given(ANY)
def test_whatever_is_asked_for_in_the_words_of_a_text_is_in_its_layout(text: str) -> None:
    laid_out = {word.lower() for word in re.findall(r"[^\W_]+", layout(text))}
    assert set(terms(text)) <= laid_out


@given(st.text("東京都庁前駅", min_size=2, max_size=12))
def test_each_pair_of_an_unspaced_run_is_a_term(run: str) -> None:
    assert set(terms(run)) == {run[i : i + 2] for i in range(len(run) - 1)}


def test_spaced_text_is_not_touched() -> None:
    assert layout("Plain words, with 3 numbers.") == "Plain words, with 3 numbers."


def test_a_long_text_is_laid_out_in_linear_time() -> None:
    assert len(layout("語" * 100_000)) < 1_000_000
    assert terms("語" * 100_000) == ("語語",)
    assert terms("'" * 100_000) == ()
    assert terms("a'" * 50_000) == ("a",)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I prefer dark mode.", "869c72a7609131a1bcc4e19becd41c09"),
        ("C++ is not C#, and $50 is not 50 %", "c94fdba12032fa123f8d54419b74b642"),
        ("It was -5 °C_outside: 5 > 3", "0196722ebbed7386b340cbc63fd30774"),
        ("Ｆｕｌｌ ｗｉｄｔｈ ①", "1d4192d2824f68a3e1f8744008369101"),
        ("東京に行く", "5589dff26352da8f56b6fa0552011080"),
        ("snake_case", "07be102893e63b2c14f7ceb0f4bce9e2"),
        ("???", "a03b221c6c6eae7122ca51695d456d52"),
        ("", "e3b0c44298fc1c149afbf4c8996fb924"),
    ],
)
def test_digests_are_part_of_the_format(said: str, kept: str) -> None:
    """They stand in vaults: another way to compute them must give the same."""
    assert digest_of(said).hex() == kept
