"""What a model wrote, as the value it was asked for: JSON taken out of its words, and held against its schema.

The part of JSON Schema that model endpoints know: type (one or several), properties, required, items, enum. A problem names a
place and a rule, never a value: values are words of the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

_THINKING = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)
_DECODER = json.JSONDecoder()
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
    "null": (type(None),),
}  # fmt: skip


def without_thinking(text: str) -> str:
    """An answer without what its maker thought before: marked, begun by the prompt and only ended, or never ended."""
    said: list[str] = []
    last, thinking = 0, False
    for tag in _THINKING.finditer(text):
        if tag[1]:
            if not thinking:
                said.clear()
            thinking, last = False, tag.end()
        elif not thinking:
            said.append(text[last : tag.start()])
            thinking = True
    return "".join(said if thinking else [*said, text[last:]]).strip()


def parse_json(text: str) -> Any:
    """The JSON of an answer: whole, in a block of code, or among other words. ValueError if there is none."""
    for piece, start in _places(text):
        try:
            return _DECODER.raw_decode(piece, start)[0] if start else json.loads(piece)
        except (ValueError, RecursionError):
            continue
    raise ValueError("it is not JSON")


def _places(text: str) -> Iterator[tuple[str, int]]:
    """Where it may begin; at 0 it must also end with the text."""
    yield text, 0
    answer = " " + without_thinking(text)
    yield answer, 0
    yield from ((answer, at) for opening in "{[" if (at := answer.find(opening)) > 0)


def schema_violation(value: Any, schema: Schema, at: str = "the answer") -> str:
    """The first place where a value is not as its schema says; empty if it is."""
    kinds = schema.get("type", ())
    kinds = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if kinds and not any(_is(value, kind) for kind in kinds):
        return f"{at} is not of type {' or '.join(kinds)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{at} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, dict):
        missing = [name for name in schema.get("required", ()) if name not in value]
        if missing:
            return f"{at} lacks {missing[0]!r}"
        known = schema.get("properties", {})
        found = (schema_violation(value[name], known[name], f"{at}.{name}") for name in known if name in value)
        return next((one for one in found if one), "")
    if isinstance(value, list) and "items" in schema:
        found = (schema_violation(one, schema["items"], f"{at}[{number}]") for number, one in enumerate(value))
        return next((one for one in found if one), "")
    return ""


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, (object,))) or (
        kind == "integer" and isinstance(value, float) and value.is_integer()
    )
