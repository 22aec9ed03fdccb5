"""English verbs that people use about themselves: bare forms, past forms, and how the third person is made.

Lists, not a grammar: a word that is not here is not known, and who asks must then stay with the words as they were.
"""

from __future__ import annotations

from engram.text.wordlist import word_set

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
