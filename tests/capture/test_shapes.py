"""The prose of a message is told from what was pasted into it: code, logs, tables, quotations, forwarded mail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.capture.shapes import CODE, FORWARDED, HEADING, LAYOUT, LOG, PROSE, QUOTE, TABLE, blocks, forwarded_at

SHAPES = {PROSE, CODE, LOG, TABLE, QUOTE, FORWARDED, HEADING, LAYOUT}
LINES = st.lists(
    st.sampled_from(
        ["I live in Rome.", "> I live in Oslo.", "```", "~~~", "x = [f(i) for i in (1, 2)];", "| a | b |", "|---|---|", "# Title",
         "2026-03-02 09:14:07 INFO started", "ERROR no such host", "$ make test", "---", "", "   ", "- milk", "我住在柏林。",
         "---------- Forwarded message ---------", "From: Ann", "Date: Monday", "Subject: tea", "\u200b", "\t"]
    ),
    max_size=20,
).map("\n".join)  # fmt: skip


def shapes_of(text: str) -> list[str]:
    return [block.shape for block in blocks(text)]


@pytest.mark.parametrize(
    "said",
    [
        "I live in Rome.",
        "I live in Rome.\n\nI work at Acme.",
        "- my sister has the keys\n- the cat is at Ben's",
        "At 10:30 I met Ann (my sister) and her dog.",
        "We took the train from: Berlin, to: Rome.",
        "The ERROR was mine, I forgot the key.",
        "$5 is what I paid for it.",
        "Ann/Bob own the garage (and the shed).",
        "我住在柏林。",
        "Ich wohne seit dem 3. Mai in Graz.",
    ],
)
def test_what_somebody_says_is_prose(said: str) -> None:
    assert shapes_of(said) == [PROSE]


@pytest.mark.parametrize(
    ("pasted", "shape"),
    [
        ("```py\ndef f(x):\n    return x\n```", CODE),
        ("~~~\nx = 1\n~~~", CODE),
        ("| item | price |\n| tea | 3 |", TABLE),
        ("> I live in Rome.\n> I work at Acme.", QUOTE),
        ("2026-03-02 09:14:07 INFO starting worker", LOG),
        ("[2026-03-02T09:14:07Z] worker started", LOG),
        ("09:14:07 starting worker", LOG),
        ("ERROR: cannot reach host db-7", LOG),
        ('Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: no', LOG),
        ("$ pip install engram", LOG),
        ("npm ERR! missing script", LOG),
        ("FAILED tests/test_door.py::test_it_opens", LOG),
        ("NAME   READY   STATUS   AGE\nweb-1   1/1   Running   3d", LOG),
        ('{\n  "port": 8080\n}', CODE),
        ("f(x)=[a[i]*(b/c)+d for i in {1,2}];", LOG),
        ("---------- Forwarded message ---------\nFrom: Ann\n\nI moved to Rome.", FORWARDED),
        ("-----Original Message-----\nI moved to Rome.", FORWARDED),
        ("Begin forwarded message:\n\nI moved to Rome.", FORWARDED),
        ("From: Ann <ann@mail.example>\nSent: Monday\nTo: Bob\nSubject: tea\n\nI moved to Rome.", FORWARDED),
        ("# Title", HEADING),
        ("---", LAYOUT),
    ],
)
def test_what_was_pasted_has_its_own_shape(pasted: str, shape: str) -> None:
    assert shapes_of(pasted) == [shape]


def test_the_shapes_of_a_mixed_message_stand_in_their_order() -> None:
    text = "My build fails:\n09:14:07 starting\n09:14:09 no such host\nI run it with:\n```\nmake\n```\n> as you wrote\nAny idea?"
    assert shapes_of(text) == [PROSE, LOG, PROSE, CODE, QUOTE, PROSE]


def test_code_without_its_closing_fence_runs_to_the_end() -> None:
    assert shapes_of("See this:\n```\nx = 1\nI live in Rome.") == [PROSE, CODE]


def test_everything_after_the_head_of_a_forwarded_mail_belongs_to_it() -> None:
    text = "I said yes to this.\n\n---------- Forwarded message ---------\nFrom: Ann\n\nI moved.\n\n> I did too.\n\nAnn"
    assert shapes_of(text) == [PROSE, FORWARDED]
    assert text[forwarded_at(text) :].startswith("---------- Forwarded")
    assert forwarded_at("I said yes to this.") == len("I said yes to this.")


@given(st.text(max_size=200) | LINES)
def test_blocks_lie_in_order_with_only_white_space_between_them(text: str) -> None:
    end = 0
    for block in blocks(text):
        assert block.shape in SHAPES
        assert not text[end : block.start].strip()
        assert end <= block.start < block.end <= len(text)
        end = block.end
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("pasted", "shape"),
    [
        ("def add(a, b):\n    total = a + b\n    return total", CODE),
        ('{\n  "port": 8080,\n  "host": "db1"\n}', CODE),
        ("name,age,city\nAna,31,Porto\nBo,22,Oslo", TABLE),
        ("Mar  2 09:14:07 web-1 sshd[212]: Accepted publickey for root", LOG),
        ("Von: Peter Klein\nGesendet: Montag, 2. März 2026\nAn: mich\nBetreff: Termin\n\nich komme nicht.", FORWARDED),
    ],
)
def test_material_without_a_fence_is_no_prose(pasted: str, shape: str) -> None:
    said = f"look at this\n{pasted}"
    assert shapes_of(said) == [PROSE, shape]


@pytest.mark.parametrize(
    "said",
    [
        "Things I like: tea, coffee, cake\nThings I hate: rain, snow, wind",
        "Name: Ana\nAge: 31\nCity: Porto",
        "From Monday on I work from home\nreturn the keys to Ana",
        "my rule = no meetings before ten",
    ],
)
def test_lines_that_resemble_code_or_rows_stay_prose(said: str) -> None:
    assert set(shapes_of(said)) == {PROSE}
