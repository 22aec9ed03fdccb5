"""uvicorn as every server on the network has it: it logs no address, believes no header, and waits for nobody without end.

What every server on the network begins with: an address to listen at, and a token where there is none yet.
"""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from engram.crypto.access_tokens import AccessToken, GrantedToken, new_secret
from engram.engine import Engram
from engram.errors import ConfigInvalid
from engram.serve.network.doors import is_local
from engram.types import Policy, Role

BACKLOG = 512
_AN_AGENTS = (Policy.OWN, Policy.AGENT, Policy.AGENT_GLOBAL)


def granted(mem: Engram, host: str) -> GrantedToken | None:
    """The token that this server makes for itself, where there is none; an address that others reach needs one of the vault's."""
    if any(token.is_valid(mem.env.now()) for token in mem.tokens()):
        return None
    require_local(host)
    return _own(mem)


def require_local(host: str) -> None:
    """Refuse an address that others reach, for a vault without a token."""
    if not is_local(host):
        raise ConfigInvalid(
            f"{host} can be reached from other machines, and there is no token yet.",
            way_out="Make one with `engram token create NAME`, or serve at 127.0.0.1.",
        )


def _own(mem: Engram) -> GrantedToken:
    """A token for who started the server, as an agent that reads and writes; it is in memory only."""
    asked = mem.reader.policy
    return _held(mem, "this server's own", asked if asked in _AN_AGENTS else Policy.AGENT_GLOBAL, Role.AGENT)


def owners(mem: Engram) -> GrantedToken:
    """A token for who started the page, as the reader that they are; it is in memory only, and told to nobody."""
    return _held(mem, "this page's own", mem.reader.policy, mem.reader.role)


def _held(mem: Engram, name: str, policy: Policy, role: Role) -> GrantedToken:
    now = mem.env.now()
    token = AccessToken(
        id=mem.env.new_id(),
        name=name,
        scope=mem.reader.scope,
        policy=policy,
        role=role,
        writes=True,
        created_at=now,
        expires_at=now + timedelta(days=36500),
    )
    return GrantedToken(token, new_secret(mem.env.random))


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes any that is free. Found out before a vault is opened, or made."""
    if not host.strip():  # to the system that means every address there is
        raise ConfigInvalid("there is no address to listen at.", way_out="Name one with --host: 127.0.0.1, or 0.0.0.0 for all.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # TCP by name: of a socket that does not say so asyncio leaves Nagle on, and every answer waits 40 ms for its last piece.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # two may bind one port, and only one may listen
    except (OSError, TypeError, ValueError) as error:  # the latter two of what can be no name
        listening.close()
        why = getattr(error, "strerror", None) or "it is no address"
        raise ConfigInvalid(
            f"{host} port {port} cannot be listened at ({why}).", way_out="Name another with --host and --port."
        ) from None
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


_TICKS = 10  # uvicorn's, of a tenth of a second
PATIENCE_S = 30.0


class Server(uvicorn.Server):
    """`drain_s`: how long it waits for requests when it ends. `patience_s`: how long a connection may be without one."""

    def __init__(self, app: ASGIApp, drain_s: float, patience_s: float = PATIENCE_S) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                http="h11",  # whatever else is installed: `_let_go` knows this one
                ws="none",
                log_level="warning",
                access_log=False,  # an address may hold somebody's words
                server_header=False,
                proxy_headers=False,  # who calls is who is connected: rates go by it, and a header can say anything
                timeout_graceful_shutdown=max(round(drain_s), 1),
                backlog=BACKLOG,
            )
        )
        self._patience_s = patience_s
        self._waiting: dict[Any, tuple[object, int]] = {}

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            self._let_go()
        return await super().on_tick(counter)

    def _let_go(self) -> None:
        """Of connections whose next request is not there yet: uvicorn would wait for ever for one that says nothing, or lets its
        headers trickle, and places are few."""
        before, self._waiting = self._waiting, {}
        for one in self.server_state.connections:
            last = one.cycle  # type: ignore[union-attr]
            if last is None or last.response_complete:
                cycle, looks = before.get(one, (last, 0))
                self._waiting[one] = last, looks + 1 if cycle is last else 1
        for one, (_, looks) in self._waiting.items():
            if looks > self._patience_s:
                one.transport.close()
