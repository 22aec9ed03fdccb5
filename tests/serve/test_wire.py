"""The wire form of values: complete, and valid JSON."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.serve.operations.wire import moment, plain
from engram.types import Edge, Kind, Memory, Page, Scope, Status

TIMES = st.datetimes(timezones=st.just(UTC))
MEMORIES = st.builds(
    Memory,
    text=st.text(),
    key=st.integers(0, 2**63 - 1),
    kind=st.sampled_from(Kind),
    status=st.sampled_from(Status),
    scope=st.builds(Scope, agent=st.text(), project=st.text()),
    importance=st.floats(0, 1),
    happened_at=st.none() | TIMES,
    attributes=st.dictionaries(st.text(), st.text()),
)


@given(MEMORIES)
def test_a_memory_survives_the_wire(memory: Memory) -> None:
    there = json.loads(json.dumps(plain(memory), allow_nan=False))
    assert there["text"] == memory.text
    assert there["kind"] == memory.kind.value
    assert there["scope"] == {
        "project": memory.scope.project,
        "squad": "",
        "agent": memory.scope.agent,
        "channel": "",
        "user": "",
    }
    assert there["attributes"] == dict(memory.attributes)
    assert (there["happened_at"] and datetime.fromisoformat(there["happened_at"])) == memory.happened_at


def test_the_wire_form_of_a_memory_has_all_public_fields() -> None:
    shown = plain(Memory(text="x", key=7))
    assert isinstance(shown, dict)
    assert set(shown) == {field.name for field in fields(Memory)} - {"key", "screened", "words_at"} | {"words", "carries"}


def test_the_wire_form_has_a_speakers_own_words_apart_from_those_that_they_carry() -> None:
    memory = Memory(text="The user: In Oslo. [my sister]", words_at=(10, 18))
    bare = Memory(text="Ada lives in Oslo [the city]")
    shown = plain(replace(memory, others=(bare,)))
    assert isinstance(shown, dict)
    assert (shown["text"], shown["words"], shown["carries"]) == ("The user: In Oslo. [my sister]", "In Oslo.", "my sister")
    assert shown["others"] == [plain(bare)]
    other = plain(bare)
    assert isinstance(other, dict)
    assert (other["words"], other["carries"]) == ("Ada lives in Oslo [the city]", "")


def test_times_are_in_utc() -> None:
    there = datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=timezone(timedelta(hours=2)))
    assert moment(there) == "2026-03-04T03:06:07.000008Z"
    assert moment(datetime(2026, 3, 4, 5, 6, 7)) == "2026-03-04T05:06:07Z"


def test_nested_values_are_converted() -> None:
    page = Page((Memory(text="x"),), "7")
    edge = plain({Status.ACTIVE: [Edge("a", "b", "k")], "path": Path("/x"), "set": {1}})
    assert isinstance(edge, dict)
    assert plain(page) == {"memories": [plain(page[0])], "cursor": "7", "notes": []}
    assert edge["path"] == "/x"
    assert edge["set"] == [1]
    assert json.dumps(edge["active"]).startswith('[{"source": "a", "target": "b", "kind": "k"')


def test_infinities_and_nan_become_null() -> None:
    assert plain([float("nan"), float("inf"), 0.5]) == [None, None, 0.5]


@pytest.mark.parametrize("secret", [b"bytes", bytearray(b"bytes"), object()])
def test_a_type_without_a_wire_form_is_refused_without_its_value(secret: object) -> None:
    with pytest.raises(TypeError, match="no wire form") as refusal:
        plain({"x": secret})
    assert "bytes'" not in str(refusal.value)
