"""Names of people and postal addresses, recognised by their spelling and context. Pure.

There is no list of names, because most of the world's names are on none. A name is two capitalised words that are no other thing,
or one where a name is announced ("my name is …", "Dr. …", "… lives in"). An address is a house number beside a word for a street
in one of some fifteen languages, a flat, a box, or the words after "lives at". Precision and recall are in docs/benchmarks.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram.text.terms import word_set

NameSpan = tuple[str, int, int]

# Consecutive capitalised words, with an initial or a particle such as "von der" between them.
_CAP = r"[^\W\d_a-zß-öø-ÿ](?:[^\W\d_]|['’-](?=[^\W\d_])){1,24}"
_BETWEEN = r"(?:(?:[^\W\d_a-z]\.?|van|von|der|den|de|del|della|da|di|dos|la|le|el|al|bin|ibn|ter|ten) ){0,3}"
_ROW = re.compile(rf"(?<![\w@.'’/-]){_CAP}(?: {_BETWEEN}{_CAP}){{0,3}}(?:,? (?:Jr|Sr|II|III|IV)\b\.?)?(?![\w@/])")
_ALSO = re.compile(rf"(?:, |,? (?:and|or|und|et|y) )({_CAP})(?![\w@])")

_TITLES = word_set("mr mrs ms mx miss dr prof professor sir madam herr frau monsieur mme señor señora sr sra")
_BEFORE = word_set(
    """
    named called nicknamed husband wife brother sister son daughter mother father uncle aunt cousin boss colleague friend
    founders
    producer director singer president senator minister chancellor judge captain coach dear hi hey hello attn author name called
    met signed sincerely regards love cheers contact
    """
)
_BEFORE_TWO = word_set(
    """
    written-by directed-by sung-by produced-by painted-by song-by book-by name-is name's-is fan-of tribute-to gender-of
    shouted-at
    it-to speak-to speaking-to speak-with talk-to talked-to talking-to met-with spoke-to is-under it's-under kind-regards
    best-regards
    why-is who-is where-is name-of calls-me call-me him-and her-and me-and between-him
    """
)
_AFTER = word_set(
    """
    lives lived said says shouted asked replied answered wrote writes told works worked moved married died studied grew began
    spent
    thinks wants likes loves hates called emailed flew went whispered knows thought has had was sang recorded explained claims
    """
)
_SELF = re.compile(
    r"\b(?:my (?:full |first |last |real |given |maiden )?name(?:['’]s| is|:)|i am called|i['’]m called|"
    r"(?:full|first|last|given|family|maiden) name(?: is|:)|me llamo|je m['’]appelle|ich hei(?:ß|ss)e|"
    r"mi chiamo)\s{1,3}([^\W\d_][^\n,.;!?\d]{1,60})",
    re.IGNORECASE,
)
_SELF_NEEDS = ("name", "called", "llamo", "appelle", "heiß", "heiss", "chiamo")
_NOT_NAME = word_set(
    """
    the a an this that these those my your his her its our their it he she we they you i and but or so if when where what who
    why how
    which while as at by for from in into of on to with without is are was were be been do does did have has had can could will
    would
    should may might must not no yes ok okay please thanks thank hello hi hey dear sorry sure well maybe also then there here
    now just
    some any all every each both many most more other another such only even still after before during since until about
    because although
    let don't i'm i've i'll it's that's what's here's there's mr mrs ms dr prof great good nice wow oh
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october
    november december christmas easter thanksgiving halloween ramadan
    street st str road rd avenue ave lane drive court square boulevard blvd way place park river lake mount mountain island
    beach bay
    valley route coves crossroad hill strasse straße terrace gardens springs falls creek
    city town county state province country republic kingdom states united north south east west northern southern eastern
    western new
    central upper lower university college school institute academy hospital museum library church hotel airport station bank
    company corporation corp inc incorporated ltd llc gmbh plc group systems software technologies solutions services partners
    consulting industries international global national federal department ministry office agency council committee association
    foundation society union party club team league cup festival award prize act law code bill article section chapter title
    part
    orchestra band stripes records studio studios tv radio times post journal magazine markets insight insights transit capital
    address phone mobile fax email mail website web name zip date time age subject message account card credit number personal
    info
    bot user assistant system customer agent apt suite unit flat box floor room desk postbox po
    english french german spanish italian portuguese dutch swedish danish finnish norwegian icelandic russian polish czech
    greek turkish
    chinese japanese korean arabic hebrew indian american british canadian australian european african asian mexican brazilian
    america europe africa asia australia canada germany france spain italy england scotland ireland wales britain poland russia
    china
    japan india mexico brazil sweden norway denmark finland iceland estonia latvia austria switzerland belgium netherlands
    portugal
    greece turkey israel egypt iran iraq london paris berlin rome madrid york tokyo moscow boston chicago washington california
    texas
    florida god internet google amazon apple microsoft facebook twitter youtube netflix python java linux windows android docker
    movie film song album book series show game music art science history technology business health education news sports
    statement
    manager director engineer developer designer teacher doctor nurse officer president minister senior junior chief executive
    mission
    """
)  # fmt: skip

_STREETS = re.compile(
    r"(?P<sure>street|st|road|rd|avenue|ave|lane|ln|boulevard|blvd|parkway|pkwy|highway|hwy|terrace|crescent|"
    r"drive|dr|court|ct|square|sq|way|place|pl|close|circle|cir|trail|alley|row|mews|walk|quay|parade|grove|heights|"
    r"gardens|plaza)\b\.?",
    re.IGNORECASE,
)
_ALWAYS_STREETS = word_set("street avenue road lane boulevard blvd parkway highway ave rd crescent terrace")
_WORD = r"[^\W\d_][\w'’.-]{0,24}"
_NUMBER_FIRST = re.compile(rf"\d{{1,6}}[A-Za-z]?,? ((?:{_WORD} ){{1,4}}?){_STREETS.pattern}", re.IGNORECASE)
_NUMBER_BOTH = re.compile(
    rf"\d{{1,6}} (?:{_CAP}|{_WORD}\.)(?: {_WORD}){{0,3}} \d{{1,5}}[A-Za-z]?(?=\.?(?:\s*[\n,]|$| (?:[Aa]pt|[Ss]uite|"
    rf"[Uu]nit|[Ss]t)\b))"
)
_STREET_BEFORE = re.compile(
    rf"(?:\d{{1,6}} )?\b(?i:rue|avenue|boulevard|chemin|impasse|route|allée|quai|via|viale|piazza|corso|vicolo|calle|"
    rf"avenida|paseo|plaza|"
    rf"carrer|camino|carrera|rua|praça|travessa|estrada|rúa|ul\.|ulica|al\.|os\.|ulice|strada|bulevardul|cesta|rruga|"
    rf"postbox|trg) "
    rf"{_CAP}[ ,]{{1,2}}(?:{_WORD}[ ,]{{1,2}}){{0,4}}$|"
    rf"(?:\d{{1,6}} )?(?:{_CAP} )?{_CAP}(?:stra(?:ß|ss)e|str\.|gasse|weg|platz|allee|ufer|damm|gatan|vägen|gränd|veien|"
    rf"vegen|vei|veg|vej|"
    r"vænget|gade|stræde|allé|straat|laan|plein|kade|gracht|katu|kuja|polku|tie|braut|gata|vegur|stígur|ulica|cesta|"
    r"náměstí|terrasse) $|"
    rf"(?:\d{{1,6}} )?{_CAP}(?: {_CAP})? (?i:strasse|straße|u\.|utca|út|útja|tér|körút|str\.|terrasse|ulica|cesta|platz|"
    rf"väg|veg) $",
)
_UNIT = re.compile(
    r"\bp\.?\s?o\.? ?box \d{1,6}\b|\b(?:apt|apartment|suite|ste|flat)\b\.? ?#?\d{1,5}[a-z]?\b|\bpsc \d{1,5},? box \d{1,5}\b|"
    r"\b[fda]po a[aep] \d{5}\b",
    re.IGNORECASE,
)
_UNIT_NEEDS = ("box", "apt", "apartment", "suite", "ste ", "flat", "po a")
_TAIL = re.compile(
    rf"(?:[\s,.>?]{{1,9}}(?:(?i:apt|suite|unit|flat|box)\b\.? ?#?\d{{1,5}}|(?:{_CAP}|de|la|na|do|of)(?: (?:{_CAP}|de|la|"
    rf"na|do|of|\([A-Z]\w+\))){{0,3}}"
    r"(?:,? [A-Z]{2,3}\b)?(?: \d{4,6}(?:-\d{3,4})?\b)?|[A-Z]{2,3}\b|\d{4,6}\b)){1,6}"
)
_TAIL_HOLDS = re.compile(r"(?:apt|suite|unit|flat|box)\b\.? ?#?\d|\b\d{4,6}(?:-\d{3,4})?$", re.IGNORECASE)
_POSTED = re.compile(rf"^[ >?]{{0,6}}{_CAP}(?: {_CAP}){{0,3}},? (\d{{4,6}}(?:-\d{{3,4}})?)\s*$", re.MULTILINE)
_LIVES = re.compile(
    r"\b(?:lives?|living|resides?|residing|address(?: is|:)?) ?(?:at|on)?:?\s{1,9}(?=\d|[^\W\d_a-z])"
    r"([^\n.;?!]{1,60}\d[^\n.;?!]{0,20}?)(?= street\b|[.;?!\n]|$|,? (?:and|but|so|for|after|before|last|in)\b)"
)
_FIGURE = re.compile("[0-9]")
_DIGITS = re.compile(r"(?<![\w.,/:$€£-])\d{1,6}(?!\d)")
_HEADING = frozenset('*#"“_`|')
_NEAR = 72


def find(text: str) -> Iterator[NameSpan]:
    """Yield the spans of all names of people and all addresses, as (kind, start, end)."""
    yield from find_sensitive(text)
    yield from _mentions(text)


def find_sensitive(text: str) -> Iterator[NameSpan]:
    """Yield the spans of addresses and of names by which speakers introduce themselves: the sensitive kinds."""
    low = text.lower()
    if any(part in low for part in _SELF_NEEDS):
        yield from _self_introductions(text)
    if _FIGURE.search(text):
        yield from _addresses(text, low)


def _self_introductions(text: str) -> Iterator[NameSpan]:
    for match in _SELF.finditer(text):
        row = _ROW.match(text, match.start(1))
        first = match.group(1).split(" ")[0]
        if row is not None and first.lower() not in _NOT_NAME:
            yield "identity", *row.span()
        elif row is None and match.group(1).islower() and first not in _NOT_NAME and len(match.group(1).split()) <= 2:
            yield "identity", match.start(1), match.start(1) + len(match.group(1).rstrip())


def _addresses(text: str, low: str) -> Iterator[NameSpan]:
    end = 0
    for number in _DIGITS.finditer(text):
        if number.start() < end:
            continue
        span = _street(text, *number.span())
        if span is not None:
            end = _tail(text, span[1])
            yield "address", span[0], end
    if any(part in low for part in _UNIT_NEEDS):
        yield from (("address", match.start(), _tail(text, match.end())) for match in _UNIT.finditer(text))
    if "live" in low or "living" in low or "resid" in low or "address" in low:
        yield from (("address", match.start(1), _tail(text, match.end(1))) for match in _LIVES.finditer(text))
    if "\n" in text:
        yield from (("postal-code", *match.span(1)) for match in _POSTED.finditer(text))


def _street(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of the street and its house number: the street follows, surrounds or precedes the number."""
    match = _NUMBER_FIRST.match(text, start, start + _NEAR)
    if match is not None and _is_street(match):
        return _with_number_before(text, match.start()), match.end()
    match = _NUMBER_BOTH.match(text, start, start + _NEAR)
    if match is not None and sum(word[:1].isupper() for word in match.group().split()) >= 1:
        return match.span()
    if end - start <= 5 and text[start - 1 : start] == " ":
        window = max(start - _NEAR, 0)
        before = _STREET_BEFORE.search(text[window:start])
        if before is not None:
            return window + before.start(), end
    return None


def _is_street(match: re.Match[str]) -> bool:
    """Return True for "12 Mill Way" and "12 mill street", False for "a 10 minute walk" and "5 great places"."""
    name, street = match.group(1).split(), match.group("sure")
    if name[-1].lower() in ("the", "a", "this", "that", "another"):
        return False
    return (name[-1][:1].isupper() and street[:1].isupper()) or (street.lower() in _ALWAYS_STREETS and len(name) <= 2)


def _with_number_before(text: str, start: int) -> int:
    before = re.compile(r"(?<![\w.,$-])\d{1,6} $").search(text, max(start - 7, 0), start)
    return start if before is None else before.start()


def _tail(text: str, end: int) -> int:
    """Return the end of an address including a following flat, town and postal code."""
    match = _TAIL.match(text, end, end + 160)
    return match.end() if match is not None and _TAIL_HOLDS.search(match.group()) else end


def _mentions(text: str) -> Iterator[NameSpan]:
    """Yield the names of people that a text mentions."""
    for row in _ROW.finditer(text):
        start, end = row.span()
        words = row.group().split()
        while words and words[0].lower().rstrip(".") in (_TITLES | _BEFORE | _NOT_NAME) and len(words) > 1:
            start += len(words.pop(0)) + 1  # "Dear Ann", "Hi Ann Lee", "The Ann Lee version"
        if end - start < 2 or any(word.strip(".,").removesuffix("'s").lower() in _NOT_NAME for word in words):
            continue
        if text[start - 1 : start] in _HEADING or text[end : end + 1] in _HEADING:
            continue
        if _announced(text, start, end) or (len(words) > 1 and not row.group().isupper() and len(words[-1]) > 1):
            yield "person", start, end - (2 if row.group().endswith(("'s", "’s")) else 0)
            while also := _ALSO.match(text, end):
                if also.group(1).lower() in _NOT_NAME:
                    break
                yield "person", *also.span(1)
                end = also.end()


def _announced(text: str, start: int, end: int) -> bool:
    """Return True if the words before or after mark this as a person: a title, a relation, or a verb of speech."""
    before = [word.strip("\"'“(>:,.?").lower() for word in text[max(start - 32, 0) : start].split()[-2:]]
    if before and (before[-1] in _TITLES or before[-1] in _BEFORE or "-".join(before) in _BEFORE_TWO):
        return True
    after = text[end : end + 16].split(maxsplit=1)
    if text[end : end + 1] == ":" and text[end + 1 : end + 4].strip()[:1] in ('"', "“"):
        return True
    return bool(after) and text[end : end + 1] == " " and after[0].strip(",.").lower() in _AFTER
