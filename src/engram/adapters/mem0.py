"""mem0's `Memory` and `AsyncMemory` over Engram: `from engram.adapters.mem0 import Memory`, and the rest of a program stays.

    m = Memory()
    m.add("I prefer aisle seats", user_id="alice")
    m.search("where does she sit?", filters={"user_id": "alice"}, top_k=3)["results"]

Both ways of calling are taken: ids as arguments, or in `filters`; `limit` or `top_k`; `data` or `text`. A user, an agent and a
run are the scope of a memory (user, agent, channel); all that comes through here lies in a project of its own, named like the
collection of mem0, so that `reset` leaves the rest of a vault alone. What is deleted is archived, so that its `history` stays;
`reset` erases. What is added twice in the same words is one memory, with the metadata of both. No language model is needed; one
that the configuration names is used.

What a configuration of mem0 says, in Engram's terms: where the vault is, and which models are used.
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
from engram.store.ports import Filter
from engram.types import Kind, Outcome, Policy, Reader, Recall, Role, Scope, Status, Turn
from engram.types import Memory as Kept

_ENDPOINTS = ("openai", "ollama")
_TEMPORARY = "/tmp/qdrant"  # noqa: S108  where mem0 keeps what it was told no place for


def place(path: object) -> Path | None:
    """The folder that a configuration names, if it is free or ours; a new one beside it if another program's database is there,
    which mem0 removes with all it holds; none if it names none."""
    if path is None or str(path) == _TEMPORARY:
        return None
    folder = Path(str(path)).expanduser()
    taken = folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not VaultFolder(folder).exists())
    return folder.with_name(f"{folder.name}-engram") if taken else folder


def settings_of(config: Mapping[str, Any]) -> dict[str, object]:
    """Engram's settings for what a mem0 configuration says of models. Of providers that are unknown here nothing is taken:
    the bundled encoder and the rules do their work. A key in it is never used; keys are in the environment."""
    made: dict[str, object] = {}
    for name, setting, url, key in (
        ("llm", "llm", "llm_url", "llm_key_env"),
        ("embedder", "model", "embed_url", "embed_key_env"),
    ):
        provider = str((config.get(name) or {}).get("provider") or "")
        given = section(config, name)
        if provider in _ENDPOINTS and given.get("model"):
            made[setting] = f"{provider}:{given['model']}"
            made |= {url: given[f"{provider}_base_url"]} if given.get(f"{provider}_base_url") else {}
            made |= {key: "OPENAI_API_KEY"} if provider == "openai" else {}
    return made


def plain(config: Any) -> dict[str, Any]:
    """A configuration as a dictionary: it may be one, or mem0's own `MemoryConfig`."""
    with warnings.catch_warnings(action="ignore"):  # its parts are of other types than it says
        return dict(config.model_dump() if hasattr(config, "model_dump") else config or {})


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = (config.get(name) or {}).get("config") or {}
    return found if isinstance(found, Mapping) else {}


log = logging.getLogger("engram")

_COLLECTION = "mem0"
_PAGE = 500
_WIDEST = 1000  # hits that are looked through for those that pass a filter
_UNSET: Any = object()
_NO_NEW_RELATIONS: Mapping[str, list[Any]] = {"deleted_entities": [], "added_entities": []}
_ROOM: dict[str, object] = {"content_bytes": 65_536, "summary_bytes": 16_384}
"""mem0 has no limits of its own for texts and metadata: its encoders end at about so much."""


class Memory:
    """mem0's synchronous class. `path`, `key` and `settings` are Engram's own and may be left out."""

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
        where = path if path is not None else place(store.get("path"))
        self.collection_name = self._project = str(store.get("collection_name") or _COLLECTION)
        self.enable_graph = bool(section(self.config, "graph_store"))
        owner = Reader(Scope(project=self._project), Policy.ALL, Role.OWNER)
        given = {**_ROOM, **settings_of(self.config), **(settings or {})}
        self._mem = Engram.open(where, reader=owner, key=key, settings=given, env=self._env, **engine)

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
        """Keep what these messages say; with `infer=False`, each as it stands. One of the ids is needed, and not in metadata.

        timestamp: when it was said, if not now. prompt, llm: for writing by a model of one's own, which is not needed here.
        """
        given = _ids(user_id, agent_id, run_id, filters or {})
        here = self._at(given)
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
            kept = [here.remember(text, kind=Kind.SKILL, category="skill", attributes=attributes)]
        elif infer:
            kept = [one for one in map(here.get, here.observe(*turns).ids) if one is not None]
            if attributes:
                kept = [_changed(here, one, attributes) for one in kept]
        else:
            return self._shaped([_verbatim(here, turn, attributes) for turn in turns], _NO_NEW_RELATIONS)
        return self._shaped([{"id": one.id, "memory": one.text, "event": "ADD"} for one in kept], _NO_NEW_RELATIONS)

    def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> Item:
        """Change its words, its metadata (by name), or both."""
        words = data if text is None else text
        if words is None and metadata is None and expiration_date is _UNSET:
            raise ValueError("At least one of text, metadata, or expiration_date must be provided.")
        named = shapes.attributes_of(metadata)
        day = "" if expiration_date is _UNSET or expiration_date is None else _day(expiration_date)
        dropped = () if expiration_date is _UNSET else (EXPIRES,)
        old = self._mem.get(memory_id)
        if old is None or not self._own(old.scope) or old.status is not Status.ACTIVE:
            raise ValueError(f"Memory with id {memory_id} not found")
        _changed(self._mem, old, {**named, **({EXPIRES: day} if day else {})}, dropped, words)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Item:
        found = self.get(memory_id)
        if found is None:
            raise ValueError(f"Memory with id {memory_id} not found")
        self._mem.forget(memory_id, reason="deleted")
        return {"message": "Memory deleted successfully!"}

    def delete_all(
        self, user_id: str | int | None = None, agent_id: str | int | None = None, run_id: str | int | None = None
    ) -> Item:
        given = _ids(user_id, agent_id, run_id, {})
        while ids := [memory.id for memory in self._mem.list(limit=_PAGE, filters=self._where(given))]:
            self._mem.forget(*ids, reason="deleted")
        return {"message": "Memories deleted successfully!"}

    def reset(self) -> None:
        """Erase all that ever came through here, whoever it belongs to: what was said, too, of which nothing was kept."""
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
        **beside: Any,
    ) -> Any:
        """What answers, best first, with a score from 0 to 1. A reranker is used if the settings name one.

        reference_date: what "last week" in the question is seen from. beside: `version` and the like, which mean nothing to mem0
        either.
        """
        _check_question(query, threshold)
        given, rest = _ids(user_id, agent_id, run_id, filters or {}), _rest(filters)
        most = _count(limit, top_k, 100 if top_k is None and filters is None else 20)
        if not most:
            return self._shaped([])
        now, where = shapes.moment_of(reference_date), self._where(given, rest)

        def ask(asked: int) -> tuple[Recall, list[Item]]:
            hits = self._mem.recall(query, limit=asked, filters=where, explain=explain, now=now)
            shown = ((hit, shapes.item(hit.memory, round(min(max(hit.score, 0.0), 1.0), 6))) for hit in hits)
            return hits, [
                one | ({"score_details": shapes.details(hit, one["score"], threshold)} if explain else {})
                for hit, one in shown
                if (threshold is None or one["score"] >= threshold) and self._passes(one, rest, show_expired)
            ]

        first = min(most * 4 + 20, _WIDEST)
        hits, found = ask(first)
        if len(found) < most and len(hits) >= first < _WIDEST:  # what is left out makes place for what is further away
            hits, found = ask(_WIDEST)
        if not found and hits.outcome is Outcome.DEGRADED:  # a list cannot say that it might have been longer
            log.warning("a search found nothing, and not everything could be searched: %s", "; ".join(hits.notes))
        return self._shaped(found[:most])

    def get(self, memory_id: str) -> Item | None:
        found = self._mem.get(memory_id)
        gone = found is None or not self._own(found.scope) or found.status is not Status.ACTIVE
        return None if gone or found is None else {**shapes.item(found), "score": None}

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
        **beside: Any,
    ) -> Any:
        """All of a user, an agent, a run; newest first. `beside`: as for `search`."""
        given, rest = _ids(user_id, agent_id, run_id, filters or {}), _rest(filters)
        most = _count(limit, top_k, 100 if filters is None else 20)
        found: list[Item] = []
        for one in self._each(self._where(given, rest)):
            if len(found) >= most:
                break
            if self._passes(one, rest, show_expired):
                found.append(one)
        return self._shaped(found)

    def history(self, memory_id: str) -> list[Item]:
        """How it came to be what it is: ADD, UPDATE, DELETE; oldest first."""
        found = self._mem.get(memory_id)
        if found is None or not self._own(found.scope):
            return []
        try:
            return shapes.history(found, self._mem.versions(memory_id), self._mem.status_history(memory_id))
        except NotFound:  # erased meanwhile
            return []

    def chat(self, query: str) -> Any:
        raise NotImplementedError("Chat is not implemented, as it is not by mem0: search, and give what is found to a model.")

    def close(self) -> None:
        self._mem.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # ── between the two ────────────────────────────────────────────────────────────────────────────────────────────

    def _at(self, given: Mapping[str, str]) -> Engram:
        """The vault as it is written from there: exactly that scope, and nothing else."""
        return self._mem.as_reader(Reader(self._scope(given), Policy.OWN, Role.OWNER))

    def _scope(self, given: Mapping[str, str]) -> Scope:
        user, agent, run = (given.get(name, "") for name in IDS)
        return Scope(project=self._project, agent=agent, channel=run, user=user)

    def _where(self, given: Mapping[str, str], rest: Mapping[str, Any] | None = None) -> Filter:
        return Filter(scope=self._scope(given), attributes=shapes.exact(rest or {}) or None)

    def _own(self, scope: Scope) -> bool:
        return scope.project == self._project

    def _each(self, where: Filter) -> Iterator[Item]:
        cursor: str | None = None
        while True:
            page = self._mem.list(limit=_PAGE, cursor=cursor, filters=where)
            yield from map(shapes.item, page)
            cursor = page.cursor
            if cursor is None:
                return

    def _passes(self, shown: Item, rest: Mapping[str, Any], expired_too: bool) -> bool:
        today = self._env.now().date().isoformat()
        return (expired_too or str(shown.get(EXPIRES, "9999")) >= today) and shapes.matches(shown, rest)

    def _shaped(self, results: list[Item], relations: Any = ()) -> Any:
        """With the place where a program with a graph looks for relations; what is known of whom is Engram's `beliefs`."""
        if self.api_version == "v1.0" and not self.enable_graph:
            return results
        return {"results": results} | ({"relations": relations or []} if self.enable_graph else {})


class AsyncMemory:
    """mem0's class for programs that await. The vault is opened by the first call, in a thread."""

    def __init__(self, config: Any = None, **engine: Any) -> None:
        self._make: Callable[[], Memory] = lambda: Memory(config, **engine)
        self._made: Memory | None = None
        self._closed = False
        self._making = threading.Lock()
        self._threads = Threads(8)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any], **engine: Any) -> Self:
        return cls(config_dict, **engine)

    def __await__(self) -> Generator[Any, None, Self]:
        """Itself: mem0's own `from_config` is awaited."""
        return self.__aenter__().__await__()

    def _sync(self) -> Memory:
        with self._making:
            if self._made is None:
                if self._closed:
                    raise StorageError("this memory is closed.", way_out="Make another one.")
                self._made = self._make()
            return self._made

    add = Verb(Memory.add)
    search = Verb(Memory.search)
    get = Verb(Memory.get)
    get_all = Verb(Memory.get_all)
    update = Verb(Memory.update)
    delete = Verb(Memory.delete)
    delete_all = Verb(Memory.delete_all)
    history = Verb(Memory.history)
    reset = Verb(Memory.reset)
    chat = Verb(Memory.chat)

    def close(self) -> None:
        with self._making:
            self._closed = True
        self._threads.end()
        if self._made is not None:
            self._made.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await in_own_thread(self.close)  # it waits for what was begun, and the loop may have other things to do


def _changed(mem: Engram, old: Kept, named: Mapping[str, str], dropped: Sequence[str] = (), text: str | None = None) -> Kept:
    """A memory with these attributes besides those that it has. Whoever was faster keeps theirs: it is read anew."""
    found: Kept | None = old
    while found is not None:
        attributes = {name: value for name, value in found.attributes.items() if name not in dropped} | dict(named)
        changed = attributes if attributes != dict(found.attributes) else None
        try:
            return mem.update(found.id, text=text, attributes=changed, unchanged_since=found.updated_at)
        except Conflict:
            found = mem.get(old.id)
    raise NotFound("this memory was erased meanwhile.")


def _verbatim(here: Engram, turn: Turn, attributes: Mapping[str, str]) -> Item:
    """A message as it stands, with who said it."""
    role, actor = shapes.said_by(turn.speaker)
    kept = here.remember(turn.text, attributes={**attributes, **_who(role, actor)}, happened_at=turn.at)
    return {"id": kept.id, "memory": kept.text, "event": "ADD", "actor_id": actor, "role": role}


def _who(role: str, actor: str | None) -> dict[str, str]:
    return {"role": role} if actor is None else {"role": role, "actor_id": actor}


# ── arguments ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check_question(query: object, threshold: object) -> None:
    if not isinstance(query, str) or not query.strip():
        raise ValueError("query must be a text that is not empty")
    if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
        raise ValueError("threshold must be a number from 0 to 1")


def _ids(user_id: object, agent_id: object, run_id: object, filters: Mapping[str, Any]) -> dict[str, str]:
    """The ids that were given one way or the other; at least one is needed, and each means itself."""
    among = shapes.together(filters)
    found: dict[str, str] = {}
    for name, argument in zip(IDS, (user_id, agent_id, run_id), strict=True):
        for value in (argument, *(one.get(name) for one in among)):
            if value is None:
                continue
            if isinstance(value, Mapping | list | tuple) or value == "*":
                raise ValueError(f"{name} must be one text, without operators: ask once for each that you mean")
            meant = str(value).strip()  # often the number of a row
            if not meant:
                raise ValueError(f"{name} must be a text that is not empty")
            if found.setdefault(name, meant) != meant:
                raise ValueError(f"{name} is given twice, and not the same")
    if not found:
        beside = ", beside OR and NOT" if any(name.strip("$").upper() in ("OR", "NOT") for name in filters) else ""
        raise ValueError(f"At least one of 'user_id', 'agent_id' or 'run_id' must be provided{beside}")
    return found


def _rest(filters: Mapping[str, Any] | None) -> dict[str, Any]:
    """What is left to hold results against, once the ids are part of the question."""
    return {name: value for name, value in (filters or {}).items() if name not in IDS}


def _count(limit: int | None, top_k: int | None, default: int) -> int:
    most: Any = top_k if top_k is not None else limit if limit is not None else default
    if not isinstance(most, int | float) or isinstance(most, bool) or most < 0 or most != int(most):
        raise ValueError("top_k must be a whole number from 0")
    return int(most)


def _day(value: object) -> str:
    """A date as mem0 writes one."""
    try:
        return (value if isinstance(value, date) else date.fromisoformat(str(value)[:10])).isoformat()[:10]
    except ValueError:
        raise ValueError("expiration_date must be a date in YYYY-MM-DD format") from None
