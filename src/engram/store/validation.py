"""Checks of types and sizes before a write is queued: the one place that decides what can become a row.

Callers are other people's programs, so types are checked as well as lengths. Messages name the field, never its content.
The store checks each value that it is handed. Rooms above call the same functions only on input that they read, clean or encode
first: patterns and the encoder need texts of a bounded size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from engram.env import from_micros, to_micros
from engram.errors import ContentTooLarge, DimensionMismatch, InvalidContent, InvalidQuery
from engram.guard import names
from engram.values.edges import Edge
from engram.values.frozen import replace
from engram.values.identity import SCOPE_DIMENSIONS, Scope, Sensitivity, Source, scope_values
from engram.values.memories import Kind, Memory, Status
from engram.values.query import READ_FIELDS, Filter
from engram.values.turns import Turn

if TYPE_CHECKING:
    from engram.settings import Settings
    from engram.values.episodes import EpisodeEvent, Participant

_NAME_BYTES = 256
"""Longest id, category, scope or kind of link: names, not content."""

_RESERVED = "engram:"
"""Prefix of attribute names that Engram itself uses."""

_PLAIN_NAME = 24
"""Shorter names made only of letters are not screened: they are too short for an attack and unlike a secret."""

_ATTRIBUTES = 64
_WHOLE = "Take it out, or decode the text again with errors='replace'."
_SCALE_BYTES = 4
_SHORTER, _NAMES, _NUMBERS = ("summary", "key_fact", "tag"), ("id", "category"), ("importance", "confidence", "strength")
_SORTS: dict[str, type] = {"kind": Kind, "source": Source, "status": Status, "pinned": bool, "tier": Sensitivity}
_TIMES = ("happened_at", "happened_until", "valid_from", "valid_until", "learned_at", "accessed_at")
_shorter, _names, _numbers, _times = (attrgetter(*fields) for fields in (_SHORTER, _NAMES, _NUMBERS, _TIMES))
_sorts = attrgetter(*_SORTS)


def check_memory(memory: Memory, settings: Settings) -> None:
    check_memory_text(memory.text, settings)
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
    check_attributes(memory.attributes, settings)


def check_memory_text(text: object, settings: Settings) -> None:
    _text("text", text, settings.content_bytes)
    if not str(text).strip():
        raise InvalidContent("a memory needs some text.", way_out="Pass some text.")


def check_scope(scope: Scope) -> None:
    if not isinstance(scope, Scope):
        raise InvalidContent("the scope of a memory must be a Scope.", way_out="Pass an `engram.Scope`.")
    _texts(SCOPE_DIMENSIONS, scope_values(scope), _NAME_BYTES)


def check_turn_types(turns: Iterable[object]) -> None:
    if not all(isinstance(turn, Turn) for turn in turns):
        raise InvalidContent("a turn must be a Turn.", way_out="Pass `engram.Turn(text, speaker)`.")


def check_turn(turn: Turn, settings: Settings) -> None:
    _text("text of a turn", turn.text, settings.turn_bytes)
    check_speaker(turn.speaker, settings)
    for name in ("session", "ref"):
        value = getattr(turn, name)
        _text(name, "" if value is None else value, _NAME_BYTES)
    _time("at", turn.at)


def check_speaker(name: str, settings: Settings) -> None:
    """Check a speaker's name. The caller did not choose it, so only a certain attack is refused."""
    check_name("speaker", name, settings, plainly=True)


def check_words(what: str, text: object, settings: Settings) -> None:
    """Check a text that is neither a turn nor a memory, such as an item of working memory."""
    _text(what, text, settings.turn_bytes)


def check_period(since: datetime | None, until: datetime | None) -> None:
    for name, moment in (("since", since), ("until", until)):
        if moment is not None and not isinstance(moment, datetime):
            raise InvalidQuery(f"{name!r} must be a datetime.")


def check_filter(where: Filter) -> None:
    check_period(where.since, where.until)
    for name, given, known in (("kind", where.kinds, tuple(Kind)), ("status", where.statuses, tuple(Status))):
        if any(value not in known for value in given):
            raise InvalidQuery(f"there is no such {name}.", way_out=f"Use one of {', '.join(known)}.")
    for name in READ_FIELDS:
        _check_names(name, getattr(where, name))


def _check_names(field: str, names: object) -> None:
    """Check the names of one condition on what was read from the words of memories."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidQuery(f"{field!r} must be several texts, not a {type(names).__name__}.", way_out=f"Pass `{field}=(…,)`.")
    if len(names) > _ATTRIBUTES:
        raise InvalidQuery(f"{field!r} takes at most {_ATTRIBUTES} texts.", way_out="Ask in several steps.")
    for name in names:
        if not isinstance(name, str) or not name.strip() or _half_character(name) is not None:
            raise InvalidQuery(f"each of {field!r} must be a text with a word in it.", way_out="Leave it out to allow all.")
        if len(name.encode()) > _NAME_BYTES:
            raise InvalidQuery(f"a text in {field!r} has at most {_NAME_BYTES} bytes.", way_out="Give the name alone.")


def check_name(what: str, name: str, settings: Settings, *, plainly: bool = False) -> None:
    """Check a name that the caller chose, such as a category: answers carry it beside the words, without further screening.

    `plainly`: refuse only a certain attack.
    """
    _text(what, name, _NAME_BYTES)
    if len(name) >= _PLAIN_NAME or not name.replace("_", "").isalpha():
        names.check(what, name, settings.catch_secrets, settings.guard_injection, plainly)


def check_edges(edges: Sequence[Edge], settings: Settings) -> None:
    for edge in edges:
        check_name("kind of a link", edge.kind, settings)
        if not edge.kind:
            raise InvalidContent("a link needs a kind.", way_out="Name one, such as related_to.")
        if edge.source == edge.target:
            raise InvalidContent("a memory cannot be linked to itself.", way_out="Give the ids of two memories.")
        _number("weight", edge.weight)
        _number("confidence", edge.confidence)
        _time("created_at", edge.created_at)


def check_fact(subject: object, predicate: object, thing: object) -> None:
    if not all(isinstance(part, str) and part.strip() for part in (subject, predicate, thing)):
        raise InvalidContent("a fact is a subject, a predicate and an object, each with a word.")


def check_goal(goal: object, settings: Settings) -> None:
    if not isinstance(goal, str) or not goal.strip():
        raise InvalidContent("an episode needs a goal.", way_out="Say what is to be done.")
    check_words("goal", goal, settings)


def check_idempotency_key(key: object) -> None:
    if not isinstance(key, str) or not 0 < len(key.encode(errors="replace")) <= _NAME_BYTES:
        raise InvalidContent(f"an idempotency key must be a text of 1 to {_NAME_BYTES} bytes.", way_out="Use a UUID.")


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
    for participant in participants:
        check_name("name of a participant", participant.name, settings)
        check_name("role", participant.role, settings)


def check_vectors(vectors: Mapping[int, bytes], dimensions: int) -> None:
    """Check the length of stored vectors: a float32 scale and one signed byte per dimension."""
    if dimensions < 1:
        raise DimensionMismatch(f"a vector has at least one dimension, not {dimensions}.")
    for vector in vectors.values():
        if len(vector) != dimensions + _SCALE_BYTES:
            raise DimensionMismatch(
                f"a vector of {dimensions} dimensions is stored in {dimensions + _SCALE_BYTES} bytes, not {len(vector)}."
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
    """Return the memory with these changes and every time in UTC; a naive time counts as UTC."""
    held: dict[str, datetime | None] = dict(zip(_TIMES, _times(memory), strict=True))
    times: dict[str, Any] = {
        name: from_micros(to_micros(time)) for name, time in held.items() if time is not None and time.tzinfo is not UTC
    }
    return replace(memory, **(times | changes)) if times or changes else memory


def bounded(limit: int, most: int, what: str) -> int:
    """Return a requested number of results if it is from 1 to `most`; raise InvalidQuery otherwise."""
    if not _is_whole(limit) or not 1 <= limit <= most:
        raise InvalidQuery(f"{what} takes a limit from 1 to {most}.")
    return limit


def check_attributes(attributes: Mapping[str, str], settings: Settings) -> None:
    if not isinstance(attributes, Mapping):
        raise InvalidContent("the attributes of a memory must be a mapping.", way_out="Pass a dict of texts.")
    if len(attributes) > _ATTRIBUTES:
        raise ContentTooLarge(f"a memory has {len(attributes)} attributes; the limit is {_ATTRIBUTES}.")
    for name, value in attributes.items():
        _text("attribute's name", name, _NAME_BYTES)
        if name.startswith(_RESERVED):
            raise InvalidContent(f"attribute names that begin with {_RESERVED!r} are reserved.", way_out="Choose another name.")
        _text("attribute", value, settings.summary_bytes)


def _texts(names: Iterable[str], values: Iterable[object], most: int) -> None:
    for name, value in zip(names, values, strict=True):
        if value != "":  # most are empty
            _text(name, value, most)


def _text(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise InvalidContent(f"the {name} must be text, not {type(value).__name__}.", way_out="Pass a str.")
    if value.isascii():  # most are: no surrogates, and one byte per character
        size = len(value)
    elif (at := _half_character(value)) is not None:
        raise InvalidContent(f"the {name} holds half a character (a lone surrogate) at {at}.", way_out=_WHOLE)
    else:
        size = len(value.encode())
    if size > most:
        raise ContentTooLarge(f"the {name} has {size} bytes; the limit is {most}.")


def _half_character(value: str) -> int | None:
    """Return the position of a lone surrogate, or None.

    The caller raises outside the handler: even with `from None` the encoder's error would carry the words.
    """
    try:
        value.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def _number(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidContent(f"the {name} must be a finite number.", way_out="Pass a finite int or float.")


def _time(name: str, value: object) -> None:
    if value is not None and not isinstance(value, datetime):
        raise InvalidContent(f"{name} must be a datetime, not {type(value).__name__}.", way_out="Pass a datetime.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
