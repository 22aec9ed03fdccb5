"""Everything a store offers, as one small protocol per noun; every engine passes `tests/store/contract`.

Every method takes the `Reader` who asks first, unless it reveals nothing of a memory. A method that writes returns once the
write is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from engram.crypto.ciphers import SealedFileReader, SealedFileWriter
from engram.store.receipts import ReceiptRequest
from engram.store.upkeep_ports import (
    AccessTokensPort,
    AuditEntriesPort,
    ChangeLogPort,
    DreamsPort,
    ErasurePort,
    FiguresPort,
    HealthCheckPort,
    QuotasPort,
    ReceiptsPort,
    SavedWorkingPort,
    SealedRowsPort,
)
from engram.types import (
    Counts,
    Draft,
    Edge,
    Fact,
    Memory,
    Page,
    PendingTurn,
    Reader,
    Report,
    Scope,
    Space,
    Status,
    StatusChange,
    TextHit,
    Turn,
    Version,
)
from engram.values.entities import (
    Belief,
    BeliefQuery,
    Entity,
    EntityDecision,
    FactNeighbour,
    Gap,
    KnownSubject,
    RelatedFact,
    RoleTenure,
    SubjectTally,
)
from engram.values.episodes import Box, BoxRow, BoxTopics, Episode, EpisodeEvent, EpisodeOutcome, FilledBox, Participant, Skill
from engram.values.memories import Correction, CorrectionFate
from engram.values.query import CandidateTraits, Filter, Hop, JudgedQuestion, Judgement


class DuplicateTurns(Exception):
    """Raised if another thread or process has stored turns with these refs since they were looked up. Nothing was changed."""

    def __init__(self, refs: set[str]) -> None:
        super().__init__(f"{len(refs)} refs are stored already")
        self.refs = refs


Changes = Mapping[str, object] | Callable[[Memory], Mapping[str, object]]

"""New values by field name, or a function that makes them from the memory as it is at the time of the write."""


class MemoriesPort(Protocol):
    """Memories: read, list, add, change; their versions and statuses."""

    def fetch(self, reader: Reader, keys: Sequence[int], *, as_of: datetime | None = None) -> list[Memory]:
        """Return the visible memories among `keys`, in that order; with `as_of`, as they were at that time."""

    def newest(self, reader: Reader, *, limit: int, where: Filter = Filter()) -> list[Memory]:
        """Return the newest memories that pass a filter, newest first. Without the cursor of a page, for which a hook
        would have to load `cryptography` (10 ms).
        """

    def page(self, reader: Reader, *, limit: int, cursor: str | None = None, where: Filter = Filter()) -> Page:
        """Return a page of memories, newest first. A cursor continues below the last key: inserts and deletions shift nothing."""

    def get(self, reader: Reader, ids: Sequence[str]) -> list[Memory]:
        """Return the visible memories among `ids`, in that order.

        An id may be a short one (`Memory.short_id`); raise InvalidQuery if several visible memories have it.
        """

    def traits(self, reader: Reader, keys: Sequence[int]) -> dict[int, CandidateTraits]:
        """Return speaker, session, time and informativeness of the visible ones of these memories, by key."""

    def lasting(self, reader: Reader, keys: Sequence[int]) -> set[int]:
        """Return the keys of those of these memories that have a `valid_from`."""

    def record_access(self, reader: Reader, keys: Sequence[int]) -> None:
        """Count these memories as recalled; no count for a reader that may not write."""

    def versions(self, reader: Reader, memory_id: str) -> list[Version]: ...

    def status_history(self, reader: Reader, memory_id: str) -> list[StatusChange]: ...

    def by_digest(self, reader: Reader, wanted: Sequence[bytes]) -> dict[bytes, str]:
        """Map these digests to the ids of active memories of exactly the reader's scope."""

    def keys_having(self, reader: Reader, where: Filter) -> list[int]:
        """Return the keys of the visible memories that pass a filter, for an index that lacks the filter's columns."""

    def counts(self, reader: Reader) -> Counts: ...

    def export(self, reader: Reader, *, after: int, limit: int) -> tuple[list[Memory], list[tuple[int, int, Turn]], list[Edge]]:
        """Return the visible memories above a key in key order, their turns as (memory, number, turn), and their edges."""

    def add(self, reader: Reader, drafts: Sequence[Memory], *, timeout: float | None = None) -> list[Memory]:
        """Store new memories, all or none; return them with ids, keys and dates."""

    def update(
        self,
        reader: Reader,
        memory_id: str,
        changes: Changes,
        *,
        since: datetime | None = None,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Change a memory; the earlier wording becomes a version. `since`: raise Conflict if `updated_at` is another."""

    def set_status(
        self,
        reader: Reader,
        memory_id: str,
        status: Status,
        reason: str,
        *,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory: ...

    def archive(
        self,
        reader: Reader,
        ids: Sequence[str],
        reason: str,
        *,
        since: datetime | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Report:
        """Archive memories, all or none; the report names them."""

    def review(
        self,
        reader: Reader,
        memory_id: str,
        status: Status,
        reason: str,
        *,
        confirmed: bool = False,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Set the status that a person decided on. `confirmed`: the person vouches for the memory, which corroborates it."""

    def set_statuses(
        self,
        reader: Reader,
        ids: Sequence[str],
        status: Status,
        reason: str,
        *,
        since: datetime | None = None,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> list[Memory]:
        """Change the status of memories, all or none. `since`: as for `update`."""


class CapturePort(Protocol):
    """Turns and the memories made from them, written in one transaction."""

    def write(
        self,
        reader: Reader,
        scope: Scope,
        said: Sequence[Turn],
        drafts: Sequence[Draft],
        *,
        space: Space | None = None,
        again: Mapping[str, Sequence[int]] | None = None,
        wait: bool = False,
        stated: Sequence[Fact] | None = None,
        sources: Sequence[int] = (),
        retracted: Sequence[str | int] = (),
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> list[Memory]:
        """Store turns and the memories drafted from them, all or none. Each turn has its time and session.

        retracted: ids of memories, or numbers of drafts, that their speaker took back; they are invalidated.
        """

    def write_extracted(
        self,
        reader: Reader,
        keys: Sequence[int],
        drafts: Sequence[Draft],
        *,
        space: Space | None = None,
        again: Mapping[str, Sequence[int]] | None = None,
        outworn: Sequence[str] = (),
    ) -> list[Memory]:
        """Store memories that a model drafted from stored turns, all or none, and only if the turns still wait for it."""


class TurnsPort(Protocol):
    """Turns of conversations, verbatim."""

    def of(self, reader: Reader, memory_id: str) -> list[Turn]:
        """Return the turns a memory came from, verbatim."""

    def sources(self, reader: Reader, keys: Sequence[int]) -> list[tuple[int, int, Turn]]:
        """Return (memory's key, turn's key, turn) for each turn that these memories came from."""

    def recent(self, reader: Reader, session: str | None, *, limit: int) -> list[tuple[int, Turn]]:
        """Return the last turns of a session, or of the reader's scope, with their keys, oldest first."""

    def stored(self, reader: Reader, key: int) -> Turn | None:
        """Return the turn of this key in the reader's scope."""

    def last(self, reader: Reader, session: str) -> Turn | None:
        """Return the last turn of this session in the reader's scope."""

    def before(self, reader: Reader, session: str, key: int, *, limit: int) -> list[Turn]:
        """Return the turns of a session just before the turn of this key, in the reader's scope."""

    def waiting(self, reader: Reader, session: str, *, limit: int) -> list[PendingTurn]:
        """Return the turns of a session in the reader's scope that a model has not read, oldest first."""

    def waiting_sessions(self, reader: Reader) -> list[tuple[Scope, str]]: ...

    def derived(self, reader: Reader, keys: Sequence[int]) -> list[Memory]:
        """Return the active memories of the reader's scope that came from these turns."""

    def known_refs(self, reader: Reader, refs: Sequence[str]) -> set[str]: ...

    def digest(self, words: str) -> str:
        """Return a keyed digest by which these words can be recognised in this vault, and nowhere else."""

    def expire(self, reader: Reader) -> int:
        """Delete turns past their retention; the memories made from them stay. Return how many."""


class TextIndexPort(Protocol):
    """The full-text index over memories and their earlier wordings."""

    def search(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter = Filter()) -> list[TextHit]:
        """Return memories that hold any of the terms, best first."""

    def frequencies(self, reader: Reader, terms: Sequence[str], *, most: int) -> list[int]:
        """Return the number of memories in the whole vault that hold each term, counted up to `most`."""

    def search_versions(self, reader: Reader, terms: Sequence[str], *, limit: int, where: Filter) -> list[TextHit]:
        """Return memories whose wording at `where.as_of`, replaced since, holds any of the terms."""


class VectorsPort(Protocol):
    """Vectors of memories by space, and the sealed snapshots of a vector index."""

    def space(self, name: str) -> Space | None:
        """Return a space with its model and dimensions; None if there is no such space."""

    def visible(self, reader: Reader, space: str, *, where: Filter = Filter()) -> Iterator[tuple[int, bytes]]:
        """Yield the keys and vectors that this reader may search."""

    def missing(self, reader: Reader, space: str, *, after: int, limit: int) -> list[tuple[int, str, str, str]]:
        """Return active memories without a vector in a space: (key, speaker, text, passage or "")."""

    def lacks(self, reader: Reader, space: str) -> bool:
        """Return True if some of the oldest or newest memories have no vector."""

    def rows(self, reader: Reader, space: str, *, after: int, limit: int) -> list[Any]:
        """Return the rows of a vector index of the whole vault, in key order."""

    def size(self, reader: Reader, space: str) -> int:
        """Return an upper bound of the rows of a space. Counting vectors would read them all; an index counts memories."""

    def rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> list[Any]:
        """Return the rows of these memories for a vector index."""

    def put(
        self,
        reader: Reader,
        space: str,
        vectors: Mapping[int, bytes],
        *,
        model: str,
        dimensions: int,
        said: Mapping[int, str] | None = None,
    ) -> int:
        """Store vectors; return how many. `said`: the texts they were made from; a memory with another text by now is skipped."""

    def clear(self, reader: Reader, space: str) -> int:
        """Delete a space and its vectors, so that another model can use it; return how many there were."""

    def snapshot(self, reader: Reader, name: str) -> AbstractContextManager[SealedFileReader | None]:
        """Open the snapshot of this name if it is still valid; reading it may raise EncryptionFailed."""

    def has_snapshot(self, name: str) -> bool:
        """Return True if there is a snapshot file of this name, valid or not."""

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        """Write a snapshot with `fill`, which returns the number of rows; False if an erasure came between."""


class EdgesPort(Protocol):
    """Edges between memories, and the neighbours of a memory."""

    def of(self, reader: Reader, ids: Sequence[str]) -> list[Edge]: ...

    def among(self, reader: Reader, keys: Sequence[int], kinds: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return edges of these kinds into or out of these memories as (source, target, kind), both ends active."""

    def put(
        self, reader: Reader, edges: Sequence[Edge], *, timeout: float | None = None, receipt: ReceiptRequest | None = None
    ) -> int: ...

    def linked(self, reader: Reader, keys: Sequence[int], now: datetime, *, most: int) -> list[Hop]:
        """Return hops over edges from these memories to active ones, in both directions, the surest first; unsure edges
        are left out.
        """

    def sharing_entities(self, reader: Reader, keys: Sequence[int], *, fan: int, most: int) -> list[Hop]:
        """Return hops from these memories to active ones that mention the same entity; entities of more than `fan`
        memories are left out.
        """

    def naming(self, reader: Reader, names: Sequence[str], *, most: int) -> list[Hop]:
        """Return hops to the latest active memories that mention one of these entities; `here` is the index in `names`."""

    def passing(self, reader: Reader, keys: Sequence[int], where: Filter) -> set[int]:
        """Return those of these memories that are visible and pass a filter."""


class EntitiesPort(Protocol):
    """Entities: people, places and things that memories name."""

    def select(self, reader: Reader, *, kind: str | None = None, limit: int = 50) -> list[Entity]:
        """Return the entities that visible memories mention, the most mentioned first."""

    def get(self, reader: Reader, name: str) -> tuple[Entity, list[int]] | None:
        """Return the entity of this name, and the keys of the active memories that mention it, the latest first."""

    def roles(self, reader: Reader, name: str) -> tuple[list[RoleTenure], list[RoleTenure]]:
        """Return the roles that the entity of this name has and had, and all who have or had the role of this name."""

    def speakers(self, reader: Reader) -> list[str]:
        """Return the speakers of visible memories, each once, in the order of the alphabet."""

    def mentions(self, reader: Reader, memory_id: str) -> list[str]:
        """Return the names of the entities that a memory mentions."""

    def cooccurring(self, reader: Reader, name: str, *, limit: int = 10) -> list[tuple[str, int]]:
        """Return the names of entities that the same memories mention, and in how many."""

    def decide(self, reader: Reader, decision: EntityDecision, *, receipt: ReceiptRequest | None = None) -> EntityDecision:
        """Store a decision by hand in every writable scope that knows the entity; return it with its id, time and names."""

    def undo_decision(self, reader: Reader, decision_id: str, *, receipt: ReceiptRequest | None = None) -> EntityDecision:
        """Take a decision by hand back; return it with the time of this."""

    def decisions(self, reader: Reader, *, limit: int) -> list[tuple[Scope, EntityDecision]]:
        """Return the decisions by hand of visible scopes, the latest first, those taken back among them, each with its scope."""

    def adopt_decisions(self, reader: Reader, scope: Scope, decisions: Sequence[EntityDecision]) -> int:
        """Store decisions of another vault in a scope, except those that stand there already; return how many."""


class FactsPort(Protocol):
    """Facts that memories state about a subject, with their dates."""

    def beliefs(self, reader: Reader, asked: BeliefQuery) -> list[Belief]:
        """Return the facts of a subject that hold, the newest first, each with its status, strength and revisions."""

    def by(self, reader: Reader, keys: Sequence[int]) -> list[RelatedFact]:
        """Return the facts of these memories."""

    def of(self, reader: Reader, names: Sequence[str], *, backwards: bool = False, most: int) -> list[RelatedFact]:
        """Return the facts whose subject is one of these, or with `backwards` whose object is, the surest first."""

    def around(
        self, reader: Reader, names: Sequence[str], *, predicates: Sequence[str] = (), as_of: datetime | None = None, most: int
    ) -> list[FactNeighbour]:
        """Return the facts whose subject or object has one of these names, or another name of that entity, the surest first.

        Facts that are only heard or supposed are left out. as_of: those that held at that time.
        """

    def sharing(
        self, reader: Reader, slots: Sequence[tuple[str, str]], *, most: int
    ) -> dict[tuple[str, str], list[tuple[int, str]]]:
        """Return for each slot, a subject and a predicate, the latest memories that give it a single value: key and value."""

    def state(self, reader: Reader, memory_id: str, stated: Sequence[Fact], *, receipt: ReceiptRequest | None = None) -> Memory:
        """Add facts to a memory that stands, with all that follows from them; they replace those of the same slots."""

    def withdraw(
        self, reader: Reader, memory_id: str, subject: str, what: str, *, receipt: ReceiptRequest | None = None
    ) -> Memory:
        """Take a fact from a memory. Beliefs of other memories that it had replaced hold again."""

    def stated(self, reader: Reader, keys: Sequence[int]) -> dict[int, list[Fact]]:
        """Return the facts of these memories by key, of every status, with the ends that they have by now."""

    def adopt(self, reader: Reader, stated: Mapping[str, Sequence[Fact]]) -> int:
        """Add facts of another vault to memories that stand here, by id; return how many are new.

        A fact is left out where the memory states that slot already, or where it was withdrawn from it.
        """

    def exists(self, reader: Reader, subject: str, what: str) -> bool:
        """Return True if a subject has, or had, a fact of this predicate, however sure."""

    def matching(self, reader: Reader, what: str, *, most: int) -> list[RelatedFact]:
        """Return the facts of this predicate, of any subject, the surest first."""

    def backfill(self, reader: Reader, *, limit: int) -> int:
        """Read entities and facts of a page of memories from older releases; return how many. Supersedes no memory."""


class FeedbackPort(Protocol):
    """Judgements of answers, and corrections of memories."""

    def judge(
        self,
        reader: Reader,
        memory_id: str,
        helpful: bool,
        question: JudgedQuestion | None = None,
        *,
        timeout: float | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Memory:
        """Count a reader's judgement of a memory and, if given, store the question it was about."""

    def judgements(self, reader: Reader, keys: Sequence[int], question: JudgedQuestion) -> list[Judgement]:
        """Return the judgements of these memories in exactly the reader's scope, oldest first."""

    def correct(
        self, reader: Reader, memory_id: str, draft: Draft, *, space: Space | None = None, timeout: float | None = None
    ) -> Memory:
        """Store a correction and retire the memory that it corrects, all or none. A memory that says the same already is used."""

    def corrected(self, reader: Reader, wanted: Sequence[bytes]) -> dict[bytes, Memory]:
        """Map those of these digests whose wording was corrected to the memory that replaced it."""

    def corrected_facts(self, reader: Reader, wanted: Sequence[Fact]) -> list[Memory]:
        """Return corrected memories with a fact of the same subject and predicate as one of these."""

    def corrections(self, reader: Reader) -> list[int]:
        """Return the keys of corrected memories."""

    def replacement(self, reader: Reader, key: int) -> Memory:
        """Return the memory that replaced a corrected one; the corrected one itself if that is gone."""

    def correction_marks(self, reader: Reader, keys: Sequence[int]) -> dict[int, Correction]:
        """Return the marks of those of these memories that were corrected, by key."""

    def adopt_corrections(
        self,
        reader: Reader,
        scope: Scope,
        corrections: Sequence[tuple[Draft, Correction]],
        *,
        space: Space | None = None,
        trusted: bool = False,
    ) -> list[CorrectionFate]:
        """Store corrected memories of another vault in a scope, retired as they were there; return the fate of each.

        The heirs are ids of this vault. A memory that stands here with the same words is retired if it came from an import, or if
        the caller is `trusted`; a pinned one and one that was restored here stays.
        """


class EpisodesPort(Protocol):
    """Episodes: tasks with their steps and outcome."""

    def begin(
        self,
        reader: Reader,
        draft: Draft,
        goal: str,
        *,
        participants: Sequence[Participant] = (),
        caused_by: Sequence[str] = (),
        space: Space | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Episode:
        """Store an episode that begins now, linked to the last one of its session and to those in `caused_by`."""

    def append(self, reader: Reader, episode_id: str, event: EpisodeEvent, *, receipt: ReceiptRequest | None = None) -> None:
        """Add an event to an ongoing episode."""

    def end(
        self,
        reader: Reader,
        draft: Draft,
        outcome: EpisodeOutcome,
        result: str,
        valence: float,
        *,
        space: Space | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Episode:
        """End an episode with its outcome. `draft`: the new text of the episode's own memory."""

    def select(
        self,
        reader: Reader,
        *,
        ids: Sequence[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        outcomes: Sequence[EpisodeOutcome] = (),
        limit: int = 50,
    ) -> list[Episode]:
        """Return episodes, the latest first; or those of `ids`, in that order."""


class SkillsPort(Protocol):
    """Skills learned from episodes."""

    def put(
        self,
        reader: Reader,
        skill: Skill,
        draft: Draft,
        *,
        sources: Sequence[str] = (),
        space: Space | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Skill:
        """Store a new or changed skill. `sources`: ids of the episodes it was learned from."""

    def select(self, reader: Reader, *, ids: Sequence[str] | None = None, limit: int = 500) -> list[Skill]:
        """Return active skills, the newest first; or those of `ids`."""


class BoxesPort(Protocol):
    """Boxes: stretches of talk about one subject."""

    def pending(self, reader: Reader, space: str, limit: int) -> tuple[int, list[BoxRow]]:
        """Return the last boxed key, and the next memories after it."""

    def latest_vectors(self, reader: Reader, space: str, *, upto: int, limit: int) -> list[bytes]:
        """Return the vectors of the latest memories up to a key, as a sample."""

    def growing(self, reader: Reader, streams: Iterable[tuple[int, str]], space: str) -> list[tuple[Box, list[BoxRow]]]:
        """Return the open boxes of these scopes and sessions, with their memories."""

    def topics(self, reader: Reader, scopes: Iterable[int]) -> dict[int, BoxTopics]:
        """Return the topics of the latest boxes, by scope."""

    def put(self, reader: Reader, boxes: Sequence[FilledBox], *, start: int, upto: int, since: int) -> bool:
        """Store boxes; False, and no change, if another process has moved on from `start`, or if after the change
        `since` a memory was erased or a member updated: a topic could hold words that are erased or sealed by now.
        """

    def unlabelled(self, reader: Reader, limit: int) -> list[tuple[int, list[tuple[str, str]]]]:
        """Return the boxes whose topic was emptied because a member was erased, with the texts and speakers that are left."""

    def relabel(self, reader: Reader, topics: dict[int, tuple[str, ...]], *, since: int) -> None:
        """Set the topics of boxes and delete empty ones; no change if, after the change `since`, a memory was erased or
        a member updated.
        """

    def select(self, reader: Reader, *, trace: int | None = None, limit: int = 50) -> list[Box]:
        """Return boxes, or those of one trace, the latest first. A box is visible to readers of its scope."""

    def get(self, reader: Reader, key: int) -> list[Memory]:
        """Return the memories of a box in the order of their keys."""


class GapsPort(Protocol):
    """Questions that found no answer."""

    def put(self, reader: Reader, text: str, *, answered: bool = False, offered: bool = False, raised: bool = False) -> None:
        """Record a question that found no answer, that was `answered`, that was `offered` to be asked back, or that was `raised`
        in a conversation, which records no question that is not recorded. Written later.
        """

    def select(self, reader: Reader, *, limit: int, to_offer: bool = False) -> list[Gap]:
        """Return questions that found no answer. `to_offer`: only those that were raised in the reader's own scope,
        by a conversation or a dream, and not offered within `gap_days`.
        """

    def recently_offered(self, reader: Reader, texts: Sequence[str]) -> set[str]:
        """Return those of these questions that were offered in the reader's scope within `gap_days`."""


class KnowledgeSurveyPort(Protocol):
    """Figures of how much is known of a subject, and of what is doubtful."""

    def tally(self, reader: Reader, keys: Sequence[int]) -> SubjectTally:
        """Return figures of those of these memories that are active and visible; of very many the first are counted."""

    def subjects(self, reader: Reader, *, limit: int, without: Collection[str] = ()) -> list[KnownSubject]:
        """Return entities that several memories name, and categories except `without`, those with most memories first."""

    def doubts(self, reader: Reader, *, keys: Sequence[int] | None = None, limit: int) -> list[Gap]:
        """Return contradicting pairs, the latest first, then old memories in frequent use, the most used first. `keys`:
        only doubts about these memories.
        """


class VectorSource(Protocol):
    """The parts of a store that a vector index reads."""

    @property
    def vectors(self) -> VectorsPort: ...

    @property
    def changes(self) -> ChangeLogPort: ...


class Store(Protocol):
    """An open store: one attribute per noun."""

    @property
    def memories(self) -> MemoriesPort: ...

    @property
    def capture(self) -> CapturePort: ...

    @property
    def turns(self) -> TurnsPort: ...

    @property
    def text(self) -> TextIndexPort: ...

    @property
    def vectors(self) -> VectorsPort: ...

    @property
    def edges(self) -> EdgesPort: ...

    @property
    def entities(self) -> EntitiesPort: ...

    @property
    def facts(self) -> FactsPort: ...

    @property
    def feedback(self) -> FeedbackPort: ...

    @property
    def episodes(self) -> EpisodesPort: ...

    @property
    def skills(self) -> SkillsPort: ...

    @property
    def boxes(self) -> BoxesPort: ...

    @property
    def gaps(self) -> GapsPort: ...

    @property
    def knowledge(self) -> KnowledgeSurveyPort: ...

    @property
    def working(self) -> SavedWorkingPort: ...

    @property
    def dreams(self) -> DreamsPort: ...

    @property
    def changes(self) -> ChangeLogPort: ...

    @property
    def erasure(self) -> ErasurePort: ...

    @property
    def audit(self) -> AuditEntriesPort: ...

    @property
    def access_tokens(self) -> AccessTokensPort: ...

    @property
    def receipts(self) -> ReceiptsPort: ...

    @property
    def quotas(self) -> QuotasPort: ...

    @property
    def figures(self) -> FiguresPort: ...

    @property
    def health(self) -> HealthCheckPort: ...

    @property
    def sensitivity(self) -> SealedRowsPort: ...

    @property
    def last_used(self) -> float:
        """Monotonic time of the last use of the store."""

    def background(self) -> AbstractContextManager[None]:
        """Mark reads in this block as maintenance: no audit entry unless they fail, and not counted as use."""

    def ignore_this_thread(self) -> None:
        """Do not count what this thread does as use."""

    def close(self) -> None:
        """Finish queued writes and close. A second call does nothing."""
