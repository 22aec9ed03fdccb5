"""Personal data in a text: spans with their kind and sensitivity.

Three methods find it. Checked: digits that their own check digits confirm (cards, accounts, wallets). Shaped: unmistakable forms
(mail and network addresses, telephone numbers in groups). Labelled: a number identified by the words before it ("passport
no.", "date of birth"). Names and postal addresses are recognised in `guard/person_names.py`; keys, tokens and passwords in
`guard/secrets.py`. Pure, and linear in the length of the text: repetitions in patterns are bounded.

The mention of a person is not sensitive, or nothing could be found by name; "my name is …" is.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect
from collections.abc import Iterator

from engram.guard import person_names, secrets
from engram.types import Sensitivity
from engram.values.frozen import frozen
from engram.values.identity import strictest

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_RESIDUES = (1, 0x2BC830A3)  # bech32 (BIP 173) and bech32m (BIP 350)
_WALLET_BYTES = 25  # 1 for the version, 20 for the hash, 4 for the checksum


def passes_luhn(digits: str) -> bool:
    """Return True if the check digit of a payment card or provider number is right (ISO/IEC 7812)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def is_iban(code: str) -> bool:
    """Return True for an IBAN in upper case without spaces: country, two check digits, account (ISO 13616, modulo 97)."""
    rotated = code[4:] + code[:4]
    return code.isascii() and code.isalnum() and int("".join(str(int(c, 36)) for c in rotated)) % 97 == 1


def is_routing_number(digits: str) -> bool:
    """Return True for a US bank routing number (ABA)."""
    return len(digits) == 9 and sum(int(d) * (3, 7, 1)[at % 3] for at, d in enumerate(digits)) % 10 == 0


def is_chinese_id(code: str) -> bool:
    """Return True for the number of a Chinese identity card: 17 digits and a check digit, X for ten (ISO 7064, MOD 11-2)."""
    return len(code) == 18 and sum((10 if c in "Xx" else int(c)) * pow(2, 17 - at, 11) for at, c in enumerate(code)) % 11 == 1


def is_german_tax_id(digits: str) -> bool:
    """Return True for a German tax number: ten digits with one or two repetitions, and a check digit (ISO 7064, MOD 11,10)."""
    rest = 10
    for digit in digits[:10]:
        rest = ((int(digit) + rest) % 10 or 10) * 2 % 11
    return len(digits) == 11 and digits[0] != "0" and len(set(digits[:10])) in (8, 9) and (11 - rest) % 10 == int(digits[10])


def is_base58_wallet(code: str) -> bool:
    """Return True for a Bitcoin-style wallet address: it ends with four bytes of the double SHA-256 of the rest."""
    number = 0
    for letter in code:
        value = _BASE58.find(letter)
        if value < 0:
            return False
        number = number * 58 + value
    try:
        raw = number.to_bytes(_WALLET_BYTES)
    except OverflowError:
        return False
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def is_bech32_wallet(code: str) -> bool:
    """Return True for a segwit wallet address: a readable prefix, a 1, and data with a checksum (BIP 173, BIP 350)."""
    if code != code.lower() and code != code.upper():
        return False
    prefix, _, data = code.lower().rpartition("1")
    if not prefix or len(data) < 6 or any(letter not in _BECH32 for letter in data):
        return False
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + [_BECH32.index(c) for c in data]
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATORS):
            if top >> bit & 1:
                checksum ^= generator
    return checksum in _BECH32_RESIDUES


@frozen
class PersonalSpan:
    """A span of personal data: its kind, position and sensitivity, never the text itself."""

    kind: str
    start: int
    end: int
    tier: Sensitivity


TIERS = {
    "secret": Sensitivity.CONFIDENTIAL,
    "credit-card": Sensitivity.CONFIDENTIAL,
    "iban": Sensitivity.CONFIDENTIAL,
    "bank-account": Sensitivity.CONFIDENTIAL,
    "routing-number": Sensitivity.CONFIDENTIAL,
    "ssn": Sensitivity.CONFIDENTIAL,
    "tax-id": Sensitivity.CONFIDENTIAL,
    "passport": Sensitivity.CONFIDENTIAL,
    "driver-license": Sensitivity.CONFIDENTIAL,
    "national-id": Sensitivity.CONFIDENTIAL,
    "medical-number": Sensitivity.CONFIDENTIAL,
    "url-credentials": Sensitivity.CONFIDENTIAL,
    "crypto-wallet": Sensitivity.SENSITIVE,
    "email": Sensitivity.SENSITIVE,
    "phone": Sensitivity.SENSITIVE,
    "ip-address": Sensitivity.SENSITIVE,
    "mac-address": Sensitivity.SENSITIVE,
    "date-of-birth": Sensitivity.SENSITIVE,
    "address": Sensitivity.SENSITIVE,
    "postal-code": Sensitivity.SENSITIVE,
    "identity": Sensitivity.SENSITIVE,  # somebody says who they are
    "person": Sensitivity.CLEARTEXT,  # somebody is mentioned
    "url": Sensitivity.CLEARTEXT,
}
"""All kinds, with their sensitivity."""


# Where spans overlap, the kind that comes first here wins: the more certain one.
_PRECEDENCE = (
    "secret", "url-credentials", "iban", "crypto-wallet", "driver-license", "passport", "national-id", "medical-number",
    "tax-id", "routing-number", "ssn", "bank-account", "date-of-birth", "credit-card", "email", "url", "ip-address",
    "mac-address", "phone", "address", "postal-code", "identity", "person",
)  # fmt: skip
_ORDER = {kind: place for place, kind in enumerate(_PRECEDENCE)}

_DIGIT = re.compile("[0-9]")
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])(?!:[\w~][\w.~-]{0,63}/)")
_URL = re.compile(r"\b(?:https?|ftp)://[^\s<>\"'`\[\]{}|]{3,2000}|\bwww\.[\w-]{1,63}\.[^\s<>\"'`\[\]{}|]{2,2000}", re.IGNORECASE)
_URL_LOGIN = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s:/@?#]{1,128}:[^\s/@?#]{1,256}@[\w.\[\]:-]{1,255}")
_IPV4 = re.compile(r"(?<![\w.-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w-]|\.\d)")
_LOOPBACK = "127."
_UNIVERSAL = frozenset({"0.0.0.0", "255.255.255.255", "255.255.255.0"})  # noqa: S104  nothing is bound
"""Addresses that every machine has, and that therefore identify nobody."""
_IPV6 = re.compile(
    r"(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}(?![\w:])|"
    r"(?<![\w:.])[0-9A-Fa-f:]{2,30}::[0-9A-Fa-f:]{0,30}(?![\w:])"
)
_MAC = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
_VERSION = re.compile(r"(?:\bv|version|release|python|build|section|chapter|§)[ .]{0,2}$", re.IGNORECASE)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])", re.IGNORECASE)
_LETTER = r"[^\W\u2e80-\u9fff\uac00-\ud7af]"  # not CJK or Hangul, where a number may touch the next word
_CARD = re.compile(
    rf"(?<!{_LETTER})(?<![.,+$€£-])" + r"(?:\d{12,19}|\d{4}(?:[ -]\d{4}){2,3}(?:[ -]?\d{1,3})?|"
    r"\d{4}[ -]\d{6}[ -]\d{4,5})" + rf"(?!{_LETTER}|%|[.,]\d)"
)
_CARD_PREFIX = re.compile(r"3(?:[0689]|4|5|7)|4|5[0-8]|6|2[2-7]")
_CARD_WORDS = re.compile(
    r"\b(?:card|credit|debit|cc|visa|master ?card|maestro|amex|american express|discover|diners|"
    r"jcb)\b",
    re.IGNORECASE,
)
_RESIDENT = re.compile(
    r"(?<![0-9A-Za-z])[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![0-9A-Za-z])"
)
_TAXPAYER = re.compile(
    r"(?:steuer-?(?:id|identifikations|ident)|\bid-?nr|\bidnr)[\w. -]{0,20}[:=]?\s{0,2}(\d{2} ?\d{3} ?\d{3} ?\d{3})(?!\d)",
    re.IGNORECASE,
)
_SSN = re.compile(r"(?<![\w-])\d{3}([- ])\d{2}\1\d{4}(?![\w-])")
_SSN_WORDS = re.compile(r"\b(?:ssn|social[ -]?security|itin|tax ?payer)", re.IGNORECASE)
_NINE = re.compile(r"(?<!\d)\d{9}(?!\d)")
_WALLET = re.compile(
    r"\b(?:[13LM][1-9A-HJ-NP-Za-km-z]{25,34}|(?:bc|tb|ltc)1[02-9ac-hj-np-z]{20,87}|0x[0-9a-fA-F]{40}|"
    r"4[0-9AB][1-9A-HJ-NP-Za-km-z]{93})\b"
)

# A label and its number: "passport number is X1234567", "DOB: 3 May 1988".
_JOINT = (
    r"[\"')]{0,2}(?:\s{1,3}(?:number|no|num|nr|id|code|card|#))?\.?[\"')]{0,2}\s{0,3}(?:[:=#]|\bis\b(?: now)?:?|\bwas\b|"
    r"\bof\b|[-–])?\s{0,3}#?\s{0,2}[\"'(]?"
)
_DATE = (
    r"(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,2}(?:st|nd|rd|th)?(?: of)? [^\W\d_]{3,10}\.?,? \d{4}|"
    r"[^\W\d_]{3,10}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})"
)
_LABELLED: tuple[tuple[str, str, str], ...] = (
    ("driver-license", r"driv(?:er|ing)(?:['’]?s)?[ -]?licen[cs]e|\bdl\b|license number",
        r"(?=[A-Z0-9 -]{0,20}\d)[A-Z0-9](?:[A-Z0-9]|[ -](?=[A-Z0-9])){4,19}"),
    ("passport", r"passport", r"(?=[A-Z0-9]{0,10}\d)[A-Z0-9]{6,10}"),
    ("national-id", r"national (?:id|identity|insurance)|identity card|\bnino\b|\bdni\b|\bnif\b|personnummer|\bpesel\b|"
        r"aadhaar|\bcpf\b|\bcurp\b", r"(?=[A-Z0-9 .-]{0,20}\d)[A-Z0-9](?:[A-Z0-9]|[ ./-](?=[A-Z0-9])){6,19}"),
    ("medical-number", r"medical record|\bmrn\b|patient (?:id|number|no)|\bnhs\b|medicare|medicaid|health (?:insurance|"
        r"card|plan)|\bnpi\b|insurance (?:id|number|policy)|member id|beneficiary",
        r"(?=[A-Z0-9 -]{0,20}\d[A-Z0-9 -]{0,20}\d)[A-Z0-9](?:[A-Z0-9]|[ -](?=\d)){5,15}"),
    ("tax-id", r"tax (?:id|identification)|\btin\b|\bein\b|\bitin\b|\bvat\b", r"(?:[A-Z]{2} ?)?\d{2}[- ]?\d[\d -]{5,11}\d"),
    ("routing-number", r"routing|\baba\b|sort code|\bbsb\b|swift|\bbic\b",
        r"(?:\d{9}|\d{2}[- ]?\d{2}[- ]?\d{2}|[A-Z]{6}[A-Z0-9]{2}(?:[A-Z0-9]{3})?)"),
    ("bank-account", r"(?:bank|checking|savings?|current|giro)? ?(?:account|acct|a/c)(?= ?(?:number|no|#|:|is))",
        r"\d(?:[\d]|[ -](?=\d)){5,20}"),
    ("date-of-birth", r"\bborn(?: on| in)?\b|\bdob\b|d\.o\.b\.?|(?:date|day|year) of birth|birth ?da(?:y|"
        r"te)(?: is)?(?: on)?", _DATE),
    ("postal-code", r"\bzip(?: ?code)?\b|post(?:al)? ?code|postcode|\bplz\b",
        r"(?=[A-Z0-9 -]{0,20}\d)[A-Z0-9]{2,5}(?:[ -]?[A-Z0-9]{2,4})?"),
)  # fmt: skip
_LABELLED_PATTERNS = tuple(
    (
        kind,
        re.compile(cue, re.IGNORECASE),
        re.compile(rf"{_JOINT}(?:(?:it['’]?s|that['’]?s|mine is|is)\s)?({value})(?![\w])", re.IGNORECASE),
    )
    for kind, cue, value in _LABELLED
)
_LABELLED_NEEDS = {
    "driver-license": ("licen", "dl:", "dl #", "dl n"), "passport": ("passport",),
    "national-id": ("national", "identity", "nino", "dni ", "dni:", "nif ", "nif:", "personnummer", "pesel", "aadhaar",
    "cpf", "curp"),
    "medical-number": ("medic", "mrn", "patient", "nhs", "health ", "npi", "insurance", "member id", "beneficiary"),
    "tax-id": ("tax i", "tin:", "tin ", "ein:", "ein ", "vat ", "vat:"), "routing-number": ("routing", "aba", "sort code",
    "bsb", "swift", "bic"),
    "bank-account": ("account", "acct", "a/c"), "date-of-birth": ("born", "dob", "d.o.b", "birth"),
    "postal-code": ("zip", "postal", "postcode", "post code", "plz"),
}  # fmt: skip
"""Substrings of which one must occur before a label's pattern is tried. Most texts contain none."""
_ANSWERED = re.compile(r"[^\n?.:]{0,24}[?.:]\s{1,3}(?:[^\W\d_]{1,10}:\s)?(?:it['’]?s |it is |sure,? |mine is )?", re.IGNORECASE)

_PHONE = re.compile(
    rf"(?<!{_LETTER})(?<![.+/#$€£:-])" + r"(?<!\d,)(?:\+ ?|00)?\(?\d(?:[\d]|[ .()/-]{1,2}(?=[\d(])){5,24}\d(?: ?(?:x|"
    r"ext\.?) ?\d{1,6})?" + rf"(?!{_LETTER}|[%€]|[:/-]\d|[.,]\d)",
    re.IGNORECASE,
)
_PHONE_WORDS = re.compile(
    r"\b(?:phone|tele(?:phone|fon)?|tel|call(?:ed|ing|s)?|cell(?:phone)?|mobile|mob|fax|office|desk|home|work|number|"
    r"dial|ring|reach|contact|"
    r"sms|texts?|texting|whats ?app|signal|messages?|answer(?:ing)?|hotline|landline|voicemail|registered|handy|móvil|"
    r"portable|teléfono|téléphone|telefono|telefone|celular|rufnummer)\b|电话|電話|手机|手機|号码|전화|هاتف|جوال|телефон|номер",
    re.IGNORECASE,
)
_NOT_PHONE = re.compile(
    r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?!\d)|\d{1,2}[-./]\d{1,2}[-./](?:\d{4}|\d{2})$|(?:19|20)\d\d ?[-–] ?(?:19|20)\d\d$|"
    r"\d{3}-\d{2}-\d{4}$|"
    r"\d+\.\d+$|(?:\d{1,3}\.\d\d? )"  # a decimal, a row of prices
)
_OTHER_NUMBER = re.compile(r"\b(?:isbn|issn|doi|order|invoice|tracking|serial|model|part|sku|id)\b[^.\n]{0,16}$", re.IGNORECASE)
_NEAR = 48


def find(text: str) -> tuple[PersonalSpan, ...]:
    """Return the personal data of a text, in order and without overlaps."""
    return _without_overlaps([*_all(text), *_people(person_names.find(text))])


def sensitivity_of(spans: tuple[PersonalSpan, ...]) -> Sensitivity:
    """Return the sensitivity of a text with these spans: that of the most sensitive one."""
    return strictest(*(span.tier for span in spans))


def mask(text: str, spans: tuple[PersonalSpan, ...] | None = None) -> str:
    """Return the text with each sensitive span replaced by its kind: "my mail is [email]"."""
    parts, at = [], 0
    for span in find(text) if spans is None else spans:
        if span.tier is not Sensitivity.CLEARTEXT:
            parts += [text[at : span.start], f"[{span.kind}]"]
            at = span.end
    return "".join((*parts, text[at:]))


def find_sensitive(text: str) -> tuple[PersonalSpan, ...]:
    """Return the sensitive spans only. Skips the search for mentioned people, which takes most of the time of `find`."""
    spans = [*_all(text), *_people(person_names.find_sensitive(text))]
    return tuple(span for span in _without_overlaps(spans) if span.tier is not Sensitivity.CLEARTEXT) if spans else ()


def _people(names: Iterator[person_names.NameSpan]) -> Iterator[PersonalSpan]:
    return (_span(kind, start, end) for kind, start, end in names)


def _without_overlaps(spans: list[PersonalSpan]) -> tuple[PersonalSpan, ...]:
    """Return the spans that overlap none of a kind with precedence. Each is compared with its two neighbours only, so that a
    text of ten thousand addresses stays cheap."""
    taken: list[PersonalSpan] = []
    for span in sorted(spans, key=lambda span: (_ORDER[span.kind], span.start, -span.end)):
        place = bisect(taken, span.start, key=lambda span: span.start)
        before, after = taken[place - 1 : place] if place else [], taken[place : place + 1]
        if not any(span.start < other.end and other.start < span.end for other in (*before, *after)):
            taken.insert(place, span)
    return tuple(taken)


def _all(text: str) -> Iterator[PersonalSpan]:
    yield from (_span("secret", secret.start, secret.end) for secret in secrets.find(text))
    if "@" in text:
        yield from (_span("email", *match.span()) for match in _EMAIL.finditer(text))
    if "://" in text or "www." in text:
        yield from (_span("url-credentials", *match.span()) for match in _URL_LOGIN.finditer(text))
        yield from (_span("url", match.start(), match.end() - _trailing(match.group())) for match in _URL.finditer(text))
    if _DIGIT.search(text):
        yield from _checked(text)
        yield from _shaped(text)
        yield from _labelled(text)
        yield from _phones(text)
    elif "::" in text:
        yield from _networks(text)


def _span(kind: str, start: int, end: int) -> PersonalSpan:
    return PersonalSpan(kind, start, end, TIERS[kind])


def _checked(text: str) -> Iterator[PersonalSpan]:
    for match in _IBAN.finditer(text):
        end = _iban_end(match.group())
        if end:
            yield _span("iban", match.start(), match.start() + end)
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match.group())
        named = _CARD_WORDS.search(text, max(match.start() - _NEAR, 0), match.end() + _NEAR) is not None
        if passes_luhn(digits) and (named or (len(digits) > 13 and _CARD_PREFIX.match(digits))) and len(set(digits)) > 1:
            yield _span("credit-card", *match.span())
    for match in _RESIDENT.finditer(text):
        if is_chinese_id(match.group()):
            yield _span("national-id", *match.span())
    for match in _TAXPAYER.finditer(text) if "id" in text.lower() else ():
        if is_german_tax_id(match.group(1).replace(" ", "")):
            yield _span("tax-id", *match.span(1))
    for match in _WALLET.finditer(text):
        code = match.group()
        # Ethereum encodes its checksum in upper case and Monero uses Keccak: neither is verified here.
        unchecked = code.startswith("0x") or len(code) == 95
        if unchecked or is_base58_wallet(code) or ("1" in code[2:5] and is_bech32_wallet(code)):
            yield _span("crypto-wallet", *match.span())


def _iban_end(candidate: str) -> int:
    """Return the length of the IBAN at the start of `candidate`, or 0. Upper-case words after it may look like part of it."""
    end = len(candidate)
    while end >= 15:
        code = candidate[:end].replace(" ", "").upper()
        if len(code) <= 34 and is_iban(code):
            return end
        end = candidate.rfind(" ", 0, end)
    return 0


def _shaped(text: str) -> Iterator[PersonalSpan]:
    yield from _networks(text)
    for match in _SSN.finditer(text):
        area, group, serial = re.split("[- ]", match.group())
        named = _SSN_WORDS.search(text, max(match.start() - _NEAR, 0), match.end() + _NEAR) is not None
        if named or (match.group(1) == "-" and area not in ("000", "666") and group != "00" and serial != "0000"):
            yield _span("ssn", *match.span())


def _networks(text: str) -> Iterator[PersonalSpan]:
    for match in _IPV4.finditer(text):
        if match.group().startswith(_LOOPBACK) or match.group() in _UNIVERSAL:
            continue
        if not _VERSION.search(text, max(match.start() - 12, 0), match.start()):
            yield _span("ip-address", *match.span())
    if ":" in text:
        yield from (_span("ip-address", *m.span()) for m in _IPV6.finditer(text) if sum(c.isalnum() for c in m.group()) > 2)
    yield from (_span("mac-address", *match.span()) for match in _MAC.finditer(text))


def _labelled(text: str) -> Iterator[PersonalSpan]:
    low = text.lower()
    for kind, cue, value in _LABELLED_PATTERNS:
        for label in cue.finditer(text) if any(part in low for part in _LABELLED_NEEDS[kind]) else ():
            match = value.match(text, label.end())
            if match is None:  # "What is your date of birth? It's 3/4/1988"
                answer = _ANSWERED.match(text, label.end())
                match = value.match(text, answer.end()) if answer else None
            if match is not None and _fits(kind, match.group(1)):
                yield _span(kind, *match.span(1))
    for label in _SSN_WORDS.finditer(text) if "ssn" in low or "social" in low or "tax" in low else ():
        yield from (_span("ssn", *match.span()) for match in _NINE.finditer(text, label.end(), label.end() + _NEAR))


def _fits(kind: str, value: str) -> bool:
    digits = re.sub(r"\D", "", value)
    if kind == "routing-number" and len(digits) == 9 and value.isdigit():
        return is_routing_number(digits)
    if kind == "passport":
        return sum(c.isdigit() for c in value) >= 4
    return bool(digits) or (kind == "routing-number" and value.isupper())


def _phones(text: str) -> Iterator[PersonalSpan]:
    for match in _PHONE.finditer(text):
        digits = re.sub(r"(?: ?(?:x|ext\.?) ?\d{1,6})$", "", match.group(), flags=re.IGNORECASE)
        groups = re.findall(r"\d+", digits)
        count = sum(map(len, groups))
        if not 7 <= count <= 15 or _NOT_PHONE.match(digits) or len(set("".join(groups))) < 3:
            continue
        if _OTHER_NUMBER.search(text, max(match.start() - 24, 0), match.start()):
            continue
        named = _PHONE_WORDS.search(text, max(match.start() - _NEAR, 0), match.start()) or _PHONE_WORDS.match(
            text, match.end() + 1
        )
        if _phone_like(digits, groups, count) or named:
            yield _span("phone", *match.span())


def _phone_like(number: str, groups: list[str], count: int) -> bool:
    """Return True for forms that only telephone numbers have: a country code, an area in brackets, or groups of two to four."""
    if number.startswith("+") or (number.startswith("00") and count > 9):
        return count >= 8
    if "(" in number:
        return ")" in number and count >= 9
    if number.startswith("0") and len(groups) > 1:
        return count >= 9
    if len(groups) == 3 and list(map(len, groups)) in ([3, 3, 4], [3, 3, 3]):
        return True
    if max(map(len, groups)) < 3 and " " in number:
        return False  # a row of a calendar or a table
    return len(groups) >= 4 and count >= 8 and all(2 <= len(group) <= 4 for group in groups[1:]) and len(groups[0]) <= 3


def _trailing(url: str) -> int:
    """Return how many characters at the end of a URL are punctuation of the sentence around it."""
    return len(url) - len(url.rstrip(".,;:!?)"))
