"""The tools, resources and prompts as a server of the official SDK, which speaks the protocol in every revision of it.

An operation takes its time in a thread, so that others are answered meanwhile. An error is told to the model as the answer of
its tool: what happened and the way out, by our code.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from engram.deadline import Deadline
from engram.errors import EngramError, InvalidQuery, SystemError_
from engram.serve import wire
from engram.serve.mcp import chatgpt, graph, greeting, resources, tools
from engram.serve.mcp.tools import Tool
from engram.types import Reader

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams

    from engram.engine import Engram

T = TypeVar("T")
Answer = dict[str, Any]

PROFILES: Mapping[str, Callable[[], tuple[Tool, ...]]] = {
    "core": tools.core,
    "full": tools.full,
    "memory-server": graph.tools,
    "chatgpt": chatgpt.tools,
}
_INVALID = -32602  # JSON-RPC's word for parameters that are none; the protocol has it for resources that are not there, too


class Door(Protocol):
    """Where identity is established. `request` is the HTTP request, or None on standard input."""

    def reader(self, request: Any) -> Reader: ...

    def enter(self, request: Any) -> Engram:
        """The vault as the caller sees it. It may have to be opened first."""
        ...


def build(door: Door, profile: str = "core") -> Server[Any]:
    """A server for whoever comes through the door."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # what it logs of a failure quotes the answer
    known = {tool.name: tool for tool in PROFILES[profile]()}

    async def list_tools(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> Answer:
        reader = door.reader(ctx.request)
        return _fresh(tools=[tool.listed() for tool in known.values() if tool.open_to(reader)])

    async def call_tool(ctx: ServerRequestContext[Any], params: CallToolRequestParams) -> Answer:
        tool = known.get(params.name)
        if tool is None:
            raise MCPError(_INVALID, f"there is no such tool; there are {', '.join(known)}.")
        begun: list[Deadline] = []
        try:
            return await _in_thread(partial(_called, door, ctx.request, tool, params.arguments or {}, begun))
        except anyio.get_cancelled_exc_class():  # the client called it off, or is gone
            for one in begun:
                one.cancel()
            raise

    async def list_resources(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> Answer:
        return _fresh(resources=resources.listed())

    async def list_templates(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> Answer:
        return _fresh(resourceTemplates=resources.templates())

    async def read_resource(ctx: ServerRequestContext[Any], params: ReadResourceRequestParams) -> Answer:
        uri = str(params.uri)
        text = await _in_thread(partial(_told, lambda: resources.read_text(door.enter(ctx.request), uri)))
        return _fresh(contents=[{"uri": uri, "mimeType": "text/plain", "text": text}])

    async def list_prompts(ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None) -> Answer:
        return _fresh(prompts=resources.prompts())

    async def get_prompt(ctx: ServerRequestContext[Any], params: GetPromptRequestParams) -> Answer:
        if params.name != resources.START:
            raise MCPError(_INVALID, f"there is no such prompt; there is {resources.START}.")
        task = (params.arguments or {}).get("task", "")
        text = await _in_thread(partial(_told, lambda: resources.start(door.enter(ctx.request), task)))
        return _complete(messages=[{"role": "user", "content": {"type": "text", "text": text}}])

    server: Server[Any] = Server(
        greeting.NAME,
        version=greeting.version(),
        title=greeting.TITLE,
        instructions=greeting.INSTRUCTIONS,
        get_tool_input_schema=lambda name: known[name].input if name in known else None,
        on_list_tools=list_tools,  # type: ignore[arg-type]  # a mapping is as good as a model of the SDK's: it is checked there
        on_call_tool=call_tool,  # type: ignore[arg-type]
        on_list_resources=list_resources,  # type: ignore[arg-type]
        on_list_resource_templates=list_templates,  # type: ignore[arg-type]
        on_read_resource=read_resource,  # type: ignore[arg-type]
        on_list_prompts=list_prompts,  # type: ignore[arg-type]
        on_get_prompt=get_prompt,  # type: ignore[arg-type]
    )
    server.middleware.clear()  # its first is telemetry
    return server


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


def _complete(**parts: Any) -> Answer:
    return {"resultType": "complete", **parts}


def _fresh(**parts: Any) -> Answer:
    """To be asked for anew each time, and nobody else's: what may be seen hangs on who asks."""
    return _complete(ttlMs=0, cacheScope="private", **parts)


def _called(door: Door, request: Any, tool: Tool, arguments: Mapping[str, Any], begun: list[Deadline]) -> Answer:
    try:
        mem = door.enter(request)
        with mem.deadline(mem.settings.now.serve_timeout_s) as until:
            begun.append(until)
            said = tool.run(mem, arguments)
    except EngramError as error:
        return _refused(error)
    except RecursionError:
        return _refused(InvalidQuery("the arguments are nested too deeply."))
    except Exception as defect:  # noqa: BLE001  a face has the one net; what it caught could quote stored words
        return _refused(SystemError_(f"unexpected {type(defect).__name__}: a defect in Engram.", way_out="Run `engram doctor`."))
    return _complete(content=[_text(said.text)], structuredContent=said.data, isError=False)


def _refused(error: EngramError) -> Answer:
    """For the model to act on; for programs the parts of it, beside."""
    return _complete(content=[_text(str(error))], isError=True, _meta={"engram/problem": wire.problem(error)})


def _text(text: str) -> Answer:
    return {"type": "text", "text": text}


def _told(work: Callable[[], str]) -> str:
    try:
        return work()
    except EngramError as error:
        raise MCPError(_INVALID, str(error), wire.problem(error)) from None
