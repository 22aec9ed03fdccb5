"""Names that callers choose, such as a speaker, a category or a kind of edge: refused if they hold a secret or an attack."""

from __future__ import annotations

from functools import lru_cache

from engram.errors import InjectionBlocked, InvalidContent


@lru_cache(256)  # every turn brings its speaker
def check(what: str, name: str, catch_secrets: bool, guard_injection: bool, plainly: bool) -> None:
    """Raise if a name holds a secret or reads as an attack. `plainly`: a name that is only suspicious passes."""
    from engram.guard import injection, secrets  # late: most names are plain words and are never judged
    from engram.guard.injection import InjectionVerdict

    if catch_secrets and secrets.find(name):
        raise InvalidContent(f"the {what} holds a secret (a key, a token or a password), and secrets are not kept.")
    words = name.replace("_", " ").replace("-", " ")
    passing = (InjectionVerdict.CLEAN, InjectionVerdict.FLAGGED) if plainly else (InjectionVerdict.CLEAN,)
    if guard_injection and injection.assess_cached(words).verdict not in passing:
        raise InjectionBlocked(f"the {what} reads as an attack on the model that would read it.", way_out="Use a plain word.")
