"""The roles of the tokens of one text, and the questions about single tokens and their neighbours that the grammar asks."""

from __future__ import annotations

from typing import Any

from engram.text.dates.calendar import Length, length_of, sum_of
from engram.text.dates.lexicon import Token

_FILLED = 3
"""Articles, prepositions and commas that may stand between two words of one time."""


class Cursor:
    """The tokens of one text by their place; `capitals` are the places in the text where a word with a capital begins."""

    def __init__(self, tokens: list[Token], capitals: frozenset[int]) -> None:
        self.tokens, self.capitals = tokens, capitals

    def role(self, place: int, name: str) -> Any:
        """Return the value of a role of a token; None if it has none or if there is no such token."""
        return self.tokens[place].roles.get(name) if 0 <= place < len(self.tokens) else None

    def skip(self, place: int) -> int:
        """Return the place after the articles, prepositions and commas that begin here."""
        for _ in range(_FILLED):
            if not (self.role(place, "fill") or self.role(place, "comma")):
                break
            place += 1
        return place

    def touches(self, place: int) -> bool:
        """Return whether a token follows the one before it without a space."""
        return 0 < place < len(self.tokens) and self.tokens[place - 1].end == self.tokens[place].start

    def _is_word(self, place: int) -> bool:
        return self.tokens[place].end - self.tokens[place].start > 1

    def _weekday_at(self, place: int) -> int | None:
        for name in ("weekday", "short_weekday"):
            if (found := self.role(place, name)) is not None:
                return int(found)
        part = self.role(place, "weekday_part")
        return part[0] if part else None

    def _which_at(self, place: int) -> int | None:
        step = self.role(place, "which")
        return 1 if step is None and self.role(place, "coming") else step

    def _is_noun(self, place: int) -> bool:
        """Return whether the token is a word that the table does not have."""
        return place < len(self.tokens) and not self.tokens[place].roles and self._is_word(place)

    def _is_name(self, place: int) -> bool:
        """Return whether the token is a word with a capital that the table does not have."""
        return self._is_noun(place) and self.tokens[place].start in self.capitals

    def _opens_hours(self, place: int) -> bool:
        """Return whether a number is the first hour of two: "9-17 Uhr", "9-17:30"."""
        return bool(self.role(place + 1, "dash") and (self.role(place + 2, "clock") or self.role(place + 3, "clock")))

    def _has_plan(self) -> bool:
        """Return whether a word tells of a plan ("booked", "deadline"), or one leads to a date ("pushed to April 24")."""
        return any("planned" in token.roles or self._leads_to_date(place) for place, token in enumerate(self.tokens))

    def _leads_to_date(self, place: int) -> bool:
        after = self.skip(place + 1)
        after += bool(self.role(after, "number") and self.role(after + 1, "month"))
        return bool(self.role(place, "toward")) and any(self.role(after, name) for name in ("date", "month", "short_month"))

    def _counts(self, place: int, year: int) -> bool:
        """Return whether a round number counts the noun after it: "in 2000 stores"."""
        return year % 100 == 0 and self._is_noun(place + 1)

    # ---- lengths -----------------------------------------------------------------------------------------------

    def _length(self, place: int) -> tuple[Length | None, int]:
        """Return the length of time that begins here ("two weeks", "a year and a half") and the place after it."""
        length, end = self._whole_length(place)
        if length is None:
            return None, place
        joint = end + bool(self.role(end, "and") or self.role(end, "fill"))
        if joint > end and self.role(joint, "half"):
            half = length_of(0.5, length.unit)
            return sum_of(length, half), joint + 1
        more = length_of(self.role(joint, "number"), self.role(joint + 1, "unit") or "") if self.role(joint, "number") else None
        return (sum_of(length, more), joint + 2) if more is not None else (length, end)

    def _whole_length(self, place: int) -> tuple[Length | None, int]:
        named = self.role(place, "length")
        if named:
            return length_of(*named), place + 1
        count, after = self.role(place, "number"), place + 1
        if count is not None and self.role(after, "and") and self.role(after + 1, "half"):  # "two and a half weeks"
            count, after = count + 0.5, after + 2
        unit = self.role(after, "unit")
        return (None, place) if count is None or unit is None else (length_of(count, unit), after + 1)

    def _length_after(self, place: int) -> tuple[Length | None, int]:
        """Return the length that follows a word, after its articles; "a" is both an article and a number."""
        for start in range(place + 1, self.skip(place + 1) + 1):
            length, end = self._length(start)
            if length is not None:
                return length, end
        return None, place
