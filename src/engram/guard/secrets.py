"""Keys, tokens and passwords in a text, as spans with their kind, so that they can be removed before the text is stored.

A secret has a form of its own (a vendor's prefix and length) or follows a label ("password: …", the user part of a connection
string). Hashes, UUIDs, base64 in prose, file names and talk about passwords are not secrets. Pure, and linear in the length of
the text: every repetition in a pattern is bounded or can be entered at one position only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from engram.text.terms import word_set
from engram.values.frozen import frozen


@frozen
class Secret:
    """The span of a secret in a text and its kind, never the secret itself."""

    kind: str
    start: int
    end: int


NAMES = {
    "aws-key": "an AWS key",
    "github-token": "a GitHub token",
    "gitlab-token": "a GitLab token",
    "slack-token": "a Slack token",
    "stripe-key": "a Stripe key",
    "model-key": "the key of a model provider",
    "google-key": "a Google key",
    "npm-token": "an npm token",
    "pypi-token": "a PyPI token",
    "azure-key": "an Azure key",
    "sendgrid-key": "a SendGrid key",
    "telegram-token": "a Telegram token",
    "jwt": "a signed token (JWT)",
    "private-key": "a private key",
    "url-password": "a password in an address",
    "bearer-token": "a bearer token",
    "password": "a password",
    "secret": "a secret value",
}
"""The name of each kind in a report."""

# A vendor's prefix and the characters after it, up to the length of that vendor's longest tokens.
_SHAPES: tuple[tuple[str, str], ...] = (
    # The key id, and the secret that mostly follows it.
    ("aws-key", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?:[\s:/,;|\"'=]{1,8}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=]))?"),
    ("github-token", r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{36,255}"),
    ("gitlab-token", r"gl(?:pat|dt|rt|cbt|ptt|soat|agent|oas|ffct)-[A-Za-z0-9_-]{20,255}"),
    ("slack-token", r"xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-\d-[A-Za-z0-9-]{10,255}"),
    ("stripe-key", r"[rsp]k_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9]{24,255}"),
    (
        "model-key",
        r"sk-(?:ant-|proj-|svcacct-|or-v1-|None-)?[A-Za-z0-9_-]{20,255}|hf_[A-Za-z0-9]{30,255}|gsk_[A-Za-z0-9]{40,255}",
    ),
    ("google-key", r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,1024}|GOCSPX-[A-Za-z0-9_-]{28}"),
    ("npm-token", r"npm_[A-Za-z0-9]{36}"),
    ("pypi-token", r"pypi-[A-Za-z0-9_-]{50,1024}"),
    ("azure-key", r"(?:AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{40,100}={0,2}"),
    ("sendgrid-key", r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("telegram-token", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),
    ("jwt", r"eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,4096}"),
)
_SHAPED = tuple((kind, re.compile(rf"(?<![A-Za-z0-9_]){shape}(?![A-Za-z0-9])")) for kind, shape in _SHAPES)
_NEEDED = {
    "aws-key": ("AKIA", "ASIA", "ABIA", "ACCA"), "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-", "glagent-", "gloas-", "glffct-"),
    "slack-token": ("xox", "xapp"), "stripe-key": ("k_live_", "k_test_", "whsec_"), "model-key": ("sk-", "hf_", "gsk_"),
    "google-key": ("AIza", "ya29.", "GOCSPX-"), "npm-token": ("npm_",), "pypi-token": ("pypi-",), "azure-key": ("Key=",),
    "sendgrid-key": ("SG.",), "telegram-token": (":AA",), "jwt": ("eyJ",),
}  # fmt: skip
"""Substrings of which one must occur before a pattern is tried. Most texts contain none, and cost a few scans in C."""
_BY_PART = tuple((part, kind) for kind, parts in _NEEDED.items() for part in parts)

_PEM_OPEN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_CLOSE = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LONGEST = 16_384  # characters; a block without its closing line extends this far at most

_URL = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@?#]{0,128}:([^\s/@?#]{1,256})@(?=[\w\[])")
_BEARER = re.compile(r"\b(?:bearer|authorization: basic)[ \t]+([A-Za-z0-9._~+/=-]{16,2048})", re.IGNORECASE)

# "password: …", "api_key = …", "the passphrase is …": the label, found as plain text, then the value after it.
_NAMES = (
    "password", "passwd", "passphrase", "passcode", "pwd", "pw", "pin", "secret", "key", "token", "credential",
    "phrase", "mnemonic",
)  # fmt: skip
_OWNER_OF_KEY = re.compile(r"(?:api|access|private|encryption|secret|signing)[ _-]?$")
_OWNER_OF_PHRASE = re.compile(r"(?:seed|recovery|backup|secret|mnemonic|pass)[ _-]$")
_FOLLOWING = re.compile(
    r"(?:s|[ _-]key| code| number)?"
    r"(?P<of>[ \t]{1,3}(?:for|of|to|on|at)[ \t]{1,3}(?:[^\s:=,.;]{1,40}[ \t]{1,3}){1,4}?)?"
    r"[\"'`]?[ \t]{0,3}(?P<joint>:=|=>|[:=]|(?:is|was|are)(?: now| set to| still)?:?[ \t])[ \t]{0,3}[\"'`]{0,3}"
    r"(?P<value>[^\s\"'`<>]{3,256})",
    re.IGNORECASE,
)
_PLAIN = word_set(
    """
    a about above actually after again all already also always an and any anything are as available bad because been before
    being below best better blank broken but by can cannot changed common complex compromised correct default described
    different done easy empty encrypted enough expired expiring fine for forgotten from generated getting gone good great
    hard hashed here hidden if important in incorrect insecure invalid it its just kept leaked likely long longer lost
    manager managers maybe mine missing more most my needed never new no none not nothing now null of off old on one only
    optional or our out protected public random really required reset reused rotated safe saved secret secure set shared
    short should so something somewhere still stored strong stuck super supposed temporary than that the their them there
    these they this those to too true false undefined unique unknown unsafe up used using valid very was weak what when
    where which who why will with without working wrong xxx your yours key string token value word password
    """
)  # fmt: skip
_PHRASE = re.compile(r"[A-Za-z]{2,24}(?:[ \t]{1,2}[A-Za-z]{2,24}){1,31}")
_WORD = re.compile(r"[A-Za-z]+")
_JOINS = word_set(
    """
    a about after again all also always an and any are as ask at be because been before being but by can cannot change changed
    characters choose chosen contact did do does each enter every for forgot from had has have he her here his how if in into is
    it its just keep know last least length letters long made make me minimum must my need needed needs never new no not now of
    off old on only or our out over pick please random remember required reset same see set she should so some someone something
    soon stored symbols than that the their them then there these they this those to too type use used uses using very was we were
    what when where which who why will with without words would yet you your
    """
)
_LOOSE = frozenset({"is", "was", "are"})
_GRAMMAR = ("ed", "ing", "able", "ible", "ly")  # "my password is expired" describes the password
_SENTENCE_END = re.compile(
    r"[\"'`]|[.,;!?)]*(?:\s*$|\s+(?:and|but|so|if|in case|for|on|now|by the way|btw|please|thanks)\b|\s*\n)|[.,;!?]"
)
_CODE = re.compile(r"[A-Za-z_][\w.]{0,80}[(\[{]")
_ATTRIBUTE = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60}){1,6}$")
_TRAILING = ".,;:!?)]}…"
_PLACEHOLDER = re.compile(
    r"^(?:[*•x.X_-]{3,}|\$\{?\w+\}?|\{\{.*|<.*|\[secret:.*|%\w+%?|os\.environ.*|process\.env.*|env\..*|your[-_].*)$"
)


def find(text: str) -> tuple[Secret, ...]:
    """Return the secrets of a text, in order and without overlaps."""
    candidates = list(_all(text))
    secrets: list[Secret] = []
    end = 0
    for secret in sorted(candidates, key=lambda secret: (secret.start, -secret.end)) if candidates else ():
        if secret.start >= end:
            secrets.append(secret)
            end = secret.end
    return tuple(secrets)


def _all(text: str) -> Iterator[Secret]:
    possible = [kind for part, kind in _BY_PART if part in text]
    for kind, pattern in _SHAPED if possible else ():
        if kind in possible:
            yield from (Secret(kind, *match.span()) for match in pattern.finditer(text) if _varied(match.group()))
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    if "://" in text:
        yield from (Secret("url-password", *m.span(1)) for m in _URL.finditer(text) if _is_password(m.group(1)))
    low = _lowered(text)
    for match in _BEARER.finditer(text) if "bearer" in low or "authorization" in low else ():
        if _looks_random(match.group(1)):
            yield Secret("bearer-token", *match.span(1))
    for name in _NAMES:
        if name in low:
            yield from _labelled(text, low, name)


def _labelled(text: str, low: str, name: str) -> Iterator[Secret]:
    """Yield the secrets that follow a label such as "password:"."""
    at = low.find(name)
    while at >= 0:
        match = _FOLLOWING.match(text, at + len(name)) if _is_name(low, at, name) else None
        if match is not None and (end := _end_of_phrase(name, match)):
            yield Secret("password", match.start("value"), end)
        elif match is not None:
            value = match.group("value").rstrip(_TRAILING)
            if value and _is_value(name, match, value):
                start = match.start("value")
                yield Secret("password" if name.startswith("p") else "secret", start, start + len(value))
        at = low.find(name, at + len(name))


def _is_name(low: str, at: int, name: str) -> bool:
    if name == "phrase":
        return _OWNER_OF_PHRASE.search(low, max(at - 10, 0), at) is not None
    if name == "key":
        return _OWNER_OF_KEY.search(low, max(at - 12, 0), at) is not None
    return len(name) > 3 or at == 0 or not low[at - 1].isalpha()


def _blocks(text: str) -> Iterator[Secret]:
    at = 0
    while opening := _PEM_OPEN.search(text, at):
        closing = _PEM_CLOSE.search(text, opening.end(), opening.end() + _PEM_LONGEST)
        at = closing.end() if closing else min(opening.end() + _PEM_LONGEST, len(text))
        yield Secret("private-key", opening.start(), at)


def _is_password(value: str) -> bool:
    return not _PLACEHOLDER.match(value) and value.lower() not in _PLAIN


def _is_value(name: str, match: re.Match[str], value: str) -> bool:
    """Return True if this is the secret that the label announces, False if it is the next word of a sentence about one."""
    joint = match.group("joint").strip(": \t").split(" ")[0].lower()
    if _PLACEHOLDER.match(value) or _CODE.match(match.group("value")) or value.lower().strip("'\"()[]") in _PLAIN:
        return False
    if joint != "" and joint not in _LOOSE and _ATTRIBUTE.match(value):
        return False
    if name == "pin":
        return value.isdigit() and 4 <= len(value) <= 12
    if (not name.startswith("pass") and name not in ("pwd", "pw")) or (match.group("of") and joint not in _LOOSE):
        return _looks_random(value)
    if len(value) < 4:
        return False
    assigned = match.string[match.start("value") - 1] == "="  # "password=… host=…" is not a sentence
    if assigned or not value.isalpha() or not (value.islower() or value.istitle()):
        return True
    return not value.endswith(_GRAMMAR) and (_quoted(match) or _SENTENCE_END.match(match.string, _end(match, value)) is not None)


def _end_of_phrase(name: str, match: re.Match[str]) -> int:
    """Return the end of a secret of several plain words, or 0 if there is none. A real sentence of four words contains a
    function word (`_JOINS`); a passphrase does not."""
    if not (name.startswith("pass") or name in ("phrase", "mnemonic")):
        return 0
    start, text = match.start("value"), match.string
    run = _PHRASE.match(text, start)
    matches = _WORD.finditer(text, start, run.end()) if run else ()
    words = list(takewhile(lambda word: word.group().lower() not in _JOINS, matches))
    if len(words) < (2 if _quoted(match) else 4):
        return 0
    end = words[-1].end()
    return 0 if _quoted(match) and text[end : end + 1] != text[start - 1] else end


def _end(match: re.Match[str], value: str) -> int:
    return match.start("value") + len(value)


def _quoted(match: re.Match[str]) -> bool:
    return match.string[match.start("value") - 1] in "\"'`"


def _lowered(text: str) -> str:
    """Return the text in lower case with every character at its index: "İ" is the only letter that becomes two."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("İ", "I").lower()


def _varied(token: str) -> bool:
    """Return False for a token of few different characters, which is an example and not a key."""
    return len(set(token)) >= 8


def _looks_random(value: str) -> bool:
    """Return True for mixed letters and digits whose entropy, in bits per character, is that of random text."""
    if len(value) < 12 or not any(c.isdigit() for c in value) or not any(c.isalpha() for c in value):
        return False
    if not all(c.isascii() and (c.isalnum() or c in "._~+/=-!@#$%^&*:") for c in value):
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits >= min(3.0, math.log2(len(value)) * 0.75)
