"""How well the guards see: personal data and attacks on the model, on labelled texts, one a line (.gz too).

Personal data, {"text": …, "spans": [{"kind", "start", "end"}]}: a labelled span is found if one found span of a kind that
answers
to its own covers at least half of its letters (recall); a found span is right if it touches a labelled span that it answers to
(precision, of the kinds that the file labels at all). Attacks, {"text": …, "attack": true or false, "source", "kind"}: the
share of
texts of each source that are flagged or rejected, and that are rejected: caught for attacks, false alarms for the rest.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engram.errors import InvalidContent
from engram.guard import injection, personal_data
from engram.values.frozen import frozen

Told = Callable[[str, float | None], None]

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
"""The labels of the public sets, and which of our kinds answer to each. Other labels (cities, ages,
…) are left out of account."""
GUESSED = frozenset({"PERSON", "STREET_ADDRESS", "ADDRESS", "ZIP_CODE"})
"""What no checksum or pattern decides."""


@frozen
class Found:
    """Of one kind: how many were labelled and how many of those found; how many were found and how many of those right."""

    labelled: int
    recall: float
    found: int
    precision: float


@frozen
class Caught:
    attack: bool
    texts: int
    caught: float
    rejected: float


def run(paths: Sequence[Path], progress: Told | None = None) -> dict[str, Any]:
    """The figures of all files: by kind for personal data, by source and by kind for attacks."""
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
    lines = []
    for title, group in results.items():
        lines += ["", title]
        for name, one in group.items():
            if isinstance(one, Found):
                lines.append(
                    f"  {name:<28} {one.labelled:5}  recall {one.recall:.3f}   found {one.found:5}  precision {one.precision:.3f}"
                )
            else:
                sort = "attack" if one.attack else "no attack"
                lines.append(
                    f"  {name[:56]:<56} {sort:<9} {one.texts:5}  flagged or rejected {one.caught:.3f}  rejected"
                    f" {one.rejected:.3f}"
                )
    return "\n".join(lines).strip("\n")


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


def _personal(rows: Sequence[dict[str, Any]]) -> dict[str, Found]:
    labelled, hits, found, right = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    known = {span["kind"] for row in rows for span in row["spans"]} & ANSWERS.keys()
    for row in rows:
        seen = personal_data.find(row["text"])
        wanted = [span for span in row["spans"] if span["kind"] in ANSWERS]
        for span in wanted:
            labelled[span["kind"]] += 1
            hits[span["kind"]] += any(_covers(one, span) for one in seen)
        for one in seen:
            answering = [kind for kind in known if one.kind in ANSWERS[kind]]
            touched = [span["kind"] for span in wanted if one.kind in ANSWERS[span["kind"]] and _overlap(one, span) > 0]
            for kind in touched[:1] or answering[:1]:
                found[kind] += 1
                right[kind] += bool(touched)
    figures = {kind: _found(labelled[kind], hits[kind], found[kind], right[kind]) for kind in sorted(known)}
    sure = known - GUESSED
    figures["checksum and pattern kinds"] = _found(
        *(sum(count[kind] for kind in sure) for count in (labelled, hits, found, right))
    )
    return figures


def _found(labelled: int, hits: int, found: int, right: int) -> Found:
    return Found(labelled, hits / max(labelled, 1), found, right / max(found, 1))


def _overlap(one: personal_data.PersonalSpan, span: dict[str, Any]) -> int:
    return int(min(one.end, span["end"]) - max(one.start, span["start"]))


def _covers(one: personal_data.PersonalSpan, span: dict[str, Any]) -> bool:
    return one.kind in ANSWERS[span["kind"]] and 2 * _overlap(one, span) >= span["end"] - span["start"]


def _attacks(rows: Sequence[dict[str, Any]], by: str) -> dict[str, Caught]:
    groups: dict[tuple[bool, str], list[injection.InjectionVerdict]] = {}
    for row in rows:
        groups.setdefault((bool(row["attack"]), str(row.get(by, ""))), []).append(injection.assess(row["text"]).verdict)
    return {
        name: Caught(
            attack,
            len(verdicts),
            sum(one is not injection.InjectionVerdict.CLEAN for one in verdicts) / len(verdicts),
            sum(one is injection.InjectionVerdict.REJECTED for one in verdicts) / len(verdicts),
        )
        for (attack, name), verdicts in sorted(groups.items(), key=lambda item: (not item[0][0], item[0][1]))
    }
