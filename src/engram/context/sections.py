"""The sections of a context window: their names, and by profile the share, priority and fewest tokens of each.

A caller's own sections join them: who the agent is, its skills, a roster, the notes of the day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.context.lines import CAUTIONS, OTHERS, TITLES
from engram.errors import InvalidQuery
from engram.values.frozen import frozen, replace


@frozen
class SectionShare:
    """The claim of a section: its share of the budget, its priority (higher goes first), and the fewest tokens of use."""

    name: str
    share: float
    priority: int
    least: int = 0


@frozen
class WindowProfile:
    """The sections of a window for one sort of run; `captures` is False if its turns are not remembered."""

    name: str
    claims: tuple[SectionShare, ...]
    captures: bool = True


MORNING, WORKING, RECALLED, UNKNOWN, HISTORY = "morning", "working", "recalled", "unknown", "history"

EXTRA_SECTIONS = (SectionShare(MORNING, 0.15, 2, 0), SectionShare(UNKNOWN, 0.05, 0, 0))
"""Sections that every profile has if they are not empty: the briefing after a break, and what is not known."""


def _profile(name: str, working: float, recalled: float, history: float, *, captures: bool = True) -> WindowProfile:
    claims = (SectionShare(WORKING, working, 3, 32), SectionShare(RECALLED, recalled, 2, 64), SectionShare(HISTORY, history, 1))
    return WindowProfile(name, claims, captures)


PROFILES: Mapping[str, WindowProfile] = {
    profile.name: profile
    for profile in (
        _profile("chat", working=0.15, recalled=0.40, history=0.45),
        _profile("task", working=0.20, recalled=0.50, history=0.30),
        _profile("cron", working=0.10, recalled=0.80, history=0.10),
        _profile("orchestrator", working=0.20, recalled=0.45, history=0.35),
        _profile("swarm", working=0.15, recalled=0.55, history=0.30),
        _profile("flow", working=0.15, recalled=0.65, history=0.20, captures=False),
    )
}


@frozen
class ContextSection:
    """A caller's own section of a context, which stands before what is remembered, under its title.

    share: its part of the budget beside the other sections, whose shares are those of the profile (`chat`: 0.15 for working
    memory, 0.40 for memories, 0.45 for history). What it does not need goes to the others, by priority. least: tokens that
    sections of a lower priority give up for it. priority: working memory has 3, memories and the briefing 2, the history 1.
    A text that is too long is cut after a line or sentence, and says so.
    """

    title: str
    text: str
    priority: int = 4
    least: int = 0
    share: float = 0.1


_OWN_TITLES = frozenset(title.lower() for title in (*TITLES, *TITLES.values(), CAUTIONS, OTHERS))
_TITLE, _SECTIONS = 80, 32  # characters of a title, sections of one window
_MOST, _SHARE = 10_000_000, 100  # tokens, and times the budget


def check_sections(sections: Sequence[object]) -> tuple[ContextSection, ...]:
    """Return the sections that have a text, without space around it; raise InvalidQuery if one cannot be used."""
    own = [section for section in sections if isinstance(section, ContextSection)]
    if len(own) < len(sections) or len(own) > _SECTIONS:
        raise InvalidQuery(
            f"the sections are not a list of at most {_SECTIONS} sections.", way_out="Pass engram.ContextSection(title, text)."
        )
    checked = tuple(map(_checked, own))
    titles = [section.title.lower() for section in checked]
    if len(set(titles)) < len(titles) or _OWN_TITLES & set(titles):
        raise InvalidQuery(f"a title stands once, and is none of {', '.join(TITLES.values())}.")
    return tuple(section for section in checked if section.text)


def _checked(section: ContextSection) -> ContextSection:
    values: tuple[object, ...] = (section.title, section.text)
    if not all(isinstance(value, str) for value in values) or not 0 < len(section.title.strip()) <= _TITLE:
        raise InvalidQuery(f"a section needs a text, and a title of at most {_TITLE} characters.")
    sizes: tuple[object, ...] = (section.priority, section.least)
    if not all(isinstance(size, int) and not isinstance(size, bool) and 0 <= size <= _MOST for size in sizes):
        raise InvalidQuery("the priority and the fewest tokens of a section are whole numbers from 0.")
    share: object = section.share
    if not isinstance(share, int | float) or not 0 <= share <= _SHARE:
        raise InvalidQuery(f"the share of a section is a number from 0 to {_SHARE}.")
    return replace(section, title=" ".join(section.title.split()), text=section.text.strip())


@frozen
class Section:
    """A part of the prompt: the tokens it was granted, the tokens it took, and its text."""

    name: str
    granted: int
    tokens: int
    text: str
