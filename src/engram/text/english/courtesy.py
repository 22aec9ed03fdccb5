"""Words that say nothing by themselves, and messages of no others. Loads next to nothing: every prompt of a host waits for it."""

from __future__ import annotations

from collections.abc import Sequence

from engram.text.terms import word_set

STOP_WORDS = word_set(
    """
    a about after again all also am an and any are as at be because been before being but by can could did do does doing done for
    from get got had has have having he her here hers him his how i if in into is it its just like me might more most must my no
    nor not now of off on once one only or other our out over own s same shall she should so some such t than that the their them
    then there these they this those through to too under until up us very was we were what when where which while who whom whose
    why will with would you your yours d ll m re ve don didn doesn isn wasn weren hasn haven won wouldn couldn shouldn
    """
)


_COURTESIES = word_set(
    """
    hi hello hey hiya howdy greetings morning afternoon evening night bye goodbye thanks thank thx cheers welcome please sorry ok
    okay okey yes yeah yep sure great cool nice good perfect awesome right alright fine lot lots much lol haha
    """
)
_DEEDS = word_set("do does did doing done get got have having go again")


def is_courtesy(text: str, words: Sequence[str]) -> bool:
    """Do these words of a text only greet, thank or agree?"""
    return (
        "?" not in text
        and not any(word in _DEEDS for word in words)
        and any(word in _COURTESIES for word in words)
        and all(word in _COURTESIES or word in STOP_WORDS for word in words)
    )
