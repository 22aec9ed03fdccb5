"""Find the things that a statement names: people, places, organisations, projects, technologies, files (C6, R6). Pure.

Comes in: a statement as it is kept, and who said it. Goes out: each thing it names once, with its sort and the other names
that these very words give it ("my manager Ada (@ada)"). By grammar and lists; what is only a capital is a `thing`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from engram.text.english.gazetteer import GIVEN_NAMES, LONG_PLACES, PLACES, TECHNOLOGIES, is_technology
from engram.text.english.grammar import is_past, is_tool, named
from engram.text.english.roles import KIN
from engram.text.terms import word_set
from engram.values.frozen import replace
from engram.values.memories import Mention, Name

PERSON, PLACE, ORGANISATION, PROJECT, PRODUCT, TECHNOLOGY, FILE, THING = (
    "person", "place", "organisation", "project", "product", "technology", "file", "thing",
)  # fmt: skip
UNSURE = ""  # the head of a sentence has a capital anyway: it is named only if it is known already
KINDS = (PERSON, PLACE, ORGANISATION, PROJECT, PRODUCT, TECHNOLOGY, FILE, THING)


_CASELESS = "\u05d0-\u05ea\u0621-\u064a\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3"
CAPITALS = f"A-Z{''.join(letter for letter in map(chr, range(0xC0, 0x530)) if letter.isupper())}{_CASELESS}"
"""The letters that a name can begin with: capitals of any alphabet, and letters of scripts that have none."""

_C = f"[{CAPITALS}]"
_LINKS = ("de", "van", "von", "der", "den", "la", "le", "bin", "al")
_LINK = f"(?:{'|'.join(_LINKS)})"
_ROLES = (
    r"(?:(?:team|tech|engineering|product|project|line|old|new|former|best|older|younger|little|big|twin|step)[ -]?)?"
    r"(?:manager|boss|supervisor|mentor|lead|cto|ceo|cfo|wife|husband|partner|spouse|girlfriend|boyfriend|fianc[eé]e?"
    r"|sister|brother"
    r"|mother|mom|mum|father|dad|son|daughter|cousin|aunt|uncle|nephew|niece|grandmother|grandma|grandfather|grandpa|friend"
    r"|colleague|coworker|teammate|roommate|flatmate|neighbou?r|landlord|doctor|dentist|therapist|teacher|coach|trainer|lawyer"
    r"|accountant|assistant|dog|cat|puppy|kitten|horse|parrot)"
)
_WHOSE = rf"(?P<whose>[Mm]y|[Oo]ur|[Tt]he user['’]s|{_C}[\w-]+['’]s?)"
_NAME = rf"(?P<name>(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_C}[\w-]+(?: {_LINK}(?= (?:{_LINK} )*{_C}))*(?: {_C}[\w-]+){{0,2}})"
_HANDLE = re.compile(r"(?<![\w.@/])@([A-Za-z][\w.-]{1,38}\w)")
_FILE = re.compile(
    r"(?<![\w@:/])(?:~?/|\.{1,2}/)?(?:[\w.-]+/)*[\w-]+(?:\.[\w-]+)*\.(?:py|js|ts|tsx|jsx|rs|go|java|kt|rb|c|h|cpp|hpp|cs"
    r"|php|sh|sql|md|rst"
    r"|txt|csv|json|jsonl|ya?ml|toml|ini|cfg|conf|xml|html|css|lock|log|db|pdf|docx?|xlsx?|pptx?|png|jpe?g|svg|ipynb|tf"
    r"|proto)\b"
    r"|(?<![\w@:/])(?:~|/(?:etc|usr|var|opt|home|tmp|srv|data|src|app))(?:/[\w.-]+)+|\b(?:Dockerfile|Makefile|README"
    r"|CHANGELOG)\b"
)
_FILE_HINT = re.compile(r"\w\.[a-z]|/\w|Dockerfile|Makefile|README|CHANGELOG")
_PROJECT = re.compile(
    r"\b(?i:project) (?P<a>[A-Z][\w-]+)|\bthe (?P<b>[A-Z][\w-]+(?: [A-Z][\w-]+)?) (?i:project|initiative|migration"
    r"|rollout|repo)\b"
    r"|\b(?i:repo|repository|package|library|codebase|service|project) (?:called "
    r"|named )?[`'\"]?(?P<c>[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+)"
    r"|\b[Tt]he (?P<d>[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+) (?:repo|repository|package|library|codebase|service|project)\b"
)
_ORGANISATION = re.compile(
    r"\b(?P<a>(?:[A-Z][\w&-]+ ){1,3}(?:Inc|Corp|Corporation|Ltd|LLC|GmbH|AG|Company|University|College|Institute|Bank"
    r"|Labs?|Group"
    r"|Foundation|Hospital|Clinic|Church|Museum|Library|School|Academy|Studios?|Airlines|Agency|Society|Association)\b\.?)"
    r"|\b(?P<e>University of [A-Z]\w+)"
    r"|\b(?:works? (?:at|for)|worked (?:at|for)|working (?:at|for)|joined|joining|job at|interview(?:ed)? (?:at|with)|hired by"
    r"|employed (?:at|by)|offer from|left|contract with|client|customer|vendor|acquired by|startup called)"
    rf" (?P<b>{_C}[\w&.-]*\w(?: {_C}[\w&-]+)?)"
)
_PROJECT_NEEDS = (
    "project", "initiative", "migration", "rollout", "repo", "package", "library", "codebase", "service",
)  # fmt: skip
_ORGANISATION_NEEDS = (
    "Inc", "Corp", "Ltd", "LLC", "GmbH", "AG", "Company", "University", "College", "Institute", "Bank", "Lab", "Group",
    "Foundation", "Hospital", "Clinic", "Church", "Museum", "Library", "School", "Academy", "Studio", "Airlines", "Agency",
    "Society", "Association", "work", "join", "job at", "interview", "hired by", "employed", "offer from", "left",
    "contract with", "client", "customer", "vendor", "acquired by", "startup called",
)  # fmt: skip
_PLACE_BEFORE = re.compile(
    r"\b(?:liv(?:es?|ed|ing) in|mov(?:ed?|es|ing) (?:back )?(?:to|from|in)|trip to|travel(?:s|l?ed|l?ing)? (?:to|in)"
    r"|fl(?:y|ies|ew|ying) to"
    r"|visit(?:s|ed|ing)?|vacation in|holiday in|based in|born in|grew up in|comes? from|came from|is from|are from"
    r"|stay(?:s|ed|ing)? in"
    r"|dr(?:ove|ives?|iving) to|conference in|office in|house in|apartment in|weekend in|summer in|near|went to|go to"
    r"|going to|back from"
    r"|back to|back in|meet(?:ing)? in|met in|in|arrived? in|relocat\w+ to) $"
)
_NO_PLACE_BEFORE = re.compile(
    r"\b(?:interested|believes?|experience|written|wrote|bug|error|issue|version|role|faith|trust\w*) in $"
)
_ROLE_NAME = re.compile(
    rf"\b{_WHOSE} (?P<role>(?i:{_ROLES}))(?: is| was|['’]s name is|,? (?:called|named)"
    rf"|,)? {_NAME}(?: \(@(?P<handle>[A-Za-z][\w.-]*\w)\))?"
)
_NAME_ROLE = re.compile(
    rf"\b{_NAME}(?:,| is| was|['’]s) (?P<whose>my|our|the user['’]s"
    rf"|{_C}[\w-]+['’]s?) (?P<role>{_ROLES})\b"
)
_BARE_ROLE = re.compile(rf"\b{_WHOSE} (?P<role>(?i:{_ROLES}))\b")
_NAME_HANDLE = re.compile(rf"{_NAME} \(@(?P<handle>[A-Za-z][\w.-]*\w)\)")
_MINE = re.compile(r"\b(?:[Mm]y|[Oo]ur) ")
_TITLED = re.compile(
    rf"\b(?:Dr|Mr|Mrs|Ms|Prof|Professor|Aunt|Uncle|Sir|Captain|Coach|Judge)\.? (?:{_LINK} )*{_C}[\w'’-]*\w"
    rf"(?: (?:{_LINK} )*{_C}[\w-]+)?"
)
_TITLE_BEFORE = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|Professor|Aunt|Uncle|Sir|Captain|Coach|Judge)\.? \Z")
_SHORT_AFTER = re.compile(r" \((?P<short>[A-Z][A-Z0-9&-]{1,7})\)")
_LAST_LATIN = "\u024f"
_TITLED_NEEDS = ("Dr", "Mr", "Ms", "Prof", "Aunt", "Uncle", "Sir", "Captain", "Coach", "Judge")
_CAPITALS = re.compile(
    rf"(?<![\w@/.]){_C}[\w'’&-]*(?:\.(?:js|io|NET|ai))?(?: (?:{_LINK}|of the)(?= (?:{_LINK} )*{_C}))*(?: {_C}[\w&-]*)*"
)
_WITHOUT_CASE = re.compile(f"[{_CASELESS}]")
_LOWER_TECH = re.compile(r"(?<![\w@/.-])[a-z][a-zA-Z0-9]*(?:[+#]+|\.(?:js|io))?(?![\w/-])")
_OPENS = re.compile(r"[.!?:]\s+[\"'(]?$")
_PERSON_BEFORE = re.compile(
    r"\b(?:with|met|meet|told|asked|called|emailed|thanked|married|hired|cc|ping|pinged|from|by|and|for|invited|tell|ask) $"
)
_PERSON_AFTER = re.compile(
    r"(?:['’]s)? (?:said|says|told|asked|leads|manages|runs|teaches|studies|bought|sent|gave|showed|thinks|wants|likes"
    r"|loves|prefers|agreed|suggested|wrote|reviewed|owns|called"
    r"|joined|left|will"
    r"|is (?:a|an|the|my|our|going|not|on|coming|still|now)|has|had|was|and|works|lives|moved|went|plays|wife|husband"
    r"|birthday)\b"
)
_PERSON_FOR_SURE = re.compile(
    r"(?:['’]s (?:wife|husband|birthday)| (?:said|says|told|asked|thinks|lives|loves|studies|teaches"
    r"|works (?:at|for|as)|is (?:my|our)))\b"
)
_SENTENCE_WORDS = word_set("""
    i a an the this that these those my our your his her its their we they he she it you who what when where why how which if and
    but or so then there here yes no not now today tomorrow yesterday also just please thanks hi hello hey ok okay let lets after
    before since while because for from in on at to of by with as is are was were be been have has had do does did can could will
    would should may might must last next every each some any all both many most few more less one two three first second new old
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october
    november december morning english spanish french german italian chinese japanese portuguese russian arabic christmas easter
    thanksgiving halloween mom dad mum god internet user assistant never always maybe sometimes great nice good sorry
    tried failed
    """)
_DAY = (
    r"\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|(?:Sept|Nov|Dec)ember"
    r"|October)"
)
_DAY_NAME = re.compile(rf"{_DAY} (?P<next>{_C}[\w-]+)")
_TIME_BEFORE = re.compile(
    r"(?:\b(?:on|in|at|by|of|since|until|till|from|to|for|before|after|during|last|next|this|that|every|each|early|late|mid|the"
    r"|\w*day and)|[\d,]) $",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"^(?P<who>[^:\n]{1,60}?)(?:, asked \"[^\"]*\")?: ")
_ASIDE = re.compile(r"\(asked: \"[^\"]*\"\)|\[[^\]]*\]")
_LONGEST = 1_500


def mentions(text: str, speaker: str = "", names: Sequence[Name] | None = None) -> tuple[Mention, ...]:
    """Return the things that a statement names, in no order, each once. A person who only speaks, or is spoken to, is not named.

    names: those that the statement model found, where it has read the text; else words with a capital are sorted by lists and by
    the words around them.
    """
    body = text[:_LONGEST]
    if "(" in body or "[" in body:
        body = _ASIDE.sub(" ", body)
    head = _ADDRESS.match(body) if speaker and ": " in body else None
    if head is not None and head["who"].startswith((speaker, "The user")):
        body = body[head.end() :]
    whose = "the user" if not speaker or speaker.lower() == "user" else speaker
    names = None if names is None else [_with_day(name, body) for name in names]
    found: dict[str, Mention] = {}
    taken: list[tuple[int, int]] = []
    for start, end, mention in _found(body, whose, names):
        if any(start < over and end > begin for begin, over in taken):
            continue
        taken.append((start, end))
        _put(found, mention)
    for name in names or ():  # in the words that it carries
        if name.text not in text:
            _put(found, _mention_of(name))
    return tuple(found.values())


def _with_day(name: Name, body: str) -> Name:
    """Return the name of a person with the day or month that is its first word: "Sunday Adeyemi"."""
    days = re.finditer(rf"{_DAY} (?={re.escape(name.text)}(?!\w))", body) if name.kind == PERSON else ()
    return next((replace(name, text=day.group() + name.text) for day in days if _is_day_name(body, day.start())), name)


def _is_day_name(body: str, start: int) -> bool:
    """True if the day or month at this place begins a name: not "on Sunday Adeyemi called", nor "Monday Tom called"."""
    match = _DAY_NAME.match(body, start)
    return match is not None and match["next"].lower() not in GIVEN_NAMES and not _TIME_BEFORE.search(body, 0, start)


def _put(found: dict[str, Mention], mention: Mention) -> None:
    key = folded(mention.name)
    if key in found:
        known = found[key]
        found[key] = replace(known, aliases=tuple(dict.fromkeys((*known.aliases, *mention.aliases))))
    else:
        found[key] = mention


def files(text: str) -> list[str]:
    """Return the files that a text names, in their order."""
    return [match.group().rstrip(".") for match in _FILE.finditer(text)] if _FILE_HINT.search(text) else []


def folded(name: str) -> str:
    """A name as it is compared: case, spacing, a leading "the" and a possessive do not matter."""
    plain = " ".join(name.casefold().replace("’", "'").split()).strip(".,;:!?\"'`()")
    plain = f"{plain})" if plain.rfind("(") > plain.rfind(")") else plain
    plain = plain.removeprefix("the ").removesuffix("'s").removesuffix("'")
    if plain.startswith(("my ", "our ")):
        return f"user's {plain.partition(' ')[2]}"
    return plain


def _found(body: str, whose: str, names: Sequence[Name] | None) -> Iterator[tuple[int, int, Mention]]:
    """Yield the findings of each rule, the surest first. A rule runs only where words of it stand; most statements hold none."""
    for match in _FILE.finditer(body) if _FILE_HINT.search(body) else ():
        yield match.start(), match.end(), Mention(match.group().rstrip("."), FILE)
    people = None if names is None else [name.text for name in names if name.kind == PERSON]
    yield from _people_by_role(body, whose, people)
    for match in _HANDLE.finditer(body) if "@" in body else ():
        yield match.start(), match.end(), Mention(f"@{match[1]}", PERSON)
    for match in _PROJECT.finditer(body) if any(map(body.lower().__contains__, _PROJECT_NEEDS)) else ():
        name = next(value for value in match.groups() if value)
        if name.lower() not in _SENTENCE_WORDS and not is_technology(name):
            yield match.start(), match.end(), Mention(name, PROJECT)
    yield from _capitalised(body) if names is None else _given(body, names)
    if not TECHNOLOGIES.keys().isdisjoint(map(str.lower, _LOWER_TECH.findall(body))):
        for match in _LOWER_TECH.finditer(body):
            if is_technology(match.group()):
                yield match.start(), match.end(), Mention(TECHNOLOGIES[match.group().lower()], TECHNOLOGY)


def _given(body: str, names: Sequence[Name]) -> Iterator[tuple[int, int, Mention]]:
    """Yield the names that are known to stand in a text with the titles before them, the longest first. Then other words with a
    capital: listed names, names in scripts that the model was not made for, and the rest, which counts if an entity has it."""
    for name in sorted(names, key=lambda name: -len(name.text)):
        for match in re.finditer(rf"(?<!\w){re.escape(name.text)}(?!\w)", body):
            title = _TITLE_BEFORE.search(body, 0, match.start()) if name.kind == PERSON else None
            short = _SHORT_AFTER.match(body, match.end()) if name.kind != PERSON else None
            if short is not None:
                yield match.start(), short.end(), replace(_mention_of(name), aliases=(short["short"],))
            elif title is None:
                yield match.start(), match.end(), _mention_of(name)
            else:
                yield title.start(), match.end(), Mention(body[title.start() : match.end()], PERSON)
    for start, end, mention in _capitalised(body):
        is_listed = mention.kind == TECHNOLOGY or mention.name.split()[0].lower() in GIVEN_NAMES
        is_sure = is_listed or any(letter.isalpha() and letter > _LAST_LATIN for letter in mention.name)
        yield start, end, mention if is_sure else Mention(mention.name, UNSURE)


def _mention_of(name: Name) -> Mention:
    low = name.text.lower()
    if is_technology(name.text) and name.kind != PERSON:
        return Mention(TECHNOLOGIES[low], TECHNOLOGY)
    return Mention(name.text, name.kind)


def _capitalised(body: str) -> Iterator[tuple[int, int, Mention]]:
    for match in _TITLED.finditer(body) if any(map(body.__contains__, _TITLED_NEEDS)) else ():
        yield match.start(), match.end(), Mention(match.group(), PERSON)
    for match in _ORGANISATION.finditer(body) if any(map(body.__contains__, _ORGANISATION_NEEDS)) else ():
        name = next(value for value in match.groups() if value).rstrip(".")
        start = match.start() + match.group().rfind(name)
        if not is_technology(name) and name.split()[0].lower() not in GIVEN_NAMES | PLACES | _SENTENCE_WORDS:
            yield start, start + len(name), Mention(name, ORGANISATION)
    yield from _capitals(body)


def _people_by_role(body: str, whose: str, people: Sequence[str] | None) -> Iterator[tuple[int, int, Mention]]:
    """Yield people with the role that the words give them. people: the only names that count, if they are known."""
    if "'s " not in body and "’s " not in body and not _MINE.search(body):
        if "(@" in body:
            yield from _with_handles(body)
        return
    for pattern in (_ROLE_NAME, _NAME_ROLE):
        for match in pattern.finditer(body):
            name, handle = match["name"], match.groupdict().get("handle")
            if people is not None:
                name = max((_with_title(one, name) for one in people if f" {one} " in f" {name} "), key=len, default="")
            if name and (name.split()[0].lower() not in _SENTENCE_WORDS or _is_day_name(body, match.start("name"))):
                aliases = (_role(match, whose), *((f"@{handle}",) if handle else ()))
                yield match.start(), match.end(), Mention(name, PERSON, aliases)
    yield from _with_handles(body)
    for match in _BARE_ROLE.finditer(body):
        yield match.start(), match.end(), Mention(_role(match, whose), PERSON)


def _with_title(name: str, found: str) -> str:
    """Return a name with the title that stands before it in a text."""
    title = found[: found.index(name)]
    return f"{title}{name}" if title.strip(" .").lower() in TITLES else name


def _with_handles(body: str) -> Iterator[tuple[int, int, Mention]]:
    for match in _NAME_HANDLE.finditer(body):
        yield match.start(), match.end(), Mention(match["name"], PERSON, (f"@{match['handle']}",))


def _role(match: re.Match[str], whose: str) -> str:
    """Return the role that a match gives. Who "was" my manager is my former one; who was my sister is so still."""
    owner = match["whose"].lower().replace("’", "'")
    who = whose if owner in ("my", "our", "the user's") else match["whose"].removesuffix("'s").removesuffix("’s").rstrip("'’")
    role = match["role"].lower()
    is_past = " was " in match.group() and role.split()[-1] not in KIN and not role.startswith("former")
    return f"{who}'s {'former ' if is_past else ''}{role}"


def _capitals(body: str) -> Iterator[tuple[int, int, Mention]]:
    """Yield names with a capital, sorted by lists, then by the words around; at the head of a sentence only known ones."""
    caseless = 0 if body.isascii() else len(_WITHOUT_CASE.findall(body))
    latin = not caseless or sum(letter.isascii() and letter.isalpha() for letter in body) > caseless
    for match in _CAPITALS.finditer(body):
        if not latin and _WITHOUT_CASE.search(match.group()):
            continue  # in a sentence of such a script nothing marks a name
        name, start = match.group().rstrip("'’"), match.start()
        name = name[:-2] if name.endswith(("'s", "’s")) else name
        while name and name.split()[0].lower().replace("’", "'").partition("'")[0] in _SENTENCE_WORDS and not is_technology(name):
            if _is_day_name(body, start):
                break
            gone = len(name.split()[0])
            rest = name[gone:].lstrip()
            start += len(name) - len(rest)
            name = rest
        if len(name) < 2 and name != "C":
            continue
        mention = _sorted(body, name, start)
        if mention is not None:
            yield start, start + len(name), mention


def _sorted(body: str, name: str, start: int) -> Mention | None:
    low, words = name.lower(), name.split()
    opens = start == 0 or bool(_OPENS.search(body, max(0, start - 4), start))
    if is_technology(name) and not (opens and low in ("go", "rest", "express", "windows", "zoom", "excel", "slack", "teams")):
        return Mention(TECHNOLOGIES[low], TECHNOLOGY)
    if low in PLACES or low in LONG_PLACES:
        return Mention(name, PLACE)
    if words[0].lower() in GIVEN_NAMES:
        return Mention(name, PERSON)
    before, after = body[max(0, start - 24) : start], body[start + len(name) : start + len(name) + 24]
    if _PLACE_BEFORE.search(before) and not _NO_PLACE_BEFORE.search(before):
        return Mention(name, PLACE)
    if opens and len(words) == 1:
        person = _PERSON_AFTER.match(after) and low not in _SENTENCE_WORDS and not low.endswith("ing")
        return Mention(name, PERSON if person else UNSURE)
    if _PERSON_BEFORE.search(before) and len(words) <= 2 and not name.isupper():
        return Mention(name, PERSON)
    if _PERSON_FOR_SURE.match(after) and len(words) <= 2 and not name.isupper():
        return Mention(name, PERSON)
    return Mention(name, THING)


def other_names(name: str, kind: str) -> tuple[str, ...]:
    """The names that somebody or something is also called by: a first name, handles made of the name, a name without its form.

    "Ada Lovelace" is Ada, @ada, @alovelace, @adalovelace, @ada.lovelace.
    """
    plain = folded(name)
    if plain.endswith(")"):
        return (plain,)  # "Ada Lovelace (sailor)" is not the one who is Ada Lovelace without more words
    parts = [part.strip(".") for part in plain.split()]
    if kind == PERSON and plain.startswith("@"):
        return (plain, plain[1:])
    if kind == PERSON and "'s " not in plain and parts:
        title = parts.pop(0) if parts[0] in TITLES and len(parts) > 1 else ""
        shorts = parts[:1] if parts[0] not in _LINKS else []
        first, last = _unaccented(parts[0]), _unaccented(parts[-1])
        made = [plain, " ".join(parts), *shorts]
        made += [_unaccented(one) for one in made] + [f"@{first}" for _ in shorts]
        if shorts and len(parts) > 1:
            made += [f"{title}{dot} {parts[-1]}" for dot in (".", "") if title]
            made += [f"@{first[0]}{last}", *(f"@{first}{joint}{last}" for joint in ("", ".", "_", "-"))]
        return tuple(dict.fromkeys(made))
    if kind == ORGANISATION:
        return tuple(dict.fromkeys((plain, re.sub(r"[ ,]+(?:inc|corp|corporation|ltd|llc|gmbh|ag|company)$", "", plain))))
    return (plain,)


def is_possessive(mention: Mention) -> bool:
    """True if a person is named by a name and its owner's: "Blue's Caroline" is nobody."""
    owned = _OWNED.search(mention.name)
    if owned is None:
        return False
    return mention.kind in (PERSON, UNSURE) or mention.name[owned.end() :].partition(" ")[0].lower() in GIVEN_NAMES


def of_speaker(words: str, speaker: str) -> Mention | None:
    """Return the mention of a speaker who tells of themselves; None if the words do not, or the speaker has no name."""
    name = " ".join(speaker.split())
    if not _SPEAKER.fullmatch(name) or named(name) != name or is_tool(name):
        return None
    first = re.match(r"[\w']+", words)
    if not _FIRST_PERSON.search(words) and (first is None or not is_past(first.group().lower())):
        return None
    return Mention(name, PERSON, is_speaker=True)


_OWNED = re.compile(rf"['’]s? (?={_C})")
_SPEAKER = re.compile(rf"{_C}[^\d_@/\\]{{1,60}}")
_FIRST_PERSON = re.compile(r"\bI(?:['’](?:m|ve|d|ll))?\b|\b(?:[Mm]y|[Mm]e|[Mm]ine|[Mm]yself|[Ww]e|[Oo]ur|[Uu]s|[Oo]urs)\b")


def _unaccented(name: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", name) if not unicodedata.combining(letter))


TITLES = frozenset({"dr", "mr", "mrs", "ms", "prof", "professor", "aunt", "uncle", "sir", "captain", "coach", "judge"})
