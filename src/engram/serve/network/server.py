"""Listening and running: the socket, the temporary token of a vault without tokens, and uvicorn with safe defaults (it logs no
address, trusts no forwarding header, and closes idle connections)."""

from __future__ import annotations

import socket
from datetime import timedelta
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from engram.crypto.access_tokens import AccessToken, GrantedToken, new_secret
from engram.engine import Engram
from engram.errors import ConfigInvalid
from engram.serve.network.origins import is_local
from engram.types import Policy, Role
from engram.values.frozen import frozen

BACKLOG = 512
IDLE_TIMEOUT_S = 30.0
_TICKS_PER_SECOND = 10  # uvicorn's main loop
_AGENT_POLICIES = (Policy.OWN, Policy.AGENT, Policy.AGENT_GLOBAL)


def server_token(mem: Engram, host: str) -> GrantedToken | None:
    """Return a temporary token if the vault has no valid one, else None. It reads and writes as an agent, in the scope of `mem`,
    and is kept in memory only. Raise for an address that other machines reach: that needs a token of the vault."""
    if any(token.is_valid(mem.env.now()) for token in mem.tokens()):
        return None
    require_local(host)
    policy = mem.reader.policy if mem.reader.policy in _AGENT_POLICIES else Policy.AGENT_GLOBAL
    return _temporary_token(mem, "this server's own", policy, Role.AGENT)


def require_local(host: str) -> None:
    """Raise `ConfigInvalid` for an address that other machines reach; for a vault without a token."""
    if not is_local(host):
        raise ConfigInvalid(
            f"{host} can be reached from other machines, and there is no token yet.",
            way_out="Make one with `engram token create NAME`, or serve at 127.0.0.1.",
        )


def reader_token(mem: Engram) -> GrantedToken:
    """Return a temporary token with the policy and role of `mem`, for the page of the person who starts it. It is kept in memory
    only and never shown."""
    return _temporary_token(mem, "this page's own", mem.reader.policy, mem.reader.role)


def _temporary_token(mem: Engram, name: str, policy: Policy, role: Role) -> GrantedToken:
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


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Called before a vault is opened, so that a bad address makes none."""
    if not host.strip():  # to the operating system that means every address
        raise ConfigInvalid("there is no address to listen at.", way_out="Name one with --host: 127.0.0.1, or 0.0.0.0 for all.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # IPPROTO_TCP by name: without it asyncio leaves Nagle's algorithm on, and every answer waits 40 ms for its last segment.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)  # with SO_REUSEADDR two sockets may bind a port, but only one may listen
    except (OSError, TypeError, ValueError) as error:  # the latter two for text that cannot be a host name
        listening.close()
        reason = getattr(error, "strerror", None) or "not an address"
        raise ConfigInvalid(
            f"cannot listen at {host} port {port} ({reason}).", way_out="Name another with --host and --port."
        ) from None
    return listening


def url_of(listening: socket.socket) -> str:
    """Return the address of a listening socket as a URL."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@frozen(kw_only=True)
class ServeLimits:
    """The pauses of servers that a user does not set."""

    serve_events_s: float = 0.5  # pause between two looks for changes to send to subscribers
    serve_drain_s: float = 10.0  # longest that a server that ends waits for running requests


class NetworkServer(uvicorn.Server):
    """uvicorn with the settings of every server here. drain_s: seconds to wait for running requests at shutdown. idle_timeout_s:
    seconds that a connection may stay open without a request."""

    def __init__(self, app: ASGIApp, drain_s: float, idle_timeout_s: float = IDLE_TIMEOUT_S) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                http="h11",  # also if httptools is installed: `_close_idle` reads h11's state
                ws="none",
                log_level="warning",
                access_log=False,  # a URL may hold private text
                server_header=False,
                proxy_headers=False,  # rate limits go by the connected address, which a header could forge
                timeout_graceful_shutdown=max(round(drain_s), 1),
                backlog=BACKLOG,
            )
        )
        self._idle_timeout_s = idle_timeout_s
        self._idle: dict[Any, tuple[object, int]] = {}

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            self._close_idle()
        return await super().on_tick(counter)

    def _close_idle(self) -> None:
        """Close connections without a complete request for too long; called every second. uvicorn itself would wait for ever for
        a client that sends nothing, or its headers byte by byte."""
        before, self._idle = self._idle, {}
        for connection in self.server_state.connections:
            cycle = connection.cycle  # type: ignore[union-attr]
            if cycle is None or cycle.response_complete:
                last_cycle, seconds = before.get(connection, (cycle, 0))
                self._idle[connection] = cycle, seconds + 1 if last_cycle is cycle else 1
        for connection, (_, seconds) in self._idle.items():
            if seconds > self._idle_timeout_s:
                connection.transport.close()
