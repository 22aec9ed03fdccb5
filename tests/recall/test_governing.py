"""Statements that govern a request are found without sharing its words; the real encoder reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from recall.vaults import FACTS, open_engram, settle, texts

from engram.models.embedders import OnnxEmbedder
from engram.models.request_reader import request_reader
from engram.types import Turn

MORE = (
    "My flat has two bedrooms and a balcony", "The dentist moved my appointment to Tuesday", "I sold the old Volvo last summer",
    "Our team writes the billing service in Go", "My father repairs antique clocks", "I broke my left wrist while skating",
    "The landlord raised the rent by ten percent", "The kitchen was painted green in April", "Ana plays the cello on Mondays",
    "We bought a second screen for the office", "The bakery on the corner closes at six", "Grandma's train was two hours late",
)  # fmt: skip
TYPED = "From now on put type hints on everything, even in throwaway snippets."
VEGAN = "I don't eat anything that comes from an animal."


@pytest.mark.parametrize(
    ("request_", "governing"),
    [("write me a function that merges two sorted lists", TYPED), ("what could I cook for six people on Friday?", VEGAN)],
)
def test_a_request_brings_the_statement_that_governs_it(
    tmp_path: Path, encoder: OnnxEmbedder, request_: str, governing: str
) -> None:
    with open_engram(tmp_path / "vault", embedder=encoder) as mem:
        mem.ingest([Turn(text, speaker="user") for text in (*FACTS, TYPED, *MORE, VEGAN)])
        settle(mem)
        found = mem.recall(request_, limit=10)
        hit = next(hit for hit in list(found)[:5] if governing.rstrip(".") in hit.memory.text)
        assert any(signal.arm == "governing" for signal in hit.why.found)


def test_a_question_for_a_fact_brings_no_rule(tmp_path: Path, encoder: OnnxEmbedder) -> None:
    with open_engram(tmp_path / "vault", embedder=encoder) as mem:
        mem.ingest([Turn(text, speaker="user") for text in (*FACTS, TYPED, *MORE, VEGAN)])
        settle(mem)
        found = mem.recall("When was the kitchen painted?", limit=5)
        assert "kitchen" in texts(found)[0]
        assert "governing" not in found.quality.weights


def test_requests_are_told_from_questions_of_one_and_of_others(encoder: OnnxEmbedder) -> None:
    reader = request_reader(encoder.fingerprint)
    assert reader is not None
    requests = (
        "Can you draft the mail to our landlord?",
        "help me plan a weekend away",
        "review this function please",
    )
    questions = ("Where did I park the car?", "When did Maria move to Cologne?", "Which bank does Tom use?")
    assert min(reader.chance(encoder.query(text)) for text in requests) > 0.6
    assert max(reader.chance(encoder.query(text)) for text in questions) < 0.4


def test_vectors_of_another_encoder_are_not_read() -> None:
    assert request_reader("another-encoder:0") is None
