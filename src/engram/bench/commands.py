"""The commands `engram bench …` and `engram demo`, which the command line finds by the entry points `engram.commands`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from engram.serve.cli import servers, terminal
from engram.serve.cli.caller import BadCall, Json, caller_of
from engram.serve.cli.progress import progress
from engram.serve.operations.operation import ProgressCallback

_PANEL = "This program"
app = typer.Typer(
    name="bench",
    help="Measure speed, as ratios to a baseline in the same run, and how well recall finds.",
    add_completion=False,
)
demo_app = typer.Typer(add_completion=False)

_FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "show_default": False}
Sizes = Annotated[str, typer.Option(help="Vault sizes to measure at, in memories.")]
Stores = Annotated[int | None, typer.Option(min=1, show_default=False, help="Only the first so many of each file.")]
Talks = Annotated[list[Path], typer.Argument(metavar="FILE", help="Conversations, a store a line (.gz too).", **_FILE)]
Tune = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", show_default=False, help="Try another value of a room's Weights or Limits; repeatable."),
]
Shifts = Annotated[Path, typer.Argument(metavar="FILE", help="Conversations, one a line (.gz too).", **_FILE)]
Messages = Annotated[list[Path], typer.Argument(metavar="FILE", help="Labelled messages, one a line (.gz too).", **_FILE)]
Times = Annotated[list[Path], typer.Argument(metavar="FILE", help="Time expressions, one a line (.gz too).", **_FILE)]
Texts = Annotated[list[Path], typer.Argument(metavar="FILE", help="Texts with `spans` or `attack` (.gz too).", **_FILE)]

_SIZES = "0,10000,100000"
_SPEED_SIZES = "1000,10000,100000"
_MOST = 1_000_000_000


@app.callback(invoke_without_command=True, rich_help_panel=_PANEL)
def bench(ctx: typer.Context, as_json: Json = False) -> None:
    caller_of(ctx, as_json)
    if ctx.invoked_subcommand is None:
        store(ctx)


@app.command("store")
def store(ctx: typer.Context, sizes: Sizes = _SIZES, as_json: Json = False) -> None:
    """Measure inserts, reads, searches, opening and memory of the store."""
    numbers = _numbers(sizes)
    _measure(ctx, as_json, "store", lambda run, report: run(numbers, progress=report))


@app.command("recall")
def recall(
    ctx: typer.Context,
    paths: Talks,
    ks: Annotated[str, typer.Option("--k", help="How many of the first turns and sessions count.")] = "5,10,20",
    stores: Stores = None,
    tune: Tune = None,
    as_json: Json = False,
) -> None:
    """Measure how much of what was said is found again, on conversations whose questions name their evidence."""
    numbers = _numbers(ks, "--k", least=1)
    _measure(
        ctx, as_json, "recall", lambda run, report: run(paths, ks=numbers, stores=stores, tuning=_tuning(tune), progress=report)
    )


@app.command("context")
def context(
    ctx: typer.Context,
    paths: Talks,
    budgets: Annotated[str, typer.Option("--tokens", help="Sizes of the context to measure at.")] = "500,1000,2000,4000",
    stores: Stores = None,
    tune: Tune = None,
    as_json: Json = False,
) -> None:
    """Measure how much of the evidence stands in a context of so many tokens, beside top-k packing and plain history."""
    numbers = _numbers(budgets, "--tokens", least=1)
    _measure(
        ctx,
        as_json,
        "context",
        lambda run, report: run(paths, budgets=numbers, stores=stores, tuning=_tuning(tune), progress=report),
    )


@app.command("speed")
def speed(ctx: typer.Context, sizes: Sizes = _SPEED_SIZES, as_json: Json = False) -> None:
    """Measure recall, remember, ingest, import and opening beside the encoder alone, a numpy scan and plain FTS5."""
    numbers = _numbers(sizes)
    _measure(ctx, as_json, "speed", lambda run, report: run(numbers, progress=report))


@app.command("topics")
def topics(ctx: typer.Context, path: Shifts, as_json: Json = False) -> None:
    """Measure how well a change of topic is noticed, on conversations whose turns say whether they change it."""
    _measure(ctx, as_json, "topics", lambda run, report: run(path, progress=report))


@app.command("followups")
def followups(ctx: typer.Context, paths: Talks, stores: Stores = None, as_json: Json = False) -> None:
    """Measure how a message that says little is found by the talk before it, and that one that says enough is left alone."""
    _measure(ctx, as_json, "followups", lambda run, report: run(paths, stores=stores, progress=report))


@app.command("knows")
def knows(ctx: typer.Context, paths: Talks, stores: Stores = None, tune: Tune = None, as_json: Json = False) -> None:
    """Measure what confident, uncertain and unknown mean, on conversations whose questions name their evidence."""
    _measure(ctx, as_json, "knows", lambda run, report: run(paths, stores=stores, tuning=_tuning(tune), progress=report))


@app.command("capture")
def capture(ctx: typer.Context, paths: Messages, tune: Tune = None, as_json: Json = False) -> None:
    """Measure what is kept of messages whose statements are labelled, how it is dated, and what that costs."""
    _measure(ctx, as_json, "capture", lambda run, report: run(paths, tuning=_tuning(tune), progress=report))


@app.command("language")
def language(ctx: typer.Context, paths: Times, as_json: Json = False) -> None:
    """Measure how well English time expressions are resolved, on rows that say what they mean."""
    _measure(ctx, as_json, "language", lambda run, _: run(paths))


@app.command("guards")
def guards(ctx: typer.Context, paths: Texts, as_json: Json = False) -> None:
    """Measure how well personal data and attacks on the model are seen, on texts that say what is in them."""
    _measure(ctx, as_json, "guards", lambda run, report: run(paths, progress=report))


@app.command("serve")
def serve(
    ctx: typer.Context,
    requests: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many requests.")] = 1000,
    in_flight: Annotated[int, typer.Option(min=1, max=1000, help="How many of them at once.")] = 32,
    as_json: Json = False,
) -> None:
    """Measure a server on the loopback: latency with many callers at once, and what it leaves behind. It ends by itself."""
    caller_of(ctx, as_json)
    servers.require_extra()
    _measure(ctx, as_json, "serve", lambda run, report: run(requests, in_flight, progress=report))


@app.command("hook")
def hook(
    ctx: typer.Context,
    memories: Annotated[int, typer.Option(min=1, max=10_000_000, help="Memories in the vault.")] = 1000,
    runs: Annotated[int, typer.Option(min=1, max=1000, help="How often each event is called.")] = 15,
    as_json: Json = False,
) -> None:
    """Measure what a coding agent waits for: each event of `engram hook`, beside an interpreter that does nothing."""
    _measure(ctx, as_json, "hook", lambda run, report: run(memories, runs, progress=report))


def _tuning(pairs: list[str] | None) -> list[object]:
    from engram.bench.tuning import tuning_of  # late: only this command needs it

    return tuning_of(pairs or ())


def _measure(ctx: typer.Context, as_json: bool, name: str, work: Callable[[Callable[..., Any], ProgressCallback], Any]) -> None:
    """Run a benchmark and print its figures, as JSON or as text."""
    caller = caller_of(ctx, as_json)
    module = import_module(f"engram.bench.{name}")  # late: only the benchmark that runs is loaded
    with progress(caller) as report:
        results = work(module.run, report)
    if caller.json:
        terminal.data(results)
    else:
        terminal.line(module.render(results))


@demo_app.command("demo", rich_help_panel=_PANEL)
def demo(
    ctx: typer.Context,
    fast: Annotated[bool, typer.Option("--fast", help="Without the server that a model's client talks to.")] = False,
    as_json: Json = False,
) -> None:
    """Show the main job from end to end on a temporary vault; yours is not touched."""
    from engram.bench import demo as tour  # late: only this command needs it

    if not caller_of(ctx, as_json).json:
        tour.run(title=lambda text: terminal.line(text, style="bold cyan"), say=terminal.line, fast=fast)
        return
    parts: list[tuple[str, list[str]]] = []
    tour.run(title=lambda text: parts.append((text, [])), say=lambda text: parts[-1][1].append(text.strip()), fast=fast)
    terminal.data({"parts": [{"title": title, "lines": lines} for title, lines in parts]})


def _numbers(given: str, option: str = "--sizes", *, least: int = 0) -> list[int]:
    try:
        numbers = [int(number) for number in given.split(",")]
    except ValueError:
        numbers = [-1]
    if min(numbers) < least or max(numbers) > _MOST:
        raise BadCall(f"{option} takes whole numbers from {least} with commas between them, such as 10,10000.")
    return numbers
