"""From the first person to the third: "I'm swamped with my kids" said by Ann → "Ann is swamped with Ann's kids".

Only where the grammar is safe, else None: what stays as it was said is found again by its words, what was turned into
nonsense is not. Left alone: quoted speech, what begins with another's name and a colon, "we" (nobody knows who), "you"
(nobody knows whom), "myself" (nobody asks the speaker's gender), questions, and every "I" before a word whose form is not
known.

English verbs that people use about themselves: bare forms, past forms, and how the third person is made.

Lists, not a grammar: a word that is not here is not known, and who asks must then stay with the words as they were.
"""

from __future__ import annotations

import re

from engram.text.terms import word_set
from engram.text.transcripts import speaker_of

# Safe in the present after "I": none of these is also its own past ("put", "read", "cut" are left out on purpose).
BARE = word_set("""
    accept achieve admire adopt adore agree aim allow answer apply appreciate approach arrange arrive ask attend avoid bake
    become begin believe belong blog breathe bring build buy call camp care carry catch cherish choose clean climb
    code coach collect come commute compete consider contribute cook cope crave create cycle dance deal decide dedicate
    deserve design develop dislike donate dread draw dream drink drive eat embrace encourage enjoy envision exercise expect
    experience explore express face fail fall feed feel fight find finish fish fix focus follow forget garden
    get give go grow guess handle hang hate have hear help hike hope imagine include incorporate intend invest invite
    join keep knit know lack laugh lead lean learn leave lie like listen live look lose love maintain make manage mean meditate
    meet mentor mind miss move need notice offer order organize owe own paint participate pay pick plan plant play practice
    practise prefer prepare prioritize promise provide pursue push realise realize recall receive recharge recognize
    recommend record reflect regret relax rely remember remind rent require research respect rest ride roast run save say
    schedule see seek sell send serve share shop show sing sit sketch skate ski sleep smile speak spend stand start stay
    stick strive struggle study suffer suggest support surf suspect swim take talk teach tell tend thank think train travel
    treasure treat trust try turn understand use value visit volunteer wait wake walk want watch wear welcome win
    wish wonder work worry worship write
    """)

IRREGULAR_PAST = word_set("""
    ate became began blew bought broke brought built came caught chose did drank drew drove fell fed felt flew forgot fought
    found gave got grew had heard held hid hung kept knew laid led left lent lost made meant met paid ran rang rode rose said
    sang sat saw sent shook shot slept sold spent spoke stood stole struck stuck swam swore taught thought threw told took
    understood was were went woke won wore wrote
    """)

IRREGULAR_PARTICIPLES = word_set("""
    been done gone had seen known given taken written eaten driven ridden chosen spoken broken forgotten fallen grown
    worn drawn shown thrown heard made met bought brought built caught felt found got gotten held kept left lost meant paid
    said sent slept sold spent stood taught thought told understood won lived
    """)

# End in -ed and are not in the past.
_NOT_PAST = word_set("need feed speed proceed exceed succeed heed seed weed bleed breed embed shed wed bed red bred indeed")

# Nouns as often as verbs: after "and" they do not show that a second verb follows.
NOUNS_TOO = word_set("""
    aim answer call camp care coach code cook cycle dance deal design draw dream drink drive envision exercise experience
    face fall feed fight fish focus garden guess handle help hike hope lack laugh lead lie look love mentor mind move need
    offer order own paint plan plant play practice promise record research respect rest ride roast run share shop show
    sketch skate ski sleep smile stand start stay stick struggle study support surf swim talk thank train travel treat trust
    turn use value visit volunteer wait walk watch welcome win wish wonder work worry worship
    """)

# Said of things and of others more than of oneself; only to know a verb where it stands.
_OF_OTHERS = word_set("""
    bark bite boil break burn contain cost crash cry depend differ die end exist fit freeze happen hurt leak matter melt
    open close pass appear stop rise rain rule snow taste weigh block
    """)
_AUXILIARY = word_set("""
    is isn't are aren't was wasn't were weren't has hasn't have haven't had hadn't does doesn't do don't did didn't can can't
    cannot could couldn't will won't would wouldn't should shouldn't may might must
    """)
_SAME_IN_THE_PAST = word_set("quit cut hit hurt put read set shut split spread cost let")

_SIBILANT = ("s", "sh", "ch", "x", "z", "o")


def is_past(word: str) -> bool:
    """Is this lower-case word surely a past form?"""
    return word in IRREGULAR_PAST or (len(word) > 3 and word.endswith("ed") and word not in _NOT_PAST)


def third(bare: str) -> str:
    """The third person singular of a bare verb."""
    if bare == "have":
        return "has"
    if bare.endswith("y") and bare[-2:-1] not in "aeiou":
        return bare[:-1] + "ies"
    return bare + ("es" if bare.endswith(_SIBILANT) else "s")


_THIRDS = frozenset(third(bare) for bare in BARE | _OF_OTHERS)
_OF_MANY = (BARE | _OF_OTHERS) - NOUNS_TOO


def is_finite(word: str, subject: str) -> bool:
    """Is this lower-case word surely a verb that its subject, the word before it, rules?"""
    if word in _AUXILIARY or word in _THIRDS or word in _SAME_IN_THE_PAST or is_past(word):
        return True
    return word in _OF_MANY and subject.endswith("s") and not subject.endswith("ss")


ASSISTANTS = frozenset({"assistant", "ai", "bot", "system", "model"})
_USERS = frozenset({"user", "human", "me", ""})

_MOST_MENTIONS = 4
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FIRST = frozenset({"i", "me", "my", "mine", "i'm", "i've", "i'll", "i'd", "im", "ive"})
_SUBJECTS = _FIRST - {"me", "my", "mine"}
_ENGLISH = word_set(
    "the it and is was are were that of for with this to they he she have has had be been make makes made give gives gave"
    " help helps feel like just really so when who what"
)
_REFUSED = word_set("we us our ours ourselves myself let's we're we've we'll we'd you your yours you're you've you'll you'd u ur")
_QUOTES = re.compile(r"[\"“”„«»]|(?:^|\s)['‘]\w")
# Same for every person, or made so by one word.
_SAME = word_set(
    "was wasn't can can't cannot could couldn't will won't would wouldn't should shouldn't might must may did"
    " didn't had hadn't"
    " used gotta better"
)
_CHANGED = {"am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't", "ain't": "isn't"}
_CONTRACTED = {"i'm": "is", "im": "is", "i've": "has", "ive": "has", "i'll": "will"}
_ASIDES = frozenset({"see", "mean", "guess", "know"})  # "I see, so …"
_INVERTED = word_set("can could should do does did would will am have had may might must shall was")
_PRESENT = frozenset({"is", "has", "hasn't", "does", "doesn't", "isn't"})
_ADVERBS = word_set(
    "also always just never often still even ever only already sometimes almost really usually now then"
    " finally recently"
    " actually totally definitely absolutely currently truly especially mostly probably certainly simply honestly"
    " seriously kinda sorta first once again both all soon"
)
_THEY = frozenset({"they", "them", "their", "theirs", "they're", "they've"})
_JOINTS = frozenset({"and", "or", "but", "then", "so"})
_BEFORE_SUBJECTS = _JOINTS | word_set("because when whenever if that since as while though although which before after")
_PRONOUN_SUBJECTS = word_set("i i'm i've i'll i'd he she it they this that there who which")
_DROPPED_SUBJECT = word_set(
    "gonna wanna gotta hope hoping thinking looking trying got had went been feeling loving just let please check count"
)


def named(speaker: str) -> str:
    """Return the name of a speaker as it stands inside a sentence."""
    name = " ".join(speaker.split())
    if name.lower() in _USERS:
        return "the user"
    return "the assistant" if name.lower() in ASSISTANTS else name


def is_assistant(speaker: str) -> bool:
    return " ".join(speaker.split()).lower() in ASSISTANTS


def third_person(sentence: str, speaker: str) -> str | None:
    """The sentence with its speaker's name for "I", "me" and "my"; None if it has none of them or is not safe."""
    found = list(_WORD.finditer(sentence))
    words = [match.group().lower().replace("’", "'") for match in found]
    mentions = [at for at, word in enumerate(words) if word in _FIRST]
    if not mentions or len(mentions) > _MOST_MENTIONS or _is_refused(sentence, words):
        return None
    name = named(speaker)
    # "The user improves the user's skills" is heavy and dilutes the words that matter; a name is worth repeating.
    own = "their" if name == "the user" and _THEY.isdisjoint(words) else _possessive(name)
    changes: dict[int, str] = {}
    for at in mentions:
        if words[at] in ("my", "mine"):
            changes[at] = own if changes and words[at] == "my" else _possessive(name)
            continue
        turned = _turned(sentence, found, words, at, name)
        if turned is None:
            return None
        changes.update(turned)
    return _rebuilt(sentence, found, changes)


def _is_refused(sentence: str, words: list[str]) -> bool:
    if "?" in sentence or _QUOTES.search(sentence) or not _REFUSED.isdisjoint(words) or speaker_of(sentence):
        return True
    if _SUBJECTS.isdisjoint(words) and _ENGLISH.isdisjoint(words):  # "my" and "me" are words of other languages too
        return True
    first = words[0]
    return _SUBJECTS.isdisjoint(words) and (first in _DROPPED_SUBJECT or first.endswith("ing") or is_past(first) or first in BARE)


def _turned(sentence: str, found: list[re.Match[str]], words: list[str], at: int, name: str) -> dict[int, str] | None:
    """Return the replacements of the mention at `at` and of the verb that follows it."""
    word = words[at]
    if word == "me":
        return None if _is_joined(words, at) else {at: name}
    if _is_numeral(found, words, at):
        return None
    if word == "i'd":
        verb = _would_or_had(words, at)
        return {at: f"{name} {verb}"} if verb else None
    if word in _CONTRACTED:
        verb = _CONTRACTED[word]
        if word in ("im", "ive") and at + 1 >= len(words):
            return None
        return None if _leaves_a_verb_behind(words, at, verb) else {at: f"{name} {verb}"}
    return _subject(sentence, found, words, at, name)


def _subject(sentence: str, found: list[re.Match[str]], words: list[str], at: int, name: str) -> dict[int, str] | None:
    """A bare "I": the verb after it, past adverbs, must be one whose form is known."""
    verb = at + 1
    while verb < len(words) and (words[verb] in _ADVERBS or (words[verb].endswith("ly") and words[verb] not in BARE)):
        verb += 1
    if verb >= len(words) or not _is_open(sentence, found, at, verb) or (at > 0 and words[at - 1] in _INVERTED):
        return None
    word = words[verb]
    if word in _ASIDES and sentence[found[verb].end() : found[verb].end() + 1] in (",", ".", "!"):
        return None
    if word in _SAME or is_past(word):
        return {at: name}
    turned = _CHANGED.get(word) or (third(word) if word in BARE else None)
    if turned is None or _is_plural_subject(words, at) or _leaves_a_verb_behind(words, verb, turned):
        return None
    return {at: name, verb: turned}


def _is_open(sentence: str, found: list[re.Match[str]], at: int, verb: int) -> bool:
    """Only space between "I" and its verb: "I, too, like" and "I - well - went" are left alone."""
    return all(not sentence[found[i].end() : found[i + 1].start()].strip() for i in range(at, verb))


def _is_joined(words: list[str], at: int) -> bool:
    return at >= 2 and words[at - 1] == "and" and words[at - 2] in ("he", "she", "they")


def _is_plural_subject(words: list[str], at: int) -> bool:
    """ "My wife and I like": two subjects; "I sing and I like it": one."""
    return at >= 2 and words[at - 1] in ("and", "or", "nor") and not any(_is_verb(word) for word in words[: at - 1])


def _is_verb(word: str) -> bool:
    return is_past(word) or word in BARE or word in _CHANGED or word in _SAME or "'" in word or word in ("is", "are", "has")


def _is_numeral(found: list[re.Match[str]], words: list[str], at: int) -> bool:
    """ "World War I": a capital word before it that is not the first of the sentence."""
    return words[at] == "i" and at >= 2 and found[at - 1].group()[:1].isupper() and words[at - 1] not in _FIRST


def _leaves_a_verb_behind(words: list[str], verb: int, turned: str) -> bool:
    """ "I love it and need more": the second verb would have to change too. Past and modal verbs do not."""
    if turned not in _PRESENT and not turned.endswith("s"):
        return False
    for at in range(verb + 1, len(words) - 1):
        if words[at] in _PRONOUN_SUBJECTS and words[at - 1] in _BEFORE_SUBJECTS:
            return False  # from here on another subject rules
        if words[at] in _JOINTS:
            follower = at + 1
            while follower < len(words) - 1 and words[follower] in _ADVERBS:
                follower += 1
            after = words[follower]
            if after in _CHANGED or (after in BARE and after not in NOUNS_TOO) or (after in NOUNS_TOO and turned != "is"):
                return True
    return False


def _would_or_had(words: list[str], at: int) -> str | None:
    verb = at + 1
    while verb < len(words) and words[verb] in _ADVERBS:
        verb += 1
    if verb >= len(words):
        return None
    word = words[verb]
    if word in ("rather", "be", "say", "recommend") or (word in BARE and word not in ("become", "come", "run")):
        return "would"
    return "had" if word == "better" or word in IRREGULAR_PARTICIPLES or is_past(word) else None


def _possessive(name: str) -> str:
    return f"{name}'" if name.endswith(("s", "S")) and " " not in name else f"{name}'s"


def _rebuilt(sentence: str, found: list[re.Match[str]], changes: dict[int, str]) -> str:
    parts: list[str] = []
    last = 0
    for at in sorted(changes):
        match = found[at]
        word = changes[at]
        if at == 0 and word.startswith("the "):
            word = "T" + word[1:]
        parts += [sentence[last : match.start()], word]
        last = match.end()
    return "".join([*parts, sentence[last:]])
