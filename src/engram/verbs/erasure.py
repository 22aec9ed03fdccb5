"""The verb of erasure: purge everything of one user, agent, channel, squad or project."""

from __future__ import annotations

from functools import partial

from engram.capture.reports import report_from_text, report_to_text
from engram.errors import InvalidQuery
from engram.types import Report
from engram.verbs.view import View


def purge(
    view: View,
    *,
    user: str | None = None,
    agent: str | None = None,
    channel: str | None = None,
    squad: str | None = None,
    project: str | None = None,
    dry_run: bool = False,
) -> Report:
    """Remove everything of one user, agent, channel, squad or project from every table, for good. For the owner of the vault.

    The report counts the removed rows by table; with `dry_run` nothing is removed.
    """
    names = {"user": user, "agent": agent, "channel": channel, "squad": squad, "project": project}
    given = [(dimension, name) for dimension, name in names.items() if name is not None]
    if len(given) != 1:
        raise InvalidQuery("a purge needs exactly one name.", way_out='Name one: `purge(user="ann")`.')
    dimension, name = given[0]
    if dry_run:
        return view.vault.store.erasure.purge(view.reader, dimension, name, dry_run=True)

    write = partial(view.vault.store.erasure.purge, view.reader, dimension, name)
    after = partial(view.vault.working_sets.forget, view.reader)
    return view.write_once(("purge", dimension, name), write, report_to_text, report_from_text, after)
