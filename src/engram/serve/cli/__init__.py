"""The command line: the console of the vault's owner.

Comes in: arguments, standard input, answers to questions. Goes out: data on standard output, everything said about it
on standard error, and an exit code (0 done, 1 refused or failed, 2 a bad call, 130 interrupted). Words that were stored
reach a terminal only through `show`, which takes their control characters away.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if "hook" in given and (code := _hooked(given, alone=arguments is None)) is not None:
            return code
        if given[:1] == ["mcp"]:
            from engram.serve.mcp import greeting, start

            if (profile := greeting.profile_of(given)) is not None:
                return start.start(profile)
        from engram.serve.cli.app import run  # here, so that an interrupt while the program loads ends as quietly

        return run(given)
    except BaseException as error:
        if not interrupted(error):
            raise
        return 130


def _hooked(given: Sequence[str], *, alone: bool) -> int | None:
    """An event, which an agent waits for: without the time that all other commands take to load; None if it is none."""
    if alone:
        gc.disable()  # before anything is loaded that is no garbage
    from engram.serve import hook

    if (event := hook.meant(given)) is not None:
        return hook.run_and_leave(*event) if alone else hook.run(*event)
    if alone:
        gc.enable()
    return None


def interrupted(error: BaseException | None) -> bool:
    """Was it an interrupt, if only at the bottom of it? Python tells of one in the midst of making a class as something else."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
