"""Read the facts of a statement as subject, predicate, object (M5). Pure.

By patterns of English for what changes in a life or a project: where somebody lives and works, what a thing's owner, port or
deadline is, what is liked, used, no longer so. `single` says that a subject has one such object at a time, so that another one
is an update; whatever is only hoped, asked, past or guessed is no fact. What no pattern fits has none, and nothing is retired
for it: a fact that is missed costs less than a memory that is lost. So what is said with a bound ("in the evening", "on
Windows", "for uploads", "this week") neither ends nor replaces what was said without one, and what comes besides ("too", "also")
replaces nothing.

Within what bounds a statement holds: "in the evening", "on Windows", "for uploads", "this week". Pure.

What is said within bounds is compatible with what is said in general. A time at which something changed ("in May", "last week")
is no bound, nor is "anymore".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from engram.text.english.entities import CAPITALS, folded
from engram.text.english.gazetteer import GIVEN_NAMES, place_level
from engram.text.english.hearsay import report
from engram.text.english.numerals import digits
from engram.text.english.object_types import calendar, is_value
from engram.text.english.typed_values import typed_values
from engram.types import Fact as Fact
from engram.values.frozen import replace

_BESIDES = re.compile(
    r"\b(?:also|too|as well|another|either|both|sometimes|occasionally|part[- ]time|temporarily|partly"
    r"|side (?:job|gig|project)|on the side|mostly|usually)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"^(?:,? (?:now|anymore|any more|any longer|at all|again|instead|already|so much|right now|for now|at the moment|these days"
    r"|(?:last|two|three|a few|\d+) \w+(?: ago)?))+(?=$|[ .,;!?])"
)
_CHANGE = re.compile(
    r"^ (?:in (?:(?:early|late) )?(?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December|\d{4})(?=$|[.,;!?]| \d| and\b| because\b)"
    r"|on (?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b|on the \d|in the (?:meantime|end)"
    r"|for (?:now|good|ever|life|years|months|ages)\b"
    r"|for (?:\d{1,2}|a|an|two|three|four|five|six|ten|several|many|some|over|almost|about|more than)"
    r" (?:\w+ )?(?:days?|weeks?|months?|years?|decades?|while|time)\b"
    r"|at (?:last|least|all|the moment)\b|as of\b)"
)
_DENIED = re.compile(
    r"^ (?:in|on|at|for|with|without|when|whenever|while|if|unless|during|before|after|as|than|until|till|by|from|that|which|who"
    r"|where|this|today|tonight|tomorrow|next|and(?! (?:the user|I|am|is|now|never|have|has|so|prefers?|uses?|switched|moved"
    r"|went|joined|started|got|we|he|she|they)\b))\b"
)
_STATED = re.compile(
    r"^ (?:in (?:the )?(?:(?:early|late) )?(?:mornings?|evenings?|afternoons?|nights?|winters?|summers?|spring|autumn|fall"
    r"|staging|production|prod|dev|development|tests?|testing|ci|\w+ (?:mode|environment|branch)"
    r"|(?:my|our|this|these|those|some|most)\b)"
    r"|on (?!\d)|at (?:home|work|night|school|my|our|the|weekends|least|most)\b|for |during|when|whenever|while (?!I)|if|unless"
    r"|until|till|every|most|half|today|tonight|tomorrow|this|next|except|only|who|which|where)\b"
)
_LEFT = re.compile(r"^ (?:at (?:\d|noon|midnight|lunch|night)|for (?![A-Z])|with|on (?:foot|time)|today|tonight|early|late)\b")
_HAPPENED = re.compile(
    r"\b(?:moved|relocated|joined|started|got|took|switched|migrated|changed|converted|replaced|promoted|turned|went|dropped|rose"
    r"|married|became|rescheduled|postponed|pushed)\b"
)
_LEAVING = re.compile(r"\b(?:left|quit|resigned|fired|laid off)\b")
_TIMED = re.compile(r"(?:^scheduled|\bdate|\bdeadline|\bbirthday)$")
_LONGEST_BOUND = 60


def is_besides(sentence: str) -> bool:
    """Does it add to what is so, or hold now and then? "Nadia maintains the parser too"."""
    return _BESIDES.search(sentence) is not None


def tells_a_change(sentence: str) -> bool:
    """Does it tell that something became so, and not that it is? Who was said not to live there may have moved there."""
    return _HAPPENED.search(sentence) is not None


def bound(predicate: str, holds: bool, said: str, rest: str) -> str:
    """The bound that follows a fact, from the words that told it and the rest of its sentence; empty if it holds in general."""
    after = _FILLER.sub("", rest)
    if _TIMED.search(predicate) or _CHANGE.match(after):
        return ""
    if not holds and _LEAVING.search(said):
        pattern = _LEFT
    elif not holds or predicate.startswith(("feels about ", "number of ")):
        pattern = _DENIED
    elif _HAPPENED.search(said):
        return ""
    else:
        pattern = _STATED
    return re.split(r"[.,;!?]", after.strip())[0][:_LONGEST_BOUND].strip() if pattern.match(after) else ""


_ATTRIBUTES = (
    r"(?:(?:favou?rite|preferred|current|new|main|default|home|work|office|email|mobile|phone|street|time|due|launch"
    r"|release|start|end|product|tech|design|engineering|project"
    r"|staging|production|prod|test|database|admin|public|maximum|minimum|monthly|weekly|annual|on-call|team|blood|shoe"
    r"|job) ){0,2}"
    r"(?:name|number|e-?mail|address|birthday|age|job|title|salary|rent|manager|boss|doctor|dentist|therapist|landlord"
    r"|coach|teacher"
    r"|wife|husband|partner|girlfriend|boyfriend|roommate|deadline|date|budget|port|version|url|host|hostname|region"
    r"|branch|owner|lead"
    r"|status|timezone|zone|schedule|shift|diet|major|size|colou?r|weight|height|car|bike|laptop|phone|bank|plan|gym|team|role"
    r"|username|handle|language|editor|browser|ide|os|database|provider|framework|license|price|cost|rate|limit|timeout"
    r"|capacity"
    r"|headcount|food|dish|drink|book|author|movie|film|song|band|singer|artist|game|sport|season|restaurant|cafe|show"
    r"|series|place"
    r"|city|country|animal|subject|hobby|flavou?r|fruit|brand|password policy|record|goal|target|score|time|pronouns|nickname"
    r"|allergy|insurance|employer|company|school|university|stack|model|theme|font|channel|server|cluster|queue|cadence"
    r"|interval"
    r"|contact|reviewer|maintainer|CEO|CTO|CFO|ceo|cto|cfo|retention|quota|currency|locale|type|mood)"
)
_C = f"[{CAPITALS}]"
_WHO = (
    rf"(?P<s>I|[Ww]e|[Tt]he user|(?:[Mm]y|[Oo]ur|[Tt]he user['’]s|{_C}[\w-]+['’]s?) [a-z]+(?: {_C}[\w-]+)?"
    rf"|(?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?{_C}[\w-]+(?: {_C}[\w-]+){{0,2}}|[Tt]he [\w-]+(?: [\w-]+){{0,2}}?)"
)
_ADVERB = (
    r"(?:(?:now|currently|recently|just|finally|also|actually|already|still|officially|have|has|had|'ve|am|are|is|'m|'s|'re) )*"
)
_END = (
    r"(?=$|[;:!?()]|,(?!\d{3}\b)|\.(?!\w)| (?:and|but|because|since|so|with|after|before|when|while|as|instead|again|now|anymore"
    r"|for|until"
    r"|which|who|where|last|this|next|from|on|in|at|by|these|yesterday|today)\b"
    r"| (?:an?|one|two|three|four|five|six|several|some|a few|a couple of|\d+) (?:day|week|month)s? ago\b)"
)
_OBJECT = r"(?P<o>(?:(?:Dr|Mr|Mrs|Ms|St)\. )?[^\s.,;:!?()](?:[^.,;:!?()]|\.(?=\w)|,(?=\d{3}\b)){0,60}?)"
_PROPER = rf"(?P<o>{_C}[\w&.'’-]*(?:,? {_C}[\w&.'’-]*){{0,3}})"
_FROM = r"(?:from (?P<p>[A-Z][\w.-]*(?: [A-Z][\w.-]*)?) )?"
_MINE = r"(?P<s>[Mm]y|[Oo]ur|[Tt]he user['’]s|[A-Z][\w-]+['’]s?)"
_ONE_AT_A_TIME = r"(?P<attr>manager|boss|landlord|wife|husband|girlfriend|boyfriend|(?:[a-z]+ )?lead|CEO|CTO|CFO)"
_DAY = (
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
    r"|(?:January|February|March|April|May|June|July|August|September|October|November|December) \d"
)
_THING = r"(?P<o>(?:[\w.+#/&'’-]+)(?: [\w.+#/&'’-]+){0,4}?)"
_NUMBER = r"(?P<o>\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_COUNTED = (
    r"(?P<what>kids?|children|sons?|daughters?|dogs?|cats?|pets?|siblings?|brothers?|sisters?|cars?|bikes?|employees"
    r"|people|engineers"
    r"|members|grandchildren|plants|horses|chickens|followers|subscribers|customers|users|replicas|nodes|workers|servers)"
)
_EVENT = (
    r"(?P<s>(?:[Mm]y|[Oo]ur|[Tt]he|[Tt]he user['’]s|[A-Z][\w-]+['’]s?) (?:[\w-]+ ){0,3}?(?:meeting|standup|stand-up"
    r"|deadline|appointment"
    r"|release|launch|interview|flight|exam|wedding|party|demo|review|retro|workshop|class|lesson|game|match|concert|call"
    r"|sync|trip"
    r"|surgery|move|presentation|due date|go-live|cutover|maintenance window))"
)
_STATES: dict[str, str] = {
    state: sort
    for sort, states in {
        "state": "done|finished|complete|completed|blocked|in progress|open|closed|live|fixed|broken|paused|cancelled|canceled"
        "|on hold|unblocked|resolved",
        "reach": "down|up|offline|online",
        "switch": "enabled|disabled",
        "approval": "approved|rejected",
        "visibility": "private|public",
        "merge": "merged",
        "support": "deprecated|archived",
        "diet": "vegetarian|vegan",
        "pregnancy": "pregnant",
        "marriage": "single|married|divorced|engaged",
        "employment": "retired|unemployed",
    }.items()
    for state in states.split("|")
}
"""States of a thing, in groups that exclude each other."""
_STATE = f"(?:a (?=veg))?(?P<o>{'|'.join(sorted(_STATES, key=len, reverse=True))})"
_SAME_STATE = {"finished": "done", "complete": "done", "completed": "done", "canceled": "cancelled"}
_PET = r"(?P<what>dog|cat|puppy|kitten|parrot|horse|rabbit|hamster|baby|son|daughter)"

_UNSURE = re.compile(
    r"\b(?:if|would|might|(?-i:may)|could|should|wish(?:es)?|hop(?:e|es|ing)|want(?:s|ed)? to|plan(?:s|ning|ned)?(?: to"
    r"| on)?|think(?:s|ing)?"
    r"|consider(?:s|ing)|maybe|perhaps|probably|possibly|dream(?:s|ing)|suppose|imagine|used to|almost|nearly|never"
    r"|going to|gonna"
    r"|will|'ll|about to|used? to be|pretend\w*|joke\w*|kidding|unless|whether|rumou?r\w*|supposedly|interview\w* (?:at"
    r"|with|for)"
    r"|visit\w*|wonder\w*|ask(?:s|ed|ing)?|looking (?:for|to|at)|apply\w*|applied|offered?)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|lived|worked|back (?:in|then)|in (?:19|20)\d\d|years? ago|as a (?:kid|child)|when i was)\b", re.IGNORECASE
)
_LABEL = re.compile(r"^(?P<who>[^:\n]{1,60}?)(?: to [^:\n]{1,40}?)?(?:, asked \"[^\"]*\")?: ")
_ASIDE = re.compile(r"\(asked: \"[^\"]{0,4000}\"\)|\[[^\]]{0,400}\]")
_TRAIL = re.compile(
    r"(?:,? (?:now|today|anymore|instead|these days|at the moment|lately|currently|again|already|too|as well|right now|for now)"
    r"|,? (?:last|this|next) (?:week|month|year|summer|winter|spring|fall|\w+day)|,? (?:two|three|a few|\d+) \w+ ago"
    r"|,? since .*|,? yesterday)+$",
    re.IGNORECASE,
)
_BORDER = re.compile(r"(?<=[.!])(?<!Dr\.)(?<!Mr\.)(?<!Mrs\.)(?<!Ms\.)(?<!Prof\.)\s+(?=[A-Z])|;\s+|,? and (?=the user\b|I\b)")
_OPENING = re.compile(r"^(?:actually|correction|update|fyi|well|oh|by the way|as of (?:now|today))[,:] ", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:a|an|the|my|our|his|her|their|some|called|named|about|around|only|just|now) ", re.IGNORECASE)
_DIALLED = re.compile(r"\+?[(\d](?:[ ()/.-]{0,2}\d){6,}$")
_LONGEST = 400

_Make = Callable[[re.Match[str], str], Iterator[Fact]]


def facts(text: str, speaker: str = "") -> tuple[Fact, ...]:
    """The facts of a statement; none, if it is unsure, past or a question."""
    body = (_ASIDE.sub("", text) if "(" in text or "[" in text else text).strip()
    if len(body) > _LONGEST or body.endswith("?"):
        return ()
    head = _LABEL.match(body) if ": " in body else None
    whose = "the user" if not speaker or speaker.lower() == "user" else speaker
    if head is not None and head["who"].lower() in (whose.lower(), speaker.lower()):
        body = body[head.end() :]
    found: dict[tuple[str, str, str, bool], Fact] = {}
    for said in _BORDER.split(body):
        told = report(_OPENING.sub("", said))
        if _UNSURE.search(told.words):
            continue
        for fact in _of_sentence(told.words, whose) or _typed(told.words, whose):
            if fact.object and fact.subject:
                made = replace(fact, strength=told.strength, teller=folded(told.teller)) if told.strength else fact
                found.setdefault((fact.subject, fact.predicate, fact.object, fact.holds), made)
    return tuple(found.values())


def _of_sentence(sentence: str, whose: str) -> list[Fact]:
    found: list[Fact] = []
    for pattern, make, past in _rules():
        match = pattern.match(sentence)
        if match is not None and (past or not _PAST.search(sentence)):
            made = (_bounded(fact, match.group(), sentence, match.end()) for fact in make(match, whose))
            found += [fact for fact in made if fact is not None]
    return found


def _typed(sentence: str, whose: str) -> list[Fact]:
    """Return the fact of a plain statement that no rule reads, if its value is of a known type."""
    found = []
    for slot in () if _PAST.search(sentence) else typed_values(sentence):
        made = Fact(_subject(slot.thing, whose), slot.predicate, _object(slot.value))
        fact = _bounded(made, sentence[: slot.end], sentence, slot.end)
        if fact is not None and made.subject not in _NOBODY and made.subject != "user":
            found.append(fact)
    return found


def _bounded(fact: Fact, said: str, sentence: str, end: int) -> Fact | None:
    """The fact within the bounds of what follows it: a feeling is one of its own then, a denial is none."""
    within = bound(fact.predicate, fact.holds, said, sentence[end:])
    if within and fact.predicate.startswith("feels about "):
        return replace(fact, predicate=folded(f"{fact.predicate} {within}"))
    if within and not fact.holds:
        return None
    return replace(fact, single=False) if fact.holds and (within or is_besides(sentence)) else fact


def _subject(raw: str, whose: str) -> str:
    word = raw.strip()
    if word in ("I", "we", "We"):
        return folded(whose)
    low = word.lower()
    if low.startswith(("my ", "our ")):
        return folded(f"{whose}'s {word.partition(' ')[2]}")
    return folded(word)


def _object(raw: str) -> str:
    said = _TRAIL.sub("", raw.strip())
    while (shorter := _ARTICLE.sub("", said)) != said:
        said = shorter
    return folded(digits(said.lower()))


def _plain(predicate: str, *, single: bool = True, holds: bool = True) -> _Make:
    def make(match: re.Match[str], whose: str) -> Iterator[Fact]:
        subject = _subject(match["s"], whose)
        if subject not in _NOBODY:
            yield Fact(subject, predicate, _object(match["o"]), single, holds)

    return make


_NOBODY = frozenset({"it", "this", "that", "there", "what", "who", "he", "she", "they", "these", "those", "one", "here", "which"})


def _attribute(match: re.Match[str], whose: str) -> Iterator[Fact]:
    subject, attribute, thing = match["s"], match["attr"].lower(), match["o"]
    owner = folded(whose) if subject.lower() in ("my", "our", "their", "the user's", "the user’s") else _subject(subject, whose)
    attribute = re.sub(r"^(?:current|new|preferred) ", "", attribute).replace("colour", "color").replace("favourite", "favorite")
    attribute = _one_name(attribute, thing)
    if owner and is_value(attribute, _TRAIL.sub("", thing.strip())):
        value = re.sub(r"[^\d+]", "", thing) if attribute == "phone number" else _object(thing)
        yield Fact(owner, attribute, value, holds=not match.groupdict().get("no"))


def _one_name(attribute: str, thing: str) -> str:
    """Return one predicate for several names of it: "my number is 0151 998 7766" is the phone's, unlike other numbers."""
    if attribute in ("number", "phone") and _DIALLED.match(thing.strip()):
        return "phone number"
    return re.sub(r"^(work |home )?e-?mail(?: address)?$", lambda found: f"{found[1] or ''}email", attribute)


def _switched(match: re.Match[str], whose: str) -> Iterator[Fact]:
    subject = _subject(match["s"], whose)
    if subject in _NOBODY:
        return
    yield Fact(subject, "uses", _object(match["o"]), single=False)
    if match["p"]:
        yield Fact(subject, "uses", _object(match["p"]), single=False, holds=False)


def _feels(match: re.Match[str], whose: str) -> Iterator[Fact]:
    verb, denied = match["verb"].lower(), bool(match["no"])
    bad = verb.startswith(("hate", "dislike", "detest", "can't stand"))
    subject = _subject(match["s"], whose)
    if subject not in _NOBODY and not (denied and " just " in match.group()):
        yield Fact(subject, f"feels about {_object(match['o'])}", "dislike" if bad != denied else "like")


def _counts(match: re.Match[str], whose: str) -> Iterator[Fact]:
    what = {"kid": "children", "kids": "children", "child": "children"}.get(match["what"], match["what"])
    yield Fact(
        _subject(match["s"], whose),
        f"number of {what if what.endswith('s') or what == 'children' else what + 's'}",
        _object(match["o"]),
    )


def _owned(match: re.Match[str], whose: str) -> Iterator[Fact]:
    yield Fact(_object(match["o"]), "owner", _subject(match["s"], whose))


def _by(match: re.Match[str], whose: str) -> Iterator[Fact]:
    yield Fact(_subject(match["s"], whose), "owner", _object(match["o"]))


def _port(match: re.Match[str], whose: str) -> Iterator[Fact]:
    yield Fact(_subject(match["s"], whose), "port", match["o"])


def _moved_thing(match: re.Match[str], whose: str) -> Iterator[Fact]:
    subject = _subject(f"the {match['what']}", whose)
    yield Fact(subject, "runs on", _object(match["o"]))
    if match["p"]:
        yield Fact(subject, "runs on", _object(match["p"]), holds=False)


def _moved(match: re.Match[str], whose: str) -> Iterator[Fact]:
    """ "Tom moved from Acme to Initech" names no town."""
    subject, thing = _subject(match["s"], whose), _object(match["o"])
    if subject not in _NOBODY and (not match["p"] or place_level(thing) or place_level(_object(match["p"]))):
        yield Fact(subject, "lives in", thing)


def _hosted(match: re.Match[str], whose: str) -> Iterator[Fact]:
    """ "The demo moved to Monday" tells when, not where."""
    if not calendar(match["o"].lower()):
        yield Fact(_subject(match["s"], whose), "runs on", _object(match["o"]))


def _works(match: re.Match[str], whose: str) -> Iterator[Fact]:
    """ "Tom works for Anna" and "Tom joined Monday" name no employer."""
    subject, thing = _subject(match["s"], whose), match["o"]
    if subject not in _NOBODY and thing.split(" ")[0].strip(".").lower() not in GIVEN_NAMES and not calendar(thing.lower()):
        yield Fact(subject, "works at", _object(thing))


def _is(match: re.Match[str], whose: str) -> Iterator[Fact]:
    subject, state = _subject(match["s"], whose), _SAME_STATE.get(match["o"], match["o"])
    if subject not in _NOBODY:
        yield Fact(subject, _STATES[state], state, holds=not match.groupdict().get("no"))


def _placed(match: re.Match[str], whose: str) -> Iterator[Fact]:
    """Yield the things that something is a part of or rests on; there may be several, so that none outdates another."""
    subject, said = _subject(match["s"], whose), match["p"].replace("depend on", "depends on").replace("belong to", "belongs to")
    if subject not in _NOBODY:
        yield Fact(subject, "requires" if said == "require" else said, _object(match["o"]), single=False)


def _event(match: re.Match[str], whose: str) -> Iterator[Fact]:
    """ "The party is at the beach" tells where, not when."""
    when = _object(match["o"])
    if calendar(when):
        yield Fact(_subject(match["s"], whose), "scheduled", when)


def _pet(match: re.Match[str], whose: str) -> Iterator[Fact]:
    mine = match["s"].lower() in ("my", "our", "the user's", "the user’s")
    yield Fact(
        folded(whose) if mine else _subject(match["s"], whose),
        f"{match['what']}'s name",
        _object(match["o"]),
        match["what"] not in _SEVERAL,
    )


_SEVERAL = frozenset({"son", "daughter", "baby"})  # another name is another child
_NOT = r"(?: (?:don['’]t|doesn['’]t|do not|does not|no longer|not)(?: really| even)?)"
_RULES: tuple[tuple[str, _Make, bool], ...] = (
    (
        rf"^{_WHO} {_ADVERB}(?:live[sd]?|living|reside[sd]?|based|settled|relocated|moved(?: back)?) {_FROM}(?:in"
        rf"|to) {_PROPER}{_END}",
        _moved,
        False,
    ),
    (rf"^{_WHO}{_NOT} live(?:s)? in {_PROPER}{_END}", _plain("lives in", holds=False), False),
    (
        rf"^{_WHO} {_ADVERB}(?:works? (?:at|for)|working (?:at|for)|employed (?:at|by)|joined|(?:started|start"
        rf"|starts)(?: a (?:new )?job| working)? at|(?:got|took) a (?:new )?job (?:at|with)) {_PROPER}{_END}",
        _works,
        False,
    ),
    (
        rf"^{_WHO} {_ADVERB}(?:left|quit|resigned from|was fired from|got laid off (?:from"
        rf"|by)) (?P<o>[A-Z][\w&.-]*(?: [A-Z][\w&-]+)*){_END}",
        _plain("works at", holds=False),
        True,
    ),
    (rf"^{_WHO}{_NOT} work(?:s)? (?:at|for) {_PROPER}{_END}", _plain("works at", holds=False), False),
    (
        rf"^{_WHO} {_ADVERB}(?:works? as (?:an? |the )|(?:got |was )?promoted to (?:an? "
        rf"|the )?)(?P<o>[\w -]{{3,40}}?){_END}",
        _plain("job"),
        True,
    ),
    (
        rf"^(?P<s>[Mm]y|[Oo]ur|[Tt]he user['’]s|[A-Z][\w-]+['’]s?"
        rf"|[Tt]he [\w-]+(?: [\w-]+)?(?:['’]s)?) (?P<attr>{_ATTRIBUTES}) (?:is|are|has (?:been )?changed to"
        rf"|changed to|moved to|became|is set to|is called"
        rf"|(?:was|got|has been) (?:changed|moved|pushed|postponed|rescheduled)(?: back)? to"
        rf"|went up to|went down to|dropped to"
        rf"|rose to) (?:now |currently |at |actually )*{_OBJECT}{_END}",
        _attribute,
        True,
    ),
    (
        rf"^[Tt]he (?P<attr>{_ATTRIBUTES}) of (?P<s>(?:the |my |our )?[\w-]+(?: [\w-]+)?) (?:is|has changed to"
        rf"|was changed to|changed to) (?:now )?{_OBJECT}{_END}",
        _attribute,
        True,
    ),
    (rf"^(?P<o>[A-Z][^\s,;]*(?: [A-Z][^\s,;]*)?) is (?:now )?{_MINE} (?:new )?{_ONE_AT_A_TIME}{_END}", _attribute, False),
    (
        rf"^(?P<o>[A-Z][^\s,;]*(?: [A-Z][^\s,;]*)?) (?P<no>is no longer|is not|isn['’]t) {_MINE} {_ONE_AT_A_TIME}{_END}",
        _attribute,
        False,
    ),
    (
        rf"^(?:I|[Ww]e|The user) {_ADVERB}(?:switched|migrated|changed|moved) (?P<s>my|our|their) (?P<attr>{_ATTRIBUTES})"
        rf" (?:over )?(?:from [\w.+#-]+(?: [\w.+#-]+)? )?to {_OBJECT}{_END}",
        _attribute,
        True,
    ),
    (
        rf"^{_WHO} {_ADVERB}(?:switched|migrated|changed|moved over"
        rf"|converted) (?:from (?P<p>{_THING.removeprefix('(?P<o>').removesuffix(')')}) )?to {_OBJECT}{_END}",
        _switched,
        True,
    ),
    (rf"^{_WHO} {_ADVERB}(?:use[sd]?|using) {_THING} instead of (?P<p>[\w.+#-]+(?: [\w.+#-]+)?)", _switched, True),
    (rf"^{_WHO} {_ADVERB}replaced (?P<p>[\w.+#-]+(?: [\w.+#-]+)?) (?:with|by) {_THING}{_END}", _switched, True),
    (
        rf"^{_WHO}(?:{_NOT} use| {_ADVERB}(?:stopped|quit|gave up) using) {_THING}{_END}",
        _plain("uses", single=False, holds=False),
        True,
    ),
    (rf"^{_WHO} {_ADVERB}uses? {_THING}{_END}", _plain("uses", single=False), False),
    (
        rf"^{_WHO}(?P<no>{_NOT})? {_ADVERB}(?P<verb>likes?|loves?|enjoys?|hates?|dislikes?|detests?) {_OBJECT}{_END}",
        _feels,
        False,
    ),
    (
        rf"^{_WHO} {_ADVERB}(?:married to|dating|engaged to|got married to"
        rf"|married) (?P<o>[A-Z][\w-]+(?: [A-Z][\w-]+)?){_END}",
        _plain("partner"),
        True,
    ),
    (rf"^{_WHO} {_ADVERB}(?:has|have|got|had) (?:got )?{_NUMBER} {_COUNTED}", _counts, False),
    (rf"^{_WHO} (?:is|am|'m|turned|just turned) {_NUMBER}(?: years old)?{_END}", _plain("age"), True),
    (rf"^{_WHO} {_ADVERB}drives? (?:an? |the )?{_PROPER}{_END}", _plain("car"), False),
    (
        rf"^{_WHO} {_ADVERB}(?:owns?|maintains?|took over|takes over|responsible for|in charge of"
        rf"|leads?|heads?|manages?) (?P<o>the [\w -]{{2,30}}?){_END}",
        _owned,
        True,
    ),
    (rf"^(?P<s>[Tt]he [\w -]{{2,30}}?) (?:is|is now) (?:owned|maintained|led) by {_OBJECT}{_END}", _by, True),
    (
        rf"^(?P<s>[Tt]he [\w-]+(?: [\w-]+)??) {_ADVERB}(?:runs|listens|listening|running"
        rf"|listen) on port {_NUMBER}",
        _port,
        True,
    ),
    (
        rf"^(?P<s>[Tt]he (?!user\b)[\w-]+(?: [\w-]+)??) {_ADVERB}(?:runs|running|hosted|deployed|lives|stored"
        rf"|(?:(?:was|were|been|got) )?moved)"
        rf" (?:on|in|to) (?!port )(?P<o>[A-Z][\w.-]*(?: [A-Z][\w.-]*)?|[a-z]+[\d.-][\w.-]*){_END}",
        _hosted,
        True,
    ),
    (
        rf"^(?:I|[Ww]e|The user"
        rf"|[A-Z]\w+) {_ADVERB}moved the (?P<what>[\w-]+(?: [\w-]+)?) (?:from (?P<p>[\w.-]+(?: [\w.-]+)?) )?"
        rf"(?:back )?to (?P<o>[A-Z][\w.-]*(?: [A-Z][\w.-]*)?){_END}",
        _moved_thing,
        True,
    ),
    (
        rf"^{_WHO} (?:is|are) (?:now |also |still )*(?:a )?(?P<p>part of|located in|member of) {_OBJECT}{_END}",
        _placed,
        False,
    ),
    (rf"^{_WHO} {_ADVERB}(?P<p>depends? on|requires?|belongs? to) {_OBJECT}{_END}", _placed, False),
    (
        rf"^{_EVENT} (?:is|was|has been|got|is now) (?:now )?(?:scheduled|moved|rescheduled|pushed|postponed|set|due"
        rf"|on|at)(?: to| for| on| at| by| back to)? (?P<o>[\w: ]{{1,40}}?)(?=$|[.,;!?]| (?:because|so|instead|with))",
        _event,
        True,
    ),
    (rf"^{_EVENT} is (?:now )?(?:(?:next|this) )?(?P<o>(?:{_DAY})[\w: ]{{0,30}}?)(?=$|[.,;!?])", _event, False),
    (rf"^{_WHO} (?:is|'s|am|'m|are|has been|got) (?:now |finally |currently )*{_STATE}{_END}", _is, False),
    (
        rf"^{_WHO} (?P<no>(?:is|am|'m|are) (?:not|no longer)|isn['’]t|aren['’]t) (?:currently )?{_STATE}{_END}",
        _is,
        False,
    ),
    (
        rf"^(?P<s>[Mm]y|[Oo]ur|[Tt]he user['’]s|[A-Z][\w-]+['’]s?) {_PET}(?:['’]s name is| is (?:called"
        rf"|named)) (?P<o>[A-Z]\w+)",
        _pet,
        False,
    ),
)


@cache
def _rules() -> tuple[tuple[re.Pattern[str], _Make, bool], ...]:
    """Compiled when the first statement is read, which takes a quarter of a second: who only asks does without."""
    return tuple((re.compile(pattern), make, past) for pattern, make, past in _RULES)
