"""The store as a hook has it: what is read, and what was put away; no other verb, for loading them all takes as long again."""

from __future__ import annotations

from pathlib import Path

from engram.env import Env
from engram.settings import LiveSettings
from engram.store.sqlite.looking import Looking
from engram.store.sqlite.suspending import Suspending
from engram.store.sqlite.vault import Credentials, enter


class Glimpse(Looking, Suspending):
    """Made for a moment."""


def glimpse(path: Path, live: LiveSettings, env: Env) -> Glimpse:
    """The vault at `path`, which is there; nobody is asked for a passphrase. Whoever opens it for longer checks the file: with
    every prompt it would take up to 25 ms."""
    opened, _ = enter(path, live, env, Credentials(), check=False)
    return Glimpse(opened, live, env)
