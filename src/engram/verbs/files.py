"""The verbs of files: export a vault, import files and archives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from engram.capture.imports import Admitted, Arrival, Retired
from engram.files.export import export_vault
from engram.files.imports import Imported, Progress, import_files
from engram.files.records import FiledMemory
from engram.types import Edge, Reader, Report, Scope, Turn
from engram.values.entities import EntityDecision
from engram.values.frozen import replace
from engram.verbs.view import View


def export(
    view: View,
    path: str | Path,
    *,
    passphrase: str | None = None,
    form: str = "archive",
    confirm: bool = False,
    overwrite: bool = False,
) -> Report:
    """Write all memories that this reader sees, with their facts and corrections, to one file: an archive under a passphrase, or
    confirmed plaintext.

    form: archive, json, markdown or text. All but an archive are plaintext on the disk and need `confirm=True`.
    overwrite: replace an existing file.
    """
    vault = view.vault
    return export_vault(
        vault.store,
        view.reader,
        path,
        vault.live.now,
        vault.env,
        passphrase=passphrase,
        form=form,
        confirm=confirm,
        overwrite=overwrite,
    )


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
    return import_files(
        _Target(view),
        path,
        view.vault.live.now,
        form=form,
        passphrase=passphrase,
        trusted=trusted,
        dry_run=dry_run,
        progress=progress,
    )


class _Target:
    """The vault that an import goes to, as one reader (`ImportTarget`)."""

    def __init__(self, view: View) -> None:
        self.reader: Reader = view.reader
        self._vault = view.vault

    def ingest(self, turns: Iterator[Turn], progress: Progress | None) -> Report:
        return self._vault.observer.ingest(self.reader, turns, self._vault.session, progress, imported=True)

    def preview(self, turns: Sequence[Turn]) -> Mapping[str, int]:
        known = self._vault.store.turns.known_refs(self.reader, [turn.ref for turn in turns if turn.ref])
        now = self._vault.env.now()
        new = [Turn(t.text, t.speaker, t.at or now, t.session, t.ref) for t in turns if not t.ref or t.ref not in known]
        read = self._vault.observer.preview(new)
        counts = {"turns": len(new), "kept": len(read.candidates), "dropped": len(read.verdicts)}
        return {**counts, "known": len(turns) - len(new)}

    def admit(self, memories: Sequence[FiledMemory], said: Sequence[Turn], *, trusted: bool) -> Admitted:
        return self._vault.observer.admit(self.reader, [_arrival(one, trusted) for one in memories], said, trusted=trusted)

    def retire(self, memories: Sequence[FiledMemory], *, trusted: bool) -> Retired:
        corrected = [(_arrival(one, trusted), one.correction) for one in memories if one.correction is not None]
        return self._vault.observer.retire(self.reader, corrected, trusted=trusted)

    def link(self, edges: Sequence[Edge]) -> int:
        return self._vault.store.edges.put(self.reader, edges)

    def decide(self, scope: Scope, decisions: Sequence[EntityDecision]) -> int:
        clean = [replace(one, reason=self._vault.observer.cleaned(one.reason)) for one in decisions]
        return self._vault.store.entities.adopt_decisions(self.reader, scope, clean)


def _arrival(filed: FiledMemory, trusted: bool) -> Arrival:
    return Arrival(filed.memory, filed.turns, filed.memory.scope if trusted else None, filed.facts)
