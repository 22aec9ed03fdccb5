"""Commands that show what Engram does on this machine: its speed, and a tour from end to end."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engram.serve.cli import caller, serving, show
from engram.serve.cli.caller import BadCall, Json
from engram.serve.cli.progress import progress

app = typer.Typer(help="Measure speed, as ratios to a baseline in the same run, and how well recall finds.", add_completion=False)
Sizes = Annotated[str, typer.Option(help="Vault sizes to measure at, in memories.")]

_SIZES = "0,10000,100000"
_SPEED_SIZES = "1000,10000,100000"
_MOST = 1_000_000_000


@app.callback(invoke_without_command=True)
def bench(ctx: typer.Context, as_json: Json = False) -> None:
    caller.of(ctx, as_json)
    if ctx.invoked_subcommand is None:
        store(ctx)


@app.command("store")
def store(ctx: typer.Context, sizes: Sizes = _SIZES, as_json: Json = False) -> None:
    """Measure inserts, reads, searches, opening and memory of the store."""
    from engram.serve import bench_store  # loads the plain sqlite3 that it compares with, which nothing else may

    asked = caller.of(ctx, as_json)
    numbers = _numbers(sizes)
    with progress(asked) as tell:
        results = bench_store.run(numbers, progress=tell)
    if asked.json:
        show.data(results)
    else:
        show.line(bench_store.render(results))


@app.command("recall")
def recall(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", exists=True, dir_okay=False, show_default=False, help="Conversations, a store a line (.gz too)."
        ),
    ],
    ks: Annotated[str, typer.Option("--k", help="How many of the first turns and sessions count.")] = "5,10,20",
    stores: Annotated[int | None, typer.Option(min=1, show_default=False, help="Only the first so many of each file.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how much of what was said is found again, on conversations whose questions name their evidence."""
    from engram.serve import bench_recall  # start-up time of every other command

    asked = caller.of(ctx, as_json)
    numbers = _numbers(ks, "--k", least=1)
    with progress(asked) as tell:
        results = bench_recall.run(paths, ks=numbers, stores=stores, progress=tell)
    if asked.json:
        show.data(results)
    else:
        show.line(bench_recall.render(results))


@app.command("context")
def context(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", exists=True, dir_okay=False, show_default=False, help="Conversations, a store a line (.gz too)."
        ),
    ],
    budgets: Annotated[str, typer.Option("--tokens", help="Sizes of the context to measure at.")] = "500,1000,2000,4000",
    stores: Annotated[int | None, typer.Option(min=1, show_default=False, help="Only the first so many of each file.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how much of the evidence stands in a context of so many tokens, beside top-k packing and plain history."""
    from engram.serve import bench_context  # as above

    asked = caller.of(ctx, as_json)
    numbers = _numbers(budgets, "--tokens", least=1)
    with progress(asked) as tell:
        results = bench_context.run(paths, budgets=numbers, stores=stores, progress=tell)
    if asked.json:
        show.data(results)
    else:
        show.line(bench_context.render(results))


@app.command("speed")
def speed(ctx: typer.Context, sizes: Sizes = _SPEED_SIZES, as_json: Json = False) -> None:
    """Measure recall, remember and opening beside the encoder alone, a numpy scan and plain FTS5."""
    from engram.serve import bench_speed  # as above, and it loads the plain sqlite3

    asked = caller.of(ctx, as_json)
    numbers = _numbers(sizes)
    with progress(asked) as tell:
        results = bench_speed.run(numbers, progress=tell)
    if asked.json:
        show.data(results)
    else:
        show.line(bench_speed.render(results))


@app.command("topics")
def topics(
    ctx: typer.Context,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, show_default=False, help="Conversations, one a line (.gz too)."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Measure how well a change of topic is noticed, on conversations whose turns say whether they change it."""
    from engram.serve import bench_topics  # as above

    asked = caller.of(ctx, as_json)
    with progress(asked) as tell:
        results = bench_topics.run(path, progress=tell)
    if asked.json:
        show.data(results)
    else:
        show.line(bench_topics.render(results))


@app.command("followups")
def followups(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE…", exists=True, dir_okay=False, show_default=False, help="As for `engram bench recall`."),
    ],
    stores: Annotated[int | None, typer.Option(min=1, show_default=False, help="Only the first so many of each file.")] = None,
    as_json: Json = False,
) -> None:
    """Measure how a message that says little is found by the talk before it, and that one that says enough is left alone."""
    from engram.serve import bench_followups  # as above

    asked = caller.of(ctx, as_json)
    with progress(asked) as tell:
        results = bench_followups.run(paths, stores=stores, progress=tell)
    if asked.json:
        show.data(results)
    else:
        show.line(bench_followups.render(results))


@app.command("language")
def language(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", exists=True, dir_okay=False, show_default=False, help="Time expressions, one a line (.gz too)."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Measure how well English time expressions are resolved, on rows that say what they mean."""
    from engram.serve import bench_language  # as above

    results = bench_language.run(paths)
    if caller.of(ctx, as_json).json:
        show.data(results)
    else:
        show.line(bench_language.render(results))


@app.command("guards")
def guards(
    ctx: typer.Context,
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…", exists=True, dir_okay=False, show_default=False, help="Texts with `spans` or `attack` (.gz too)."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Measure how well personal data and attacks on the model are seen, on texts that say what is in them."""
    from engram.serve import bench_guards  # as above

    asked = caller.of(ctx)
    with progress(asked) as tell:
        results = bench_guards.run(paths, progress=tell)
    if asked.json or as_json:
        show.data(results)
    else:
        show.line(bench_guards.render(results))


@app.command("serve")
def serve(
    ctx: typer.Context,
    requests: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many requests.")] = 1000,
    in_flight: Annotated[int, typer.Option(min=1, max=1000, help="How many of them at once.")] = 32,
    as_json: Json = False,
) -> None:
    """Measure a server on the loopback: latency with many callers at once, and what it leaves behind. It ends by itself."""
    asked = caller.of(ctx, as_json)
    serving.require_extra()
    from engram.serve import bench_serve  # as above

    with progress(asked) as tell:
        found = bench_serve.run(requests, in_flight, progress=tell)
    if asked.json:
        show.data(found)
    else:
        show.line(bench_serve.render(found))


def demo(ctx: typer.Context, as_json: Json = False) -> None:
    """Show the main job from end to end on a temporary vault; yours is not touched."""
    from engram.serve import demo as tour  # start-up time of every other command

    if not caller.of(ctx, as_json).json:
        tour.run(title=lambda text: show.line(text, style="bold cyan"), say=show.line)
        return
    parts: list[tuple[str, list[str]]] = []
    tour.run(title=lambda text: parts.append((text, [])), say=lambda text: parts[-1][1].append(text.strip()))
    show.data({"parts": [{"title": title, "lines": lines} for title, lines in parts]})


def _numbers(given: str, option: str = "--sizes", *, least: int = 0) -> list[int]:
    try:
        numbers = [int(number) for number in given.split(",")]
    except ValueError:
        numbers = [-1]
    if min(numbers) < least or max(numbers) > _MOST:
        raise BadCall(f"{option} takes whole numbers from {least} with commas between them, such as 10,10000.")
    return numbers
