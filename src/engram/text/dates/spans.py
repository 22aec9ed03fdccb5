"""The times that a text names, each with its role: on a day, by it, until it, since it, a range, or every so often."""

from __future__ import annotations

from datetime import datetime

from engram.text.dates.calendar import DAY, Time, day_of, day_of_month, first_of, midnight, months_from, moved, next_nth, one_day
from engram.text.dates.grammar import Found, Grammar
from engram.text.dates.lexicon import Lexicon, tokens
from engram.values.frozen import replace

Piece = tuple[int, int, Time, str]
"""Start and end in the text, the time, and its role."""

_LISTED = 6
"""Weekdays of a habit: "montags, mittwochs und freitags"."""


def spans(
    text: str, words: Lexicon, at: datetime, tense: str, guess: str = "none", capitals: frozenset[int] = frozenset()
) -> list[Piece]:
    """Return the times of a folded text in their order.

    guess: the tense of the verbs where none is given. capitals: the places of capital letters, which the folded text has lost.
    """
    all_tokens = tokens(text, words)
    if not any(_NAMES & token.roles.keys() for token in all_tokens):
        return []
    lean = -1 if "past" in (tense, guess) else 1
    reader = Spans(Grammar(all_tokens, words, at, lean, tense, guess, capitals), tense if guess == "none" else guess)
    pieces: list[Piece] = []
    place = 0
    while place < len(all_tokens):
        found = reader.at(place) if all_tokens[place].roles else None
        if found is None:
            place += 1
            continue
        time, end, role = found
        if (lean < 0 or pieces) and reader.is_anchored(place, end):
            place = end
            continue
        if role in ("by", "until") and time.edge == "end":  # "by the end of May" is a deadline on its last day
            time = replace(time, first=time.until - DAY)
        pieces.append((all_tokens[place].start, all_tokens[end - 1].end, time, role))
        place = end
    return pieces


class Spans:
    """Reads ranges and the words around a time that give it a role."""

    def __init__(self, grammar: Grammar, tense: str) -> None:
        self.grammar, self.role, self.skip, self.tense = grammar, grammar.role, grammar.skip, tense

    def at(self, place: int) -> tuple[Time, int, str] | None:
        """Return the longest time from this token on, the place after it, and its role; None if none begins here."""
        habit = self._habit(place)
        if habit is not None:
            return habit
        spread = self._range(place)
        named = self._named(place)
        if spread is not None and (named is None or spread[1] > named[1]):
            return spread[0], spread[1], "every" if spread[0].grain == "every" else "range"
        return named

    def is_anchored(self, place: int, end: int) -> bool:
        """Return whether the words count from a day of the story ("two days later") where there is one or it is over."""
        return any(self.role(token, "anchored") and not self.role(token, "ordinal") for token in range(place, end))

    def _named(self, place: int) -> tuple[Time, int, str] | None:
        roles = self.grammar.tokens[place].roles
        best: tuple[Time, int, str] | None = None
        for name, role, lean in (("by", "by", 1), ("until", "until", 1), ("since", "since", -1), ("from", "from", 1)):
            if name not in roles or (name == "from" and "fill" in roles):
                continue
            if name == "since" and "from" in roles and self.tense == "future":  # "da" and "desde" are both
                lean = 1
            found = self._leaning(self.skip(place + 1), -1 if self.grammar.is_past else lean, opened=name != "by")
            if found is not None and name == "since" and "from" in roles and self.tense == "none":
                found = self._nearest(self.skip(place + 1), found)
            if found is None and name == "since":
                found = self._lasting(place)
            if found is not None and (best is None or found[1] > best[1]):
                best = (*found, role)
        found = self.grammar.longest(place, opened=False)
        if found is not None and (best is None or found[1] > best[1]):
            best = self._followed(place, found)
        if "lasting" in roles and (lasted := self._lasted(place)) is not None and (best is None or lasted[1] > best[1]):
            best = lasted
        if best is not None:
            again = self.skip(best[1])
            if self.role(again, "every") and self.role(again + 1, "unit"):  # "the last Friday of each month"
                return best[0], again + 2, "every"
            if self.tense == "now" and best[2] == "on" and best[0].grain == "season" and not best[0].sure:
                return best[0], best[1], "every"
        return best

    def _nearest(self, place: int, back: Found) -> Found:
        """Return the nearer of the two readings of a date or a month; a weekday since which something lasts is gone by."""
        ahead = self._leaning(place, 1)
        if ahead is None or back[0].sure or self._is_weekday(back[0]):
            return back
        today = self.grammar.today
        return min((back, ahead), key=lambda found: abs(found[0].first - today))

    def _leaning(self, place: int, lean: int, *, opened: bool = True) -> Found | None:
        before, self.grammar.lean = self.grammar.lean, lean
        found = self.grammar.longest(place, opened=opened, led=True)
        if found is None:
            found = self._bare(place)
        self.grammar.lean = before
        return found

    def _bare(self, place: int) -> Found | None:
        """Return the day of a bare ordinal number after a preposition: "bis 14."."""
        day = self.role(place, "ordinal")
        if not isinstance(day, int) or not 1 <= day <= 31 or self.role(place + 1, "unit") or not self.role(place, "digits"):
            return None
        if self.role(place - 1, "since") and self.grammar.words.dotted and self.grammar._is_name(place + 1):
            return None  # "seit dem 2. Lockdown"
        first = next_nth(self.grammar.at, day, self.grammar.lean)
        return None if first is None else (one_day(first, sure=False, day=(0, day)), place + 1)

    def _lasting(self, place: int) -> Found | None:
        """Return the time since something goes on for so long, by the length after a word: "seit zwei Jahren"."""
        length, end = self.grammar._length_after(place)
        if length is None:
            return None
        try:
            first = moved(self.grammar.at if length.seconds else self.grammar.today, length, -1)
        except (ValueError, OverflowError):
            return None
        return Time(first, max(self.grammar.at, first + DAY), "length", relative=True), end

    def _lasted(self, place: int) -> tuple[Time, int, str] | None:
        """Return the days or more that something goes on or went on: "for two years", "for the past few months"."""
        lasting, inner = self._lasting(place), self.grammar.longest(self.skip(place + 1))
        if inner is not None and (lasting is None or inner[1] > lasting[1]):  # "for 3 days from today"
            lasting = inner if inner[0].grain == "range" and inner[0].until <= self.grammar.at else None
        if lasting is None or midnight(lasting[0].first) != lasting[0].first or self.role(lasting[1], "before"):
            return None
        still = bool(self.role(lasting[1], "still"))
        return lasting[0], lasting[1] + still, "since" if still else "for"

    def _followed(self, place: int, found: Found) -> tuple[Time, int, str]:
        """Return a time with the role that the word after it gives."""
        time, end = found
        for name, role, lean in (("by_after", "by", 1), ("until_after", "until", 1), ("since_after", "since", 0)):
            if self.role(end, name):
                if lean and not time.sure and not self.grammar.is_past:
                    time = (self._leaning(place, lean) or found)[0]
                return time, end + 1, role
        return time, end, "on"

    # ---- habits ------------------------------------------------------------------------------------------------

    def _habit(self, place: int) -> tuple[Time, int, str] | None:
        """Return a time that comes again: "jeden Montag", "los lunes", 每周一."""
        if self.role(place, "habit"):
            end = place + 1
        elif self.role(place, "every"):
            end = self.skip(place + 1)
            if self.role(end, "number") or self.role(end, "ordinal") or self.role(end, "which") is not None:
                end += 1
            if not any(self.role(end, name) is not None for name in _AGAIN):
                return None
            end += 1
        elif self.role(place, "habit_lead") and self.grammar._weekday_at(place + 1) is not None:
            found = self.grammar.longest(place + 1)
            after = self.role(place + 2, "fill") and self.role(self.skip(place + 2), "part")
            if found is None or (found[1] > place + 2 and not after) or self.role(place + 2, "after"):
                return None
            end = found[1]
        elif self.grammar._weekday_at(place) is not None and self._is_again(place + 1):
            end = place + 1 + bool(self.role(place + 1, "habit_after"))
        else:
            return None
        for _ in range(_LISTED):
            joint = end + bool(self.role(end, "comma"))
            joint += bool(self.role(joint, "and"))
            joint = self.skip(joint) if joint > end else joint
            if (joint == end and self.grammar.words.spaced) or not (
                self.grammar._weekday_at(joint) is not None or self.role(joint, "habit")
            ):
                break
            end = joint + 1
        part = self.skip(end)
        end = part + 1 if self.role(part, "part") else end
        return Time(self.grammar.today, self.grammar.today + DAY, "every", sure=False), end, "every"

    def _is_again(self, place: int) -> bool:
        """Return whether the words after a weekday make it a habit: "Wednesday mornings", "is Tuesday and Thursday"."""
        if self.role(place, "habit_after"):
            return True
        return self.tense == "now" and bool(self.role(place, "and")) and self.grammar._weekday_at(place + 1) is not None

    # ---- ranges ------------------------------------------------------------------------------------------------

    def _range(self, place: int) -> Found | None:
        """Return the range that begins here: "vom 3. bis 9. Mai", "du 3 au 9", 3号到9号."""
        opening = next((name for name in ("from_day", "from", "between") if self.role(place, name)), "")
        low_place = self.skip(place + 1) if opening else place
        for low, middle in self._lows(low_place, opening):
            is_and = self.role(middle, "and") and (opening == "between" or (isinstance(low, int) and self.grammar.words.spaced))
            if not (self.role(middle, "to") or self.role(middle, "dash") or is_and):
                continue
            high_place = self.skip(middle + 1)
            is_strong = opening == "from_day" and self.grammar.words.spaced
            for high, end in self._highs(high_place, low, is_strong, bool(opening)):
                try:
                    joined = self._joined(low, high)
                except (ValueError, OverflowError):
                    continue
                if joined is not None and joined.first < joined.until:
                    end += bool(self.role(end, "until_after"))
                    is_habit = self.tense in ("now", "none") and self._is_weekday(low) and self._is_weekday(high)
                    return replace(joined, grain="every") if is_habit else joined, end
        return None

    def _is_weekday(self, end: Time | int) -> bool:
        return isinstance(end, Time) and end.grain == "day" and not end.sure and end.day is None

    def _lows(self, place: int, opening: str) -> list[tuple[Time | int, int]]:
        found = self.grammar.longest(place, opened=bool(opening), led=bool(self.role(place + 1, "to")))
        lows: list[tuple[Time | int, int]] = [] if found is None else [_numbered(found)]
        place += bool(self.role(place, "day_lead"))
        day = self._day_number(place)
        return [*lows, (day, place + 1)] if day else lows

    def _highs(self, place: int, low: Time | int, is_strong: bool, is_opened: bool) -> list[tuple[Time | int, int]]:
        grain = low.grain if isinstance(low, Time) else ""
        found = self.grammar.longest(place, opened=grain == "year", led=is_opened or grain == "month")
        highs: list[tuple[Time | int, int]] = [] if found is None else [_numbered(found)]
        lead = place + bool(self.role(place, "day_lead"))
        day = self._day_number(lead)
        month = self.grammar._relative_time(self.skip(lead + 1), "month") if day and isinstance(low, int) else None
        if month is not None:  # "from 6 to 11 next month"
            highs.append((day_of_month(month[0], day), month[1]))
        is_marked = self.role(lead, "nth") or (self.role(lead, "digits") and self.role(lead, "ordinal"))
        if self.grammar.words.month_day and isinstance(low, Time) and low.day is not None and low.day[0]:
            is_marked = self.role(lead, "digits") and not self.role(lead, "year")
        is_number = isinstance(low, int)
        after = any(self.role(lead + 1, name) is not None for name in ("unit", "clock", "no_day", "number"))
        is_dated = isinstance(low, Time) and low.grain == "day" and low.day is not None
        if day and not after and ((is_strong or is_marked) if is_number else (is_dated and (is_strong or is_marked))):
            highs.append((day, lead + 1))
        return highs

    def _day_number(self, place: int) -> int:
        day = self.role(place, "nth") or self.role(place, "number") or self.role(place, "ordinal")
        return day if isinstance(day, int) and 1 <= day <= 31 else 0

    def _joined(self, low: Time | int, high: Time | int) -> Time | None:
        """Return the range between two ends; each takes the month and the year that only the other names."""
        if isinstance(low, int):
            return self._from_number(low, high)
        if isinstance(high, int):
            first = low.first
            month = first_of(first, first.year, first.month + (high < first.day))
            return Time(first, month.replace(day=high) + DAY, "range", low.sure, low.relative)
        low, high = self._settled(low, high)
        if low.first >= high.until:
            return None
        return Time(low.first, high.until, "range", low.sure and high.sure, low.relative or high.relative)

    def _from_number(self, low: int, high: Time | int) -> Time | None:
        if isinstance(high, int):
            if self.grammar.lean > 0:
                last = next_nth(self.grammar.at, high, 1)
            else:
                begun = next_nth(self.grammar.at, low, -1)
                last = None if begun is None else next_nth(begun, high, 1)
            if last is None:
                return None
            high = one_day(last, sure=False, day=(0, high))
        if high.grain not in ("day", "part") or high.day is None:
            return None
        last = midnight(high.first)
        month = first_of(last, last.year, last.month - (low > last.day))
        return Time(month.replace(day=low), last + DAY, "range", high.sure, high.relative)

    def _settled(self, low: Time, high: Time) -> tuple[Time, Time]:
        """Return two ends of which those without a year lie next to the other; of two such ends the later one leans."""
        if low.sure and not high.sure:
            return low, self._beside(high, low.first, 1)
        if high.sure and not low.sure:
            return self._beside(low, high.first, -1), high
        if not low.sure and not high.sure:
            if self.grammar.lean > 0:
                return self._beside(low, high.first, -1), high
            return low, self._beside(high, low.first, 1)
        return low, high

    def _beside(self, time: Time, other: datetime, way: int) -> Time:
        """Return a time without a year as the nearest one before or after another."""
        if time.grain in ("day", "part") and time.day is None:  # a weekday
            days = (time.first.weekday() - other.weekday()) * way % 7 or 7
            first = midnight(other) + way * days * DAY
            return replace(time, first=first, until=first + DAY)
        month, day = time.day or (0, 0)
        if not month:
            return time
        for step in (0, 1, 2, 3, 4):
            year = other.year + way * step
            whole = one_day(day_of(other, year, month, day)) if day else months_from(other, year, month)
            if (whole.first >= other) if way > 0 else (whole.first <= other):
                return replace(time, first=whole.first, until=whole.until)
        return time


def _numbered(found: Found) -> tuple[Time | int, int]:
    """Return a day of which only the number is named as that number."""
    time, end = found
    return (time.day[1] if time.day is not None and not time.day[0] and not time.sure and time.grain == "day" else time), end


_NAMES = frozenset({
    "weekday", "short_weekday", "weekday_part", "month", "short_month", "month_of", "day", "day_part", "unit", "unit_step",
    "date", "nth", "digits", "season", "holiday", "year", "edge_unit", "length", "habit", "decade", "decade_lead",
})  # fmt: skip
"""Roles without which a text names no time; most sentences stop at this."""

_AGAIN = ("unit", "weekday", "short_weekday", "weekday_part", "month", "part", "season", "nth", "day", "habit")
