"""Commands that show what Engram does on this machine: its speed, and a tour from end to end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from engram.serve.cli import caller, show
from engram.serve.cli.caller import BadCall, Caller, Json

app = typer.Typer(help="Measure speed, as ratios to plain SQLite in the same run.", add_completion=False)
Sizes = Annotated[str, typer.Option(help="Vault sizes to measure at, in memories.")]

_SIZES = "0,10000,100000"
_WIPED = "\r\x1b[K"


@app.callback(invoke_without_command=True)
def bench(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        store(ctx)


@app.command("store")
def store(ctx: typer.Context, sizes: Sizes = _SIZES, as_json: Json = False) -> None:
    """Measure inserts, reads, searches, opening and memory of the store."""
    from engram.serve import bench_store  # loads the plain sqlite3 that it compares with, which nothing else may

    asked = caller.of(ctx)
    numbers = _numbers(sizes)
    with _progress(asked) as progress:
        results = bench_store.run(numbers, progress=progress)
    if asked.json or as_json:
        show.data(results)
    else:
        show.line(bench_store.render(results))


def demo(ctx: typer.Context) -> None:
    """Show the main job from end to end on a temporary vault; yours is not touched."""
    from engram.serve import demo as tour  # start-up time of every other command

    tour.run(title=lambda text: show.line(text, style="bold cyan"), say=show.line)


def _numbers(sizes: str) -> list[int]:
    try:
        numbers = [int(size) for size in sizes.split(",")]
    except ValueError:
        numbers = [-1]
    if min(numbers) < 0:
        raise BadCall("--sizes takes whole numbers with commas between them, such as 0,10000.")
    return numbers


@contextmanager
def _progress(asked: Caller) -> Iterator[Callable[[str, float], None]]:
    """One line that is written over again and again, for a person who waits, and gone in the end; nothing for a pipe."""
    seen = sys.stderr.isatty() and not asked.quiet

    def tell(stage: str, share: float) -> None:
        if seen:
            print(f"{_WIPED}{share:4.0%} {show.one_line(stage)}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if seen:
            print(_WIPED, end="", file=sys.stderr, flush=True)
