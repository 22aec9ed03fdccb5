"""Memories and their parts: kinds and statuses, facts, drafts, versions, pages and vector spaces."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar, overload

from engram.values.frozen import field, frozen
from engram.values.identity import Scope, Sensitivity, Source

T = TypeVar("T")

NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


class ValueSequence(Sequence[T]):
    """A value that is also the sequence of its members."""

    __slots__ = ()

    @property
    @abstractmethod
    def _members(self) -> tuple[T, ...]: ...

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._members[index]


class Kind(StrEnum):
    """The kind of a memory."""

    PROPOSITION = "proposition"
    EPISODE = "episode"
    FACT = "fact"
    SKILL = "skill"


class Status(StrEnum):
    """The status of a stored memory. Active and challenged memories are recalled, unless others are asked for."""

    ACTIVE = "active"
    CHALLENGED = "challenged"
    INVALIDATED = "invalidated"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


VALID = (Status.ACTIVE, Status.CHALLENGED)
"""The statuses of memories that stand: a challenged one may be outdated, and is shown behind its rival."""

CORRECTED, CORRECTED_BY_SPEAKER, INVALIDATED_BY_HAND = "corrected", "corrected by its speaker", "invalidated by hand"
"""Reasons in the history of a status that mark a correction (M19): by feedback, in talk, or in a review, with more behind it."""
TAKEN_BACK = "taken back by its speaker"
"""The reason in the history of a status of what its speaker took back. It is no correction: it may be said again."""


@frozen
class Affect:
    """The emotional content of a memory: valence (negative to positive) and dominance (helpless to in control) in -1 … 1;
    arousal and surprise in 0 … 1."""

    valence: float = 0.0
    arousal: float = 0.0
    dominance: float = 0.0
    surprise: float = 0.0

    @property
    def sentiment(self) -> str:
        return "positive" if self.valence >= 0.2 else "negative" if self.valence <= -0.2 else "neutral"


NEUTRAL = Affect()


def _words_in(text: str, words_at: tuple[int, int]) -> str:
    """Return the verbatim words of a text; all of it if it is nothing else."""
    return text[slice(*words_at)] if words_at[1] else text


def _carried_in(text: str, words_at: tuple[int, int]) -> str:
    """Return the words in brackets behind the verbatim words of a text."""
    return text[words_at[1] :].strip()[1:-1] if words_at[1] else ""


ULID = 26
"""Characters of an id."""
SHORT_IDS = {4: 1 << 12, 5: 1 << 17, 6: 1 << 22, 8: 1 << 63}
"""Characters of a short id, and the key below which it has so many: at most one in 256 is that of another memory as well."""


@frozen(kw_only=True)
class Memory:
    """A stored memory. `id` is for people and links, `key` for indexes and edges; the store assigns both."""

    text: str
    id: str = ""
    key: int = 0
    kind: Kind = Kind.PROPOSITION
    category: str = "fact"
    summary: str = ""
    key_fact: str = ""
    tag: str = ""
    scope: Scope = Scope()
    source: Source = Source.USER
    happened_at: datetime | None = None
    happened_until: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    learned_at: datetime | None = None
    updated_at: datetime | None = None
    importance: float = 0.5
    confidence: float = 0.5
    strength: float = 1.0
    accesses: int = 0
    accessed_at: datetime | None = None
    status: Status = Status.ACTIVE
    pinned: bool = False
    version: int = 1
    session: str = ""
    speaker: str = ""
    surprise: float = 0.0
    affect: Affect = NEUTRAL
    corroborations: int = 0
    helpful: int = 0
    unhelpful: int = 0
    tokens: tuple[int, int, int, int] = (0, 0, 0, 0)  # of text, summary, key fact and tag; 0 where not counted
    tier: Sensitivity = Sensitivity.CLEARTEXT
    flagged: bool = False  # reads as an attack on the model: stored, but left out of every answer
    screened: int = 0  # the version of the injection rules that screened it; 0 if none did
    refs: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=lambda: NO_ATTRIBUTES)
    words_at: tuple[int, int] = (0, 0)  # the place of the verbatim words in the text; (0, 0) if the text is nothing else
    others: tuple[Memory, ...] = ()  # set by `remember`: the other memories made of the same text

    @property
    def short_id(self) -> str:
        """The end of the id, by which a text cites the memory; `get`, `explain` and every operation accept it for the id.

        An id that an import brought and that is no ULID stays whole.
        """
        length = next(length for length, below in SHORT_IDS.items() if self.key < below)
        return self.id[-length:].lower() if len(self.id) == ULID else self.id

    @property
    def words(self) -> str:
        """The speaker's own words, without the name before them and the words carried behind them."""
        return _words_in(self.text, self.words_at)

    @property
    def carries(self) -> str:
        """The earlier words that the statement needs to be understood; empty if it stands alone."""
        return _carried_in(self.text, self.words_at)


class Strength(StrEnum):
    """The evidence for a belief, from the strongest to the weakest (`rules/contradiction.py` has the numbers)."""

    AXIOMATIC = "axiomatic"  # true by definition
    OBSERVED = "observed"  # seen or measured
    COMPUTED = "computed"  # worked out from what was observed
    CONSENSUS = "consensus"  # stated by several witnesses
    STATED = "stated"  # a user's own statement
    REPORTED = "reported"  # an assistant's statement, or somebody else's that the caller vouches for
    INFERRED = "inferred"  # follows from other beliefs
    HYPOTHETICAL = "hypothetical"  # supposed by the speaker
    HEARSAY = "hearsay"  # "Tom says that …"


@frozen
class Fact:
    """A slot and its value: what a statement says of a subject, and since and until when.

    single: the subject has one such object at a time. holds: False for what has ended. since, until: None if the statement gives
    none. strength: None if it follows from the source and the confidence of the memory. teller: somebody whose words they are,
    other than the speaker.
    """

    subject: str
    predicate: str
    object: str
    single: bool = True
    holds: bool = True
    since: datetime | None = None
    until: datetime | None = None
    strength: Strength | None = None
    teller: str = ""


@frozen
class Correction:
    """The mark of a corrected memory: the reason and the time in the history of its status, and the id of the memory in its
    place; empty if there is none."""

    reason: str
    at: datetime
    heir: str = ""


class CorrectionFate(StrEnum):
    """The fate of a correction of another vault. LEFT: what it corrects stands here by somebody's own word."""

    NEW = "new"
    KNOWN = "known"
    LEFT = "left"


@frozen
class Name:
    """A name as a text has it, and whether it is of a person, an organisation, a place, a project or a product."""

    text: str
    kind: str


@frozen
class Mention:
    """A name in a text: the name, the kind of entity, and other names that the same words give it.

    is_speaker: the speaker of the words, who tells of themselves without a name.
    """

    name: str
    kind: str
    aliases: tuple[str, ...] = ()
    is_speaker: bool = False


@frozen
class Replacement:
    """An earlier statement that a draft replaces: its id, or the number of an earlier draft of the same batch.

    sure: the earlier one is superseded; else it is challenged, and both stand as rivals. reason: for the history of its status.
    corrects: the speaker says that the earlier one was wrong, so that likeness to it raises no doubt.
    """

    earlier: str | int
    sure: bool
    reason: str
    corrects: bool = False


@frozen(kw_only=True)
class Draft:
    """A memory to be stored, with the indexes of its turns in the batch, and its vector if there is one.

    passage: what its vector is made of, if that is not its text.
    """

    memory: Memory
    turns: tuple[int, ...] = ()
    vector: bytes | None = None
    facts: tuple[Fact, ...] | None = None  # its facts, where they are known without reading the text
    mentions: tuple[Mention, ...] | None = None  # the things that it names, likewise
    passage: str = ""
    replaces: tuple[Replacement, ...] = ()


@frozen(kw_only=True)
class Proposition:
    """A statement taken from a turn.

    text: the words with their speaker and what they carry. words_at: the place of the verbatim words in it. passage: what is
    encoded, if it is not the text. reason: why it is kept.
    """

    text: str
    speaker: str
    category: str
    confidence: float
    importance: float = 0.5
    kind: Kind = Kind.PROPOSITION
    words_at: tuple[int, int] = (0, 0)
    passage: str = ""
    reason: str = ""
    happened_at: datetime | None = None
    happened_until: datetime | None = None
    valid_from: datetime | None = None  # the start of an ongoing state, if the words name it
    mentions: tuple[Mention, ...] | None = None  # the things that it names; None if the statement model has not read it

    @property
    def words(self) -> str:
        """The verbatim words of the statement."""
        return _words_in(self.text, self.words_at)

    @property
    def carries(self) -> str:
        """The earlier words that the statement needs to be understood."""
        return _carried_in(self.text, self.words_at)


@frozen
class TextHit:
    """The text index's score of a memory; higher is better."""

    key: int
    score: float


@frozen
class Version:
    """An earlier text of a memory."""

    number: int
    text: str
    replaced_at: datetime


@frozen
class StatusChange:
    """A change of a memory's status, with its reason and time."""

    old: Status
    new: Status
    reason: str
    at: datetime


@frozen
class Page(ValueSequence[Memory]):
    """A page of a listing, the cursor of the next page (None at the end), and notes on names of the filter that nothing has."""

    memories: tuple[Memory, ...]
    cursor: str | None
    notes: tuple[str, ...] = ()

    @property
    def _members(self) -> tuple[Memory, ...]:
        return self.memories


@frozen
class Space:
    """A vector space: its name, the fingerprint of its model, and the length of its vectors."""

    name: str
    model: str
    dimensions: int
