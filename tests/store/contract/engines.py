"""The engines that the contract is tried on, each opened through the door. Another engine joins by a line in ENGINES."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from store.vaults import CREDENTIALS

from engram.env import Env
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.open import open_store
from engram.store.ports import Store
from engram.types import Draft, Memory, Policy, Reader, Role, Scope, Space, Turn

OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
ME = Reader(Scope(agent="rex"))
OTHER = Reader(Scope(agent="zoe"))
SPACE = Space("words", "model", 2)


def sqlite(cipher: str) -> Callable[..., Store]:
    """Return a function that opens a vault with this cipher."""

    def opened(path: Path, env: Env, tuning: Iterable[object] = (), **settings: object) -> Store:
        live = LiveSettings({"cipher": cipher, **settings}, monotonic=env.monotonic, tuning=tuning)
        return open_store(path, live, env, MemoryRules(live), CREDENTIALS)[0]

    return opened


ENGINES: dict[str, Callable[..., Store]] = {"sqlite-aegis": sqlite("aegis"), "sqlite-sqlcipher": sqlite("sqlcipher")}


def vector(*numbers: float) -> bytes:
    """Return a stored vector: a scale, and one signed byte per dimension."""
    return struct.pack(f"<f{len(numbers)}b", 1.0, *numbers)


def draft(text: str, *sources: int, reader: Reader = ME, **fields: Any) -> Draft:
    """Return a memory that is to be stored, made from the turns of these places."""
    return Draft(memory=Memory(text=text, scope=reader.scope, **fields), turns=sources, vector=vector(1, 2))


def remember(store: Store, *texts: str, reader: Reader = ME, **fields: Any) -> list[Memory]:
    return store.memories.add(reader, [Memory(text=text, scope=reader.scope, **fields) for text in texts])


def say(store: Store, env: Env, *texts: str, session: str = "s", reader: Reader = ME, wait: bool = False) -> list[Memory]:
    """Store turns of a session and one memory from each."""
    turns = [Turn(text, "user", at=env.now(), session=session, ref=f"{session}:{text}") for text in texts]
    drafts = [draft(text, number, reader=reader) for number, text in enumerate(texts)]
    return store.capture.write(reader, reader.scope, turns, drafts, space=SPACE, wait=wait)
