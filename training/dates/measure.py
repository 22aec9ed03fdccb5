"""Prints the share of labelled dates that `text.dates` reads as a person did, by language and by author.

usage: python training/dates/measure.py ROWS.jsonl … [--errors FILE_STEM,…] [--blind] [--detect]

A row has `at`, `language` and `pieces` with `text`, `keep`, `date`, `until` and `tense`. A kept piece with a date is right if the
time that dates it begins on that day, or holds it and lasts at most ten days; one without a date is right if it gets none.
--blind leaves out the tense; --detect leaves out the language, which is then recognised; --errors prints what is wrong.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
from datetime import datetime, timedelta

from engram.text.dates import find, resolve

LONGEST = timedelta(days=11)


def is_right(found: tuple[datetime, datetime] | None, date: str | None) -> bool:
    if found is None or date is None:
        return found is None and date is None
    first, last = found[0].date().isoformat(), (found[1] - timedelta(microseconds=1)).date().isoformat()
    return first == date or (found[1] - found[0] <= LONGEST and first <= date <= last)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--errors", default="")
    parser.add_argument("--blind", action="store_true")
    parser.add_argument("--detect", action="store_true")
    options = parser.parse_args()
    shown = options.errors.split(",")
    right, total = collections.Counter(), collections.Counter()
    for path in map(pathlib.Path, options.rows):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            at = datetime.fromisoformat(row["at"])
            for piece in row["pieces"]:
                if not piece["keep"]:
                    continue
                tense = "none" if options.blind else piece.get("tense") or "none"
                language = "" if options.detect else row["language"]
                found = resolve(piece["text"], at, language=language, tense=tense)
                hit = is_right(found, piece["date"])
                kind = "dated" if piece["date"] else "undated"
                for key in ((kind, row["language"]), (kind, path.stem), (kind, "all")):
                    total[key] += 1
                    right[key] += hit
                if not hit and path.stem in shown:
                    spans = [
                        (piece["text"][s.start : s.end], s.role) for s in find(piece["text"], at, language=language, tense=tense)
                    ]
                    print(
                        row["language"], row["at"][:10], tense, piece["date"], found and str(found[0])[:10], piece["text"], spans
                    )
    for kind, name in sorted(total):
        print(f"{kind:8} {name:12} {right[kind, name] / total[kind, name]:.3f} of {total[kind, name]}")


if __name__ == "__main__":
    main()
