"""Talk that was ingested later: a store knows it from when it was said, with the status that it had then."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from store.contract.engines import ME, SPACE, draft

from engram.env import Env
from engram.store.ports import Store
from engram.types import Memory, Replacement, Status, Turn
from engram.values.query import Filter

DAYS = timedelta(days=1)


def _ingest(store: Store, env: Env) -> tuple[Memory, Memory]:
    """Store two turns at once, said 90 and 60 days ago; the second may replace what the first says."""
    texts = "The API runs on Heroku", "The API runs on Fly.io now"
    turns = [Turn(text, at=env.now() - days * DAYS, session="s") for text, days in zip(texts, (90, 60), strict=True)]
    drafts = [draft(texts[0], 0), replace(draft(texts[1], 1), replaces=(Replacement(0, sure=False, reason="said anew"),))]
    first, second = store.capture.write(ME, ME.scope, turns, drafts, space=SPACE)
    return first, second


def test_a_memory_is_known_from_when_it_was_said(store: Store, env: Env) -> None:
    first, second = _ingest(store, env)
    known = {
        days: store.memories.keys_having(ME, Filter(as_of=env.now() - days * DAYS, statuses=(Status.ACTIVE,)))
        for days in (100, 80, 50)
    }
    assert known == {100: [], 80: [first.key], 50: [second.key]}


def test_a_memory_is_challenged_from_when_its_rival_was_said(store: Store, env: Env) -> None:
    first, _ = _ingest(store, env)
    assert store.memories.get(ME, [first.id])[0].status is Status.CHALLENGED
    then = env.now() - 80 * DAYS
    assert [memory.status for memory in store.memories.fetch(ME, [first.key], as_of=then)] == [Status.ACTIVE]
    assert [memory.status for memory in store.memories.page(ME, limit=9, where=Filter(as_of=then)).memories] == [Status.ACTIVE]
    change = store.memories.status_history(ME, first.id)[-1]
    assert (change.new, change.at) == (Status.CHALLENGED, env.now() - 60 * DAYS)


def test_what_a_person_does_counts_from_now(store: Store, env: Env) -> None:
    first, _ = _ingest(store, env)
    store.memories.set_status(ME, first.id, Status.ACTIVE, "still true")
    assert store.memories.status_history(ME, first.id)[-1].at == env.now()
    before = Filter(as_of=env.now() - DAYS, statuses=(Status.ACTIVE,))
    assert first.key not in store.memories.keys_having(ME, before)
