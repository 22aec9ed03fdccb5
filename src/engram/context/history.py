"""What was said before, in as many tokens as there are: all of it word for word if that fits; else the last turns so, as far
back as there is room beside what the rest comes to, which is a line a turn and then what must not be lost (§8.3).

Extractive: every sentence stands as it was said, whole. What was decided, which files and what errors came up is kept longest;
long code and tool output is left out first, for it can be looked up again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from engram.context.lines import spoken
from engram.errors import InvalidQuery
from engram.text import sentences
from engram.text.transcripts import OpenAI, turn_of
from engram.types import Turn
from engram.values.frozen import frozen

Count = Callable[[str], int]
VERBATIM, COMPRESSED, SUMMARY = "verbatim", "compressed", "summary"

_ORDERS = ("system", "developer")

_VERBATIM_TURNS = 6  # at least, if they fit
_COMPRESSED_TURNS = 20
_SUMMARY_SHARE, _SUMMARY_MOST = 0.1, 0.25  # of the tokens that the summarized turns had
_FULL = 0.95
_LONG = 4  # what has more than a fourth of all room is something pasted: it stands as an excerpt
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CODE_LINES = 5
_SHORTEST, _LONGEST = 4, 60  # tokens of what still stands for a turn
_LETTERS = 10  # of a token, at most, in anything that is read
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]{2}")  # about a word, where none has a space after it
_MATTERS = 2.0  # a decision, an error, a file
_TELLING: tuple[tuple[re.Pattern[str], float], ...] = (
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
    (re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+"), 0.5),
)


def turns_of(history: Iterable[Turn | OpenAI]) -> list[Turn]:
    """What was said before as turns. A message without words, such as a call of a tool, says nothing."""
    if isinstance(history, str | bytes | Mapping) or not isinstance(history, Iterable):
        raise _no_history()
    turns = []
    for one in history:
        turn = one if isinstance(one, Turn) else turn_of(one)
        if turn is None or not (isinstance(turn.text, str) and isinstance(turn.speaker, str)):  # type: ignore[redundant-expr]
            raise _no_history()
        if turn.text.strip():
            turns.append(turn)
    return turns


def orders_and_talk(turns: Sequence[Turn]) -> tuple[str, list[Turn]]:
    """What the program itself tells the model, which is no talk and is never shortened; and what was said."""
    orders = [turn.text for turn in turns if turn.speaker.lower() in _ORDERS]
    return "\n\n".join(orders), [turn for turn in turns if turn.speaker.lower() not in _ORDERS]


def _no_history() -> InvalidQuery:
    return InvalidQuery(
        "the history is not a list of turns.", way_out="Pass `engram.Turn`s, or messages of `role` and `content`."
    )


@frozen
class Said:
    """A piece of the history as it stands in the prompt; `turns` of those given it stands for, `first` of them."""

    text: str
    speaker: str
    form: str
    first: int
    turns: int
    tokens: int

    @property
    def shown(self) -> str:
        return shown(self.speaker, self.text, self.form)


def shown(speaker: str, text: str, form: str) -> str:
    """As it stands in the prompt. A dash says that it is an excerpt."""
    return text if form == SUMMARY else f"{'' if form == VERBATIM else '- '}{spoken(' '.join(speaker.split()), text)}"


def compress(turns: Sequence[Turn], budget: int, count: Count) -> list[Said]:
    """The history in the order it was said, in no more than `budget` tokens."""
    sizes = [_cost(turn.speaker, turn.text, VERBATIM, count) for turn in turns]
    if sum(sizes) <= budget:
        return [_whole(turns, at, size) for at, size in enumerate(sizes)]
    short = _Short(turns, sizes, budget, count)
    found = _pieces(turns, sizes, short, budget, count)
    if sum(piece.tokens for piece in found) < _FULL * budget:  # the summary had less to say than was kept for it
        short.most = sum(piece.tokens for piece in found if piece.form == SUMMARY)
        found = _pieces(turns, sizes, short, budget, count)
    return found


def _pieces(turns: Sequence[Turn], sizes: Sequence[int], short: _Short, budget: int, count: Count) -> list[Said]:
    kept: list[Said] = []
    left, at = budget, len(turns)
    while at > 0:
        recent = len(turns) - at < _VERBATIM_TURNS
        room = left - (short.told(at - 1) if recent else short.need(at - 1))
        if sizes[at - 1] <= room:
            piece = _whole(turns, at - 1, sizes[at - 1])
        elif recent or sizes[at - 1] > budget // _LONG:
            piece = _excerpt(turns, at - 1, room // 2, count) or short.line(at - 1) or _left_out(turns, at - 1, sizes, count)
        else:
            break
        at -= 1
        if piece.tokens <= left:
            kept.append(piece)
            left -= piece.tokens
    old = max(at - _COMPRESSED_TURNS, 0)
    room = min(short.told(old), left)
    lines = [line for place in range(at - 1, old - 1, -1) if (line := short.line(place)) is not None]
    for line in sorted(lines, key=lambda line: -_worth(line.text)):  # of those that tell as much, the latest
        if line.tokens <= left - room:
            kept.append(line)
            left -= line.tokens
    told = _summary(turns[:old], min(left, int(_SUMMARY_MOST * sum(sizes[:old]))), count)
    return [*([told] if told is not None else []), *sorted(kept, key=lambda piece: piece.first)]


class _Short:
    """What turns come to as a line each and, before those, as a summary of so many tokens at `most`; each is read once."""

    def __init__(self, turns: Sequence[Turn], sizes: Sequence[int], budget: int, count: Count) -> None:
        self._turns, self._count, self.most = turns, count, budget // 4
        self._before = [0, *accumulate(sizes)]
        self._lines: dict[int, Said | None] = {}

    def line(self, place: int) -> Said | None:
        """What matters of a turn or, if nothing does, the sentence that tells most of it."""
        if place not in self._lines:
            self._lines[place] = _excerpt(self._turns, place, _LONGEST, self._count, least=_MATTERS)
        return self._lines[place]

    def told(self, old: int) -> int:
        """What the summary of the first so many should have."""
        return min(int(_SUMMARY_SHARE * self._before[old]), self.most)

    def need(self, number: int) -> int:
        """What the first so many turns take, if none of them stands word for word."""
        old = max(number - _COMPRESSED_TURNS, 0)
        return self.told(old) + sum(line.tokens for place in range(old, number) if (line := self.line(place)) is not None)


def _whole(turns: Sequence[Turn], at: int, tokens: int) -> Said:
    return Said(turns[at].text, turns[at].speaker, VERBATIM, at, 1, tokens)


def _left_out(turns: Sequence[Turn], at: int, sizes: Sequence[int], count: Count) -> Said:
    """In the place of something long that has no sentence short enough."""
    text, speaker = f"[{sizes[at]:,} tokens left out]", turns[at].speaker
    return Said(text, speaker, COMPRESSED, at, 1, _cost(speaker, text, COMPRESSED, count))


def _excerpt(turns: Sequence[Turn], at: int, room: int, count: Count, least: float = 0.0) -> Said | None:
    """The most telling sentences of a turn in their order, within the room; None if not one fits. After the first, those that
    tell at `least` so much."""
    speaker, found = turns[at].speaker, _sentences(turns[at].text)
    worths = [_worth(sentence) for sentence in found]
    spent = _cost(speaker, "", COMPRESSED, count)
    chosen: list[int] = []
    for place in sorted(range(len(found)), key=lambda place: -worths[place]):
        if spent + _SHORTEST > room or (chosen and worths[place] < least):
            break
        tokens = count(found[place]) + 1 if len(found[place]) <= _LETTERS * room else room
        if spent + tokens <= room:
            chosen.append(place)
            spent += tokens
    text = " ".join(found[place] for place in sorted(chosen))
    tokens = _cost(speaker, text, COMPRESSED, count)
    return Said(text, speaker, COMPRESSED, at, 1, tokens) if text and tokens <= room else None


def _summary(old: Sequence[Turn], room: int, count: Count) -> Said | None:
    """The most telling sentences of all that is older, in their order, within the room."""
    head = f"Earlier ({len(old)} turns):"
    spent = count(head) + 2
    if not old or spent >= room:
        return None
    found = [(at, place, said) for at, turn in enumerate(old) for place, said in enumerate(_sentences(turn.text))]
    worths = {said: _worth(said) for _, _, said in found}  # what comes again is judged once
    last = {said: (at, place, said) for at, place, said in found}  # and told once, where it was said last
    chosen = []
    for at, place, said in sorted(last.values(), key=lambda one: (-worths[one[2]], -one[0])):
        if spent + _SHORTEST > room or not worths[said]:
            break
        line = shown(old[at].speaker, said, COMPRESSED)
        tokens = count(line) + 1 if len(line) <= _LETTERS * _LONGEST else room
        if tokens <= _LONGEST and spent + tokens <= room:
            chosen.append((at, place, line))
            spent += tokens
    if not chosen:
        return None
    text = "\n".join([head, *(line for _, _, line in sorted(chosen))])
    return Said(text, "", SUMMARY, 0, len(old), count(text) + 1)


def _sentences(text: str) -> list[str]:
    bare = _CODE.sub(lambda block: block.group() if block.group().count("\n") <= _CODE_LINES else " ", text)
    return [" ".join(bare[start:end].split()) for start, end in sentences.spans(bare) if bare[start:end].strip()]


def _worth(sentence: str) -> float:
    sentence = sentence[: _LETTERS * _LONGEST]  # some patterns look at a run without a break from each of its letters
    words = len(sentence.split()) + len(_UNSPACED.findall(sentence))
    if words < 3:
        return 0.0
    return sum(weight for pattern, weight in _TELLING if pattern.search(sentence)) + min(words, 20) / 40


def _cost(speaker: str, text: str, form: str, count: Count) -> int:
    """With the line end after it."""
    return count(shown(speaker, text, form) + "\n")
