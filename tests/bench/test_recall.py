"""The figures of the benchmark of recall equal those calculated by hand."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest
from serve.console import Engram

from engram.bench import recall
from engram.bench.recall import auroc, ndcg, percentiles
from engram.bench.tuning import TUNABLE, tuning_of
from engram.errors import ConfigInvalid
from engram.values.frozen import fields

TURNS = [
    ("s1", "s1:1", "Bo", "My dentist is called Petrova."),
    ("s1", "s1:2", "Ada", "I bought a red bicycle."),
    ("s2", "s2:1", "Bo", "My sister lives near the volcano."),
]


def question(text: str, evidence: list[str], category: str = "one", answerable: bool = True) -> dict[str, Any]:
    at = "2023-06-01T00:00:00Z"
    return {"id": text, "text": text, "at": at, "category": category, "evidence": evidence, "answerable": answerable}


STORE = {
    "store": "tiny",
    "turns": [
        {"ref": ref, "session": session, "speaker": who, "text": text, "at": f"2023-05-08T13:0{number}:00Z"}
        for number, (session, ref, who, text) in enumerate(TURNS)
    ],
    "questions": [
        question("dentist Petrova", ["s1:1"]),  # found first
        question("volcano", ["s2:1", "s1:2"], "two"),  # one of two, and one of two sessions
        question("glacier", ["s1:2"], "two"),  # nothing is found
        question("helicopter", [], "none", answerable=False),
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(STORE) + "\n").encode()))
    return path


def test_the_figures_equal_those_calculated_by_hand(engram: Engram, file: Path) -> None:
    # Words of the memory itself only: with those of its neighbours a hand would calculate for long.
    told = engram("bench", "recall", str(file), "--k", "1,5", "--tune", "around_weight=0", "--json").json
    (found,) = told["files"]
    assert (found["stores"], found["turns"], found["memories"], found["questions"], found["unanswerable"]) == (1, 3, 3, 4, 1)
    every, one, two = (found["measures"][name] for name in ("all", "one", "two"))
    assert every == found["measures"]["answerable"]
    assert (every["questions"], one["questions"], two["questions"], found["measures"]["none"]["questions"]) == (3, 1, 2, 0)
    assert (one["turn R@1"], one["turn all@1"], one["ndcg@10"], one["session R@1"]) == (1, 1, 1, 1)
    # "volcano" finds its own turn first; the one before it in another session is no neighbour. "glacier" finds nothing.
    assert two["turn R@1"] == pytest.approx((0.5 + 0) / 2)
    assert two["turn all@5"] == 0
    assert two["session R@1"] == pytest.approx((0.5 + 0) / 2)
    assert two["ndcg@10"] == pytest.approx((1 / (1 + 1 / math.log2(3)) + 0) / 2)
    assert every["turn R@1"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert every["reachable"] == 1
    # Top scores: two above, one with no hit beside the unanswerable one, which has none either.
    assert found["auroc"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert one["tokens@1"] > 0
    assert found["ingest_turns_per_s"] > 0
    assert {"whole", "words", "fetch"} <= set(found["recall_ms"])
    assert told["settings"] == {"around_weight": 0.0}


def test_the_report_defines_its_measures(engram: Engram, file: Path) -> None:
    page = engram("bench", "recall", str(file), "--k", "5").out
    for name, meaning in recall.DEFINITIONS.items():
        assert f"{name}: {meaning}" in page
    assert "tiny.jsonl.gz: 1 stores, 3 turns" in page
    for words in ("k = 5;", "R@5", "all@5", "ndcg@10", "abstention AUROC", "turns/s", "p50 / p95", "answerable", "tokens@5"):
        assert words in page


def test_the_option_stores_limits_how_many_are_asked(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join([json.dumps(STORE), json.dumps({**STORE, "store": "second"})]), "utf-8")
    told: list[float | None] = []
    results = recall.run([path], ks=[5], stores=1, progress=lambda stage, share: told.append(share))
    assert results["files"][0]["stores"] == 1
    assert told == sorted(told, key=lambda share: share or 0)


def test_evidence_that_no_memory_holds_is_not_reachable(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({**STORE, "questions": [question("dentist", ["s1:1", "gone:9"])]}), "utf-8")
    found = recall.run([path], ks=[5])["files"][0]["measures"]["all"]
    assert (found["reachable"], found["turn R@5"], found["turn all@5"]) == (0.5, 0.5, 0)


@pytest.mark.parametrize("line", ["nonsense", "[]", '{"store": "x"}', '{"store": "x", "turns": [{"text": 1}], "questions": []}'])
def test_a_file_of_another_format_is_refused(engram: Engram, tmp_path: Path, line: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(line, "utf-8")
    bad = engram("bench", "recall", str(path))
    assert bad.code == 1
    assert "line 1 of bad.jsonl" in bad.err
    assert "nonsense" not in bad.err


@pytest.mark.parametrize("arguments", ["--k 0", "--k many", "--stores 0"])
def test_a_bad_call_exits_with_code_2(engram: Engram, file: Path, arguments: str) -> None:
    assert engram("bench", "recall", str(file), *arguments.split()).code == 2


def test_share_ndcg_auroc_and_percentiles() -> None:
    assert auroc([2.0, 1.0], [1.0]) == 0.75
    assert auroc([], [1.0]) is None
    assert ndcg(frozenset("ab"), ["x", "a"], 10) == pytest.approx((1 / math.log2(3)) / (1 + 1 / math.log2(3)))
    assert percentiles([3.0, 1.0, 2.0]) == {"p50": 2.0, "p95": 3.0}
    assert percentiles([]) == {"p50": 0.0, "p95": 0.0}


def test_a_number_that_cannot_be_tuned_is_refused_by_name() -> None:
    with pytest.raises(ConfigInvalid, match="'sesion_weight'"):
        tuning_of(["sesion_weight=0"])
    with pytest.raises(ConfigInvalid, match="session_weight"):
        tuning_of(["session_weight=none"])


def test_no_name_stands_in_two_rooms_values() -> None:
    names = [one.name for kind in TUNABLE for one in fields(kind)]
    assert len(names) == len(set(names))
