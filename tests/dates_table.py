"""Reads the tables of the tests of dates: a sentence, its tense, the first day that it names and, after two dots, the last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from engram.text.dates import resolve

SAID = datetime(2026, 2, 18, 10, tzinfo=UTC)  # a Wednesday


def rows(table: str) -> list[tuple[str, str, str]]:
    """Return text, tense and days of each line; a dash stands for no day."""
    lines = [line for line in table.strip().splitlines() if line.strip() and not line.startswith("#")]
    return [tuple(part.strip() for part in line.split("|")) for line in lines]  # type: ignore[misc]


def days(text: str, tense: str, language: str, expected: str) -> str:
    """Return the days that a sentence names, as the table writes them: the last one only if the table has it."""
    found = resolve(text, SAID, language=language, tense=tense)
    if found is None:
        return "-"
    first, last = found[0].date().isoformat(), (found[1] - timedelta(microseconds=1)).date().isoformat()
    return f"{first}..{last}" if ".." in expected else first
