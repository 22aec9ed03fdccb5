"""mem0's `Memory` and `AsyncMemory` over Engram: `from engram.adapters.mem0 import Memory`, and the rest of a program stays.

    m = Memory()
    m.add("I prefer aisle seats", user_id="alice")
    m.search("where does she sit?", filters={"user_id": "alice"}, top_k=3)["results"]

Both of mem0's calling conventions work: ids as arguments or in `filters`; `limit` or `top_k`; `data` or `text`. A user, an agent
and a run are the scope of a memory (user, agent, channel). All memories of this interface lie in a project of their own, named
like mem0's collection, so that `reset` leaves the rest of the vault alone. Deleting archives, so that the `history` remains;
`reset` erases. A text that is added twice is one memory, with the metadata of both. No language model is needed; one that mem0's
configuration names is used.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from engram.adapters import mem0_shapes as shapes
from engram.adapters.mem0_shapes import EXPIRES, IDS, Item
from engram.aio import Threads, Verb, in_own_thread
from engram.engine import Engram
from engram.env import Env
from engram.errors import Conflict, NotFound, StorageError
from engram.store.folder import VaultFolder
from engram.types import Kind, Outcome, Policy, Reader, Recall, Role, Scope, Turn
from engram.types import Memory as EngramMemory
from engram.values.memories import VALID
from engram.values.query import Filter

_ENDPOINTS = ("openai", "ollama")
_TEMPORARY = "/tmp/qdrant"  # noqa: S108  mem0's default


def place(path: object) -> Path | None:
    """Return the vault's folder for the path in a configuration, or None for mem0's default.

    If the folder holds another program's database, a folder beside it is used; mem0 itself would delete the database.
    """
    if path is None or str(path) == _TEMPORARY:
        return None
    folder = Path(str(path)).expanduser()
    taken = folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not VaultFolder(folder).exists())
    return folder.with_name(f"{folder.name}-engram") if taken else folder


def settings_of(config: Mapping[str, Any]) -> dict[str, object]:
    """Return Engram's settings for the models in a mem0 configuration.

    Unknown providers are ignored: the bundled encoder and the rules take their place. An API key in the configuration is never
    used; keys come from the environment.
    """
    settings: dict[str, object] = {}
    for name, setting, url, key in (
        ("llm", "llm", "llm_url", "llm_key_env"),
        ("embedder", "model", "embed_url", "embed_key_env"),
    ):
        provider = str((config.get(name) or {}).get("provider") or "")
        given = section(config, name)
        if provider in _ENDPOINTS and given.get("model"):
            settings[setting] = f"{provider}:{given['model']}"
            settings |= {url: given[f"{provider}_base_url"]} if given.get(f"{provider}_base_url") else {}
            settings |= {key: "OPENAI_API_KEY"} if provider == "openai" else {}
    return settings


def plain(config: Any) -> dict[str, Any]:
    """Return a configuration, which may be a dictionary or mem0's own `MemoryConfig`, as a dictionary."""
    with warnings.catch_warnings(action="ignore"):  # pydantic warns that parts of mem0's are not of their declared types
        return dict(config.model_dump() if hasattr(config, "model_dump") else config or {})


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the `config` of a section of a mem0 configuration, or an empty mapping."""
    values = (config.get(name) or {}).get("config") or {}
    return values if isinstance(values, Mapping) else {}


log = logging.getLogger("engram")

_COLLECTION = "mem0"
_PAGE = 500
_WIDEST = 1000  # hits that are filtered at most
_UNSET: Any = object()
_NO_NEW_RELATIONS: Mapping[str, list[Any]] = {"deleted_entities": [], "added_entities": []}
_SIZE_LIMITS: dict[str, object] = {"content_bytes": 65_536, "summary_bytes": 16_384}
"""mem0 does not limit texts and metadata; its encoders read about this much."""


class Mem0Memory:
    """mem0's synchronous class, named `Memory` there. `path`, `key` and `settings` are Engram's own and optional."""

    def __init__(
        self,
        config: Any = None,
        *,
        path: str | Path | None = None,
        key: bytes | bytearray | str | None = None,
        settings: Mapping[str, object] | None = None,
        env: Env | None = None,
        **engine: Any,
    ) -> None:
        self._env = env or Env()
        self.config = plain(config)
        self.api_version = str(self.config.get("version") or "v1.1")
        store = section(self.config, "vector_store")
        folder = path if path is not None else place(store.get("path"))
        self.collection_name = self._project = str(store.get("collection_name") or _COLLECTION)
        self.enable_graph = bool(section(self.config, "graph_store"))
        owner = Reader(Scope(project=self._project), Policy.ALL, Role.OWNER)
        given = {**_SIZE_LIMITS, **settings_of(self.config), **(settings or {})}
        self._mem = Engram.open(folder, reader=owner, key=key, settings=given, env=self._env, **engine)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **engine: Any) -> Self:
        return cls(config_dict, **engine)

    # ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(
        self,
        messages: str | Mapping[str, Any] | list[dict[str, Any]],
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        infer: bool = True,
        memory_type: str | None = None,
        expiration_date: object = None,
        prompt: str | None = None,
        timestamp: object = None,
        llm: object = None,
    ) -> Any:
        """Store the statements of these messages; with `infer=False` each message verbatim. At least one id is required.

        timestamp: the time of the messages, if not now. prompt, llm: accepted and ignored.
        """
        given = _ids(user_id, agent_id, run_id, filters or {})
        here = self._writer(given)
        at = shapes.moment_of(timestamp)
        turns = shapes.turns_of(messages, given.get("run_id"), at)
        attributes = shapes.attributes_of(metadata)
        if expiration_date is not None:
            attributes[EXPIRES] = _day(expiration_date)
        if memory_type is not None:
            if memory_type != "procedural_memory":
                raise ValueError("Invalid 'memory_type'. Please pass procedural_memory to create procedural memories.")
            text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
            attributes["memory_type"] = memory_type
            stored = [here.remember(text, kind=Kind.SKILL, category="skill", attributes=attributes)]
        elif infer:
            stored = [memory for memory in map(here.get, here.observe(*turns).ids) if memory is not None]
            if attributes:
                stored = [_with_attributes(here, memory, attributes) for memory in stored]
        else:
            return self._shaped([_verbatim(here, turn, attributes) for turn in turns], _NO_NEW_RELATIONS)
        added = [{"id": memory.id, "memory": memory.text, "event": "ADD"} for memory in stored]
        return self._shaped(added, _NO_NEW_RELATIONS)

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> Item:
        """Change the text of a memory, its metadata (name by name), its expiration date, or several of these."""
        new_text = data if text is None else text
        if new_text is None and metadata is None and expiration_date is _UNSET:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        named = shapes.attributes_of(metadata)
        day = "" if expiration_date is _UNSET or expiration_date is None else _day(expiration_date)
        dropped = () if expiration_date is _UNSET else (EXPIRES,)
        old = self._mem.get(memory_id)
        if old is None or not self._own(old.scope) or old.status not in VALID:
            raise ValueError(f"Memory with id {memory_id} not found")
        _with_attributes(self._mem, old, {**named, **({EXPIRES: day} if day else {})}, dropped, new_text)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Item:
        """Archive a memory."""
        if self.get(memory_id) is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        self._mem.forget(memory_id, reason="deleted")
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | int | None = None, agent_id: str | int | None = None, run_id: str | int | None = None
    ) -> Item:
        """Archive all memories of a user, an agent or a run."""
        given = _ids(user_id, agent_id, run_id, {})
        while ids := [memory.id for memory in self._mem.list(limit=_PAGE, filters=self._filter(given))]:
            self._mem.forget(*ids, reason="deleted")
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Erase everything in this collection, whoever it belongs to, including messages of which no memory was stored."""
        self._mem.purge(project=self._project)

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def search(
        self,
        /,
        query: str,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int | None = None,
        filters: Mapping[str, Any] | None = None,
        threshold: float | None = None,
        *,
        top_k: int | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: object = None,
        show_expired: bool = False,
        **ignored: Any,
    ) -> Any:
        """Return the memories that answer a question, best first, with scores from 0 to 1. The settings choose a reranker.

        reference_date: the time from which "last week" in the question counts. ignored: `version` and other arguments that mem0
        accepts without effect, too.
        """
        _check_question(query, threshold)
        given, conditions = _ids(user_id, agent_id, run_id, filters or {}), _conditions(filters)
        most = _count(limit, top_k, 100 if top_k is None and filters is None else 20)
        if not most:
            return self._shaped([])
        now, store_filter = shapes.moment_of(reference_date), self._filter(given, conditions)

        def ask(limit: int) -> tuple[Recall, list[Item]]:
            hits = self._mem.recall(query, limit=limit, filters=store_filter, explain=explain, now=now)
            items = ((hit, shapes.item(hit.memory, round(min(max(hit.score, 0.0), 1.0), 6))) for hit in hits)
            return hits, [
                item | ({"score_details": shapes.details(hit, item["score"], threshold)} if explain else {})
                for hit, item in items
                if (threshold is None or item["score"] >= threshold) and self._passes(item, conditions, show_expired)
            ]

        first = min(most * 4 + 20, _WIDEST)
        hits, items = ask(first)
        if len(items) < most and len(hits) >= first < _WIDEST:  # conditions removed too many: ask for more
            hits, items = ask(_WIDEST)
        if not items and hits.outcome is Outcome.DEGRADED:  # mem0's empty list cannot say that the search was impaired
            log.warning("a search found nothing, and not everything could be searched: %s", "; ".join(hits.notes))
        return self._shaped(items[:most])

    def get(self, memory_id: str) -> Item | None:
        """Return a memory, or None if there is none of that id in this collection."""
        memory = self._mem.get(memory_id)
        if memory is None or not self._own(memory.scope) or memory.status not in VALID:
            return None
        return {**shapes.item(memory), "score": None}

    def get_all(
        self,
        /,
        user_id: str | int | None = None,
        agent_id: str | int | None = None,
        run_id: str | int | None = None,
        limit: int | None = None,
        *,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        show_expired: bool = False,
        **ignored: Any,
    ) -> Any:
        """Return all memories of a user, an agent or a run, newest first. ignored: as for `search`."""
        given, conditions = _ids(user_id, agent_id, run_id, filters or {}), _conditions(filters)
        most = _count(limit, top_k, 100 if filters is None else 20)
        passing: list[Item] = []
        for item in self._items(self._filter(given, conditions)):
            if len(passing) >= most:
                break
            if self._passes(item, conditions, show_expired):
                passing.append(item)
        return self._shaped(passing)

    def history(self, memory_id: str) -> list[Item]:
        """Return the events of a memory, oldest first: ADD, UPDATE, DELETE."""
        memory = self._mem.get(memory_id)
        if memory is None or not self._own(memory.scope):
            return []
        try:
            return shapes.history(memory, self._mem.versions(memory_id), self._mem.status_history(memory_id))
        except NotFound:  # erased since `get`
            return []

    def chat(self, query: str) -> Any:
        raise NotImplementedError("chat is not implemented, as in mem0: search, and give the results to a model.")

    def close(self) -> None:
        self._mem.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # ── scopes, filters and results ────────────────────────────────────────────────────────────────────────────────

    def _writer(self, given: Mapping[str, str]) -> Engram:
        """Return the vault for writing to exactly the scope of these ids."""
        return self._mem.as_reader(Reader(self._scope(given), Policy.OWN, Role.OWNER))

    def _scope(self, given: Mapping[str, str]) -> Scope:
        user, agent, run = (given.get(name, "") for name in IDS)
        return Scope(project=self._project, agent=agent, channel=run, user=user)

    def _filter(self, given: Mapping[str, str], conditions: Mapping[str, Any] | None = None) -> Filter:
        return Filter(scope=self._scope(given), attributes=shapes.exact(conditions or {}) or None)

    def _own(self, scope: Scope) -> bool:
        return scope.project == self._project

    def _items(self, store_filter: Filter) -> Iterator[Item]:
        """Iterate over the memories that a filter of the store lets through, newest first."""
        cursor: str | None = None
        while True:
            page = self._mem.list(limit=_PAGE, cursor=cursor, filters=store_filter)
            yield from map(shapes.item, page)
            cursor = page.cursor
            if cursor is None:
                return

    def _passes(self, item: Item, conditions: Mapping[str, Any], show_expired: bool) -> bool:
        today = self._env.now().date().isoformat()
        return (show_expired or str(item.get(EXPIRES, "9999")) >= today) and shapes.matches(item, conditions)

    def _shaped(self, results: list[Item], relations: Any = ()) -> Any:
        """Return results in the shape of mem0's API version, with an empty list of relations if its graph is enabled.

        Engram's own relations are `beliefs`, which mem0's interface has no call for.
        """
        if self.api_version == "v1.0" and not self.enable_graph:
            return results
        return {"results": results} | ({"relations": relations or []} if self.enable_graph else {})


Memory = Mem0Memory
"""mem0's name for the class."""


class AsyncMemory:
    """mem0's class for programs that await. The first call opens the vault, in a thread."""

    def __init__(self, config: Any = None, **engine: Any) -> None:
        self._open: Callable[[], Mem0Memory] = lambda: Mem0Memory(config, **engine)
        self._opened: Mem0Memory | None = None
        self._closed = False
        self._opening = threading.Lock()
        self._threads = Threads(8)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **engine: Any) -> Self:
        return cls(config_dict, **engine)

    def __await__(self) -> Generator[Any, None, Self]:
        """Return itself: mem0's own `from_config` is awaited."""
        return self.__aenter__().__await__()

    def _sync(self) -> Mem0Memory:
        with self._opening:
            if self._opened is None:
                if self._closed:
                    raise StorageError("this memory is closed.", way_out="Make another one.")
                self._opened = self._open()
            return self._opened

    add = Verb(Mem0Memory.add)
    search = Verb(Mem0Memory.search)
    get = Verb(Mem0Memory.get)
    get_all = Verb(Mem0Memory.get_all)
    update = Verb(Mem0Memory.update)
    delete = Verb(Mem0Memory.delete)
    delete_all = Verb(Mem0Memory.delete_all)
    history = Verb(Mem0Memory.history)
    reset = Verb(Mem0Memory.reset)
    chat = Verb(Mem0Memory.chat)

    def close(self) -> None:
        """Wait for running calls and close the vault."""
        with self._opening:
            self._closed = True
        self._threads.end()
        if self._opened is not None:
            self._opened.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await in_own_thread(self.close)  # waits for running calls, which would block the loop


def _with_attributes(
    mem: Engram, old: EngramMemory, added: Mapping[str, str], dropped: Sequence[str] = (), text: str | None = None
) -> EngramMemory:
    """Change attributes and text of a memory; after a concurrent change, read it again and retry, so that both are kept."""
    memory: EngramMemory | None = old
    while memory is not None:
        attributes = {name: value for name, value in memory.attributes.items() if name not in dropped} | dict(added)
        changed = attributes if attributes != dict(memory.attributes) else None
        try:
            return mem.update(memory.id, text=text, attributes=changed, unchanged_since=memory.updated_at)
        except Conflict:
            memory = mem.get(old.id)
    raise NotFound("this memory was erased meanwhile.")


def _verbatim(here: Engram, turn: Turn, attributes: Mapping[str, str]) -> Item:
    """Store a message as it is, with its speaker."""
    role, actor = shapes.role_and_actor(turn.speaker)
    memory = here.remember(turn.text, attributes={**attributes, **_speaker(role, actor)}, happened_at=turn.at, whole=True)
    return {"id": memory.id, "memory": memory.text, "event": "ADD", "actor_id": actor, "role": role}


def _speaker(role: str, actor: str | None) -> dict[str, str]:
    return {"role": role} if actor is None else {"role": role, "actor_id": actor}


# ── arguments ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_question(query: object, threshold: object) -> None:
    if not isinstance(query, str) or not query.strip():
        raise ValueError("query must be a text that is not empty")
    if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
        raise ValueError("threshold must be a number from 0 to 1")


def _ids(user_id: object, agent_id: object, run_id: object, filters: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids given as arguments or in filters; raise `ValueError` without any, for operators and for contradictions."""
    conjunction = shapes.conjunction(filters)
    ids: dict[str, str] = {}
    for name, argument in zip(IDS, (user_id, agent_id, run_id), strict=True):
        for value in (argument, *(part.get(name) for part in conjunction)):
            if value is None:
                continue
            if isinstance(value, Mapping | list | tuple) or value == "*":
                raise ValueError(f"{name} must be one text, without operators: make one call for each id")
            text = str(value).strip()  # callers often pass the number of a database row
            if not text:
                raise ValueError(f"{name} must be a text that is not empty")
            if ids.setdefault(name, text) != text:
                raise ValueError(f"{name} is given twice, with different values")
    if not ids:
        beside = ", beside OR and NOT" if any(name.strip("$").upper() in ("OR", "NOT") for name in filters) else ""
        raise ValueError(f"At least one of 'user_id', 'agent_id' or 'run_id' must be provided{beside}")
    return ids


def _conditions(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the filters without the ids, which become the scope of the query."""
    return {name: value for name, value in (filters or {}).items() if name not in IDS}


def _count(limit: int | None, top_k: int | None, default: int) -> int:
    most: Any = top_k if top_k is not None else limit if limit is not None else default
    if not isinstance(most, int | float) or isinstance(most, bool) or most < 0 or most != int(most):
        raise ValueError("top_k must be a whole number from 0")
    return int(most)


def _day(value: object) -> str:
    """Return a date in mem0's format, YYYY-MM-DD."""
    try:
        return (value if isinstance(value, date) else date.fromisoformat(str(value)[:10])).isoformat()[:10]
    except ValueError:
        raise ValueError("expiration_date must be a date in YYYY-MM-DD format") from None
