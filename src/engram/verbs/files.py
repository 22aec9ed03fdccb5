"""The verbs of files: export a vault, import files and archives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from engram.capture.imports import Arrival
from engram.capture.turns import hear
from engram.errors import AccessDenied, InvalidContent, InvalidQuery
from engram.files import archive, imports, records
from engram.files.export import FORMS, Page, check_target, target
from engram.files.export import write as write_plain
from engram.files.imports import Imported
from engram.types import Edge, Memory, Report, Role, Status, Turn
from engram.values.frozen import replace
from engram.verbs.view import View

_PAGE = 200

_LEAST_PASSPHRASE = 8


Progress = Callable[[int], None]

_Arrived = tuple[Memory, tuple[int, ...]]  # with the numbers of its turns in the file


def _passphrase(given: str | None) -> str:
    """Return a passphrase for an archive. Raise InvalidQuery if it is short: anyone with the file can try any number."""
    if not given:
        raise InvalidQuery(
            "an archive needs a passphrase.",
            way_out="Give one of several words that nobody would guess; a command takes it from standard input.",
        )
    if len(given) < _LEAST_PASSPHRASE:
        raise InvalidQuery(
            f"a passphrase of fewer than {_LEAST_PASSPHRASE} characters is guessed quickly.",
            way_out="Give one of several words that nobody would guess.",
        )
    return given


def _record_pages(
    lines: Iterator[dict[str, Any]], links: list[Edge], trusted: bool, done: Imported
) -> Iterator[tuple[list[_Arrived], dict[int, Turn]]]:
    """Yield pages of an archive: memories with their source turns. Edges are added to `links`, invalid records refused."""
    page: list[_Arrived] = []
    turns: dict[int, Turn] = {}
    for number, record in enumerate(lines, 1):
        try:
            if record.get("type") == "turn":
                turns.update([records.turn_of(record)])
            elif record.get("type") == "edge":
                links.append(records.edge_of(record))
            elif record.get("type") == "memory":
                arrived = records.memory_of(record)
                if arrived[0].status is not Status.ACTIVE:
                    done.add({"not active": 1})
                    continue
                if page and _is_full(page, arrived, trusted):
                    yield page, turns
                    page, turns = [], {key: turn for key, turn in turns.items() if key in arrived[1]}
                page.append(arrived)
        except InvalidContent as problem:
            done.refuse(done.file, number, f"{problem.code}: {problem.message.rstrip('.')}")
    if page:
        yield page, turns


def _is_full(page: list[_Arrived], arrived: _Arrived, trusted: bool) -> bool:
    """Return True if the page ends before this memory: not between memories of one turn, unless the page is very long."""
    if trusted and page[0][0].scope != arrived[0].scope:
        return True
    return len(page) >= _PAGE and (set(page[-1][1]).isdisjoint(arrived[1]) or len(page) >= 5 * _PAGE)


def _report_progress(progress: Progress | None, count: int) -> None:
    if progress is not None:
        progress(count)


def export(
    view: View,
    path: str | Path,
    *,
    passphrase: str | None = None,
    form: str = "archive",
    confirm: bool = False,
    overwrite: bool = False,
) -> Report:
    """Write all memories that this reader sees to one file: an archive under a passphrase, or confirmed plaintext.

    form: archive, json, markdown or text. All but an archive are plaintext on the disk and need `confirm=True`.
    overwrite: replace an existing file.
    """
    place = Path(path).expanduser()
    if form not in FORMS:
        raise InvalidQuery(f"there is no export as {form!r}.", way_out=f"Take one of: {', '.join(FORMS)}.")
    if form != "archive" and not confirm:
        raise AccessDenied(
            f"{form} is plaintext: whoever reads the file reads the memories.",
            way_out="Confirm it (`confirm=True`, `--plaintext`), or export an archive.",
        )
    check_target(place, overwrite=overwrite)
    secret = _passphrase(passphrase) if form == "archive" else ""
    settings, env = view.vault.live.now, view.vault.env
    with target(place, overwrite=overwrite) as file:
        if form == "archive":
            lines, about = records.lines(_pages(view)), {"made_at": env.now().isoformat()}
            count = archive.write(file, lines, secret, log_n=settings.scrypt_log_n, random=env.random, about=about)
        else:
            count = write_plain(file, form, _pages(view))
        size = file.tell()
    return Report(operation="export", counts={"records": count, "bytes": size})


def _pages(view: View) -> Iterator[Page]:
    after = 0
    while True:
        found, said, links = view.vault.store.memories.export(view.reader, after=after, limit=_PAGE)
        if not found:
            return
        sources_of: dict[int, list[int]] = {}
        for memory, number, _ in said:
            sources_of.setdefault(memory, []).append(number)
        turns = {number: turn for _, number, turn in said}
        yield [(one, sources_of.get(one.key, [])) for one in found], list(turns.items()), links
        after = found[-1].key


def import_(
    view: View,
    path: str | Path,
    *,
    form: str | None = None,
    passphrase: str | None = None,
    trusted: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Import a file, a folder or a zip. What is stored already is skipped, so it can be repeated.

    form: text, jsonl, markdown, chatgpt, claude, mem0, mcp-memory, sqlite, json (our own) or archive; by default by name
    and content. Imported texts are cleaned, get a confidence of at most `import_confidence`, and vectors made here.
    trusted: the owner's archive keeps its confidences, dates and scopes. dry_run: store nothing.
    """
    source = Path(path).expanduser()
    form = imports.checked(source, form)
    done = Imported(str(source), form, dry_run)
    if trusted and (form != "archive" or view.reader.role is not Role.OWNER):
        raise AccessDenied(
            "only an archive can be trusted, and only by the owner of the vault.",
            way_out='Open it with `engram.open(role="owner")`, or import it without `trusted`.',
        )
    if form == "archive":
        _import_archive(view, source, passphrase, trusted, done, progress)
        return done
    if form == "json":
        _import_records(view, imports.own_records(source, view.vault.live.now, done.refuse), False, done, progress)
        return done
    found = imports.read(source, form, view.vault.live.now, done.refuse)
    first = next(found, None)
    if isinstance(first, Turn):
        _import_turns(view, (one for one in chain((first,), found) if isinstance(one, Turn)), done, progress)
    elif first is not None:
        rest = (one for one in chain((first,), found) if isinstance(one, Memory))
        while some := list(islice(rest, _PAGE)):
            _admit(view, [Arrival(one) for one in some], [], done, progress)
    return done


def _import_turns(view: View, turns: Iterator[Turn], done: Imported, progress: Progress | None) -> None:
    if done.dry_run:
        while some := list(islice(turns, _PAGE)):
            _preview_turns(view, some, done)
            _report_progress(progress, len(some))
        return
    report = view.vault.observer.ingest(view.reader, turns, view.vault.session, progress, imported=True)
    done.add(report.counts, report.ids, report.notes)


def _preview_turns(view: View, turns: list[Turn], done: Imported) -> None:
    known = view.vault.store.turns.known_refs(view.reader, [turn.ref for turn in turns if turn.ref])
    now = view.vault.env.now()
    fresh = [Turn(t.text, t.speaker, t.at or now, t.session, t.ref) for t in turns if not t.ref or t.ref not in known]
    heard = hear(fresh, {}, view.vault.live.now)
    said = {"turns": len(fresh), "kept": len(heard.candidates), "dropped": len(heard.verdicts)}
    done.add({**said, "known": len(turns) - len(fresh)})


def _admit(
    view: View, arrivals: list[Arrival], said: list[Turn], done: Imported, progress: Progress | None, trusted: bool = False
) -> dict[int, str]:
    """Store memories of a file; return their ids in this vault by number."""
    _report_progress(progress, len(arrivals))
    if done.dry_run:
        done.add({"memories": len(arrivals)})
        return {}
    admitted = view.vault.observer.admit(view.reader, arrivals, said, trusted=trusted)
    for number, why in admitted.refused.items():
        done.refuse(done.file, done.counts.get("memories", 0) + number + 1, why)
    kept = {number: memory.id for number, memory in admitted.kept.items()}
    counts = {"memories": len(arrivals), "kept": len(kept), "known": len(admitted.known)}
    done.add(counts, tuple(kept.values()), admitted.notes)
    return kept | admitted.known


def _import_archive(
    view: View, source: Path, passphrase: str | None, trusted: bool, done: Imported, progress: Progress | None
) -> None:
    if not passphrase:
        raise InvalidQuery("an archive needs its passphrase.", way_out="Give the one that it was made with.")
    with imports.opened(source) as file:
        _import_records(view, archive.read(file, passphrase), trusted, done, progress)


def _import_records(
    view: View, lines: Iterator[dict[str, Any]], trusted: bool, done: Imported, progress: Progress | None
) -> None:
    here: dict[str, str] = {}  # ids in this vault by ids in the file
    links: list[Edge] = []
    for page, turns in _record_pages(lines, links, trusted, done):
        here |= _store_page(view, page, turns, done, progress, trusted)
    both = [
        replace(link, source=here[link.source], target=here[link.target])
        for link in links
        if link.source in here and link.target in here
    ]
    for start in range(0, len(both), _PAGE):
        done.add({"links": view.vault.store.edges.put(view.reader, both[start : start + _PAGE])})


def _store_page(
    view: View,
    page: list[_Arrived],
    turns: dict[int, Turn],
    done: Imported,
    progress: Progress | None,
    trusted: bool,
) -> dict[str, str]:
    numbers = {number: place for place, number in enumerate(turns)}
    arrivals = [
        Arrival(memory, tuple(numbers[n] for n in said if n in numbers), memory.scope if trusted else None)
        for memory, said in page
    ]
    ids = _admit(view, arrivals, list(turns.values()), done, progress, trusted)
    return {page[number][0].id: memory_id for number, memory_id in ids.items()}
