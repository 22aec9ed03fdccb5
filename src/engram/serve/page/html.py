"""HTML from templates: the filters they use, the assets, and the headers of every page."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response

import engram
from engram.env import in_utc
from engram.rules.lifecycle import layer_of
from engram.serve.page.request import place
from engram.types import Memory

ASSETS: Mapping[str, str] = {
    "palace.css": "text/css",
    "palace.js": "text/javascript",
    "graph.js": "text/javascript",
    "mark.svg": "image/svg+xml",
}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # `no-referrer` would make browsers send forms with `Origin: null`
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_ASSET_HEADERS = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable"}
_STEPS = ((60, "second"), (60, "minute"), (24, "hour"), (30, "day"), (12, "month"))


def rendered(template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """Return a template, filled in, as a response."""
    html = _templates().get_template(template).render(values)
    return Response(html, status, HEADERS, media_type="text/html")


def asset(name: str) -> Response | None:
    """Return a style sheet, script or image as a response, or None if there is none of that name."""
    if name not in ASSETS:
        return None
    return Response(_asset(name), headers=_ASSET_HEADERS, media_type=ASSETS[name])


@cache
def _asset(name: str) -> bytes:
    return files("engram.serve.page").joinpath("assets", name).read_bytes()


def _asset_place(name: str) -> str:
    """Return an asset's address with a digest of its content, so that browsers may cache it for ever."""
    return place(f"/assets/{name}", v=hashlib.sha256(_asset(name)).hexdigest()[:12])


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("engram.serve.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters = {"ago": ago, "stamp": stamp, "day": day, "words": words, "count": count, "size": size, "layer": layer}
    environment.filters |= filters
    environment.globals |= {"place": place, "asset": _asset_place, "version": engram.__version__}
    return environment


# ── filters ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def ago(moment: datetime, now: datetime) -> str:
    """Return the time between a moment and `now` in the largest whole unit: "3 days ago", "in 2 hours"."""
    seconds = (in_utc(now) - in_utc(moment)).total_seconds()
    amount, unit = abs(seconds), "year"
    for size, name in _STEPS:
        if amount < size:
            unit = name
            break
        amount /= size
    if unit == "second":
        return "just now"
    whole = int(amount)
    duration = f"{whole} {unit}{'' if whole == 1 else 's'}"
    return f"{duration} ago" if seconds >= 0 else f"in {duration}"


def stamp(moment: datetime) -> str:
    """Return "2026-05-08 13:00 UTC"."""
    return f"{in_utc(moment).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def day(moment: datetime) -> str:
    """Return "8 May 2026"."""
    utc = in_utc(moment).astimezone(UTC)
    return f"{utc.day} {utc:%b %Y}"


def words(name: object) -> str:
    """Return an identifier or enum member with spaces in place of underscores."""
    return str(getattr(name, "value", name)).replace("_", " ").replace("+", " + ")


def count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: "1 memory", "2,000 memories"."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def size(number: float) -> str:
    """Return a number of bytes as "512 bytes", "1.5 MiB"."""
    unit = "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if number < 1024:
            break
        number, unit = number / 1024, larger
    return f"{number:,.0f} {unit}" if number >= 100 or unit == "bytes" else f"{number:,.1f} {unit}"


def layer(memory: Memory) -> str:
    """Return the name of a memory's layer."""
    return layer_of(memory).value
