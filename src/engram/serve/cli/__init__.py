"""The command line, which acts as the owner of the vault.

In: arguments, standard input, answers to prompts. Out: data on standard output, remarks and errors on standard error, and an exit
code (0 done, 1 refused or failed, 2 bad usage, 130 interrupted). Stored text reaches a terminal only through `terminal`, which
escapes control characters.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        if "hook" in given and (code := _run_hook(given, own_process=arguments is None)) is not None:
            return code
        if given[:1] == ["mcp"]:
            from engram.serve.mcp import handshake

            if (profile := handshake.profile_of(given)) is not None:
                return handshake.start(profile)
        from engram.serve.cli.app import run  # late: an interrupt during this import must end in exit code 130 too

        return run(given)
    except BaseException as error:
        if not is_interrupt(error):
            raise
        return 130


def _run_hook(given: Sequence[str], *, own_process: bool) -> int | None:
    """Handle a hook event and return the exit code; None if the arguments name no event. An agent waits for hooks, so this path
    does without the imports of the other commands."""
    if own_process:
        gc.disable()  # imports make much that is kept and little garbage
    from engram.serve import hook

    if (event := hook.event_call(given)) is not None:
        return hook.run_and_exit(*event) if own_process else hook.run(*event)
    if own_process:
        gc.enable()
    return None


def is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error is, or was caused by, an interrupt: Python wraps a `KeyboardInterrupt` raised while a class is
    created."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None
