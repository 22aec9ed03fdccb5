"""Cut out text that must not be captured: text that Engram itself put into a prompt, and text its owner marked as private.

Recalled text stands between two lines:

    ⟦engram:recalled 7f3a⟧
    …
    ⟦/engram:recalled⟧

The lines survive copying, quoting ("> ") and indentation, and are known in any case and spacing, so that a transcript
that holds them is never stored again (no recall → re-store loop). An end without a start closes nothing; a start without
an end runs to the end of the text: rather lose a turn than keep an echo. Private text is `<private>…</private>`, nested or
not, and also runs to the end if it was never closed. Keys, tokens and passwords are taken out too, if asked for; what sort it
was stands in their place.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from engram.values.frozen import frozen

PRIVATE = "private"
RECALLED = "recalled"

# Every repetition is bounded, and what is put in place of a removed part ("…", a line end) can stand in no mark: what is
# left after one pass holds no mark.
_MARK = re.compile(
    r"(?P<recall_open>(?:^[ \t>|*]{0,64})?⟦[ \t]{0,8}engram[ \t]{0,8}:[ \t]{0,8}recalled(?:[ \t]{1,8}[\w.-]{0,64})?[ \t]{0,8}⟧)"
    r"|(?P<recall_close>(?:^[ \t>|*]{0,64})?⟦[ \t]{0,8}/[ \t]{0,8}engram[ \t]{0,8}:[ \t]{0,8}recalled[ \t]{0,8}⟧)"
    r"|(?P<private_open><[ \t]{0,8}private[ \t]{0,8}>)"
    r"|(?P<private_close><[ \t]{0,8}/[ \t]{0,8}private[ \t]{0,8}>)",
    re.IGNORECASE | re.MULTILINE,
)


@frozen
class Removed:
    """A place in a text that was taken out, and why."""

    start: int
    end: int
    reason: str
    secret: str = ""  # its sort, if it was one


@frozen
class Cut:
    """A text after the cut, the pieces that were removed, and the place that each part of the rest came from."""

    text: str
    removed: tuple[Removed, ...]
    origins: tuple[tuple[int, int, int], ...]  # start in `text`, start in the original, length

    def original(self, start: int, end: int) -> tuple[tuple[int, int], ...]:
        """The places in the original of a place in what is left."""
        places = []
        first = bisect_right(self.origins, start, key=lambda part: part[0]) - 1
        for left, origin, length in self.origins[max(0, first) :]:
            if left >= end:
                break
            low, high = max(start, left), min(end, left + length)
            if low < high:
                places.append((origin + low - left, origin + high - left))
        return tuple(places)


def strip(text: str) -> tuple[str, list[Removed]]:
    """The text without recalled and private parts, and what was removed, as places in the text that came in.

    Stripping twice changes nothing more.
    """
    left = cut(text)
    return left.text, list(left.removed)


def cut(text: str, *, catch_secrets: bool = False) -> Cut:
    """Like `strip`, with the way back. "…" stands where something was taken out of the middle of a line."""
    removed = _marked(text)
    if catch_secrets:
        removed = _with_secrets(text, removed)
    parts: list[str] = []
    origins: list[tuple[int, int, int]] = []
    size = last = 0
    joined = True
    for piece in (*removed, Removed(len(text), len(text), "")):
        if last < piece.start:
            joint = "" if joined else "\n" if "\n" in text[last - 1 : last + 1] or parts[-1].endswith("\n") else " … "
            parts += [joint, text[last : piece.start]]
            origins.append((size + len(joint), last, piece.start - last))
            size += len(joint) + piece.start - last
        joined = bool(piece.secret) or not parts
        if piece.secret:
            parts.append(f"[secret: {piece.secret}]")
            size += len(parts[-1])
        last = piece.end
    return Cut("".join(parts), tuple(removed), tuple(origins))


def sendable(text: str) -> str:
    """Return the text that may leave this machine: nothing private, recalled or secret, whatever the settings say of keeping."""
    return cut(text, catch_secrets=True).text


def _with_secrets(text: str, removed: list[Removed]) -> list[Removed]:
    """With the secrets outside of what is removed anyway."""
    from engram.guard import secrets  # here for start-up time: its patterns take as long as half of a hook's store

    found = []
    for secret in secrets.find(text):
        at = bisect_right(removed, secret.start, key=lambda piece: piece.start)
        start = max(secret.start, removed[at - 1].end) if at else secret.start
        end = min(secret.end, removed[at].start) if at < len(removed) else secret.end
        if start < end:
            found.append(Removed(start, end, f"secret: {secret.kind}", secret.kind))
    return sorted([*removed, *found], key=lambda piece: piece.start) if found else removed


def _marked(text: str) -> list[Removed]:
    """Cut the outermost marked places, in one pass. A closing mark without an opening one is itself taken out."""
    removed: list[Removed] = []
    reason, depth, start = "", 0, 0
    for match in _MARK.finditer(text) if "⟦" in text or "<" in text else ():
        kind = match.lastgroup or ""
        what = RECALLED if kind.startswith("recall") else PRIVATE
        opens = kind.endswith("open")
        if depth == 0:
            if opens:
                reason, depth, start = what, 1, match.start()
            else:
                removed.append(Removed(match.start(), match.end(), what))
        elif what == reason:
            depth += 1 if opens else -1
            if depth == 0:
                removed.append(Removed(start, match.end(), what))
    if depth:
        removed.append(Removed(start, len(text), reason))
    return removed
