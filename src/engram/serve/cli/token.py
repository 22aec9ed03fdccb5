"""Commands on tokens: who may come in over the network, and as whom."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from engram.guard.tokens import AccessToken
from engram.serve.cli import caller, show
from engram.serve.cli.caller import Json
from engram.types import Policy, Role

app = typer.Typer(help="Make, list and revoke the tokens that callers from the network show.", add_completion=False)


@app.callback(invoke_without_command=True)
def token(ctx: typer.Context, as_json: Json = False) -> None:
    caller.of(ctx, as_json)
    if ctx.invoked_subcommand is None:
        list_(ctx)


@app.command("create")
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(show_default=False, help="What to call it, such as the program that will have it.")],
    write: Annotated[bool, typer.Option("--write", help="It may write too; else it only reads.")] = False,
    role: Annotated[Role, typer.Option(help="What its holder is. A guest writes under its own channel only.")] = Role.GUEST,
    policy: Annotated[Policy, typer.Option(help="How much of what it may see it asks for.")] = Policy.AGENT_GLOBAL,
    days: Annotated[
        float | None, typer.Option(min=0.001, show_default=False, help="How long it holds; else until revoked.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a token and print it, once. It stands for who the options before the command name (`engram --agent rex token …`)."""
    asked = caller.of(ctx, as_json)
    with asked.open() as vault:
        granted = vault.grant(name, role=role, policy=policy, writes=write, days=days)
    if asked.json:
        show.data(granted)
        return
    asked.remark(f"{_facts(granted.token)}. This is shown once; it cannot be had again:")
    show.line(granted.secret)


def _facts(one: AccessToken) -> str:
    can = "reads and writes" if one.writes else "reads"
    return f"{one.name} ({one.id}) {can} as {one.role.value} in {show.place(one.scope)}, policy {one.policy.value}"


@app.command("list")
def list_(ctx: typer.Context, as_json: Json = False) -> None:
    """List the tokens there are, and which hold."""
    asked = caller.of(ctx, as_json)
    with asked.open() as vault:
        known = vault.tokens()
    if asked.json:
        show.data({"tokens": known})
        return
    columns = ["id", "state", "writes", "role", "policy", "made", "until", "scope", "name"]
    show.table(columns, [_row(one, _state(one, asked)) for one in known], wrap=True)
    if not known:
        asked.remark("There is no token yet: `engram token create NAME`.")


def _state(one: AccessToken, asked: caller.Caller) -> Literal["holds", "revoked", "expired"]:
    return "revoked" if one.revoked_at else "holds" if one.is_valid(asked.env.now()) else "expired"


def _row(one: AccessToken, state: str) -> list[str]:
    dates = [show.when(one.created_at), show.when(one.expires_at)]
    return [
        one.id,
        state,
        "yes" if one.writes else "no",
        one.role.value,
        one.policy.value,
        *dates,
        show.place(one.scope),
        one.name,
    ]


@app.command("revoke")
def revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", show_default=False, help="An id that `engram token list` shows.")],
    as_json: Json = False,
) -> None:
    """Let a token open nothing from now on, in servers that run too."""
    asked = caller.of(ctx, as_json)
    with asked.open() as vault:
        gone = vault.revoke(token_id)
    if asked.json:
        show.data(gone)
    else:
        asked.say(f"{gone.name} opens nothing any more.")
