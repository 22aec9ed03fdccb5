"""Find the words of others in a message: forwarded mail, answers that hang on it, pasted letters and lines of a chat."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

_FROM = r"From|Von|De|Da|Van|差出人|发件人"
_SUBJECT = r"Subject|Betreff|Objet|Asunto|Assunto|Oggetto|Onderwerp|件名|主题"
_SENT = r"Sent|Cc|Bcc|Gesendet|Kopie|Envoyé|Enviado|Inviato|Verzonden|发送时间"
_OTHER = r"Date|To|Datum|An|À|Fecha|Data|Para|A|Aan|日時|宛先|收件人"
_HEAD = re.compile(
    rf"^[ \t>]*(?:(?P<sender>{_FROM})|(?P<sure>{_SUBJECT}|{_SENT})|{_OTHER})[ \t]?[:：][^\n]*(?:\n|$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANNOUNCED = re.compile(
    r"^[ \t>]*(?:-{2,}[ \t]*(?:Forwarded message|Original Message|Weitergeleitete Nachricht|Message transféré|Mensaje reenviado)"
    r"|Begin forwarded message:)",
    re.IGNORECASE | re.MULTILINE,
)
_WROTE = re.compile(
    r"\b(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu)\b[^\n:]{0,80}:[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_BEGINS = re.compile(r"[ \t]*(?:On|Am|Le|El|Il|Op|Em)[ \t]")
_STAMP = re.compile(r"\d\d?:\d\d|<[^<>\s]{1,100}@")
_LONGEST_ATTRIBUTION = 300
_LEAST_HEADS = 2

_GREETING = re.compile(
    r"^[ \t]*(?:Hi|Hello|Hey|Dear|Hallo|Liebe[rs]?|Sehr geehrte[rs]?|Bonjour|Chère?|Hola|Querid[oa]|Estimad[oa]|Ciao"
    r"|Car[oa]|Gentile|Beste|Olá)[ \t]+[^\W\d_][^\n,:;.?]{0,40}[,!:]?[ \t]*$",
    re.MULTILINE,
)
_CLOSING = re.compile(
    r"^[ \t]*(?:(?:Best|Kind|Warm|Many)[ \t](?:regards|wishes|thanks)|Regards|Best|Cheers|Sincerely|Yours(?:[ \t]\w+)?"
    r"|Love|Thanks|(?:Viele|Liebe|Beste|Schöne|Herzliche)[ \t]Grüße|Mit freundlichen Grüßen|LG|VG|Gruß|Cordialement"
    r"|Bien à vous|Saludos|Un abrazo|Cordiali saluti|Un saluto|Groet(?:en|jes)?|Met vriendelijke groet|Abraços?|Atenciosamente)"
    r"[,!.]?(?:[ \t]*\n[ \t]*|[ \t]+)[^\W\d_a-z][\w.'’-]{0,24}(?:[ \t]+[^\W\d_a-z][\w.'’-]{0,24}){0,3}[ \t]*$",
    re.MULTILINE,
)
_TIME = r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?"
_DAY = r"(?:\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4}),? "
_WHO = r"[^\W\d_a-z][\w.'’-]{0,24}(?: [^\W\d_a-z][\w.'’-]{0,24}){0,2}"
_SURELY_CHAT = re.compile(
    rf"[ \t]*+(?:{_WHO} \[(?:{_DAY})?{_TIME}\] ?:|\[{_DAY}{_TIME}\] {_WHO}:|{_DAY}{_TIME} [-–] {_WHO}:)[ \t]+\S"
)
_MAYBE_CHAT = re.compile(rf"[ \t]*+\[{_TIME}\] (?:{_WHO}:|<{_WHO}>)[ \t]+\S")


def forwarded_at(text: str) -> int:
    """Return the place from which a message is forwarded text; its length if none of it is."""
    announced = _ANNOUNCED.search(text)
    places = [announced.start()] if announced else []
    return min([*places, *_answered(text), *_heads(text)], default=len(text))


def is_attribution(line: str) -> bool:
    """Return True for the line above quoted words: "On Mon, Mar 2, 2026 at 09:14, Ann <ann@mail.example> wrote:"."""
    written = _WROTE.search(line) if len(line) <= _LONGEST_ATTRIBUTION else None
    return written is not None and _BEGINS.match(line) is not None and _STAMP.search(line, 0, written.start()) is not None


def _answered(text: str) -> Iterator[int]:
    """Yield the places of such lines with no sign of a quotation below them: there the answered mail stands to the end."""
    for written in _WROTE.finditer(text):
        start = text.rfind("\n", 0, written.start()) + 1
        if not _BEGINS.match(text, start):  # it may be the second half of a line that was wrapped
            start = text.rfind("\n", 0, max(start - 1, 0)) + 1
        following = text[written.end() : written.end() + _LONGEST_ATTRIBUTION].lstrip()
        if following and not following.startswith(">") and is_attribution(text[start : written.end()]):
            yield start


def _heads(text: str) -> Iterator[int]:
    """Yield the first place where the head of a mail begins: a sender and a subject, or other lines that only mail has.

    "From: Berlin", "To: Rome", "Date: Friday" are no mail.
    """
    start, end, count, sender, sure = 0, -1, 0, False, False
    for line in _HEAD.finditer(text):
        if line.start() != end:
            start, count, sender, sure = line.start(), 0, False, False
        end, count = line.end(), count + 1
        sender, sure = sender or bool(line["sender"]), sure or bool(line["sure"]) or "@" in line.group()
        if sender and sure and count >= _LEAST_HEADS:
            yield start
            return


def letters(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of pasted letters, from the greeting to the name below.

    Only a letter with words before it was pasted: whoever begins a message with "Hi Tom" may write like that.
    """
    closings = [closing.end() for closing in _CLOSING.finditer(text)]
    first, end = len(text) - len(text.lstrip()), 0
    for greeting in _GREETING.finditer(text) if closings else ():
        following = bisect_right(closings, greeting.end())
        if greeting.start() < end or greeting.start() <= first or following == len(closings):
            continue
        end = closings[following]
        yield greeting.start(), end


def chat_mark(line: str) -> bool | None:
    """Return True for a line of a chat with speaker and time, False for one that is such beside others, None for any other."""
    if _SURELY_CHAT.match(line):
        return True
    return False if _MAYBE_CHAT.match(line) else None
