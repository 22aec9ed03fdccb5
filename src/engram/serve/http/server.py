"""uvicorn as every server on the network has it: it logs no address, believes no header, and waits for nobody without end."""

from __future__ import annotations

from typing import Any

import uvicorn
from starlette.types import ASGIApp

from engram.serve.http.listening import BACKLOG

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
