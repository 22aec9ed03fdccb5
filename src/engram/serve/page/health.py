"""The page of the vault's health and backups."""

from __future__ import annotations

from engram.serve.page.request import PageRequest, PageView, Redirect, place


def health(request: PageRequest) -> PageView:
    """The state of the vault, its backups and its working memory."""
    values = {
        "condition": request.call("status"),
        "backups": request.call("backups").backups if request.may("backups") else (),
        "mind": request.call("working"),
        "checked": None,
    }
    return PageView("health.html", values)


def backup(request: PageRequest) -> Redirect:
    """Make a backup."""
    request.call("backup")
    return Redirect(place("/health", done="backed_up"))


def check(request: PageRequest) -> PageView:
    """Check every page of the vault's files, which takes a while, and show the result."""
    view = health(request)
    return PageView(view.template, {**view.values, "checked": request.call("check")})
