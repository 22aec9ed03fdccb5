"""Build the prompt: tokens granted to each section, sections filled within their grants, one fenced block. Pure.

The message, its hits, working memory and the history come in; a `ContextWindow` goes out. Its text, headers and fence included,
never has more tokens than the budget, and every token is accounted for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from itertools import accumulate, groupby

from engram.context.budget import grants, redistribute
from engram.context.history import VERBATIM, HistoryPiece, compress
from engram.context.lines import (
    CAUTIONS,
    MEMORY,
    OTHERS,
    TITLES,
    TOKENS,
    date_line,
    dated,
    day,
    heading,
    quoted,
    speaker_of,
    standing,
    when,
    without_speaker,
)
from engram.context.packing import PackingCandidate, Step, Tier, pack, ranked
from engram.context.sections import (
    EXTRA_SECTIONS,
    HISTORY,
    RECALLED,
    WORKING,
    ContextSection,
    Section,
    SectionShare,
    WindowProfile,
)
from engram.text import sentences
from engram.text.english.grammar import is_assistant
from engram.text.marks import fence, harmless
from engram.text.terms import terms
from engram.types import Hit, Memory, Outcome, Recall, Stage, Turn
from engram.values.frozen import frozen, replace

Count = Callable[[str], int]
Measure = Callable[[str], float]
Cost = Callable[[int], int]
_LINE = 3  # tokens of "[7gqk] " and the line end, less those of the speaker, who stands in the heading
_ROUNDS, _SPARE = 3, 0.02  # times that spare tokens are packed again, and the share of the budget from which it is worth it
_EVEN = 1e-6  # error of a sum of fractions
_LETTERS = 10  # of a token, at most, in natural text
_TRIED = 24  # memories that are tried for one that fits into the last tokens
_DAY = 3  # tokens of a heading, about: few lines need one of their own
_MARK = 4  # tokens of "(shortened)"
_NO_EXTRA: Mapping[str, str] = {}
_ALREADY_SHOWN = PackingCandidate(0.0, (None, None, None, None))
_TOO_FAR = PackingCandidate(-1.0, (None, None, None, None))
_IN_WORKING_MEMORY = "stands there as working memory"
_FAR_FROM_MESSAGE = "it is too far from the message"
_TOO_SMALL = "the budget is too small for any memory or turn."
_FINAL = (_IN_WORKING_MEMORY, _FAR_FROM_MESSAGE)  # reasons that more room does not change


@frozen
class ContextItem:
    """A hit in the window: the tier it stands at and its tokens, or None and the reason why it was left out.

    number: its place among the memories in the window, the best first. excerpt: the sentences of a long memory that stand there,
    if they are another choice than its stored summary.
    """

    memory: Memory
    tier: Tier | None
    tokens: int
    reason: str
    number: int = 0
    excerpt: str = ""


@frozen(kw_only=True)
class ContextWindow:
    """The context of a message for an agent. `text` is the whole block; `to_openai` and `to_anthropic` return it as messages.

    tokens: the exact number in `text`. As messages the same words take no more, without the message and the instructions; the
    three or four tokens that a chat format adds for each message are counted neither here nor in `budget`.

    ids: of the memories in the block, the best first; a line cites its memory by `Memory.short_id`. instructions: the system
    messages of the history, which go before all else and, like the message, do not count towards the budget. now: the day that
    the block calls today.
    """

    text: str
    tokens: int
    budget: int
    message: str
    sections: tuple[Section, ...]
    items: tuple[ContextItem, ...]
    history: tuple[HistoryPiece, ...]
    recall: Recall
    ids: tuple[str, ...] = ()
    instructions: str = ""
    notes: tuple[str, ...] = ()
    now: datetime | None = None

    def to_openai(self) -> list[dict[str, str]]:
        """Return messages: the system's with the block, the last turns verbatim, the message."""
        first = self._first_turn()
        system = self._system(first)
        head = [{"role": "system", "content": system}] if system else []
        return [*head, *self._turns(first)]

    def to_anthropic(self) -> dict[str, object]:
        """Return the same as `system`, unless it is empty, and `messages`, which begin with the user and alternate."""
        first = self._first_turn(begins="user")
        messages: list[dict[str, str]] = []
        for message in self._turns(first):
            if messages and messages[-1]["role"] == message["role"]:
                message["content"] = f"{messages.pop()['content']}\n\n{message['content']}"
            messages.append(message)
        system = self._system(first)
        return {"system": system, "messages": messages} if system else {"messages": messages}

    def _first_turn(self, begins: str = "") -> int:
        """Return the position of the first verbatim piece of the history; from there on pieces are messages of their own."""
        whole = (at for at, piece in enumerate(self.history) if piece.form == VERBATIM)
        return next((at for at in whole if begins in ("", _message(self.history[at])["role"])), len(self.history))

    def _system(self, first: int) -> str:
        """Return the program's instructions and the block without the turns that are messages of their own."""
        texts = {section.name: section.text for section in self.sections} | {HISTORY: _history_text(self.history[:first])}
        return "\n\n".join(filter(None, (self.instructions, _block(texts, self.now))))

    def _turns(self, first: int) -> list[dict[str, str]]:
        message = [{"role": "user", "content": self.message}] if self.message.strip() else []
        return [*map(_message, self.history[first:]), *message]


def build(
    message: str,
    recall: Recall,
    *,
    budget: int,
    profile: WindowProfile,
    count: Count,
    measure: Measure | None = None,
    cost: Cost = int,
    working: Callable[[int], str] = lambda room: "",
    safe: Callable[[str], bool] = lambda line: True,
    relevant: Callable[[Hit], bool] = lambda hit: True,
    history: Sequence[Turn] = (),
    extra: Mapping[str, str] = _NO_EXTRA,
    sections: Sequence[ContextSection] = (),
    now: datetime | None = None,
) -> ContextWindow:
    """Return the window for a message.

    `measure` is `count` before rounding; `cost` converts the token counts stored with a memory to those of the model. `working`
    writes working memory within so many tokens; lines of it that are not `safe` are left out. Hits that are not `relevant` are
    left out, but the first hit of a question that memory answers. `extra` holds the lines of further sections, of which the
    first that fit are shown; `sections` are the caller's own.
    """
    lines = by_lines(measure or count)
    in_history = any(candidate.stage is Stage.SAID for candidate in recall.left_out)  # then the answer may stand there
    answered = recall.outcome is Outcome.ANSWERED and not in_history
    fits = [relevant(hit) or (answered and not place) for place, hit in enumerate(recall.hits)]
    own = [SectionShare(section.title, section.share, section.priority, section.least) for section in sections]
    asked = frozenset(terms(message))

    def within(most: int) -> ContextWindow:
        filled = {RECALLED: any(fits), HISTORY: bool(history), WORKING: bool(working(most))} | {one.name: True for one in own}
        possible = (*own, *profile.claims, *EXTRA_SECTIONS)
        claims = [claim for claim in possible if filled.get(claim.name, bool(extra.get(claim.name)))]
        room = max(most - lines(_block({claim.name: "x" for claim in claims}, now)), 0)
        given = grants(claims, room)
        whole = {section.title: harmless(quoted(section.text)) for section in sections}
        whole |= {name: harmless(quoted(text)) for name, text in extra.items()}
        in_mind = _only(_working_memory(working, given.get(WORKING, 0), lines), safe)
        whole[WORKING] = harmless(quoted(in_mind))
        hits = RankedHits.of(recall.hits, cost, frozenset(in_mind.splitlines()), fits, asked, lines)
        wanted = {name: lines(text) for name, text in whole.items()} | {RECALLED: hits.tokens, HISTORY: room}
        given = redistribute(claims, given, wanted)
        cut = {section.title for section in sections}
        texts = {name: _within(text, given.get(name, 0), lines, says_so=name in cut) for name, text in whole.items()}
        pieces = compress(history, given.get(HISTORY, 0), lines)
        texts[HISTORY] = _history_text(pieces)
        given = redistribute(claims, given, wanted | {HISTORY: lines(texts[HISTORY])})
        left = room - sum(lines(text) for text in texts.values() if text)
        last = [claim.name for claim in sorted(claims, key=lambda claim: claim.priority) if claim.name != RECALLED]
        fitted = partial(
            _fitted, message, recall, texts=texts, pieces=pieces, given=given, budget=most, count=lines, last=last, now=now
        )
        return _filled(fitted, hits, left, most, lines)

    most, widened = budget, False
    while True:
        made = within(most)
        tokens = count(made.text) if made.text else 0
        if tokens > budget:  # counted line by line it was a little less
            most, widened = most - (tokens - budget), True
        elif not widened and made.tokens - tokens > budget * _SPARE:  # or much more, with blank lines or an unknown model
            most, widened = most + made.tokens - tokens, True
        else:
            return replace(made, tokens=tokens, budget=budget)


def _filled(
    fitted: Callable[[list[ContextItem]], ContextWindow], hits: RankedHits, left: int, budget: int, count: Count
) -> ContextWindow:
    """Return the window with as many of the hits as fit into the budget."""
    made = fitted(hits.packed(left))
    for _ in range(_ROUNDS):  # lines cost less than estimated: the spare tokens go to more of them
        spare = budget - made.tokens
        if spare <= budget * _SPARE or all(item.tier is Tier.FULL or item.reason in _FINAL for item in made.items):
            return made
        left += spare
        again = fitted(hits.packed(left))
        if again.tokens <= made.tokens:
            break
        made = again
    more = fitted(hits.topped_up(made.items, budget - made.tokens, count))
    return more if more.tokens > made.tokens else made


def _working_memory(working: Callable[[int], str], room: int, count: Count) -> str:
    """Return working memory within the room. It counts in cl100k: where the model counts more, less is asked for."""
    text = working(room)
    return text if (tokens := count(text)) <= room else working(room * room // tokens)


def _only(lines: str, safe: Callable[[str], bool]) -> str:
    """Return the lines that are safe and not blank."""
    return "\n".join(line for line in lines.splitlines() if line.strip() and safe(line))


def _within(text: str, room: int, count: Count, says_so: bool = False) -> str:
    """Return the first lines that fit. says_so: the last one is cut after a sentence, and it is said that there is more."""
    if count(text) <= room:
        return text
    kept: list[str] = []
    for line in text.splitlines():
        if count("\n".join([*kept, line])) > room - _MARK * says_so:
            break
        kept.append(line)
    if not says_so:
        return "\n".join(kept)
    parts = [line for line in text.splitlines()[len(kept) :] if line.strip()][:1]
    spent = count("\n".join([*kept, ""]))
    more = excerpt(parts[0], room - _MARK - spent, count) if parts else ""
    cut = "\n".join([*kept, *([more] if more else [])])
    return f"{cut} (shortened)" if cut else ""


def excerpt(text: str, room: int, count: Count, asked: Set[str] = frozenset()) -> str:
    """Return as many whole sentences of a text as fit, those with words of the question first, in their order."""
    parts = [text[start:end].strip() for start, end in sentences.spans(text) if text[start:end].strip()]
    chosen: list[int] = []
    for place in sorted(range(len(parts)), key=lambda place: (-len(asked & set(terms(parts[place]))), place)):
        if len(parts[place]) <= _LETTERS * room and (tokens := count(parts[place]) + 1) <= room:
            chosen.append(place)
            room -= tokens
    return " ".join(parts[place] for place in sorted(chosen)) if len(chosen) < len(parts) else text


def by_lines(measure: Measure) -> Count:
    """Return a count that adds up lines: no token of these tokenizers spans a line end, and counts of lines are cached.

    Rounded once: estimates that were rounded for each line were 2 % off for the whole.
    """

    def lines(text: str) -> int:
        return math.ceil(sum(map(measure, text.splitlines(keepends=True))) - _EVEN)

    return lines


@frozen
class RankedHits:
    """Hits with the worth and the tokens of each form, ready to fill any room."""

    hits: Sequence[Hit]
    candidates: Sequence[PackingCandidate]
    steps: Sequence[Step]
    headings: int
    asked: Set[str]
    count: Count

    @classmethod
    def of(
        cls, hits: Sequence[Hit], cost: Cost, shown: frozenset[str], fits: Sequence[bool], asked: Set[str], count: Count
    ) -> RankedHits:
        """Rank hits by value per token. Texts in `shown` stand in the block already, and are not packed again.

        fits: False for a hit that is too far from the message. asked: the words of the message.
        """
        best = max((hit.score for hit in hits), default=0.0)
        of_turn: Counter[tuple[str, ...]] = Counter()
        candidates = []
        for rank, hit in enumerate(hits):
            memory = hit.memory
            if memory.text in shown or not fits[rank]:
                candidates.append(_ALREADY_SHOWN if memory.text in shown else _TOO_FAR)
                continue
            costs = _costs(memory, cost)
            candidates.append(PackingCandidate(worth(hit.score, best, rank, costs[0] or 1, of_turn[memory.refs]), costs))
            of_turn[memory.refs] += bool(memory.refs)
        headings = len({_group(hit.memory) for hit in hits})
        return cls(hits, candidates, ranked(candidates), headings, asked, count)

    @property
    def tokens(self) -> int:
        """The tokens of all hits in full."""
        return sum(candidate.costs[Tier.FULL] or 0 for candidate in self.candidates) + _DAY * self.headings

    def packed(self, room: int) -> list[ContextItem]:
        """Return each hit with its tier in so many tokens, or the reason why it is left out."""
        room = max(room - _DAY * min(self.headings, max(room // 60, 1)), 0)
        candidates, steps, cut = self._with_best_cut(room)
        tiers = pack(candidates, room, steps)
        items, number = [], 0
        for place, (hit, candidate, tier) in enumerate(zip(self.hits, candidates, tiers, strict=True)):
            number += tier is not None
            tokens = 0 if tier is None else candidate.costs[tier] or 0
            reason = _REASONS[tier]
            if candidate is _ALREADY_SHOWN or candidate is _TOO_FAR:
                reason = _IN_WORKING_MEMORY if candidate is _ALREADY_SHOWN else _FAR_FROM_MESSAGE
            words = cut if cut and tier is Tier.SUMMARY and place == _best(candidates) else ""
            if words:
                reason = _CUT
            items.append(ContextItem(hit.memory, tier, tokens, reason, number if tier is not None else 0, words))
        return items

    def _with_best_cut(self, room: int) -> tuple[Sequence[PackingCandidate], Sequence[Step], str]:
        """Return the candidates, their steps, and the best hit cut by sentences if all of it takes more than half the room.

        The cut takes the place of the summary where it says more.
        """
        best = _best(self.candidates)
        whole = self.candidates[best].costs[Tier.FULL] if best is not None else None
        if best is None or whole is None or whole <= room // 2:
            return self.candidates, self.steps, ""
        words = excerpt(self.hits[best].memory.text, room // 2 - _LINE - _MARK, self.count, self.asked)
        tokens = self.count(words) + _LINE + _MARK
        if not words or tokens >= whole or tokens <= (self.candidates[best].costs[Tier.SUMMARY] or 0):
            return self.candidates, self.steps, ""
        costs = self.candidates[best].costs
        candidates = list(self.candidates)
        candidates[best] = replace(candidates[best], costs=(costs[0], tokens, costs[2], costs[3]))
        return candidates, ranked(candidates), words

    def topped_up(self, items: Sequence[ContextItem], spare: int, count: Count) -> list[ContextItem]:
        """Fill the last tokens: first items stand in full or with more sentences, and further ones in any form that fits."""
        groups = {_group(item.memory) for item in items if item.tier is not None}
        more, tried = [], 0
        for item in items:
            if item.tier is not Tier.FULL and item.reason not in _FINAL and tried < _TRIED:
                tried += 1
                group = _group(item.memory)
                above = 0 if group in groups else -count(f"{heading(*group, above=(group[0][:4], ''))}\n")
                now = count(_as_line(item)) if item.tier is not None else above
                for longer in self._longer(item, now + spare):
                    if 0 < (cost := count(_as_line(longer))) - now <= spare:
                        spare -= cost - now
                        item = replace(longer, tokens=cost)
                        groups.add(group)
                        break
            more.append(item)
        return _numbered(more)

    def _longer(self, item: ContextItem, room: int) -> Iterator[ContextItem]:
        """Yield the forms of an item that may fit into the room, the longest first."""
        yield replace(item, tier=Tier.FULL, reason=_REASONS[Tier.FULL], excerpt="")
        words = excerpt(item.memory.text, room - _LINE - _MARK - _DAY, self.count, self.asked)
        if words and words != item.memory.text:
            yield replace(item, tier=Tier.SUMMARY, reason=_CUT, excerpt=words)
        if item.tier is None:
            yield from (replace(item, tier=tier, reason=_REASONS[tier]) for tier in (Tier.KEY_FACT, Tier.TAG))


def _best(candidates: Sequence[PackingCandidate]) -> int | None:
    return max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)


def _group(memory: Memory) -> tuple[str, str]:
    """Return the heading that a memory stands under: its day and its speaker."""
    return day(memory), speaker_of(memory)


_CUT = "stands there cut by sentences"
_REASONS: Mapping[Tier | None, str] = {
    None: "no tokens left for it",
    **{tier: f"stands there as its {tier.name.lower().replace('_', ' ')}" for tier in Tier},
    Tier.FULL: "stands there in full",
}


def worth(score: float, best: float, rank: int, cost: int = 1, same_turn: int = 0) -> float:
    """Return the worth of a hit to the reader: it falls with the rank, and with the distance to the best score.

    A longer statement holds the answer more often: less than in proportion to its tokens, but by value per token alone short
    remarks would stand where answers should. `same_turn` counts the better hits from the same turn: a further statement of it
    is worth a little less than one of another turn.
    """
    share = max(score / best, _LEAST) if best > 0 else 1.0
    return float(share / (rank + 10) * cost**_LENGTH * _SAME_TURN**same_turn)


_LEAST, _LENGTH, _SAME_TURN = 0.01, 0.25, 0.8


def _costs(memory: Memory, cost: Cost) -> tuple[int | None, int | None, int | None, int | None]:
    forms = (memory.text, memory.summary, memory.key_fact, memory.tag)
    # A form that was never counted is taken for long: two characters a token.
    counted = zip(forms, memory.tokens, strict=True)
    line = _LINE + (TOKENS if memory.happened_until is not None else 0)
    above, costs = "", []
    for form, tokens in counted:  # a form equal to the longer one is no candidate
        costs.append(cost((tokens or len(form) // 2 + 1) + line) if form and form != above else None)
        above = form
    return (costs[0], costs[1], costs[2], costs[3])


def _fitted(
    message: str,
    recall: Recall,
    items: list[ContextItem],
    texts: dict[str, str],
    pieces: Sequence[HistoryPiece],
    given: Mapping[str, int],
    budget: int,
    count: Count,
    last: Sequence[str],
    now: datetime | None,
) -> ContextWindow:
    """Return the window with these items, shortened from the end if the estimated tokens of lines were too few.

    last: the other sections, in the order in which they go if that is not enough.
    """
    texts, cautions = dict(texts), cautions_in(recall.hits)
    words = {item.number: _words(item, now) for item in items if item.tier is not None}
    while True:
        texts[RECALLED] = _recalled_text(items, words, cautions)
        text = _block(texts, now)
        tokens = count(text) if text else 0
        lowest = next((at for at in range(len(items) - 1, -1, -1) if items[at].tier is not None), None)
        if tokens <= budget or lowest is None:
            break
        items[lowest] = _shortened(items[lowest])
        words[items[lowest].number] = _words(items[lowest], now)
    for name in last:
        if tokens > budget:
            texts[name] = ""
            text = _block(texts, now)
            tokens = count(text) if text else 0
    pieces = pieces if texts.get(HISTORY) else ()
    used = {name: count(texts[name]) for name in _ordered(texts)}
    # Memories may use what other sections left of their grants.
    sections = tuple(Section(name, max(given.get(name, 0), spent), spent, texts[name]) for name, spent in used.items())
    small = not text and (any(item.reason not in _FINAL for item in items) or HISTORY in given)
    return ContextWindow(
        text=text,
        tokens=tokens,
        budget=budget,
        message=message,
        sections=sections,
        items=tuple(items),
        history=tuple(pieces),
        recall=recall,
        ids=tuple(item.memory.id for item in items if item.tier is not None),
        notes=(*recall.notes, *((_TOO_SMALL,) if small else ())),
        now=now,
    )


def _numbered(items: Sequence[ContextItem]) -> list[ContextItem]:
    numbers = accumulate(int(item.tier is not None) for item in items)
    return [item if item.tier is None else replace(item, number=number) for item, number in zip(items, numbers, strict=True)]


def _shortened(item: ContextItem) -> ContextItem:
    """Return the item as its key fact if that is less than half as long, else left out."""
    short = item.tier in (Tier.FULL, Tier.SUMMARY) and 0 < len(item.memory.key_fact) < len(item.memory.text) // 2
    tier = Tier.KEY_FACT if short else None
    tokens = item.tokens * len(item.memory.key_fact) // len(item.memory.text) if short else 0
    return replace(item, tier=tier, tokens=tokens, number=item.number if short else 0, reason=_REASONS[tier], excerpt="")


# ── words ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ordered(texts: Mapping[str, str]) -> list[str]:
    """Return the names of the sections that have a text: the caller's own first, in their order."""
    return [name for name in (*(name for name in texts if name not in TITLES), *TITLES) if texts.get(name)]


def _block(texts: Mapping[str, str], now: datetime | None) -> str:
    """Return the block: the date, the caller's sections, and those of memory, each under its title."""
    names = _ordered(texts)
    if not names:
        return ""
    own = [f"## {harmless(name)}\n{texts[name]}" for name in names if name not in TITLES]
    known = [f"## {TITLES[name]}\n{texts[name]}" for name in names if name in TITLES]
    date = [date_line(now)] if now is not None else []
    if not own:
        return fence("\n".join([" ".join([*date, MEMORY]), *known]))
    return fence("\n".join([*date, *own, *([MEMORY, *known] if known else [])]))


def cautions_in(hits: Sequence[Hit]) -> Set[str]:
    """Return the ids of the prohibitions and failures that bear on the message: at least half as near as the best hit."""
    from engram.rules.episodes import is_warning  # late: MCP lists its tools without the patterns that it compiles

    best = max((hit.score for hit in hits), default=0.0)
    return {hit.memory.id for hit in hits if hit.score >= best / 2 and is_warning(hit.memory)}


def _recalled_text(items: Sequence[ContextItem], words: Mapping[int, str], cautions: Set[str]) -> str:
    """Return the lines of memories: rules and failures first, then the others, each in chronological order.

    One heading stands over what one speaker said on one day, so that the course of events shows.
    """
    shown = [item for item in items if item.tier is not None]
    first = [item for item in shown if item.memory.id in cautions]
    others = [item for item in shown if item.memory.id not in cautions]
    if not first or not others:
        head = [f"### {CAUTIONS}"] if first else []
        return "\n".join([*head, *_day_lines(shown, words)])
    return "\n".join([f"### {CAUTIONS}", *_day_lines(first, words), f"### {OTHERS}", *_day_lines(others, words)])


def _day_lines(items: Sequence[ContextItem], words: Mapping[int, str]) -> Iterator[str]:
    above = ("", "")
    for today, of_day in groupby(sorted(items, key=lambda item: (when(item.memory), item.number)), lambda item: day(item.memory)):
        speakers: dict[str, list[ContextItem]] = {}
        for item in of_day:
            speakers.setdefault(speaker_of(item.memory), []).append(item)
        for speaker in sorted(speakers, key=lambda speaker: speaker != above[1]):  # who spoke last goes on without a name
            yield heading(today, " ".join(harmless(speaker).split()), above)
            above = today, speaker
            yield from (words[item.number] for item in speakers[speaker])


def _as_line(item: ContextItem) -> str:
    return f"{_words(item)}\n"


def _words(item: ContextItem, now: datetime | None = None) -> str:
    """Return the line of an item: the id to cite it by, its text at its tier, and in words what is to be known of it."""
    forms = (item.memory.text, item.memory.summary, item.memory.key_fact, item.memory.tag)
    form = item.excerpt or forms[item.tier or 0]
    text = " ".join(harmless(dated(without_speaker(form, item.memory), item.memory)).split())
    mark = standing(item.memory, shortened=form != item.memory.text, now=now)
    return f"[{harmless(item.memory.short_id)}] {text}{f' ({mark})' if mark else ''}"


def _history_text(pieces: Sequence[HistoryPiece]) -> str:
    return "\n".join(harmless(piece.shown) for piece in pieces)


def _message(piece: HistoryPiece) -> dict[str, str]:
    if is_assistant(piece.speaker):
        return {"role": "assistant", "content": piece.text}
    text = piece.text if piece.speaker.lower() in ("user", "human", "") else f"{piece.speaker}: {piece.text}"
    return {"role": "user", "content": text}
