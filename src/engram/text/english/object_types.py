"""The type of an object's value: a name, a number of some unit, a day, a place; or no value, but how something is. Pure.

"My wife is Kim" and "my wife is a doctor" are both so: one names her, the other tells of her. Only values of one sort shut each
other out. In doubt something is no value: to keep both costs little, to lose one that is true costs a memory.
"""

from __future__ import annotations

import re

from engram.text.english.gazetteer import GIVEN_NAMES, TECHNOLOGIES, is_technology, place_level
from engram.text.english.numerals import digits
from engram.text.terms import word_set

_PEOPLE = word_set("""
    manager boss doctor dentist therapist landlord coach teacher wife husband partner girlfriend boyfriend roommate owner lead
    contact reviewer maintainer ceo cto cfo
    """)
_MEASURED = word_set("""
    number age salary rent budget port weight height price cost rate limit timeout capacity headcount quota retention score
    interval
    """)
_DATED = word_set("deadline date birthday")
_TIMED = word_set("scheduled opens closes starts begins ends leaves departs arrives lands runs")
_OFFICES = word_set("coo president chair chairman chairwoman captain principal mayor director head")
_NAMED = word_set("""
    car bike laptop phone bank gym provider employer company school university brand book author movie film song band singer
    artist restaurant cafe show series city country editor browser ide os database framework insurance server cluster model
    name nickname team language license plan stack font timezone zone locale currency place game
    """)
_CODES = word_set("email e-mail address url host hostname region username handle version")
_OWN_NAMES = word_set("restaurant cafe gym book movie film song band show series")  # of which some end in 's
_ACTIVITIES = word_set("hobby sport job subject")
_KINDS = word_set("diet status theme")  # whose values are adjectives
_PROPERTIES = word_set("title role color colour size time pronouns mood allergy goal schedule shift cadence tag note mail")
_TONGUES = word_set("language subject major")
_HOW = word_set("""
    able absent afraid alive alone amazing angry annoyed annoying anxious asleep available awake aware away awesome awful bad
    basic beautiful bent better big bitter bleak blurry boring brief bright brilliant broke broken brutal buggy built bumpy
    busy calm casual central chaotic cheap civil clean clear closed cold colder complex confused cool cosy cozy crazy crowded
    cruel cute dark dead deaf decent dense different difficult digital dim dirty divine divorced done down dry due dull early
    easy elegant empty engaged enough evil excellent exciting expired extra faint fair fake famous fantastic fast faster fat
    female fine firm fit fixed flaky flat flexible foreign formal fragile free frequent fresh friendly frozen full fun funny
    furious general generous gentle given global gone good gorgeous grand great gross grumpy guilty handy happy hard harsh
    healthy heavy hectic helpful here hidden high higher holy honest hot huge humble humid hung hungry idle ill illegal
    immense important impossible indoor inner insane intense interesting internal irrelevant jealous joint juicy junk kaput
    keen kind known laggy lame large late later lazy leaky legal lenient light likely limited local lonely long longer loose
    lost loud lousy lovely low lower lucky mad made major male manual married massive mean medical mental mere messy mild
    minor missing modern moist moody mutual naive narrow nasty native near neat negative negotiable nervous new next nice
    noisy normal obscure obvious odd off offline ok okay old older online opaque open original out outdated outdoor over
    overdue own paid painful parked partial pending perfect picky plain plausible pleasant plenty polite poor popular possible
    precious precise pregnant pretty previous prime prior private probable proper proud public pure quick quiet random rare
    raw ready real really recent regular relevant remote retired rich ridiculous right ripe robust rough royal rude rural
    rusty sad safe salty same sane scared scary secret secure sensible sensitive separate serious set severe sexy shaky
    shallow sharp shiny short shut shy sick silly similar simple single sleepy slim slippery sloppy slow slower small smart
    smooth social soft sold sole solid sore sour spare special spicy spotty stable stale static steady steep stiff stolen
    strange strenuous strict strong stubborn stuck stupid sturdy subtle sudden sunk super superb sure sweet taken tall tame
    tasty temporary tender terrible terse thick thin thirsty tidy tight time time-consuming tiny tired toast top torn total
    tough toxic traditional tricky true typical ugly ultimate unclear undecided under unfair unique unknown unpaid unreal
    unsafe unstable untidy unusual unwell up upright upset urgent useful useless usual vague valid vast vegan vegetarian vital
    vivid warm wasted weak wealthy weird well wet whole wicked wide wild wise wonderful wonky worn worried worse worst worth
    worthy written wrong young yummy
    """)
_VAGUE = word_set("""
    about across all almost also always anything around as at bad barely because been behind being between both by coming
    difficult doing easy everyone everything fine for from getting going good great hard hardly having hers his how important
    in inside just kind like making mine mostly near never nice not nothing of ok okay on one ours outside perfect pretty
    quite rather right so somebody someone something sort still terrible that theirs to too very what whatever when where
    whoever why with within without wrong yours
    """)
_LOOKS_LIKE_HOW = re.compile(
    r"\w{2,}(?:ful|less|ous|able|ible|ive|ish|ical|ant|ent|ly|ier|iest|ed|[a-z]-(?:based|like|only|compatible|free))$"
)
_NOT_HOW = word_set("""
    red student president parent archive olive drive family italy july consultant restaurant croissant event fish spring evening
    evenings morning mornings pudding daily weekly biweekly monthly quarterly yearly nightly hourly
    """)
_PEOPLES = word_set("""
    african american arab argentinian asian australian austrian belgian brazilian british bulgarian canadian catholic chinese
    christian colombian croatian cuban czech danish dutch egyptian english ethiopian european finnish french german greek
    hindu hungarian icelandic indian indonesian iranian iraqi irish israeli italian jamaican japanese jewish kenyan korean
    latvian lebanese lithuanian malaysian mexican moroccan muslim nepalese nigerian norwegian pakistani persian peruvian
    polish portuguese protestant romanian russian scottish serbian slovak slovenian spanish swedish swiss syrian thai tunisian
    turkish ukrainian vegan vegetarian venezuelan vietnamese welsh buddhist orthodox republican democrat ceo cto cfo coo vp
    phd hr it
    """)
_POSITIONS = word_set("vice president head director chief senior junior principal professor manager captain")
_LEADING = re.compile(
    r"^(?:now|currently|actually|called|named|about|around|only|just|roughly|approximately|exactly|at) ", re.IGNORECASE
)
_CLASS = re.compile(r"^(?:an?|some|any|one of|kind of|sort of) ", re.IGNORECASE)
_THE = re.compile(r"^(?:the|my|our|his|her|their|new|brand[- ]new) ", re.IGNORECASE)
_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof|St)\.? ")
_RELATIVE = re.compile(
    r"\b(?:above|below|over|under|more|less|off|behind|ahead|left|late|away|short|higher|lower|too|than|of|from|out|ago|early"
    r"|older|younger|days?|weeks?|months?) *$|\b(?:above|below|over|under|more|less|behind|ahead|than|too|older|younger)\b",
    re.IGNORECASE,
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_DAYS.split())})s?\b")
_MONTH = rf"(?:{'|'.join(_MONTHS.split())})[a-z]*\.?"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}(?:st|nd|rd|th)"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}(?:[./]\d{2,4})?)\b"
)
_CLOCK = re.compile(r"\b(?:\d{1,2}:\d\d|\d{1,2} ?(?:am|pm|o'clock)|noon|midnight)\b|^\d{1,2}$")
_QUANTITY = re.compile(
    r"^(?:up to |about |around )?~?(?P<sign>[$€£]?)\d[\d., ]*(?:k|m)?(?: ?(?P<unit>[a-z%°]+))?(?: (?:a|per|each) \w+| old)?$"
)
_AMOUNT = re.compile(r"^[$€£~]?(?P<number>\d+(?:,\d{3})*(?:\.\d+)?)(?P<scale>[km])?(?![\w.,])")
_PLATFORMS: dict[str, str] = {
    name: sort
    for sort, names in {
        "system": "linux ubuntu debian fedora windows macos android ios",
        "language": "python javascript typescript java kotlin scala haskell ruby php elixir erlang clojure go rust node.js deno",
        "framework": "django flask fastapi rails laravel react angular vue svelte next.js express nginx apache caddy",
        "container": "docker kubernetes podman helm nomad",
        "database": "postgresql mysql mariadb sqlite mongodb redis cassandra clickhouse duckdb neo4j elasticsearch",
    }.items()
    for name in names.split()
}


def is_value(attribute: str, said: str) -> bool:
    """Does `said`, as it was written, tell which one the attribute is, and not how it is or what sort of one?"""
    what = attribute.split(" ")[-1]
    plain = _without(_LEADING, said.strip())
    of_class = _CLASS.match(plain) is not None
    plain = _without(_THE, _without(_CLASS, plain))
    if not plain:
        return False
    if what in _MEASURED:
        return not of_class and bool(re.match(r"[$€£~+]?\d", digits(plain.lower()))) and not _RELATIVE.search(plain)
    if what in _DATED:
        return bool(calendar(digits(plain.lower()))) and not re.match(r"(?:in|within) ", plain)
    if _tells_how(plain, what) or (plain.split(" ")[0].lower() in _PEOPLES and what not in _TONGUES | _KINDS):
        return False
    if what in _PEOPLE:
        return not of_class and (is_name(plain) or (what == "owner" and plain.endswith(" team")))
    if re.search(r"['’]s?\b", plain) and what not in _OWN_NAMES:
        return False
    if what in _CODES:
        return not of_class and re.search(r"[A-Z\d@./_-]", plain) is not None
    if what in _NAMED:
        return _is_written_as_name(plain) and not (
            what == "team" and is_name(plain) and plain.lower().split(" ")[0] in GIVEN_NAMES
        )
    return not of_class and len(plain.split(" ")) <= 5 and not (plain[0].isdigit() and bool(_RELATIVE.search(plain)))


def is_role(attribute: str) -> bool:
    """Return True for what one person is at a time: a manager, a CEO."""
    return attribute in _PEOPLE | _OFFICES


def is_property(attribute: str) -> bool:
    """Return True for an attribute whose values are no names: a measure, a day, a code, a state, an occupation."""
    return attribute.split(" ")[-1] in _MEASURED | _DATED | _CODES | _ACTIVITIES | _KINDS | _PROPERTIES


def is_name(said: str) -> bool:
    """Somebody's name, as it is written: "Kim", "Dr. Lang", "Ana de Souza"; not "Kim's sister", not "German"."""
    words = _TITLE.sub("", said).split(" ")
    if words[0].lower() in _PEOPLES | _POSITIONS or any(word.endswith(("'s", "’s")) for word in words):
        return False
    capitals = all(word[:1].isupper() or word in ("de", "van", "von", "der", "la", "le", "bin", "al") for word in words)
    return (capitals and words[0][:1].isupper()) or (len(words) <= 2 and words[0].lower() in GIVEN_NAMES)


def calendar(said: str) -> dict[str, str]:
    """The parts of a lower-case wording that fix a time: its weekday, its date, its hour."""
    parts: dict[str, str] = {}
    for part, pattern in (("weekday", _WEEKDAY), ("date", _DATE), ("clock", _CLOCK)):
        if (match := pattern.search(said.strip())) is not None:
            found = match.group().removesuffix("s") if part == "weekday" else match.group()
            parts[part] = re.sub(r"(?<=\d)(?:st|nd|rd|th)\b|[ .]|:00", "", found)
    if "date" in parts and parts["date"].isalnum():  # "3may" and "may3" are one day
        parts["date"] = "".join(sorted(part.lstrip("0") for part in re.findall(r"\d+|[a-z]{3}", parts["date"])))
    if "clock" in parts:
        clock = {"noon": "12pm", "midnight": "12am"}.get(parts["clock"], parts["clock"])
        parts["clock"] = clock if re.search(r"am|pm", clock) else clock.lstrip("0")
    return parts


def same(one: str, other: str) -> bool:
    """Do two objects say the same? One of them may say more of it: "Berlin" and "Berlin, Germany"."""
    first, second = _words(one), _words(other)
    return one == other or first <= second or second <= first or _is_same_amount(one, other)


def _is_same_amount(one: str, other: str) -> bool:
    """Return True for one amount written in two ways: "€250,000" and "250k euros"."""
    amounts = [_AMOUNT.match(said) for said in (one, other)]
    if not all(amounts) or _unit(one) is None or _unit(one) != _unit(other):
        return False
    values = {
        float(amount["number"].replace(",", "")) * {"k": 1e3, "m": 1e6}.get(amount["scale"] or "", 1.0)
        for amount in amounts
        if amount is not None
    }
    return len(values) == 1


def covers(general: str, special: str) -> bool:
    """Is the special one a case of the general one: "vim on windows" of "vim"?"""
    return general == special or _words(general) <= _words(special)


def clash(predicate: str, one: str, other: str) -> bool:
    """Can a subject not have both, if it has one such at a time? Not if their sorts differ: a city and its country."""
    if same(one, other):
        return False
    if predicate in ("lives in", "is in"):
        return place_level(one) == place_level(other) or "" in (place_level(one), place_level(other))
    if predicate in ("runs on", "written in"):
        return _platform(one) == _platform(other)
    first, second = calendar(one), calendar(other)
    if predicate in _TIMED or predicate.split(" ")[-1] in _DATED:
        if first and second:
            return any(_is_another(part, first[part], second[part]) for part in first.keys() & second.keys())
        return True
    units = {_unit(one), _unit(other)}
    return len(units) == 1 or (units.isdisjoint({None, "%"}) and "" in units)


def _is_another(part: str, one: str, other: str) -> bool:
    """Return True for two times; of an hour, only one of them may tell the half of the day."""
    if part == "clock" and one.endswith("m") is not other.endswith("m"):
        return re.sub(r"[ap]m$", "", one) != re.sub(r"[ap]m$", "", other)
    return one != other


def _unit(said: str) -> str | None:
    """The unit of a quantity, empty if none is told; None for what is no quantity."""
    match = _QUANTITY.match(said)
    if match is None:
        return None
    unit = match["unit"] or match["sign"] or ""
    return {"percent": "%", "euro": "€", "eur": "€", "dollar": "$", "usd": "$"}.get(
        unit.removesuffix("s"), unit.removesuffix("s")
    )


def platform(said: str) -> str:
    """Return the sort of a technology that things run on or are written in; empty if it is none."""
    return _PLATFORMS.get(TECHNOLOGIES.get(said, said), "")


def _platform(said: str) -> str:
    return "place" if place_level(said) else platform(said) or "host"


def _words(said: str) -> set[str]:
    return set(re.findall(r"[\w+#.]+", digits(said)))


def _without(pattern: re.Pattern[str], said: str) -> str:
    while (shorter := pattern.sub("", said)) != said:
        said = shorter
    return said


def _tells_how(plain: str, what: str) -> bool:
    first = plain.split(" ")[0]
    low = first.lower()
    if first[:1].isupper() or low in _NOT_HOW:
        return False
    if what in _KINDS:
        return low.endswith("ing") or low in _VAGUE
    if low in _HOW or low in _VAGUE or (low.endswith("ing") and len(low) > 5 and what not in _ACTIVITIES):
        return True
    return _LOOKS_LIKE_HOW.match(low) is not None


def _is_written_as_name(plain: str) -> bool:
    first = plain.split(" ")[0]
    if re.search(r"-(?:based|like|only|compatible|free)$", first):
        return False
    return any(letter.isupper() for letter in first) or is_technology(first) or first.lower() in GIVEN_NAMES
