"""The verbs of memories: remember, change, forget, read and list them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from engram.capture.reports import report_from_text, report_to_text
from engram.errors import InvalidContent, InvalidQuery
from engram.log import Log
from engram.recall.unknown_names import unknown_names
from engram.store.receipts import ReceiptRequest
from engram.types import Kind, Memory, Page, Report, Scope, Sensitivity, Source, Status, StatusChange, Turn, Version
from engram.values.frozen import replace
from engram.values.memories import VALID
from engram.values.query import Filter
from engram.verbs.view import View, id_of, ids_of

log = Log("engram")

_IMPORTANCE = 0.5
_CONFIDENCE = 0.8  # as for a learned fact: a caller who asks to remember a statement means it

_FLAGGED = (
    "%s reads as an attack on the model: stored, but left out of answers until `update` clears it (flagged=False, --no-flagged)."
)


def _tier(given: Sensitivity | str | None) -> Sensitivity | None:
    try:
        return None if given is None else Sensitivity(given)
    except ValueError:
        raise InvalidContent("unknown tier.", way_out=f"Use one of {', '.join(Sensitivity)}.") from None


def _between_0_and_1(importance: float) -> float:
    """Return the importance within its range. The store refuses a value that is no number."""
    return min(max(importance, 0.0), 1.0) if isinstance(importance, int | float) else importance  # type: ignore[redundant-expr]


def remember(
    view: View,
    text: str,
    *,
    kind: Kind = Kind.PROPOSITION,
    category: str = "fact",
    importance: float | None = None,
    source: Source = Source.USER,
    scope: Scope | None = None,
    happened_at: datetime | None = None,
    attributes: Mapping[str, str] | None = None,
    tier: Sensitivity | str | None = None,
    timeout: float | None = None,
    whole: bool = False,
) -> Memory:
    """Store a statement, durably, in the reader's scope or in `scope`. A statement that is stored already is corroborated.

    A text of several statements becomes several memories: the answer is the first, and `others` holds the rest.
    whole: store the text as one memory.

    importance: from 0 to 1; by default 0.5, which novelty raises.
    tier: its protection (`cleartext`, `sensitive`, `confidential`); by default its words decide.
    A text that reads as an attack on the model is stored as `flagged`, logged, and left out of answers.
    """
    draft = Memory(
        text=text,
        kind=kind,
        category=category,
        importance=_IMPORTANCE if importance is None else _between_0_and_1(importance),
        confidence=_CONFIDENCE,
        source=source,
        scope=view.reader.scope if scope is None else scope,
        happened_at=happened_at,
        happened_until=happened_at,
        attributes={} if attributes is None else attributes,
    )
    protection = _tier(tier)
    weigh = importance is None
    whole = whole or kind is Kind.SKILL
    write = partial(
        view.vault.observer.remember_statements, view.reader, draft, timeout=timeout, tier=protection, weigh=weigh, whole=whole
    )
    memory = view.write_once(("remember", draft, protection, whole), write, ids_of, view.stored_together)
    for one in (memory, *memory.others):
        if one.flagged:
            log.warning(_FLAGGED, one.id)
    return memory


def update(
    view: View,
    memory_id: str,
    *,
    text: str | None = None,
    importance: float | None = None,
    attributes: Mapping[str, str] | None = None,
    tier: Sensitivity | str | None = None,
    flagged: bool | None = None,
    unchanged_since: datetime | None = None,
) -> Memory:
    """Change a memory; earlier wordings stay as `versions`. attributes: replace all that it has.

    tier: its protection (`cleartext`, `sensitive`, `confidential`).
    flagged: True if it counts as an attack on the model and is left out of answers.
    unchanged_since: the `updated_at` that it was read with; if it has changed since, nothing is written (`Conflict`).
    """
    given = {
        "text": text,
        "importance": None if importance is None else _between_0_and_1(importance),
        "attributes": attributes,
        "flagged": flagged,
        "tier": _tier(tier),
    }
    changes = {name: value for name, value in given.items() if value is not None}
    write = partial(view.vault.observer.update, view.reader, memory_id, changes, since=unchanged_since)
    return view.write_once(("update", memory_id, changes), write, id_of, view.stored)


def pin(view: View, memory_id: str, pinned: bool = True) -> Memory:
    """Protect a memory from fading and from automatic archiving, or with `pinned=False` end that."""
    write = partial(view.vault.store.memories.update, view.reader, memory_id, {"pinned": pinned})
    return view.write_once(("pin", memory_id, pinned), write, id_of, view.stored)


def forget(
    view: View,
    *ids: str,
    erase: bool = False,
    dry_run: bool = False,
    reason: str = "forgotten on request",
    unchanged_since: datetime | None = None,
) -> Report:
    """Archive memories (`restore` undoes it), or with `erase` remove every trace of them for good.

    Erasing cannot be undone. With `dry_run` the report only counts the rows that would go, by table.
    """
    name, since, store = "erase" if erase else "forget", unchanged_since, view.vault.store
    if dry_run:
        if not erase:
            raise InvalidQuery("only erasing has a dry run: an archived memory can be restored.", way_out="Add `erase=True`.")
        return store.erasure.erase(view.reader, ids, since=since, dry_run=True)

    if erase:
        write = partial(store.erasure.erase, view.reader, ids, since=since)
        after = partial(view.vault.working_sets.forget, view.reader)
        return view.write_once((name, ids, reason), write, report_to_text, report_from_text, after)
    write = partial(store.memories.archive, view.reader, ids, reason, since=since)
    return view.write_once((name, ids, reason), write, report_to_text, report_from_text)


def restore(view: View, memory_id: str) -> Memory:
    """Return an archived memory to the active ones. One that was corrected since is refused; `review` confirms it."""
    write = partial(_restore, view, memory_id)
    return view.write_once(("restore", memory_id), write, id_of, view.stored)


def _restore(view: View, memory_id: str, *, receipt: ReceiptRequest | None) -> Memory:
    view.vault.observer.refuse_corrected(view.reader, memory_id)
    return view.vault.store.memories.set_status(view.reader, memory_id, Status.ACTIVE, "restored on request", receipt=receipt)


def get(view: View, memory_id: str) -> Memory | None:
    """Return the memory, or None if there is none of that id that this identity may see."""
    memories = view.vault.store.memories.get(view.reader, [memory_id])
    return memories[0] if memories else None


def list_(
    view: View,
    *,
    limit: int = 50,
    kind: Kind | None = None,
    category: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    status: Status | Sequence[Status] | None = VALID,
    attributes: Mapping[str, str] | None = None,
    cursor: str | None = None,
    filters: Filter | None = None,
) -> Page:
    """Return a page of memories, newest first. Its cursor fetches the next page.

    status: one or several; by default the live ones, active and challenged; None for all.
    filters: replaces kind, category, since, until and status, and has more conditions.
    """
    where = filters or Filter(
        kinds=(kind,) if kind else (),
        categories=(category,) if category else (),
        statuses=(status,) if isinstance(status, Status) else tuple(status or ()),
        since=since,
        until=until,
        attributes=attributes or None,
    )
    page = view.vault.store.memories.page(view.reader, limit=limit, cursor=cursor, where=where)
    return page if page.memories else replace(page, notes=unknown_names(view.vault.store, view.reader, where))


def words(view: View, memory_id: str) -> Sequence[Turn]:
    """Return the turns that a memory came from, verbatim."""
    return view.vault.store.turns.of(view.reader, memory_id)


def versions(view: View, memory_id: str) -> Sequence[Version]:
    """Return the earlier wordings of a memory."""
    return view.vault.store.memories.versions(view.reader, memory_id)


def status_history(view: View, memory_id: str) -> Sequence[StatusChange]:
    """Return the changes of a memory's status, with their reasons."""
    return view.vault.store.memories.status_history(view.reader, memory_id)
