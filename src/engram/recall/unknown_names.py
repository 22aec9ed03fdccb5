"""Say which names of a filter nothing has, so that an empty answer is not taken for one about a known name."""

from __future__ import annotations

from engram.store.ports import Store
from engram.types import Reader
from engram.values.query import Filter, read_conditions

_NOTES = {
    "people": "nobody is known by the name {!r}.",
    "technologies": "no technology is known by the name {!r}.",
    "files": "no file is known by the name {!r}.",
    "languages": "nothing is known in the language {!r}: it is a code, such as de, or a programming language, such as python.",
    "topics": "nothing is known on the topic {!r}.",
    "speakers": "nothing is known that {!r} said.",
}


def unknown_names(store: Store, reader: Reader, where: Filter) -> tuple[str, ...]:
    """Return a note on each name of a filter that no memory has that the reader may see, whatever its status."""
    return tuple(
        _NOTES[field].format(name)
        for field, names in read_conditions(where).items()
        for name in names
        if not store.memories.keys_having(reader, Filter(statuses=(), **{field: (name,)}))  # type: ignore[arg-type]
    )
