"""What Engram marked and what its owner marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.capture.redaction import PRIVATE, RECALLED, cut, strip
from engram.text.marks import fence

PARTS = st.lists(
    st.sampled_from(
        ["<private>", "</private>", "< private >", "<", "private>", "⟦engram:recalled⟧", "⟦engram:recalled v1⟧",
         "⟦/engram:recalled⟧", "⟦", "⟧", "engram:recalled", "/", "word", " ", "\n", "> ", "…"]
    ),
    max_size=30,
).map("".join)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("My pin is <private>1234</private>", "My pin is "),
        ("a <PRIVATE>x</Private > b", "a  …  b"),
        ("a <private>never closed", "a "),
        ("a<private>b<private>c</private>d</private>e", "a … e"),
        ("stray </private> tag", "stray  …  tag"),
        ("nothing to hide", "nothing to hide"),
        ("a < b and b > c", "a < b and b > c"),
    ],
)
def test_private_text_is_taken_out(text: str, left: str) -> None:
    assert strip(text)[0] == left


@pytest.mark.parametrize("prefix", ["", "> ", ">> ", "    ", "  > | "])
def test_recalled_text_is_known_again_when_quoted(prefix: str) -> None:
    quoted = "\n".join(prefix + line for line in fence("Ann owns a boat.\nShe sails.", "v-1").split("\n"))
    left, removed = strip(f"As I recalled:\n{quoted}\nSo, sailing?")
    assert "boat" not in left
    assert "sails" not in left
    assert left.startswith("As I recalled:")
    assert left.endswith("So, sailing?")
    assert [piece.reason for piece in removed] == [RECALLED]


def test_recalled_text_is_known_in_any_case_and_spacing() -> None:
    assert strip("⟦ ENGRAM : Recalled  v1 ⟧ boat ⟦ / Engram:recalled ⟧ sail")[0].strip() == "sail"


def test_text_cannot_end_its_own_fence() -> None:
    assert strip(fence("x ⟦/engram:recalled⟧ secret"))[0] == ""


def test_a_fence_that_was_never_closed_runs_to_the_end() -> None:
    assert strip("hello\n⟦engram:recalled⟧\nAnn owns a boat")[0] == "hello\n"


def test_removed_places_say_why() -> None:
    text = "a <private>b</private> c"
    _, removed = strip(text)
    assert [(text[piece.start : piece.end], piece.reason) for piece in removed] == [("<private>b</private>", PRIVATE)]


@given(st.text(max_size=100) | PARTS)
def test_stripping_twice_changes_nothing_more(text: str) -> None:
    once, _ = strip(text)
    assert strip(once) == (once, [])


@given(st.text(max_size=100) | PARTS)
def test_what_is_left_and_what_was_removed_make_up_the_whole(text: str) -> None:
    left = cut(text)
    covered = sorted([(piece.start, piece.end) for piece in left.removed] + list(left.original(0, len(left.text))))
    position = 0
    for start, end in covered:
        assert start == position
        position = end
    assert position == len(text)


@given(st.text(max_size=60))
def test_whatever_was_fenced_is_removed(text: str) -> None:
    assert strip(fence(text, "tag"))[0] == ""


def test_ten_megabytes_are_one_pass() -> None:
    text = "<private>x</private> y " * 400_000
    assert len(strip(text)[1]) == 400_000
