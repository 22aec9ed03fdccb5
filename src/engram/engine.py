"""The `Engram` class: opens a vault and offers its verbs; it decides nothing itself.

The identity of the caller is fixed when the vault is opened (or by `as_reader`, for servers that establish it themselves) and is
never an argument of a verb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar, overload

from engram.deadline import Deadline, deadline
from engram.env import Env, in_utc
from engram.errors import ConfigInvalid
from engram.log import Log
from engram.models.chat_endpoints import check_name
from engram.models.embedders import Embedder
from engram.models.language_models import Extractor
from engram.models.rerankers import Reranker
from engram.settings import LiveSettings, Settings
from engram.store.credentials import Ask
from engram.store.validation import check_idempotency_key
from engram.types import Policy, Reader, Role, Scope
from engram.values.entities import Knowledge, KnowledgeMap
from engram.values.frozen import replace
from engram.vault import OpenVault, credentials_from
from engram.verbs import access_tokens as access_tokens_verbs
from engram.verbs import audit as audit_verbs
from engram.verbs import backups as backups_verbs
from engram.verbs import boxes as boxes_verbs
from engram.verbs import changes as changes_verbs
from engram.verbs import context as context_verbs
from engram.verbs import dreams as dreams_verbs
from engram.verbs import edges as edges_verbs
from engram.verbs import embeddings as embeddings_verbs
from engram.verbs import entities as entities_verbs
from engram.verbs import episodes as episodes_verbs
from engram.verbs import erasure as erasure_verbs
from engram.verbs import facts as facts_verbs
from engram.verbs import feedback as feedback_verbs
from engram.verbs import files as files_verbs
from engram.verbs import gaps as gaps_verbs
from engram.verbs import health as health_verbs
from engram.verbs import knowledge as knowledge_verbs
from engram.verbs import lifecycle as lifecycle_verbs
from engram.verbs import limits as limits_verbs
from engram.verbs import memories as memories_verbs
from engram.verbs import models as models_verbs
from engram.verbs import recall as recall_verbs
from engram.verbs import skills as skills_verbs
from engram.verbs import turns as turns_verbs
from engram.verbs import working as working_verbs
from engram.verbs.view import View
from engram.working.memory import Working

log = Log("engram")


P = ParamSpec("P")
T = TypeVar("T")


def verb(function: Callable[Concatenate[View, P], T]) -> Callable[Concatenate[Engram, P], T]:
    """Return a method that calls a verb with the view of its `Engram`; signature and documentation are the verb's."""

    @wraps(function)
    def method(self: Engram, /, *args: P.args, **named: P.kwargs) -> T:
        return function(self._view, *args, **named)

    return method


class Engram:
    """An open vault as one reader sees it. Use it as a context manager, or call `close`."""

    def __init__(self, vault: OpenVault, reader: Reader, key: str | None = None) -> None:
        """vault: shared by all views of it. key: the idempotency key of the next write (`keyed`)."""
        self._vault = vault
        self._reader = reader
        self._view = View(vault, reader, key)

    def deadline(self, seconds: float | None) -> AbstractContextManager[Deadline]:
        """Limit the time of the calls in this block; past it they raise E2001 or E1005 and have changed nothing.

        Yields a `Deadline` that another thread may `cancel`; with None it can only be cancelled.
        """
        return deadline(seconds, self._vault.env.monotonic)

    # ── opening and closing ────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        reader: Reader | None = None,
        key: bytes | bytearray | str | None = None,
        ask: Ask | None = None,
        settings: Mapping[str, object] | None = None,
        env: Env | None = None,
        session: str | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        extractor: Extractor | None = None,
        llm: Callable[[str], str] | None = None,
        role: Role | str = Role.AGENT,
        tuning: Iterable[object] = (),
    ) -> Self:
        """Open the vault for a reader whose identity the caller has established. Most programs use `engram.open`.

        role: the role of the reader that the settings name, if no reader is passed. tuning: `Weights` and `Limits` of rooms,
        for benchmarks and tests (see `LiveSettings`).
        """
        reader_role = _role(role)
        vault = OpenVault(
            path,
            credentials_from(key, ask),
            settings=settings,
            env=env or Env(),
            session=session,
            embedder=embedder,
            reranker=reranker,
            extractor=extractor,
            llm=llm,
            tuning=tuning,
        )
        policy = Policy.ALL if reader_role is Role.OWNER else Policy(vault.live.now.policy)
        return cls(vault, reader or Reader(scope_of(vault.live.now), policy, reader_role))

    def close(self) -> None:
        """Finish queued writes, checkpoint the write-ahead log and wipe the keys. Closing twice is harmless."""
        self._vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engram {'closed' if self._vault.closed else 'open'} as {self._reader.role.value}>"

    def as_reader(self, reader: Reader) -> Self:
        """Return a view of the same open vault for another reader. For code that establishes identities, such as a server."""
        return type(self)(self._vault, reader)

    def keyed(self, key: str) -> Self:
        """Return a view whose next write is made once for this idempotency key: any operation, or a step of an episode.

        Repeated with the key by the same reader, in any process and within `receipt_hours`, the write is not made again but
        answered as the first time. The same key for another request raises E1010, and E1009 while the first is in progress.
        """
        check_idempotency_key(key)
        return type(self)(self._vault, self._reader, key)

    @property
    def reader(self) -> Reader:
        return self._reader

    @property
    def notice(self) -> str:
        """If opening made the vault: a sentence about where its key is and what losing it means; else ""."""
        return self._vault.notice

    @property
    def env(self) -> Env:
        """The clock, ids and randomness of this vault."""
        return self._vault.env

    @property
    def settings(self) -> LiveSettings:
        """The settings: values in force (`.now`), and changes at run time (`.set`)."""
        return self._vault.live

    # memories
    remember = verb(memories_verbs.remember)
    update = verb(memories_verbs.update)
    pin = verb(memories_verbs.pin)
    promote = verb(lifecycle_verbs.promote)
    demote = verb(lifecycle_verbs.demote)
    review = verb(lifecycle_verbs.review)
    forget = verb(memories_verbs.forget)
    restore = verb(memories_verbs.restore)
    relate = verb(edges_verbs.relate)
    backfill = verb(embeddings_verbs.backfill)
    get = verb(memories_verbs.get)
    list = verb(memories_verbs.list_)
    lacks_vector = verb(embeddings_verbs.lacks_vector)
    words = verb(memories_verbs.words)
    edges = verb(edges_verbs.edges)
    traverse = verb(edges_verbs.traverse)
    standing = verb(lifecycle_verbs.standing)
    boxes = verb(boxes_verbs.boxes)
    box = verb(boxes_verbs.box)
    versions = verb(memories_verbs.versions)
    status_history = verb(memories_verbs.status_history)

    # turns
    observe = verb(turns_verbs.observe)
    ingest = verb(turns_verbs.ingest)
    dropped = verb(turns_verbs.dropped)
    keep = verb(turns_verbs.keep)
    begin = verb(turns_verbs.begin)

    # recall and feedback
    recall = verb(recall_verbs.recall)
    explain = verb(recall_verbs.explain)
    reason = verb(recall_verbs.reason)
    warm = verb(recall_verbs.warm)
    feedback = verb(feedback_verbs.feedback)

    # context and working memory
    context = verb(context_verbs.context)
    resume = verb(working_verbs.resume)
    morning = verb(working_verbs.morning)

    @property
    def working(self) -> Working:
        """Working memory of the reader's scope: its slots, `attend`, `hear`, `tick`, `export`, `suspend`, `checkpoint`."""
        return working_verbs.working(self._view)

    # entities and facts
    entity = verb(entities_verbs.entity)
    entities = verb(entities_verbs.entities)
    timeline = verb(entities_verbs.timeline)
    decide_entity = verb(entities_verbs.decide_entity)
    undo_entity_decision = verb(entities_verbs.undo_entity_decision)
    entity_decisions = verb(entities_verbs.entity_decisions)
    learn = verb(facts_verbs.learn)
    unlearn = verb(facts_verbs.unlearn)
    beliefs = verb(facts_verbs.beliefs)
    path = verb(facts_verbs.path)

    # what is known
    gaps = verb(gaps_verbs.gaps)

    @overload
    def knows(self, subject: str, *, limit: int = 20, now: datetime | None = None) -> Knowledge: ...

    @overload
    def knows(self, subject: None = None, *, limit: int = 20, now: datetime | None = None) -> KnowledgeMap: ...

    def knows(self, subject: str | None = None, *, limit: int = 20, now: datetime | None = None) -> Knowledge | KnowledgeMap:
        """Return how well a subject, or the answer to a question, is known: confident, uncertain or unknown, and why.

        Without a subject: the map of what is known, as names and categories that several memories have, at most `limit`.
        """
        return knowledge_verbs.knows(self._view, subject, limit=limit, now=now)

    # episodes and skills
    episode = verb(episodes_verbs.episode)
    episodes = verb(episodes_verbs.episodes)
    skills = verb(skills_verbs.skills)
    learn_skills = verb(skills_verbs.learn_skills)
    practise = verb(skills_verbs.practise)
    warnings = verb(skills_verbs.warnings)

    # background passes
    consolidate = verb(dreams_verbs.consolidate)
    dream = verb(dreams_verbs.dream)
    undo_dream = verb(dreams_verbs.undo_dream)
    dreams = verb(dreams_verbs.dreams)

    # files
    export = verb(files_verbs.export)
    import_ = verb(files_verbs.import_)

    # the vault itself
    encoder = verb(models_verbs.encoder)
    language = verb(models_verbs.language)
    backup = verb(backups_verbs.backup)
    backups = verb(backups_verbs.backups)
    health = verb(health_verbs.health)
    doctor = verb(health_verbs.doctor)
    check = verb(health_verbs.check)
    audit = verb(audit_verbs.audit)
    purge = verb(erasure_verbs.purge)
    grant = verb(access_tokens_verbs.grant)
    tokens = verb(access_tokens_verbs.tokens)
    revoke = verb(access_tokens_verbs.revoke)
    holder = verb(access_tokens_verbs.holder)
    events = verb(changes_verbs.events)
    ration = verb(limits_verbs.ration)
    release = verb(limits_verbs.release)
    coarse = verb(limits_verbs.coarse)
    sound = verb(limits_verbs.sound)


def scope_of(settings: Settings) -> Scope:
    """Return the scope that the settings name."""
    return Scope(settings.project, settings.squad, settings.agent, settings.channel, settings.user)


def _role(given: Role | str) -> Role:
    try:
        return Role(given)
    except ValueError:
        raise ConfigInvalid("there is no such role.", way_out=f"Use one of {', '.join(Role)}.") from None


def open_engram(
    path: str | Path | None = None,
    *,
    agent: str | None = None,
    project: str | None = None,
    squad: str | None = None,
    channel: str | None = None,
    user: str | None = None,
    session: str | None = None,
    key: bytes | bytearray | str | None = None,
    settings: Mapping[str, object] | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    extractor: Extractor | None = None,
    llm: str | Callable[[str], str] | None = None,
    clock: Callable[[], datetime] | None = None,
    role: Role | str = Role.AGENT,
) -> Engram:
    """Open the vault at `path` (else `ENGRAM_HOME`, the setting `home`, or the platform's data folder); it is made if missing.

    agent, project, squad, channel, user: the identity of this program, which decides what it sees and where it writes.
    key: the vault's key as 32 bytes or recovery text, if it is not in the keychain, a key file or under a passphrase.
    llm: a language model that reads turns besides the rules: `ollama:NAME` or `openai:NAME` as in the settings, or any
    function from a prompt to text. extractor: any function from turns to statements (`engram.Extracted`).
    settings: values that override the configuration file and the environment. clock: the time in tests.
    role: `owner` sees the whole vault and may do everything, such as `purge`, `backup`, `audit` and a trusted `import_`.
    Anyone who has the key may use that role.
    """
    names = {"agent": agent, "project": project, "squad": squad, "channel": channel, "user": user}
    names["llm"] = llm if isinstance(llm, str) else None
    given = {name: value for name, value in names.items() if value is not None}
    env = Env() if clock is None else replace(Env(), now=lambda: in_utc(clock()))
    if isinstance(llm, str):
        check_name(llm)
    return Engram.open(
        path,
        key=key,
        settings={**(settings or {}), **given},
        env=env,
        session=session,
        embedder=embedder,
        reranker=reranker,
        extractor=extractor,
        llm=None if isinstance(llm, str) else llm,
        role=role,
    )
