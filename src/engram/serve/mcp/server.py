"""The tools, resources and prompts as a server of the official SDK, which speaks the protocol in every revision of it.

An operation takes its time in a thread, so that others are answered meanwhile, and how far it is goes to a client that gave a
progress token. An error is told to the model as the answer of its tool: what happened and the way out, by our code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from engram.deadline import Deadline
from engram.errors import EngramError, InvalidQuery, SystemError_
from engram.serve import wire
from engram.serve.mcp import greeting, profiles, resources
from engram.serve.mcp.tools import Tool
from engram.serve.operations.telling import ProgressCallback, progress_to
from engram.types import Reader

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams

    from engram.engine import Engram

    Context = ServerRequestContext[Any]

T = TypeVar("T")
Answer = dict[str, Any]
Begun = Callable[["Engram"], AbstractContextManager["Engram"]]
"""Has a vault for as long as a call may take."""

_INVALID = -32602  # JSON-RPC's word for parameters that are none; the protocol has it for resources that are not there, too

_REPORT_S = 1.0

_ONCE = "engram/idempotency-key"
"""What a client calls a request in its `_meta`, if it is to be made once however often it is sent."""


class Door(Protocol):
    """Where identity is established. `request` is the HTTP request, or None on standard input."""

    def reader(self, request: Any) -> Reader: ...

    def enter(self, request: Any) -> Engram:
        """The vault as the caller sees it. It may have to be opened first."""
        ...


class Handlers:
    """What is answered to each method of the protocol, to whoever comes through the door."""

    def __init__(self, door: Door, tools: tuple[Tool, ...]) -> None:
        self._door = door
        self.tools = {tool.name: tool for tool in tools}

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        reader = self._door.reader(ctx.request)
        return _fresh(tools=profiles.listed(self.tools.values(), reader))

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> Answer:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(_INVALID, f"there is no such tool; there are {', '.join(self.tools)}.")
        arguments, key = params.arguments or {}, (params.meta or {}).get(_ONCE)
        with progress_to(_teller(ctx)):
            return await self._in_thread(lambda until: _called(until, self._door, ctx.request, tool, arguments, key))

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        return _fresh(resources=resources.listed(self._door.reader(ctx.request)))

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        return _fresh(resourceTemplates=resources.templates())

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> Answer:
        uri = str(params.uri)
        text = await self._told(ctx, lambda mem: resources.read_text(mem, uri))
        return _fresh(contents=[{"uri": uri, "mimeType": "text/plain", "text": text}])

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        return _fresh(prompts=resources.prompts())

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> Answer:
        if params.name != resources.START:
            raise MCPError(_INVALID, f"there is no such prompt; there is {resources.START}.")
        task = (params.arguments or {}).get("task", "")
        text = await self._told(ctx, lambda mem: resources.start(mem, task))
        return _complete(messages=[{"role": "user", "content": _text(text)}])

    async def _told(self, ctx: Context, work: Callable[[Engram], str]) -> str:
        def told(until: Begun) -> str:
            try:
                with until(self._door.enter(ctx.request)) as mem:
                    return work(mem)
            except EngramError as error:
                raise MCPError(_INVALID, str(error), wire.problem(error)) from None

        return await self._in_thread(told)

    async def _in_thread(self, work: Callable[[Begun], T]) -> T:
        """What the client calls off, or leaves behind, ends there too."""
        begun: list[Deadline] = []
        try:
            return await anyio.to_thread.run_sync(work, partial(_timed, begun), abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            for one in begun:
                one.cancel()
            raise


@contextmanager
def _timed(begun: list[Deadline], mem: Engram) -> Iterator[Engram]:
    with mem.deadline(mem.settings.now.serve_timeout_s) as until:
        begun.append(until)
        yield mem


def _teller(ctx: Context) -> ProgressCallback:
    """Called in the thread of the operation, which a client that takes nothing in may hold up for a moment, and no longer."""
    numbers = count(1)  # it may only rise, and what a job has looked at begins anew with the next one

    async def report(stage: str, share: float | None) -> None:
        with anyio.move_on_after(_REPORT_S):
            if share is None:
                await ctx.session.report_progress(next(numbers), None, stage)
            else:
                await ctx.session.report_progress(share, 1.0, stage)

    def tell(stage: str, share: float | None) -> None:
        anyio.from_thread.run(report, stage, share)

    return tell


def build(door: Door, profile: str = "core") -> Server[Any]:
    """A server for whoever comes through the door. What the SDK types as models of its own it takes, and checks, as mappings."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # what it logs of a failure quotes the answer
    handlers: Any = Handlers(door, profiles.tools_of(profile))
    server: Server[Any] = Server(
        greeting.NAME,
        version=greeting.version(),
        title=greeting.TITLE,
        instructions=greeting.INSTRUCTIONS,
        get_tool_input_schema=lambda name: handlers.tools[name].input if name in handlers.tools else None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.clear()  # its first is telemetry
    return server


def _complete(**parts: Any) -> Answer:
    return {"resultType": "complete", **parts}


def _fresh(**parts: Any) -> Answer:
    """To be asked for anew each time, and nobody else's: what may be seen hangs on who asks."""
    return _complete(ttlMs=0, cacheScope="private", **parts)


def _called(until: Begun, door: Door, request: Any, tool: Tool, arguments: Mapping[str, Any], key: Any) -> Answer:
    try:
        with until(door.enter(request)) as mem:
            said = tool.run(mem if key is None else _keyed(mem, tool, key), arguments)
    except EngramError as error:
        return _refused(error)
    except RecursionError:
        return _refused(InvalidQuery("the arguments are nested too deeply."))
    except Exception as defect:  # noqa: BLE001  a face has the one net; what it caught could quote stored words
        return _refused(SystemError_(f"unexpected {type(defect).__name__}: a defect in Engram.", way_out="Run `engram doctor`."))
    return _complete(content=[_text(said.text)], structuredContent=said.data, isError=False)


def _keyed(mem: Engram, tool: Tool, key: Any) -> Engram:
    """A key stands for one write, and tools in the shape of somebody else's may be several."""
    if not tool.operation:
        raise InvalidQuery("this tool takes no idempotency key.", way_out="Leave it out, or call a tool of Engram's own.")
    return mem.keyed(key)


def _refused(error: EngramError) -> Answer:
    """For the model to act on; for programs the parts of it, beside."""
    return _complete(content=[_text(str(error))], isError=True, _meta={"engram/problem": wire.problem(error)})


def _text(text: str) -> Answer:
    return {"type": "text", "text": text}
