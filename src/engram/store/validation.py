"""What may become a row: the one check of shapes and sizes, before anything is queued.

Callers are other people's programs, so types are checked as well as lengths. Messages name the field, never its content.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engram.env import from_micros, to_micros
from engram.errors import ContentTooLarge, DimensionMismatch, InjectionBlocked, InvalidContent, InvalidQuery
from engram.types import SCOPE_DIMENSIONS, Edge, Kind, Memory, Scope, Sensitivity, Source, Status, Turn, scope_values
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.settings import Settings
    from engram.values.episodes import EpisodeEvent, Participant

_NAME_BYTES = 256
_OURS = "engram:"
"""Longest id, category, scope or kind of link: names, not content."""

_PLAIN_NAME = 24
"""Shorter names of letters alone are looked at no further: no attack fits, and no secret is like that."""

_ATTRIBUTES = 64
_WHOLE = "Take it out, or decode the text again with errors='replace'."
_SCALE_BYTES = 4
_SHORTER, _NAMES, _NUMBERS = ("summary", "key_fact", "tag"), ("id", "category"), ("importance", "confidence", "strength")
_SORTS: dict[str, type] = {"kind": Kind, "source": Source, "status": Status, "pinned": bool, "tier": Sensitivity}
_TIMES = ("happened_at", "happened_until", "valid_from", "valid_until", "learned_at", "accessed_at")
_shorter, _names, _numbers, _times = (attrgetter(*some) for some in (_SHORTER, _NAMES, _NUMBERS, _TIMES))
_sorts = attrgetter(*_SORTS)


def check_memory(memory: Memory, settings: Settings) -> None:
    _text("text", memory.text, settings.content_bytes)
    if not memory.text.strip():
        raise InvalidContent("a memory needs some text.", way_out="Pass some text.")
    _texts(_SHORTER, _shorter(memory), settings.summary_bytes)
    _texts(_NAMES, _names(memory), _NAME_BYTES)
    check_scope(memory.scope)
    for (name, kind), value in zip(_SORTS.items(), _sorts(memory), strict=True):
        if not isinstance(value, kind):
            raise InvalidContent(f"the {name} of a memory must be a {kind.__name__}.", way_out=f"Pass a {kind.__name__}.")
    for name, value in zip(_NUMBERS, _numbers(memory), strict=True):
        _number(name, value)
    if not _is_whole(memory.accesses) or not 0 <= memory.accesses < 2**53:
        raise InvalidContent("the accesses of a memory must be a whole number from 0.", way_out="Pass an int from 0.")
    for name, value in zip(_TIMES, _times(memory), strict=True):
        _time(name, value)
    _check_attributes(memory.attributes, settings)


def check_scope(scope: Scope) -> None:
    if not isinstance(scope, Scope):
        raise InvalidContent("the scope of a memory must be a Scope.", way_out="Pass an `engram.Scope`.")
    _texts(SCOPE_DIMENSIONS, scope_values(scope), _NAME_BYTES)


def check_turn(turn: Turn, settings: Settings) -> None:
    _text("text of a turn", turn.text, settings.turn_bytes)
    check_speaker(turn.speaker, settings)
    for name in ("session", "ref"):
        value = getattr(turn, name)
        _text(name, "" if value is None else value, _NAME_BYTES)
    _time("at", turn.at)


def check_speaker(name: str, settings: Settings) -> None:
    """A name of others' choice: it is refused only where it is plainly an attack."""
    check_name("speaker", name, settings, plainly=True)


def check_words(what: str, text: object, settings: Settings) -> None:
    """Words that are no turn and no memory, such as what is brought to mind."""
    _text(what, text, settings.turn_bytes)


def check_period(since: datetime | None, until: datetime | None) -> None:
    for name, moment in (("since", since), ("until", until)):
        if moment is not None and not isinstance(moment, datetime):
            raise InvalidQuery(f"{name!r} must be a datetime.")


def check_filter(kinds: Iterable[object], statuses: Iterable[object], since: datetime | None, until: datetime | None) -> None:
    check_period(since, until)
    for name, given, known in (("kind", kinds, tuple(Kind)), ("status", statuses, tuple(Status))):
        if any(one not in known for one in given):
            raise InvalidQuery(f"there is no such {name}.", way_out=f"Say one of {', '.join(known)}.")


def check_name(what: str, name: str, settings: Settings, *, plainly: bool = False) -> None:
    """A word of the caller's own, such as a category. It stands in answers beside the words, and nobody looks into it again."""
    _text(what, name, _NAME_BYTES)
    if len(name) >= _PLAIN_NAME or not name.replace("_", "").isalpha():
        _look_into(what, name, settings.catch_secrets, settings.guard_injection, plainly)


@lru_cache(256)  # a speaker's comes with every turn
def _look_into(what: str, name: str, catch_secrets: bool, guard_injection: bool, plainly: bool) -> None:
    from engram.guard import injection, secrets  # here for start-up time: hardly a name comes so far
    from engram.guard.injection import InjectionVerdict

    if catch_secrets and secrets.find(name):
        raise InvalidContent(f"the {what} holds a secret (a key, a token or a password), and secrets are not kept.")
    said = name.replace("_", " ").replace("-", " ")
    suffered = (InjectionVerdict.CLEAN, InjectionVerdict.FLAGGED) if plainly else (InjectionVerdict.CLEAN,)
    if guard_injection and injection.assess_cached(said).verdict not in suffered:
        raise InjectionBlocked(f"the {what} reads as an attack on the model that would read it.", way_out="Use a plain word.")


def check_edges(edges: Sequence[Edge], settings: Settings) -> None:
    for edge in edges:
        check_name("kind of a link", edge.kind, settings)
        if not edge.kind:
            raise InvalidContent("a link needs a kind.", way_out="Name one, such as related_to.")
        if edge.source == edge.target:
            raise InvalidContent("a memory is not linked to itself.", way_out="Give the ids of two memories.")
        _number("weight", edge.weight)
        _number("confidence", edge.confidence)
        _time("created_at", edge.created_at)


def check_event(event: EpisodeEvent, settings: Settings) -> None:
    check_name("type of an event", event.type, settings)
    if not event.type.strip():
        raise InvalidContent("an event needs a type.", way_out="Say what it is: `tried`, `error`, `decision` …")
    _text("text of an event", event.text, settings.content_bytes)
    check_name("actor", event.actor, settings)
    if event.ok is not None and not isinstance(event.ok, bool):
        raise InvalidContent("the `ok` of an event must be True, False or None.")
    _time("at", event.at)


def check_participants(participants: Sequence[Participant], settings: Settings) -> None:
    if len(participants) > _ATTRIBUTES:
        raise ContentTooLarge(f"an episode has {len(participants)} participants; the limit is {_ATTRIBUTES}.")
    for one in participants:
        check_name("name of a participant", one.name, settings)
        check_name("role", one.role, settings)


def check_vectors(vectors: Mapping[int, bytes], dimensions: int) -> None:
    """A stored vector is a float32 scale and one signed byte a dimension."""
    if dimensions < 1:
        raise DimensionMismatch(f"a vector has at least one dimension, not {dimensions}.")
    for vector in vectors.values():
        if len(vector) != dimensions + _SCALE_BYTES:
            raise DimensionMismatch(
                f"a vector of {dimensions} dimensions is kept in {dimensions + _SCALE_BYTES} bytes, not {len(vector)}."
            )


def check_status(status: Status, reason: str, settings: Settings) -> None:
    if not isinstance(status, Status):
        raise InvalidContent("a status must be a Status.", way_out="Pass an `engram.types.Status`.")
    _text("reason", reason, settings.summary_bytes)


def check_terms(terms: Sequence[str]) -> None:
    if not all(isinstance(term, str) for term in terms):
        raise InvalidQuery("the terms of a search must be text.")
    if any(_half_character(term) is not None for term in terms):
        raise InvalidQuery("a term of a search holds half a character (a lone surrogate).")


def dated(memory: Memory, **changes: Any) -> Memory:
    """The same memory with every time in UTC, a naive one taken as UTC, and with these changes."""
    held: dict[str, datetime | None] = dict(zip(_TIMES, _times(memory), strict=True))
    times: dict[str, Any] = {
        name: from_micros(to_micros(time)) for name, time in held.items() if time is not None and time.tzinfo is not UTC
    }
    return replace(memory, **(times | changes)) if times or changes else memory


def bounded(limit: int, most: int, what: str) -> int:
    """A number of things asked for, from 1 to `most`."""
    if not _is_whole(limit) or not 1 <= limit <= most:
        raise InvalidQuery(f"{what} takes a limit from 1 to {most}.")
    return limit


def _check_attributes(attributes: Mapping[str, str], settings: Settings) -> None:
    if not isinstance(attributes, Mapping):
        raise InvalidContent("the attributes of a memory must be a mapping.", way_out="Pass a dict of texts.")
    if len(attributes) > _ATTRIBUTES:
        raise ContentTooLarge(f"a memory has {len(attributes)} attributes; the limit is {_ATTRIBUTES}.")
    for name, value in attributes.items():
        _text("attribute's name", name, _NAME_BYTES)
        if name.startswith(_OURS):
            raise InvalidContent(f"names of attributes that begin with {_OURS!r} are not free.", way_out="Choose another name.")
        _text("attribute", value, settings.summary_bytes)


def _texts(names: Iterable[str], values: Iterable[object], most: int) -> None:
    for name, value in zip(names, values, strict=True):
        if value != "":  # as most are
            _text(name, value, most)


def _text(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise InvalidContent(f"the {name} must be text, not {type(value).__name__}.", way_out="Pass a str.")
    if value.isascii():  # as most are: no half characters, and a letter a byte
        size = len(value)
    elif (at := _half_character(value)) is not None:
        raise InvalidContent(f"the {name} holds half a character (a lone surrogate) at {at}.", way_out=_WHOLE)
    else:
        size = len(value.encode())
    if size > most:
        raise ContentTooLarge(f"the {name} has {size} bytes; the limit is {most}.")


def _half_character(value: str) -> int | None:
    """Where. Raised on by the caller, outside any handler: even behind `from None` the encoder's error keeps the words."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidContent(f"the {name} must be a number that is one.", way_out="Pass a finite int or float.")


def _time(name: str, value: object) -> None:
    if value is not None and not isinstance(value, datetime):
        raise InvalidContent(f"{name} must be a datetime, not {type(value).__name__}.", way_out="Pass a datetime.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
