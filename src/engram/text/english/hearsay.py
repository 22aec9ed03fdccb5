"""Tell a report from a statement: "Tom says that the office is in Porto", "apparently it opens at 8", "I guess so". Pure.

Comes in: a sentence. Goes out: the sentence without the frame around it, who is quoted, and how strong that is.
"""

from __future__ import annotations

import re

from engram.types import Strength
from engram.values.frozen import frozen


@frozen
class Report:
    """The words inside a frame of report, whose words they are, and their strength; None for a plain statement."""

    words: str
    teller: str = ""
    strength: Strength | None = None


_WHO = (
    r"(?P<who>(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]n?) (?:[\w'’-]+ ){0,2}?[\w'’-]+|[A-Z][\w-]+(?: [A-Z][\w-]+)?"
    r"|[Ss]ome(?:one|body)(?: else)?|[Pp]eople|[Tt]hey|[Ee]verybody|[Ee]veryone|(?!(?:i|we|you|it|that|this|what|who)\b)[a-z]+)"
)
_SAYS = (
    r"(?:(?:just |now |also |still )?(?:says?|said|claims?|claimed|insists?|insisted|swears?|reckons?|reckoned|thinks?|thought"
    r"|believes?|mentioned|mentions|suspects?|heard|hears|guesses|assumes?|suggests?|keeps saying|is saying|are saying)"
    r"|(?:told|tells|telling) (?:me|us)|(?:is|are|seems?) (?:sure|convinced|certain))"
)
_OPENINGS: tuple[tuple[str, Strength], ...] = (
    (rf"{_WHO},? {_SAYS},? (?:to (?:me|us) )?(?:that )?", Strength.HEARSAY),
    (
        r"(?:[Ii]|[Ww]e) (?:just |also )?(?:(?:'ve |have )?(?:heard|read)|(?:was|were|got|'ve been|have been) told|hear|gather)"
        r"(?: (?:somewhere|from (?P<who>[\w ]{1,30}?)))?,? (?:that )?",
        Strength.HEARSAY,
    ),
    (
        r"(?:[Aa]pparently|[Ss]upposedly|[Aa]llegedly|[Rr]eportedly|(?:[Rr]umou?r|[Ww]ord) (?:has it|is)(?: that)?"
        r"|[Aa]ccording to (?P<who>(?:(?:the|my|our|a|an) )?[\w'’-]+(?: [A-Z][\w-]+)?)"
        r"|[Ii]t (?:sounds|seems|looks) (?:like|as if)|[Ii]t (?:seems|appears)(?: that)?),? ",
        Strength.HEARSAY,
    ),
    (
        r"(?:[Ii]|[Ww]e)(?:'d| would)? (?:guess|think|suppose|believe|assume|suspect|reckon|imagine|bet)(?: that)? ",
        Strength.HYPOTHETICAL,
    ),
)
_CLOSINGS: tuple[tuple[str, Strength], ...] = (
    (
        r",? (?:apparently|supposedly|allegedly|reportedly|or so (?:I heard|they say|I'm told)|(?:from )?what I(?:'ve)? heard"
        r"|(?:I'm|I was) told|(?:says|said|according to|claims) (?P<who>(?:(?:the|my|our) )?[\w'’-]+(?: [A-Z][\w-]+)?))[.!]?$",
        Strength.HEARSAY,
    ),
    (r", (?:I (?:guess|think|suppose|believe|assume)|if I'm not mistaken|or something|not sure)[.!]?$", Strength.HYPOTHETICAL),
)
_CLAUSE = re.compile(r"(?:[A-Z]|the |my |our |he |she |it |they |we |i |there |this |that |all |both |\d|[a-z]+(?:'s)? )")


def report(sentence: str) -> Report:
    """Return the words inside a frame of report; the sentence itself if there is none."""
    for pattern, strength in _COMPILED_OPENINGS:
        match = pattern.match(sentence)
        if match is not None and _CLAUSE.match(sentence, match.end()):
            return Report(sentence[match.end() :], _teller(match), strength)
    for pattern, strength in _COMPILED_CLOSINGS:
        match = pattern.search(sentence)
        if match is not None and match.start():
            return Report(sentence[: match.start()], _teller(match), strength)
    return Report(sentence)


def _teller(match: re.Match[str]) -> str:
    return (match.groupdict().get("who") or "").strip()


_COMPILED_OPENINGS = tuple((re.compile(rf"^{pattern}"), strength) for pattern, strength in _OPENINGS)
_COMPILED_CLOSINGS = tuple((re.compile(pattern), strength) for pattern, strength in _CLOSINGS)
