"""The order of words that name a time, one grammar for all languages that have a table.

`Grammar.longest` reads the longest time that begins at a token. Which words there are, and which stand before or after the noun,
is the business of the table: the grammar takes "nächste Woche" and "semaine prochaine" in any language.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from engram.text.dates.calendar import (
    DAY,
    Length,
    Time,
    around_easter,
    away,
    day_named,
    day_of,
    day_of_holiday,
    day_of_month,
    edge_of,
    fraction_of_year,
    length_of,
    midnight,
    month_year,
    months_from,
    moved,
    next_nth,
    next_weekday,
    nth_of_month,
    on_weekday,
    one_day,
    part_of,
    season_at,
    season_of,
    stretch,
    unit_at,
    week_number,
    week_of,
    weekday_and_nth,
    weekday_of_week,
    which_month,
    which_season,
    which_weekday,
)
from engram.text.dates.cursor import Cursor
from engram.text.dates.lexicon import Lexicon, Token
from engram.values.frozen import replace

Found = tuple[Time, int]
"""A time and the place of the first token after it."""

_NO_DAY = ("unit", "number", "clock", "no_day", "month", "short_month", "weekday", "weekday_part")
"""Roles of the word after a number that is no day of the month."""

_DATED = ("date", "number", "nth", "day_lead", "month", "short_month")
"""Roles of the word after a weekday with which its date can begin."""

_FAR = 300
"""Days after which people name the year of a day to come, so that another weekday means the last such day."""

_PLANNED = 183
"""Days after which a day without a year, in the past tense and with a word for a plan, is one to come."""

_NESTED = 3
"""Times within each other that are read, as in "the beginning of the week of 3 May"."""


class Grammar(Cursor):
    """The tokens of one text, read as of a moment; `lean` is 1 for times to come and -1 for times gone by."""

    def __init__(
        self,
        tokens: list[Token],
        words: Lexicon,
        at: datetime,
        lean: int,
        tense: str,
        guess: str,
        capitals: frozenset[int],
    ) -> None:
        super().__init__(tokens, capitals)
        self.words, self.at, self.lean = words, at, lean
        self.is_planned = self._has_plan()
        self.today, self.is_past, self.is_future = midnight(at), tense == "past", "future" in (tense, guess)

    # ---- the longest time that begins at a token ---------------------------------------------------------------

    def longest(self, place: int, *, opened: bool = False, led: bool = False, nested: int = 0) -> Found | None:
        """Return the longest time from this token on.

        opened: a word before it makes a bare number a year. led: one makes a word that often means no time ("may") one.
        """
        if place >= len(self.tokens) or not self.tokens[place].roles:
            return None
        is_weak = self.role(place, "weak") and not (opened or led or self.role(place - 1, "lead"))
        best: Found | None = None
        for time, end in self._all(place, opened, nested):
            if (best is None or end > best[1]) and not (is_weak and end == place + 1):
                best = time, end
        return best

    def _all(self, place: int, opened: bool, nested: int) -> Iterator[Found]:
        for rule in self._rules(place, opened, nested):
            try:
                found = [*rule]
                found += [longer for time, end in found for longer in self._after(time, end, nested)]
            except (ValueError, OverflowError):  # 31 February; outside of the years that there are
                continue
            yield from found

    def _rules(self, place: int, opened: bool, nested: int) -> Iterator[Iterator[Found]]:
        roles = self.tokens[place].roles
        for name, rule in _RULES:
            if name in roles:
                yield rule(self, place)
        if "year" in roles and (opened or roles.get("whole_year")):
            yield self._year(place)
        if nested < _NESTED:
            for name, wrap in _WRAPS:
                if name in roles:
                    yield wrap(self, place, nested)

    def _after(self, time: Time, end: int, nested: int) -> Iterator[Found]:
        """Yield what a time becomes by the words after it: a weekday of its week, a day of its month, a part of its day."""
        place = self.skip(end)
        if time.grain == "day":
            part = self.role(place, "part")
            if part:
                yield part_of(time, part), place + 1
            yield from self._weeks_on(time, end)
        elif time.grain == "week":
            weekday = self._weekday_at(place)
            if weekday is not None and time.until - time.first == 7 * DAY:
                day = one_day(time.first + weekday * DAY, relative=time.relative)
                yield day, place + 1
                yield from self._after(day, place + 1, nested)
                part = self.role(place, "weekday_part")
                if part:
                    yield part_of(day, part[1]), place + 1
        elif time.grain == "month":
            yield from self._within_month(time, place)
        elif time.grain == "year" and time.until.year == time.first.year + 1:
            yield from self._within_year(time, place)
        edge = self.role(end, "edge")
        if edge and not self.words.spaced and not time.edge and (found := edge_of(time, edge)) is not None:
            yield found, end + 1

    def _weeks_on(self, day: Time, place: int) -> Iterator[Found]:
        """Yield the day weeks after a weekday to come or a day near now: "Friday week", "heute in einer Woche"."""
        if not day.relative or self.lean < 0:
            return
        days = self.role(place, "days_on")
        if days and not (self.role(place + 1, "number") or self.role(place + 1, "dash")):
            yield replace(day, first=day.first + days * DAY, until=day.until + days * DAY, sure=True), place + 1
        length, end = self._length_after(place) if self.role(place, "ahead_before") else (None, place)
        if length is not None and length.days and not (length.months or length.seconds or length.days % 7):
            yield replace(day, first=moved(day.first, length, 1), until=moved(day.until, length, 1), sure=True), end

    def _within_month(self, month: Time, place: int) -> Iterator[Found]:
        place += bool(self.role(place, "day_lead"))
        day = self.role(place, "nth") or self.role(place, "ordinal")
        if day is None and self.role(place - 1, "day_lead"):
            day = self.role(place, "number")
        if isinstance(day, int) and not self.role(place + 1, "unit") and month.relative:
            first = month.first.replace(day=day)
            yield one_day(first, relative=month.relative), place + 1
            yield from self._after(one_day(first, relative=True), place + 1, 0)
        order, after = self._order(place)
        if order:
            yield from self._ordered(order, after, month)

    def _within_year(self, year: Time, place: int) -> Iterator[Found]:
        month = self.role(place, "month")
        if month:
            yield from self._month_of(place, month, year.first.year, relative=year.relative)
        season = self.role(place, "season")
        if season:
            yield replace(season_of(self.at, season, year.first.year), relative=year.relative), place + 1
        order, after = self._order(place)
        months = {"quarter": 3, "half_year": 6}.get(self.role(after, "unit") or "")
        if order and months and order <= 12 // months:
            yield fraction_of_year(self.at, self.lean, order, months, year.first.year), after + 1
        date = self.role(place, "number")
        if date and (named := self.role(self.skip(place + 1), "month")) and 1 <= date <= 31:
            first = day_of(self.at, year.first.year, named, int(date))
            yield one_day(first, relative=year.relative), self.skip(place + 1) + 1

    def _day_named(self, year: int | None, month: int, day: int) -> Time:
        """Return a day of a month. A plan that was made in the past is mostly to come: "cancelled the dentist of 3 June"."""
        found = day_named(self.at, self.lean, year, month, day)
        is_old = self.lean < 0 and self.is_planned and not found.sure and (self.today - found.first).days > _PLANNED
        return day_named(self.at, 1, None, month, day) if is_old else found

    # ---- dates -------------------------------------------------------------------------------------------------

    def _date(self, place: int) -> Iterator[Found]:
        year, month, day = self.tokens[place].roles["date"]
        end = place + 1
        if self.role(place, "led") and not (
            self.role(place - 1, "day_lead") or self._weekday_at(place - 1) is not None
        ):  # 4.10 euro
            return
        if not year:
            said = self.tokens[place]
            follows = self.role(place - 1, "day_lead") or self.role(place - 1, "fill") or self._weekday_at(place - 1) is not None
            if not (follows or self.role(place, "dotted") or said.end - said.start >= 4) or self.role(end, "unit"):
                return
            year, end = self._year_after(end)
        yield self._day_named(year, month, day), end

    def _numbered(self, place: int) -> Iterator[Found]:
        """Yield a day of a named month, of a month that is counted from now, or a length before or after now."""
        number = self.tokens[place].roles.get("number", self.tokens[place].roles.get("ordinal"))
        after = place + 1 + bool(self.role(place + 1, "of"))
        month = self.role(after, "month") or self.role(after, "short_month")
        if month and number in range(1, 32):
            year, end = self._year_after(after + 1)
            yield self._day_named(year, month, int(number)), end
        relative = self._relative_time(after, "month") if after > place + 1 and number in range(1, 32) else None
        if relative is not None:
            yield day_of_month(relative[0], int(number)), relative[1]
        if self.tokens[place].roles.get("digits") or "number" in self.tokens[place].roles:
            yield from self._counted(place)

    def _bare_day(self, place: int) -> Iterator[Found]:
        """Yield the day of the month that a number with an article names, as "el 14", "am 14.", "14号"."""
        day = self.role(place, "nth")
        if day is None:
            place += 1
            place += bool(self.role(place, "day_lead"))
            is_ordinal = self.words.dotted or self.words.month_day
            day = self.role(place, "ordinal") if is_ordinal else self.role(place, "number")
            if not self.words.dotted and not self.role(place, "digits"):  # "the second" of several
                return
            if day is None or not (1 <= day <= 31) or isinstance(day, float):
                return
        end = place + 1
        named = end + bool(self.role(end, "of"))
        if self.role(named, "month") or self.role(named, "short_month"):
            yield from self._numbered(place)
            return
        if any(self.role(end, name) is not None for name in _NO_DAY) or self._opens_hours(place):
            return
        if self.role(place, "year") or (end < len(self.tokens) and self.touches(end) and self.role(end, "fill") is None
                                        and not self.tokens[end].roles and self.words.spaced and self._is_word(end)):  # fmt: skip
            return
        if self.words.dotted and self._is_name(end) and not self.role(place - 1, "lead"):  # "der 2. Lockdown"
            return
        month = self._relative_time(self.skip(end), "month")
        if month is not None:
            yield day_of_month(month[0], day), month[1]
        first = next_nth(self.at, day, self.lean)
        if first is not None:
            yield one_day(first, sure=False, day=(0, day)), end

    def _relative_time(self, place: int, grain: str) -> Found | None:
        """Return a unit that is counted from now ("next month") if it begins at this token."""
        found = [
            reading for reading in (*self._which(place), *self._unit(place), *self._step(place)) if reading[0].grain == grain
        ]
        return max(found, key=lambda reading: reading[1], default=None)

    def _year_after(self, place: int) -> tuple[int | None, int]:
        """Return the year that stands after a month, in digits or counted from now, and the place after it."""
        after = self.skip(place)
        year = self.role(after, "year")
        if year and not self.role(after + 1, "unit"):
            return int(year), after + 1
        relative = self._relative_time(after, "year")
        return (relative[0].first.year, relative[1]) if relative is not None else (None, place)

    def _month(self, place: int) -> Iterator[Found]:
        yield from self._month_of(place, self.tokens[place].roles["month"], None)

    def _month_of(self, place: int, month: int, year: int | None, *, relative: bool = False) -> Iterator[Found]:
        end = place + 1
        if self.words.spaced and self.role(place - 1, "digits") and not self.role(place - 1, "year"):  # 31 February
            return
        day_place = self.skip(end)
        day = self.role(day_place, "nth")
        if day:
            yield replace(self._day_named(year, month, day), relative=relative), day_place + 1
        if self.words.month_day:
            yield from self._month_day(end, month, year)
        if year is None:
            year, end = self._year_after(end)
        if year is not None:
            yield replace(months_from(self.at, year, month), relative=relative), end
            return
        which = self._which_at(end)
        if which is not None:
            yield which_month(self.at, month, which), end + 1
        whole = months_from(self.at, month_year(self.at, month, self.lean), month, sure=False)
        yield replace(whole, day=(month, 0)), end
        order, after = self._order(day_place)
        if order:
            yield from self._ordered(order, after, whole)

    def _month_day(self, place: int, month: int, year: int | None) -> Iterator[Found]:
        """Yield the day that a number after a month names: "May 3", "May the 3rd, 2026"."""
        if self.role(place, "comma"):
            return
        place = self.skip(place)
        day = self.role(place, "number") or self.role(place, "ordinal")
        if (
            not isinstance(day, int)
            or not 1 <= day <= 31
            or (not self.role(place, "digits") and "ordinal" not in self.tokens[place].roles)
        ):
            return
        if any(self.role(place + 1, name) is not None for name in ("unit", "clock", "no_day")):
            return
        end = place + 1
        if year is None:
            year, end = self._year_after(end)
        yield self._day_named(year, month, day), end

    def _short_month(self, place: int) -> Iterator[Found]:
        if self.words.month_day:
            yield from self._month_day(place + 1, self.tokens[place].roles["short_month"], None)
            if self.role(place - 1, "lead"):
                yield from self._month_of(place, self.tokens[place].roles["short_month"], None)
        year, end = self._year_after(place + 1)
        if year is not None:
            yield months_from(self.at, year, self.tokens[place].roles["short_month"]), end

    def _year(self, place: int) -> Iterator[Found]:
        year = self.role(place, "year")
        if (
            year
            and not any(self.role(place + 1, name) for name in ("unit", "clock"))
            and not (self.words.subjects and self._counts(place, year))
        ):
            yield months_from(self.at, year, 1, 12, grain="year"), place + 1

    def _led_year(self, place: int) -> Iterator[Found]:
        after = place + 1
        while self.role(after, "year_lead"):
            after += 1
        yield from self._year(after)

    def _year_first(self, place: int) -> Iterator[Found]:
        """Yield a month, a day, a season or a quarter with its year before it, as 2026年5月3日."""
        year = self.tokens[place].roles["year"]
        yield from self._within_year(months_from(self.at, year, 1, 12, grain="year"), self.skip(place + 1))

    # ---- weekdays ----------------------------------------------------------------------------------------------

    def _weekday(self, place: int) -> Iterator[Found]:
        weekday = self._weekday_at(place)
        if weekday is None:
            return
        end = place + 1
        after = self.skip(end)
        if self.role(end, "coming"):
            yield one_day(next_weekday(self.at, weekday, 1), relative=True), end + 1
        elif (step := self.role(end, "which")) is not None:
            yield which_weekday(self.at, weekday, step), end + 1
        week = self._relative_time(after, "week")
        if week is not None:
            yield one_day(week[0].first + weekday * DAY, relative=True), week[1]
        if any(self.role(after, name) for name in _DATED):
            yield from self._weekday_and_day(weekday, end)
        part = self.role(place, "weekday_part")
        is_led = self.role(place - 1, "lead") or self._which_at(place - 1) is not None or self.role(end, "part")
        if "short_weekday" in self.tokens[place].roles and not is_led:
            return
        if self.role(place - 1, "attributive") and self._is_noun(end):  # "the Tuesday boat"
            return
        if self.role(place - 1, "ordinal") and not self.role(place - 1, "digits"):  # the first of several Fridays
            return
        day = one_day(next_weekday(self.at, weekday, self.lean), sure=False, relative=True)
        yield (part_of(day, part[1]) if part else day), end

    def _weekday_and_day(self, weekday: int, place: int) -> Iterator[Found]:
        dated = self.longest(self.skip(place), nested=_NESTED)
        if dated is not None and dated[0].grain in ("day", "part") and not dated[0].relative and (dated[0].day or (0, 0))[0]:
            is_fixed = dated[0].sure or (self.is_future and (dated[0].first - self.today).days < _FAR)
            yield (dated[0] if is_fixed else on_weekday(self.at, dated[0], weekday)), dated[1]
            return
        place += bool(self.role(place, "comma"))
        place += bool(self.role(place, "day_lead"))
        is_day = self.role(place, "digits") and (self.role(place, "ordinal") or not self.words.month_day)
        day = self.role(place, "nth") or (self.role(place, "number") if is_day else None)
        if (
            not isinstance(day, int)
            or not 1 <= day <= 31
            or any(self.role(place + 1, name) for name in ("unit", "clock", "no_day"))
            or self._opens_hours(place)
        ):
            return
        first = weekday_and_nth(self.at, weekday, day, self.lean)
        if first is not None:
            yield one_day(first, day=(0, day)), place + 1

    # ---- counted from now --------------------------------------------------------------------------------------

    def _day_word(self, place: int) -> Iterator[Found]:
        yield one_day(self.today + self.tokens[place].roles["day"] * DAY, relative=True), place + 1

    def _day_part(self, place: int) -> Iterator[Found]:
        day, part = self.tokens[place].roles["day_part"]
        yield part_of(one_day(self.today + int(day) * DAY, relative=True), part), place + 1

    def _which(self, place: int) -> Iterator[Found]:
        """Yield this, the next or the last unit, weekday, month, season or part of a day, with that word before the noun."""
        step = self._which_at(place)
        if step is None:
            return
        after = self.skip(place + 1)
        unit = self.role(after, "unit")
        if unit and unit != "day" and (whole := unit_at(self.at, unit, step)) is not None:
            yield whole, after + 1
        weekday = self._weekday_at(after)
        if weekday is not None:
            yield from self._which_then_weekday(place, step, weekday, after)
        if month := self.role(after, "month"):
            yield which_month(self.at, month, step), after + 1
        if season := self.role(after, "season"):
            yield which_season(self.at, season, step), after + 1
        if (part := self.role(after, "part")) and step <= 0:
            yield part_of(one_day(self.today + step * DAY, relative=True), part), after + 1
        if (holiday := self.role(after, "holiday")) and step:
            yield replace(day_of_holiday(self.at, holiday, step), relative=True), after + 1
        if self.role(after, "number"):
            yield from self._run(after, step)

    def _which_then_weekday(self, place: int, step: int, weekday: int, after: int) -> Iterator[Found]:
        if self.role(place, "coming"):
            day = one_day(next_weekday(self.at, weekday, 1), relative=True)
        else:
            day = which_weekday(self.at, weekday, step)
        part = self.role(after, "weekday_part")
        yield (part_of(day, part[1]) if part else day), after + 1
        if step < 0:  # the last Friday of May
            yield from self._ordered(-1, after, None)

    def _unit(self, place: int) -> Iterator[Found]:
        """Yield this, the next or the last unit with that word after the noun; a bare weekend; the week of a day."""
        unit = self.role(place, "unit")
        if not unit:
            return
        step = None if self.words.month_day else self._which_at(place + 1)
        if step is not None and (whole := unit_at(self.at, unit, step)) is not None:
            yield whole, place + 2
        elif unit == "weekend":
            saturday = weekday_of_week(self.at, 5, -1 if self.lean < 0 and self.at.weekday() < 5 else 0)
            yield Time(saturday, saturday + 2 * DAY, "weekend", sure=False, relative=True), place + 1

    def _step(self, place: int) -> Iterator[Found]:
        """Yield a unit that is counted from now by one word: 去年, 来週."""
        named = self.role(place, "unit_step")
        if named and (whole := unit_at(self.at, named[0], int(named[1]))) is not None:
            yield whole, place + 1

    def _run(self, place: int, step: int) -> Iterator[Found]:
        """Yield the last so many days before now, or the next ones: "die letzten drei Tage"."""
        length, end = self._length(place)
        if length is None or not step:
            return
        yield stretch(self.at, length, step), end

    def _rest(self, place: int) -> Iterator[Found]:
        """Yield the rest of a week, a month or a year that is not over."""
        after = self.skip(place + 1)
        after += bool(self.role(after, "which") == 0)
        whole = unit_at(self.at, self.role(after, "unit") or "", 0)
        if whole is not None:
            yield Time(self.today, whole.until, "range", relative=True), after + 1

    def _decade(self, place: int) -> Iterator[Found]:
        """Yield the ten years that a number of tens names: "90s", "anni 90", "1990s"."""
        number, end = self.role(place, "decade"), place + 1
        if number is None:
            number, end = self.role(place + 1, "number"), place + 2
        if not isinstance(number, int) or number % 10 or not (10 <= number < 100 or 1600 <= number < 2200):
            return
        year = number if number >= 1600 else number + (2000 if number <= self.at.year % 100 else 1900)
        yield months_from(self.at, year, 1, 120, grain="decade"), end

    def _month_of_year(self, place: int) -> Iterator[Found]:
        year, month = self.tokens[place].roles["month_of"]
        yield months_from(self.at, year, month), place + 1

    def _ago_before(self, place: int) -> Iterator[Found]:
        length, end = self._length_after(place)
        if length is not None:
            yield away(self.at, length, -1), end

    def _ahead_before(self, place: int) -> Iterator[Found]:
        if self.is_past and self.role(place, "fill"):  # "in zwei Wochen gelernt" is a length
            return
        length, end = self._length_after(place)
        if length is not None and not self._is_rate(place + 1, length):
            yield away(self.at, length, 1), end

    def _is_rate(self, place: int, length: Length) -> bool:
        """Return whether a length with an article is no time to come: "five in a year", "in a second"."""
        is_said = self.is_future and not 0 < length.seconds < 3600
        return bool(self.role(place, "fill")) and not (is_said or length.unit == "fortnight")

    def _counted(self, place: int) -> Iterator[Found]:
        """Yield a length with the word after it that says from when it counts: "tre giorni fa", 三天后."""
        length, end = self._length(place)
        if length is None:
            step = self._which_at(place + 1)
            unit = self.role(place + 2, "unit")
            length = length_of(self.tokens[place].roles.get("number") or 0, unit) if step and unit else None
            if length is not None and step:  # "les trois derniers jours"
                yield stretch(self.at, length, step), place + 3
            return
        if self.role(end, "ago_after"):
            yield away(self.at, length, -1), end + 1
        if self.role(end, "ahead_after"):
            yield away(self.at, length, 1), end + 1
        for name, way in (("before", -1), ("after", 1)):
            if self.role(end, name) and not length.seconds:
                day = self.longest(self.skip(end + 1), nested=_NESTED)
                if day is not None and day[0].grain in ("day", "part"):
                    yield one_day(moved(midnight(day[0].first), length, way), relative=day[0].relative), day[1]

    # ---- seasons, quarters, weeks by number, feasts ------------------------------------------------------------

    def _season(self, place: int) -> Iterator[Found]:
        season, end = self.tokens[place].roles["season"], place + 1
        year, after = self._year_after(end)
        if year is not None:
            yield season_of(self.at, season, year), after
            return
        step = self._which_at(end)
        if step is not None:
            yield which_season(self.at, season, step), end + 1
        yield season_at(self.at, season, self.lean), end

    def _order(self, place: int) -> tuple[int, int]:
        """Return an ordinal number (0 if there is none) and the place after it."""
        order = self.role(place, "ordinal")
        if isinstance(order, int):
            return order, place + 1
        if self.role(place, "th") and isinstance(number := self.role(place + 1, "number"), int):
            return number, place + 2 + bool(self.role(place + 2, "classifier"))
        return 0, place

    def _ordinal(self, place: int) -> Iterator[Found]:
        order, after = self._order(place)
        if not order:
            return
        yield from self._ordered(order, after, None)
        unit = self.role(after, "unit")
        months = {"quarter": 3, "half_year": 6}.get(unit or "")
        if months and 1 <= order <= 12 // months:
            year, end = self._year_after(after + 1)
            yield fraction_of_year(self.at, self.lean, order, months, year), end
        if unit == "week" and order <= 53:
            year, end = self._year_after(after + 1)
            if year is not None:
                yield week_number(self.at, order, year), end

    def _ordered(self, order: int, place: int, month: Time | None) -> Iterator[Found]:
        """Yield the nth or last weekday, week, weekend or day of a month, which stands after it if it is not given."""
        weekday, unit = self._weekday_at(place), self.role(place, "unit")
        if weekday is None and unit not in ("week", "weekend", "day"):
            return
        end = place + 1
        if month is None:
            after = self.skip(end)
            if not (
                self.role(after, "month")
                or self.role(after, "which")
                or self.role(after, "unit")
                or self.role(after, "unit_step")
            ):
                return
            found = self._relative_time(after, "month")
            if found is None:
                found = max((r for r in self._months(after) if r[0].grain == "month"), key=lambda r: r[1], default=None)
            if found is None:
                return
            month, end = found
        yield nth_of_month(self.at, month, order, unit, weekday), end

    def _months(self, place: int) -> Iterator[Found]:
        if self.role(place, "month"):
            yield from self._month(place)

    def _week_number(self, place: int) -> Iterator[Found]:
        after = self.skip(place + 1)
        number = self.role(after, "number")
        if isinstance(number, int) and self.role(after, "digits") and not self.role(after + 1, "unit") and 1 <= number <= 53:
            year, end = self._year_after(after + 1)
            if self.role(self.skip(after + 1), "month") is None:  # "semana del 3 de mayo"
                yield week_number(self.at, number, year or self.at.year), end

    def _quarter_letter(self, place: int) -> Iterator[Found]:
        number = self.role(place + 1, "number")
        if number in (1, 2, 3, 4) and self.touches(place + 1):
            year, end = self._year_after(place + 2)
            yield fraction_of_year(self.at, self.lean, number, 3, year), end

    def _holiday(self, place: int) -> Iterator[Found]:
        year, end = self._year_after(place + 1)
        month, day = self.tokens[place].roles["holiday"]
        yield (self._day_named(year, month, day) if month else around_easter(self.at, self.lean, year, day)), end

    def _edge_unit(self, place: int) -> Iterator[Found]:
        """Yield the end of this month or of a named time: "Monatsende", 月底, "Jahresende 2027"."""
        edge, unit = self.tokens[place].roles["edge_unit"]
        whole = unit_at(self.at, unit, 0)
        year, end = self._year_after(place + 1)
        if year is not None and unit == "year":
            whole = months_from(self.at, year, 1, 12, grain="year")
        else:
            end = place + 1
        if whole is not None and (found := edge_of(whole, edge)) is not None:
            yield found, end

    # ---- times within others -----------------------------------------------------------------------------------

    def _edge(self, place: int, nested: int) -> Iterator[Found]:
        edge = self.tokens[place].roles["edge"]
        after = self.skip(place + 1 + bool(self.role(place + 1, "dash")))
        inner = self.longest(after, opened=True, nested=nested + 1)
        if inner is None:
            unit = self.role(after, "unit")
            whole = unit_at(self.at, unit, 0) if unit in ("week", "month", "year", "quarter") else None
            inner = (whole, after + 1) if whole is not None else None
        if inner is not None and not inner[0].edge and (found := edge_of(inner[0], edge)) is not None:
            yield found, inner[1]

    def _part_first(self, place: int, nested: int) -> Iterator[Found]:
        day = self.longest(self.skip(place + 1), nested=nested + 1)
        if day is not None and day[0].grain == "day":
            yield part_of(day[0], self.tokens[place].roles["part"]), day[1]

    def _week_of(self, place: int, nested: int) -> Iterator[Found]:
        is_joined = self.role(place + 1, "fill") or self.role(place + 1, "day_lead")
        if self.tokens[place].roles["unit"] not in ("week", "weekend") or not is_joined:
            return
        day = self.longest(self.skip(place + 1), nested=nested + 1)
        if day is None or day[0].grain != "day":
            bare = [found for lead in (place + 1, place + 2) if self.role(lead, "day_lead") for found in self._bare_day(lead)]
            day = bare[-1] if bare else None
        if day is not None and not day[0].relative:
            week = week_of(day[0].first)
            is_week = self.tokens[place].roles["unit"] == "week"
            yield (replace(week, sure=day[0].sure) if is_week else Time(week.first + 5 * DAY, week.until, "weekend")), day[1]


_RULES = (
    ("date", Grammar._date),
    ("day", Grammar._day_word),
    ("day_part", Grammar._day_part),
    ("number", Grammar._numbered),
    ("length", Grammar._counted),
    ("nth", Grammar._bare_day),
    ("day_lead", Grammar._bare_day),
    ("ordinal", Grammar._numbered),
    ("ordinal", Grammar._ordinal),
    ("th", Grammar._ordinal),
    ("month", Grammar._month),
    ("short_month", Grammar._short_month),
    ("weekday", Grammar._weekday),
    ("short_weekday", Grammar._weekday),
    ("weekday_part", Grammar._weekday),
    ("which", Grammar._which),
    ("coming", Grammar._which),
    ("unit", Grammar._unit),
    ("unit_step", Grammar._step),
    ("ago_before", Grammar._ago_before),
    ("ahead_before", Grammar._ahead_before),
    ("season", Grammar._season),
    ("week_no", Grammar._week_number),
    ("quarter_letter", Grammar._quarter_letter),
    ("holiday", Grammar._holiday),
    ("edge_unit", Grammar._edge_unit),
    ("rest", Grammar._rest),
    ("decade", Grammar._decade),
    ("decade_lead", Grammar._decade),
    ("month_of", Grammar._month_of_year),
    ("year", Grammar._year_first),
    ("year_lead", Grammar._led_year),
)
"""The rule for each role that the first token of a time can have."""

_WRAPS = (("edge", Grammar._edge), ("part", Grammar._part_first), ("unit", Grammar._week_of))
"""The rules for times that hold another time."""
