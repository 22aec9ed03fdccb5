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
        ("09:14:07 starting worker\n09:14:09 ready", LOG),
        ("09:14 ERROR cannot reach host db-7", LOG),
        ("INFO: starting\nWARN: host db-7 is slow\nERROR: cannot reach host db-7", LOG),
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


@pytest.mark.parametrize(
    "said",
    [
        "use uv not pip here\nuse ruff for linting\nnever push to main",
        "age: 34\nheight: 182",
        "vegan: true\nsmoker: false",
        "height = 182 cm\nweight = 72 kg",
        "budget = rent + food\ntotal = 900 + 400",
        "return flight is on May 3\nreturn to office May 4",
        "from monday on i work in linz\nfrom june on in graz",
        "I moved to Graz;\nmy cat is grey;",
        "for dinner:\n  pasta\nfor lunch:\n  soup",
        "family:\n  carla: 34\n  tom: 36",
        "import beer from Belgium\nimport cheese from France",
    ],
)
def test_words_of_programming_in_neighbouring_lines_make_no_code(said: str) -> None:
    assert shapes_of(said) == [PROSE]


@pytest.mark.parametrize(
    "said",
    [
        "2026-05-04 09:30 dentist\n2026-05-05 10:00 hairdresser",
        "WARNING: I'm allergic to bees",
        "INFO: the office is closed on Friday",
        "ERROR handling: we always return a Result",
        "Error: I was wrong about the date",
        "FAILED my driving test twice",
        "01:45:30 is my best half marathon",
        "$ 500 is what I paid for the couch",
        "Phone: +43/660/(12)/34",
    ],
)
def test_a_time_or_a_level_alone_makes_no_log(said: str) -> None:
    assert shapes_of(said) == [PROSE]


@pytest.mark.parametrize(
    ("pasted", "shape"),
    [
        ('FROM python:3.12\nWORKDIR /app\nCOPY . .\nRUN pip install .\nCMD ["python", "a.py"]', CODE),
        ('services:\n  web:\n    image: nginx\n    ports:\n      - "80:80"\n  db:\n    image: postgres', CODE),
        ("SELECT name, age\nFROM people\nWHERE age > 3;", CODE),
        ("FROM python:3.12\nRUN pip install uv\nCOPY . /app", CODE),
        ("x = 1\ny = 2\nprint(x + y)", CODE),
        ("const a = 1;\nconsole.log(a);", CODE),
        ("PORT=8080\nDB_HOST=db1", CODE),
        (
            'def f(name):\n    """Return it."""\n    # if there is one\n    if not name:\n        return None\n\n    return name',
            CODE,
        ),
        ("commit 3f2a1b9c0d\nAuthor: Ann <a@b.example>\nDate:   Mon Mar 2 09:14:07 2026\n\n    I moved the door", LOG),
        ("total 16\ndrwxr-xr-x  2 ann staff  64 Mar  2 09:14 src\n-rw-r--r--  1 ann staff 12 Mar  2 09:14 a.py", LOG),
        ("src/app.ts(12,5): error TS2322: No such type.\nsrc/app.ts:14:2 - error TS2304: No such name.", LOG),
    ],
)
def test_what_programs_read_and_write_is_no_prose(pasted: str, shape: str) -> None:
    assert shapes_of(pasted) == [shape]


def test_prose_beside_code_stays_prose() -> None:
    text = "look at this\ndef f(x):\n    return x\nuse uv not pip here always"
    assert shapes_of(text) == [PROSE, CODE, PROSE]


@pytest.mark.parametrize(
    ("pasted", "shape"),
    [
        ("On Mon, Mar 2, 2026 at 9:14 AM Anna <a@b.example> wrote:\nI can't come.\nI am in Rome.", FORWARDED),
        ("Am 02.03.2026 um 09:14 schrieb Anna:\n\nIch bin in Rom.", FORWARDED),
        ("Subject: tea\nFrom: Anna\n\nI am in Rome.", FORWARDED),
        ("Anna [09:14]: I can't come.\nBen [09:15]: I am in Rome.", QUOTE),
        ("Anna [09:14]: I am in Rome.", QUOTE),
        ("[09:14] Anna: I can't come.\n[09:15] Ben: I am in Rome.", QUOTE),
        ("02/03/2026, 09:14 - Anna: I am in Rome.", QUOTE),
    ],
)
def test_the_words_of_others_are_no_prose(pasted: str, shape: str) -> None:
    assert shapes_of(pasted) == [shape]
    assert shapes_of(f"My sister lives in Oslo.\n{pasted}") == [PROSE, shape]


@pytest.mark.parametrize(
    "said",
    [
        "From: Berlin\nTo: Rome\nDate: May 3",
        "On Friday Anna wrote: I can't come.",
        "Dinner (19:30): bring wine.",
        "Hi Tom,\nI moved to Linz.\nBest regards,\nLaura",
    ],
)
def test_what_only_resembles_the_words_of_others_is_prose(said: str) -> None:
    assert shapes_of(said) == [PROSE]


def test_an_answer_below_a_quotation_is_prose() -> None:
    text = "On Mon, Mar 2, 2026 at 9:14 AM Anna <a@b.example> wrote:\n> I can't come.\n\nI said fine."
    assert shapes_of(text) == [QUOTE, PROSE]


def test_a_letter_inside_a_message_is_the_words_of_its_writer() -> None:
    text = "My landlady wrote this:\nHi Tom,\nI am in Rome.\n\nBest regards,\nLaura\n\nI don't want to answer her."
    assert shapes_of(text) == [PROSE, FORWARDED, PROSE]
