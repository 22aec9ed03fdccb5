"""Measure how well English time expressions are resolved, on rows that give their meaning in the past and in the future.

Input: files of rows (plain or gzipped JSONL; `text`, `now`, `past`, `future`). Output: figures as plain values (`run`) and as
text (`render`). No vault is opened.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from engram.errors import InvalidContent
from engram.files.turns import opened
from engram.text.english.dates import read
from engram.text.english.dates.frame import FUTURE, PAST

Results = dict[str, Any]
DEFINITION = (
    "right: both readings are right, the one that prefers the past and the one that prefers the future. A day must be the same"
    " day, a moment the same second, a range must have the same ends; a day that does not exist must not be read at all. The"
    " expression is searched in the whole text, no span is given"
)
_NO_SUCH_DAY = "0001-01-01"


def run(paths: Sequence[Path]) -> Results:
    """Return the share of right rows of each file, in all and by kind, and the numbers of the lines that are wrong."""
    return {"definition": DEFINITION, "files": [_file(path) for path in paths]}


def _file(path: Path) -> Results:
    kinds: dict[str, list[bool]] = {}
    wrong = []
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            row = _row(line, number, path)
            ok = is_right(row)
            kinds.setdefault(str(row.get("kind", "all")), []).append(ok)
            if not ok:
                wrong.append(number)
    every = [ok for group in kinds.values() for ok in group]
    return {
        "file": path.name,
        "rows": len(every),
        "right": sum(every) / len(every) if every else None,
        "kinds": {kind: {"rows": len(group), "right": sum(group) / len(group)} for kind, group in kinds.items()},
        "wrong_lines": wrong,
    }


def _row(line: bytes, number: int, path: Path) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
        datetime.fromisoformat(row["now"])
        if not isinstance(row["text"], str) or not isinstance(row["past"], dict) or not isinstance(row["future"], dict):
            raise TypeError
    except (KeyError, TypeError, ValueError):
        raise InvalidContent(
            f"line {number} of {path.name} is not a time expression: it needs `text`, `now`, `past` and `future`."
        ) from None
    return row  # type: ignore[no-any-return]


def is_right(row: Mapping[str, Any]) -> bool:
    """Return whether both readings of a row are right."""
    now = datetime.fromisoformat(row["now"])
    return all(_same(read(row["text"], now, lean), row[side]) for side, lean in (("past", PAST), ("future", FUTURE)))


def _same(reading: tuple[datetime, datetime, str] | None, truth: Mapping[str, str]) -> bool:
    if _NO_SUCH_DAY in truth.values():
        return reading is None
    if reading is None:
        return False
    start, end, _ = reading
    wanted = {name.removesuffix("Time").removesuffix("Date"): datetime.fromisoformat(value) for name, value in truth.items()}
    if "date" in wanted or "dateTime" in truth:
        point = datetime.fromisoformat(next(iter(truth.values())))
        return start == point
    return start == wanted.get("start", start) and end == wanted.get("end", end)


def render(results: Results) -> str:
    """Return the figures as text."""
    lines = [results["definition"]]
    for file in results["files"]:
        right = "n/a" if file["right"] is None else f"{file['right']:.1%}"
        lines += ["", f"{file['file']}: {file['rows']:,} expressions, {right} right"]
        lines += [f"  {kind:24} {group['rows']:5} {group['right']:8.1%}" for kind, group in sorted(file["kinds"].items())]
    return "\n".join(lines)
