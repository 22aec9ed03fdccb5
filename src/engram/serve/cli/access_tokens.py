"""`engram token`: create, list and revoke the tokens of network callers."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from engram.crypto.access_tokens import AccessToken
from engram.serve.cli import terminal
from engram.serve.cli.caller import Caller, Json, caller_of
from engram.types import Policy, Role

app = typer.Typer(help="Make, list and revoke the tokens that callers from the network show.", add_completion=False)


@app.callback(invoke_without_command=True)
def token(ctx: typer.Context, as_json: Json = False) -> None:
    caller_of(ctx, as_json)
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
    caller = caller_of(ctx, as_json)
    with caller.open() as vault:
        granted = vault.grant(name, role=role, policy=policy, writes=write, days=days)
    if caller.json:
        terminal.data(granted)
        return
    caller.remark(f"{_facts(granted.token)}. The token is shown once and cannot be shown again:")
    terminal.line(granted.secret)


def _facts(token: AccessToken) -> str:
    access = "reads and writes" if token.writes else "reads"
    return (
        f"{token.name} ({token.id}) {access} as {token.role.value} in {terminal.place(token.scope)}, policy {token.policy.value}"
    )


@app.command("list")
def list_(ctx: typer.Context, as_json: Json = False) -> None:
    """List the tokens there are, and which hold."""
    caller = caller_of(ctx, as_json)
    with caller.open() as vault:
        tokens = vault.tokens()
    if caller.json:
        terminal.data({"tokens": tokens})
        return
    columns = ["id", "state", "writes", "role", "policy", "made", "until", "scope", "name"]
    terminal.table(columns, [_row(token, _state(token, caller)) for token in tokens], wrap=True)
    if not tokens:
        caller.remark("There is no token yet: `engram token create NAME`.")


def _state(token: AccessToken, caller: Caller) -> Literal["holds", "revoked", "expired"]:
    return "revoked" if token.revoked_at else "holds" if token.is_valid(caller.env.now()) else "expired"


def _row(token: AccessToken, state: str) -> list[str]:
    dates = [terminal.when(token.created_at), terminal.when(token.expires_at)]
    return [
        token.id,
        state,
        "yes" if token.writes else "no",
        token.role.value,
        token.policy.value,
        *dates,
        terminal.place(token.scope),
        token.name,
    ]


@app.command("revoke")
def revoke(
    ctx: typer.Context,
    token_id: Annotated[str, typer.Argument(metavar="ID", show_default=False, help="An id that `engram token list` shows.")],
    as_json: Json = False,
) -> None:
    """Let a token open nothing from now on, in servers that run too."""
    caller = caller_of(ctx, as_json)
    with caller.open() as vault:
        revoked = vault.revoke(token_id)
    if caller.json:
        terminal.data(revoked)
    else:
        caller.say(f"{revoked.name} is revoked.")
