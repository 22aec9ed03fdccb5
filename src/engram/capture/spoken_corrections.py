"""Find corrections in talk: "no, it's …", "I meant …", "scratch that", and the statement of the same speaker that each is about.

Comes in: heard turns. Goes out: the same, in which a correction knows what it corrects, carries that if it cannot be understood
alone, and is kept even if it is short; and the statements that are taken back. The speaker's words stay as they are.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.capture.categories import IMPORTANCE
from engram.capture.duplicates import Candidate
from engram.capture.pairs import Comparison
from engram.capture.screen import screened
from engram.capture.statements import Reading, Statement, statement_by_hand
from engram.capture.turns import Heard
from engram.errors import EngramError
from engram.rules.spoken_corrections import CorrectedStatement, corrected_by
from engram.settings import Settings
from engram.store.ports import Store
from engram.text.english.corrections import Correction, correction_in
from engram.text.english.grammar import is_assistant, is_tool, named
from engram.text.language import language_of
from engram.types import Fate, Memory, Policy, Proposition, Reader, Source, Turn, Verdict
from engram.values.frozen import field, frozen, mutable, replace

_STATEMENTS = 4  # of a speaker that a correction may be about
_TURNS = 6  # of a conversation that are looked through for them
_SOON, _JUST = timedelta(hours=1), timedelta(minutes=10)
_CUE_WORDS = 3  # of a piece before a statement that may be the cue of a correction
_CARRIED_WORDS = 16
CORRECTION = "correction"
CORRECTS = "corrects what was said before"
TAKES_BACK = "takes back what was said before"
TAKES_NOTHING_BACK = "takes something back, but nothing was found to take back"


_Piece = tuple[int, int, Candidate | Verdict]
"""A statement of a turn, or a piece that was dropped, with its place."""


@frozen
class _Earlier:
    """A statement that may be corrected: one of the batch, or a stored memory."""

    target: Candidate | Memory
    turn: Turn

    @property
    def words(self) -> str:
        return self.target.words if isinstance(self.target, Memory) else self.target.statement.proposition.words


@mutable(eq=False)
class _Talk:
    """The last turns of one session and the statements in them, oldest first."""

    turns: list[Turn] = field(default_factory=list)
    statements: list[_Earlier] = field(default_factory=list)


def with_corrections(
    store: Store, reader: Reader, heard: Heard, reading: Reading, settings: Settings, comparison: Comparison
) -> tuple[Heard, list[Candidate]]:
    """Return heard turns with their corrections resolved, and those of their statements that have new words and no vector."""
    pieces = _pieces(heard) if heard.said else {}
    if not any(
        _correction(heard.turns[number], start, end) is not None for number, some in pieces.items() for start, end, _ in some
    ):
        return heard, []
    search = _Search(store, reader, heard, reading, settings, comparison)
    for number, turn in enumerate(heard.turns):
        search.read(number, turn, pieces.get(number, []))
    return replace(
        heard, candidates=search.candidates, verdicts=search.verdicts, retracted=search.retracted
    ), search.without_vectors


@mutable(eq=False)
class _Search:
    """The search for corrections in a batch, turn by turn."""

    store: Store
    reader: Reader
    heard: Heard
    reading: Reading
    settings: Settings
    comparison: Comparison
    candidates: list[Candidate] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    retracted: list[Candidate | Memory] = field(default_factory=list)
    without_vectors: list[Candidate] = field(default_factory=list)
    talks: dict[str, _Talk] = field(default_factory=dict)

    def read(self, number: int, turn: Turn, pieces: list[_Piece]) -> None:
        """Take up the statements and dropped pieces of a turn, in their order."""
        talk = self._talk(turn)
        is_whole = not pieces or pieces[-1][1] == len(turn.text)  # else something was cut out, and places are those before that
        for start, end, piece in pieces:
            correction = _correction(turn, start, end) if is_whole else None
            own = self._own(talk, turn) if correction is not None else []
            found = self._corrected(correction, own, talk, turn) if correction is not None and own else None
            if found is None and correction is not None and not correction.rest and not _carries(piece):
                self.verdicts.append(Verdict(Fate.DROPPED, TAKES_NOTHING_BACK, number, start, end))
            elif correction is None or found is None:
                self._pass_on(piece, talk, turn)
            elif not correction.rest:
                self.retracted.append(own[found.place].target)
                self.verdicts.append(Verdict(Fate.DROPPED, TAKES_BACK, number, start, end))
                talk.statements = [one for one in talk.statements if one.target is not own[found.place].target]
            else:
                self._pass_on(self._correcting(piece, turn, (start, end), own[found.place], found), talk, turn)
        talk.turns.append(turn)

    def _pass_on(self, piece: Candidate | Verdict, talk: _Talk, turn: Turn) -> None:
        if isinstance(piece, Verdict):
            self.verdicts.append(piece)
        else:
            self.candidates.append(piece)
            talk.statements.append(_Earlier(piece, turn))

    def _talk(self, turn: Turn) -> _Talk:
        """Return the session of a turn as it was when the batch began, with what was read since."""
        session = turn.session or ""
        if session not in self.talks:
            here = replace(self.reader, policy=Policy.OWN)
            stored = self.store.turns.recent(here, session, limit=_TURNS) if session else []
            talk = _Talk([said for _, said in stored])
            for key, said in stored:
                memories = sorted(self.store.turns.derived(here, [key]), key=lambda memory: memory.key)
                talk.statements += [_Earlier(memory, said) for memory in memories]
            self.talks[session] = talk
        return self.talks[session]

    def _own(self, talk: _Talk, turn: Turn) -> list[_Earlier]:
        """Return the last statements of the speaker of a turn, the last one first. A file corrects only what came from a file."""
        late = [
            one
            for one in reversed(talk.statements)
            if named(one.turn.speaker) == named(turn.speaker)
            and (turn.at is None or one.turn.at is None or abs(turn.at - one.turn.at) <= _SOON)
            and not (self.heard.imported and isinstance(one.target, Memory) and one.target.source is not Source.IMPORT)
        ]
        return late[:_STATEMENTS]

    def _corrected(self, correction: Correction, own: list[_Earlier], talk: _Talk, turn: Turn) -> CorrectedStatement | None:
        own_turns = [said for said in talk.turns if named(said.speaker) == named(turn.speaker)]
        last_turn = turn if own[0].turn is turn else own_turns[-1] if own_turns else None
        between = talk.turns[-1] if talk.turns and own[0].turn is not turn else None
        if between is not None and named(between.speaker) != named(turn.speaker):
            if correction.answers or (not correction.explicit and between.text.rstrip().endswith("?")):
                return None  # it answers or contradicts the other speaker
        if not correction.rest:
            said_last = [one for one in own if one.turn is own[0].turn]
            if own[0].turn is not last_turn or (last_turn is not turn and len(said_last) > 1):
                return None  # the last message said nothing, or several things
        if correction.is_value and not correction.wrong and own[0].turn is not last_turn:
            return None
        try:
            return corrected_by(correction, [one.words for one in own], self.comparison.reader.judge)
        except EngramError:
            return None  # the pair model cannot be read

    def _correcting(
        self, piece: Candidate | Verdict, turn: Turn, span: tuple[int, int], earlier: _Earlier, found: CorrectedStatement
    ) -> Candidate:
        """Return a statement as a correction of another one."""
        if isinstance(piece, Verdict):
            words = turn.text[slice(*span)].strip()
            statement = Statement(replace(statement_by_hand(turn, words, self.reading), reason=CORRECTS), (span,))
            flagged, vector = bool(screened(statement.proposition.text, self.settings)["flagged"]), None
            at = piece.turn
        else:
            statement, flagged, vector, at = piece.statement, piece.flagged, piece.vector, piece.turn
        if found.elliptic and not statement.proposition.carries:
            statement, vector = replace(statement, proposition=_carrying(statement.proposition, earlier.words)), None
        weight = max(statement.proposition.importance, IMPORTANCE[CORRECTION])
        proposition = replace(statement.proposition, category=CORRECTION, importance=weight)
        made = Candidate(replace(statement, proposition=proposition), at, vector=vector, flagged=flagged, at=turn.at)
        made.corrects, made.is_sure = earlier.target, found.sure
        if vector is None:
            self.without_vectors.append(made)
        return made


def corrected_memory(
    store: Store, reader: Reader, memory: Memory, now: datetime, comparison: Comparison
) -> tuple[Memory, CorrectedStatement] | None:
    """Return the memory that a text to be remembered corrects, one of the last few that its speaker had remembered here."""
    correction = correction_in(memory.text) if language_of(memory.text) in ("en", "") else None
    if correction is None or is_assistant(memory.speaker):
        return None
    here = replace(reader, scope=memory.scope, policy=Policy.OWN)
    since = now - (_SOON if correction.rest else _JUST)
    late = [
        one
        for one in store.memories.newest(here, limit=_STATEMENTS)
        if one.learned_at is not None and one.learned_at >= since and named(one.speaker) == named(memory.speaker)
    ]
    try:
        found = corrected_by(correction, [one.words for one in late], comparison.reader.judge)
    except EngramError:
        return None  # the pair model cannot be read
    return None if found is None else (late[found.place], found)


def takes_back(text: str) -> bool:
    """Return True if a text only takes back what was said before it."""
    correction = correction_in(text)
    return correction is not None and not correction.rest


def carrying(memory: Memory, words: str) -> Memory:
    """Return a memory of a correction that carries the words it corrects, without which it says nothing."""
    return replace(memory, text=_with_carried(memory.text, words), words_at=(0, len(memory.text)))


def _carries(piece: Candidate | Verdict) -> bool:
    return isinstance(piece, Candidate) and bool(piece.statement.proposition.carries)


def _pieces(heard: Heard) -> dict[int, list[_Piece]]:
    """Return the statements and the dropped pieces of each turn with their places, in order."""
    found: dict[int, list[_Piece]] = {}
    for one in heard.candidates:
        spans = one.statement.spans or ((0, 0),)
        found.setdefault(one.turn, []).append((spans[0][0], spans[-1][1], one))
    for verdict in heard.verdicts:
        found.setdefault(verdict.turn, []).append((verdict.start, verdict.end, verdict))
    return {number: sorted(some, key=lambda piece: piece[:2]) for number, some in found.items()}


def _correction(turn: Turn, start: int, end: int) -> Correction | None:
    """Return the correction that a piece of a turn is, with a few words before it if those are its cue ("no wait, Ravi is …")."""
    if is_assistant(turn.speaker) or is_tool(turn.speaker):
        return None
    said = turn.text[start:end]
    found = correction_in(said)
    if found is None and start:
        line = turn.text.rfind("\n", 0, start) + 1
        before = turn.text[max(line, max(turn.text.rfind(mark, 0, start - 2) for mark in ".!?") + 1) : start]
        if before.strip() and len(before.split()) <= _CUE_WORDS:
            found = correction_in(before + said)
    return found if found is not None and language_of(turn.text) in ("en", "") else None


def _carrying(proposition: Proposition, words: str) -> Proposition:
    """Return a statement that carries the words it corrects, without which it says nothing."""
    end = proposition.words_at[1] or len(proposition.text)
    return replace(proposition, text=_with_carried(proposition.text[:end], words), passage="")


def _with_carried(text: str, words: str) -> str:
    carried = " ".join(words.split()[:_CARRIED_WORDS]).rstrip(".! ").replace("[", "(").replace("]", ")")
    return f"{text} [{carried}]"
