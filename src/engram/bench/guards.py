"""Measure the guards against labelled texts, one a line (.gz too): personal data and prompt injection.

Personal data, {"text": …, "spans": [{"kind", "start", "end"}]}. Recall: a labelled span counts as found if one detected span of a
corresponding kind covers at least half of its letters. Precision: a detected span is right if it overlaps a labelled span of a
corresponding kind; only kinds that the file labels are counted.

Attacks, {"text": …, "attack": true or false, "source", "kind"}: the share of the texts of each source that are flagged or
rejected, and that are rejected. For attacks these are the caught ones, for other texts the false alarms.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engram.errors import InvalidContent
from engram.guard import injection, personal_data
from engram.serve.operations.operation import ProgressCallback
from engram.values.frozen import frozen

ANSWERS: dict[str, tuple[str, ...]] = {
    "CREDIT_CARD": ("credit-card",), "EMAIL_ADDRESS": ("email",), "PHONE_NUMBER": ("phone",), "IBAN_CODE": ("iban",),
    "US_SSN": ("ssn",),
    "IP_ADDRESS": ("ip-address",), "MAC_ADDRESS": ("mac-address",), "US_DRIVER_LICENSE": ("driver-license",),
    "US_PASSPORT": ("passport",),
    "US_BANK_NUMBER": ("bank-account", "routing-number"), "US_ITIN": ("tax-id", "ssn"), "UK_NHS": ("medical-number",),
    "MEDICAL_LICENSE": ("medical-number",), "CRYPTO": ("crypto-wallet",), "DOMAIN_NAME": ("url", "url-credentials"),
    "URL": ("url", "url-credentials"),
    "STREET_ADDRESS": ("address", "postal-code"), "ADDRESS": ("address", "postal-code"), "ZIP_CODE": ("postal-code",
    "address"),
    "PERSON": ("person", "identity"), "DATE_OF_BIRTH": ("date-of-birth",),
}  # fmt: skip
"""Labels of the public data sets, and the kinds of ours that correspond to each. Other labels (cities, ages, …) are ignored."""
GUESSED = frozenset({"PERSON", "STREET_ADDRESS", "ADDRESS", "ZIP_CODE"})
"""Labels that no checksum or pattern can decide."""


@frozen
class DetectionFigures:
    """Figures of a kind of personal data: labelled spans and the share found; detected spans and the share that is right."""

    labelled: int
    recall: float
    found: int
    precision: float


@frozen
class FlagRates:
    """Figures of a group of texts: their number, the share flagged or rejected (`caught`), and the share rejected."""

    attack: bool
    texts: int
    caught: float
    rejected: float


def run(paths: Sequence[Path], progress: ProgressCallback | None = None) -> dict[str, Any]:
    """Return the figures of all files: by kind for personal data, by source and by kind for attacks."""
    rows = [row for path in paths for row in _rows(path)]
    spans, texts = [row for row in rows if "spans" in row], [row for row in rows if "attack" in row]
    if progress is not None:
        progress(f"{len(rows):,} texts", None)
    results: dict[str, Any] = {}
    if spans:
        results["personal data"] = _personal(spans)
    if texts:
        results["attacks by source"] = _attacks(texts, "source")
        results["attacks by kind"] = _attacks(texts, "kind")
        results["all"] = _attacks([{**row, "set": "attacks" if row["attack"] else "the rest"} for row in texts], "set")
    return results


def render(results: dict[str, Any]) -> str:
    """Return the figures as text."""
    lines = []
    for title, group in results.items():
        lines += ["", title]
        lines += [_line(name, figures) for name, figures in group.items()]
    return "\n".join(lines).strip("\n")


def _line(name: str, figures: DetectionFigures | FlagRates) -> str:
    if isinstance(figures, DetectionFigures):
        recall = f"{figures.labelled:5}  recall {figures.recall:.3f}"
        return f"  {name:<28} {recall}   found {figures.found:5}  precision {figures.precision:.3f}"
    label = "attack" if figures.attack else "no attack"
    rates = f"flagged or rejected {figures.caught:.3f}  rejected {figures.rejected:.3f}"
    return f"  {name[:56]:<56} {label:<9} {figures.texts:5}  {rates}"


def _rows(path: Path) -> list[dict[str, Any]]:
    raw = path.read_bytes()
    try:
        lines = (gzip.decompress(raw) if path.name.endswith(".gz") else raw).decode().splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
        usable = [row for row in rows if isinstance(row["text"], str) and ("spans" in row or "attack" in row)]
    except (ValueError, KeyError, TypeError, EOFError, gzip.BadGzipFile):
        usable = []
    if not usable:
        raise InvalidContent(
            "this file has no texts with spans or attacks.", way_out="A line is a text with `spans` or `attack`."
        )
    return usable


def _personal(rows: Sequence[dict[str, Any]]) -> dict[str, DetectionFigures]:
    labelled, hits, detected, right = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    labels = {span["kind"] for row in rows for span in row["spans"]} & ANSWERS.keys()
    for row in rows:
        detections = personal_data.find(row["text"])
        wanted = [span for span in row["spans"] if span["kind"] in ANSWERS]
        for span in wanted:
            labelled[span["kind"]] += 1
            hits[span["kind"]] += any(_covers(detection, span) for detection in detections)
        for detection in detections:
            corresponding = [label for label in labels if detection.kind in ANSWERS[label]]
            overlapping = [
                span["kind"] for span in wanted if detection.kind in ANSWERS[span["kind"]] and _overlap(detection, span) > 0
            ]
            for label in overlapping[:1] or corresponding[:1]:
                detected[label] += 1
                right[label] += bool(overlapping)
    figures = {label: _detection(labelled[label], hits[label], detected[label], right[label]) for label in sorted(labels)}
    sums = [sum(counter[label] for label in labels - GUESSED) for counter in (labelled, hits, detected, right)]
    figures["checksum and pattern kinds"] = _detection(*sums)
    return figures


def _detection(labelled: int, hits: int, detected: int, right: int) -> DetectionFigures:
    return DetectionFigures(labelled, hits / max(labelled, 1), detected, right / max(detected, 1))


def _overlap(detection: personal_data.PersonalSpan, span: dict[str, Any]) -> int:
    return int(min(detection.end, span["end"]) - max(detection.start, span["start"]))


def _covers(detection: personal_data.PersonalSpan, span: dict[str, Any]) -> bool:
    return detection.kind in ANSWERS[span["kind"]] and 2 * _overlap(detection, span) >= span["end"] - span["start"]


def _attacks(rows: Sequence[dict[str, Any]], by: str) -> dict[str, FlagRates]:
    groups: dict[tuple[bool, str], list[injection.InjectionVerdict]] = {}
    for row in rows:
        groups.setdefault((bool(row["attack"]), str(row.get(by, ""))), []).append(injection.assess(row["text"]).verdict)
    return {
        name: FlagRates(
            attack,
            len(verdicts),
            sum(verdict is not injection.InjectionVerdict.CLEAN for verdict in verdicts) / len(verdicts),
            sum(verdict is injection.InjectionVerdict.REJECTED for verdict in verdicts) / len(verdicts),
        )
        for (attack, name), verdicts in sorted(groups.items(), key=lambda item: (not item[0][0], item[0][1]))
    }
