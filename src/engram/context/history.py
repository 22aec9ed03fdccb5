"""Compress the conversation so far into a number of tokens (§8.3). Pure.

If all turns fit they stand verbatim. Else the last turns stand verbatim, the turns before them as one line each, and the oldest
ones as a summary. Extractive: every sentence stands whole and as it was said. Decisions, intentions, questions, files and errors
are kept longest; long code and tool output goes first, for it can be looked up again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from engram.context.lines import spoken
from engram.errors import InvalidQuery
from engram.text import sentences
from engram.text.english.grammar import is_assistant
from engram.text.transcripts import OpenAI, turn_of
from engram.types import Turn
from engram.values.frozen import frozen

Count = Callable[[str], int]
VERBATIM, COMPRESSED, SUMMARY = "verbatim", "compressed", "summary"

_INSTRUCTION_ROLES = ("system", "developer")

_VERBATIM_TURNS = 6  # at least, if they fit; from the third last on, if older turns keep half of the budget
_LAST_TURNS = 2
_COMPRESSED_TURNS = 20
_SUMMARY_SHARE, _SUMMARY_MOST = 0.1, 0.25  # of the tokens that the summarized turns had
_FULL = 0.95  # share of the budget from which it counts as used
_LONG = 4  # a turn with more than a fourth of the budget was pasted: it stands as an excerpt
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINES = 5
_SHORTEST, _LONGEST = 4, 60  # tokens of one line
_LETTERS = 10  # of a token, at most, in natural text
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]{2}")  # about one word of a script without spaces
_MATTERS = 2.0  # value of a sentence with a decision, an error or a file
_CUES: tuple[tuple[re.Pattern[str], float], ...] = (
    (
        re.compile(
            r"\b(?:decid|chose|agreed|settled|let's (?:use|go)|we(?:'ll| will) (?:use|go)|switch|instead|never|always|must)",
            re.IGNORECASE,
        ),
        3.0,
    ),
    (re.compile(r"\b(?:error|exception|fail|traceback|crash|broken|bug|cannot|refused|timeout)", re.IGNORECASE), 2.5),
    (
        re.compile(r"[\w./-]+\.(?:py|js|ts|tsx|md|json|toml|ya?ml|sql|go|rs|sh|txt|csv|html|css)\b|(?<!\w)[~/][\w.-]+/[\w./-]+"),
        2.0,
    ),
    (
        re.compile(
            r"\b(?:todo|next|deadline|by (?:mon|tues|wednes|thurs|fri)day|tomorrow|remember|open question)\b", re.IGNORECASE
        ),
        1.5,
    ),
    (re.compile("决定|決定|決め|选择|選択|采用|採用|改为|결정|선택"), 3.0),
    (re.compile("错误|錯誤|エラー|失败|失敗|崩溃|障害|오류|실패"), 2.5),
    (re.compile(r"\d"), 0.7),
)
_DETAIL, _DETAIL_WORTH, _DETAILS = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+|\d[\d.,:]*"), 0.3, 4  # names and numbers
_OWN_CUES: tuple[tuple[re.Pattern[str], float], ...] = (
    (
        re.compile(
            r"\b(?:I|we)(?:['’]ll| will| should| need to|(?:['’](?:m|re)| am| are) (?:going to|planning|thinking of|leaning))\b"
            r"|\blet['’]s\b",
            re.IGNORECASE,
        ),
        2.5,
    ),
    (re.compile(r"[?？؟][\"'”’)]*$"), 2.0),
)
"""Intentions and questions of a person. An assistant's are offers, which it makes in most turns ("Shall I …?")."""


def turns_of(history: Iterable[Turn | OpenAI]) -> list[Turn]:
    """Return the history as turns, without messages that have no words, such as tool calls."""
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        raise _no_history()
    turns = []
    for given in history:
        turn = given if isinstance(given, Turn) else turn_of(given)
        if turn is None or not (isinstance(turn.text, str) and isinstance(turn.speaker, str)):  # type: ignore[redundant-expr]
            raise _no_history()
        if turn.text.strip():
            turns.append(turn)
    return turns


def split_instructions(turns: Sequence[Turn]) -> tuple[str, list[Turn]]:
    """Return the program's instructions to the model, which are never shortened, and the turns of the conversation."""
    instructions = [turn.text for turn in turns if turn.speaker.lower() in _INSTRUCTION_ROLES]
    return "\n\n".join(instructions), [turn for turn in turns if turn.speaker.lower() not in _INSTRUCTION_ROLES]


def _no_history() -> InvalidQuery:
    return InvalidQuery(
        "the history is not a list of turns.", way_out="Pass `engram.Turn`s, or messages of `role` and `content`."
    )


@frozen
class HistoryPiece:
    """A piece of the history in the prompt. It stands for `turns` turns, the first of which has the position `first`."""

    text: str
    speaker: str
    form: str
    first: int
    turns: int
    tokens: int

    @property
    def shown(self) -> str:
        """The piece as it stands in the prompt."""
        return _line(self.speaker, self.text, self.form)


def _line(speaker: str, text: str, form: str) -> str:
    """Return a piece as it stands in the prompt; a dash marks an excerpt."""
    return text if form == SUMMARY else f"{'' if form == VERBATIM else '- '}{spoken(' '.join(speaker.split()), text)}"


def compress(turns: Sequence[Turn], budget: int, count: Count) -> list[HistoryPiece]:
    """Return the history in its order, in at most `budget` tokens."""
    sizes = [_cost(turn.speaker, turn.text, VERBATIM, count) for turn in turns]
    if sum(sizes) <= budget:
        return [_verbatim(turns, at, size) for at, size in enumerate(sizes)]
    lines = _Lines(turns, sizes, budget, count)
    pieces = _pieces(turns, sizes, lines, budget, count)
    if sum(piece.tokens for piece in pieces) < _FULL * budget:  # the summary is shorter than the room reserved for it
        lines.summary_most = sum(piece.tokens for piece in pieces if piece.form == SUMMARY)
        pieces = _pieces(turns, sizes, lines, budget, count)
    return pieces


def _pieces(turns: Sequence[Turn], sizes: Sequence[int], lines: _Lines, budget: int, count: Count) -> list[HistoryPiece]:
    kept: list[HistoryPiece] = []
    left, at = budget, len(turns)
    while at > 0:
        recent = len(turns) - at < _VERBATIM_TURNS
        older = lines.tokens(at - 1)  # as lines and a summary
        if recent:
            older = max(lines.summary_tokens(at - 1), min(older, budget // 2) if len(turns) - at >= _LAST_TURNS else 0)
        room = left - older
        if sizes[at - 1] <= room:
            piece = _verbatim(turns, at - 1, sizes[at - 1])
        elif recent or sizes[at - 1] > budget // _LONG:
            piece = _excerpt(turns, at - 1, room // 2, count) or lines.line(at - 1) or _omission(turns, at - 1, sizes, count)
        else:
            break
        at -= 1
        if piece.tokens <= left:
            kept.append(piece)
            left -= piece.tokens
    old = max(at - _COMPRESSED_TURNS, 0)
    reserved = min(lines.summary_tokens(old), left)
    found = [line for place in range(at - 1, old - 1, -1) if (line := lines.line(place)) is not None]
    for line in sorted(found, key=lambda line: -_value(line.text, line.speaker)):  # of equal value the latest first
        if line.tokens <= left - reserved:
            kept.append(line)
            left -= line.tokens
    summary = _summary(turns[:old], min(left, int(_SUMMARY_MOST * sum(sizes[:old]))), count)
    return [*([summary] if summary is not None else []), *sorted(kept, key=lambda piece: piece.first)]


class _Lines:
    """Turns as one line each, and the tokens that older turns take as lines and summary. Each turn is read once.

    `summary_most` bounds the tokens of the summary.
    """

    def __init__(self, turns: Sequence[Turn], sizes: Sequence[int], budget: int, count: Count) -> None:
        self._turns, self._count, self.summary_most = turns, count, budget // 4
        self._before = [0, *accumulate(sizes)]
        self._lines: dict[int, HistoryPiece | None] = {}

    def line(self, place: int) -> HistoryPiece | None:
        """Return the important sentences of a turn; if none is, the most valuable one."""
        if place not in self._lines:
            self._lines[place] = _excerpt(self._turns, place, _LONGEST, self._count, least=_MATTERS)
        return self._lines[place]

    def summary_tokens(self, old: int) -> int:
        """Return the tokens to reserve for a summary of the first `old` turns."""
        return min(int(_SUMMARY_SHARE * self._before[old]), self.summary_most)

    def tokens(self, number: int) -> int:
        """Return the tokens of the first `number` turns as lines and a summary, if none of them stands verbatim."""
        old = max(number - _COMPRESSED_TURNS, 0)
        lines = (self.line(place) for place in range(old, number))
        return self.summary_tokens(old) + sum(line.tokens for line in lines if line is not None)


def _verbatim(turns: Sequence[Turn], at: int, tokens: int) -> HistoryPiece:
    return HistoryPiece(turns[at].text, turns[at].speaker, VERBATIM, at, 1, tokens)


def _omission(turns: Sequence[Turn], at: int, sizes: Sequence[int], count: Count) -> HistoryPiece:
    """Return a note in place of a long turn that has no sentence short enough."""
    text, speaker = f"[{sizes[at]:,} tokens left out]", turns[at].speaker
    return HistoryPiece(text, speaker, COMPRESSED, at, 1, _cost(speaker, text, COMPRESSED, count))


def _excerpt(turns: Sequence[Turn], at: int, room: int, count: Count, least: float = 0.0) -> HistoryPiece | None:
    """Return the most valuable sentences of a turn in their order, within the room; None if none fits.

    The second and further sentences must have a value of at `least` so much.
    """
    speaker, parts = turns[at].speaker, _sentences(turns[at].text)
    values = [_value(sentence, speaker) for sentence in parts]
    spent = _cost(speaker, "", COMPRESSED, count)
    chosen: list[int] = []
    for place in sorted(range(len(parts)), key=lambda place: -values[place]):
        if spent + _SHORTEST > room or (chosen and values[place] < least):
            break
        tokens = count(parts[place]) + 1 if len(parts[place]) <= _LETTERS * room else room
        if spent + tokens <= room:
            chosen.append(place)
            spent += tokens
    text = " ".join(parts[place] for place in sorted(chosen))
    tokens = _cost(speaker, text, COMPRESSED, count)
    return HistoryPiece(text, speaker, COMPRESSED, at, 1, tokens) if text and tokens <= room else None


def _summary(old: Sequence[Turn], room: int, count: Count) -> HistoryPiece | None:
    """Return the most valuable sentences of the oldest turns, in their order, within the room; None if none fits."""
    head = f"Earlier ({len(old)} turns):"
    spent = count(head) + 2
    if not old or spent >= room:
        return None
    found = [(at, place, sentence) for at, turn in enumerate(old) for place, sentence in enumerate(_sentences(turn.text))]
    last = {sentence: (at, place, sentence) for at, place, sentence in found}  # a repeated one stands last
    values = {sentence: _value(sentence, old[at].speaker) for sentence, (at, _, _) in last.items()}
    chosen = []
    for at, place, sentence in sorted(last.values(), key=lambda entry: (-values[entry[2]], -entry[0])):
        if spent + _SHORTEST > room or not values[sentence]:
            break
        line = _line(old[at].speaker, sentence, COMPRESSED)
        tokens = count(line) + 1 if len(line) <= _LETTERS * _LONGEST else room
        if tokens <= _LONGEST and spent + tokens <= room:
            chosen.append((at, place, line))
            spent += tokens
    if not chosen:
        return None
    text = "\n".join([head, *(line for _, _, line in sorted(chosen))])
    return HistoryPiece(text, "", SUMMARY, 0, len(old), count(text) + 1)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text without its long code blocks."""
    bare = _CODE.sub(lambda block: block.group() if block.group().count("\n") <= _CODE_LINES else " ", text)
    return [" ".join(bare[start:end].split()) for start, end in sentences.spans(bare) if bare[start:end].strip()]


def _value(sentence: str, speaker: str) -> float:
    """Return how much a sentence matters: decisions, errors, files, plans, questions, numbers, names, and some length."""
    sentence = sentence[: _LETTERS * _LONGEST]  # some patterns take quadratic time on a long run without spaces
    words = len(sentence.split()) + len(_UNSPACED.findall(sentence))
    if words < 3:
        return 0.0
    cues = _CUES if is_assistant(speaker) else (*_CUES, *_OWN_CUES)
    details = min(len(_DETAIL.findall(sentence)), _DETAILS)
    return sum(weight for pattern, weight in cues if pattern.search(sentence)) + _DETAIL_WORTH * details + min(words, 20) / 40


def _cost(speaker: str, text: str, form: str, count: Count) -> int:
    """Return the tokens of a piece, with the line end after it."""
    return count(_line(speaker, text, form) + "\n")
