"""The tools, resources and prompts as a server of the official SDK, which supports every revision of the protocol.

An operation runs in a thread, so that other requests are answered meanwhile; its progress goes to a client that sent a progress
token. An error is returned to the model as its tool's answer: the error code, what happened and the way out.
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
from engram.serve.mcp import handshake, profiles, resources
from engram.serve.mcp.tools import Tool
from engram.serve.operations import wire
from engram.serve.operations.operation import ProgressCallback, progress_to
from engram.types import Reader

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams

    from engram.engine import Engram

    Context = ServerRequestContext[Any]

T = TypeVar("T")
Answer = dict[str, Any]
WithDeadline = Callable[["Engram"], AbstractContextManager["Engram"]]
"""Puts the calls to a vault inside a block under the deadline of one request."""

_INVALID_PARAMS = -32602  # JSON-RPC's code; MCP prescribes it for unknown resources too

_PROGRESS_TIMEOUT_S = 1.0

_IDEMPOTENCY_KEY = "engram/idempotency-key"
"""Name of the idempotency key in a request's `_meta`: a write sent again with the same key is made once."""


class Access(Protocol):
    """Resolves a request to its caller. `request` is the HTTP request, or None on standard input."""

    def reader(self, request: Any) -> Reader:
        """Return the identity and rights of the caller, without opening a vault."""
        ...

    def vault(self, request: Any) -> Engram:
        """Return the vault as the caller sees it, opening it if necessary."""
        ...


class Handlers:
    """Answers each method of the protocol."""

    def __init__(self, access: Access, tools: tuple[Tool, ...]) -> None:
        self._access = access
        self.tools = {tool.name: tool for tool in tools}

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        reader = self._access.reader(ctx.request)
        return _uncached(tools=profiles.listing(self.tools.values(), reader))

    async def call_tool(self, ctx: Context, params: CallToolRequestParams) -> Answer:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(_INVALID_PARAMS, f"there is no such tool; there are {', '.join(self.tools)}.")
        arguments, key = params.arguments or {}, (params.meta or {}).get(_IDEMPOTENCY_KEY)
        with progress_to(_progress_reporter(ctx)):
            return await self._in_thread(
                lambda with_deadline: _call_tool(with_deadline, self._access, ctx.request, tool, arguments, key)
            )

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        return _uncached(resources=resources.listing(self._access.reader(ctx.request)))

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        return _uncached(resourceTemplates=resources.templates())

    async def read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> Answer:
        uri = str(params.uri)
        text = await self._text_from_vault(ctx, lambda mem: resources.read_text(mem, uri))
        return _uncached(contents=[{"uri": uri, "mimeType": "text/plain", "text": text}])

    async def list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> Answer:
        return _uncached(prompts=resources.prompts())

    async def get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> Answer:
        if params.name != resources.START:
            raise MCPError(_INVALID_PARAMS, f"there is no such prompt; there is {resources.START}.")
        task = (params.arguments or {}).get("task", "")
        text = await self._text_from_vault(ctx, lambda mem: resources.start(mem, task))
        return _complete(messages=[{"role": "user", "content": _text(text)}])

    async def _text_from_vault(self, ctx: Context, make: Callable[[Engram], str]) -> str:
        def work(with_deadline: WithDeadline) -> str:
            try:
                with with_deadline(self._access.vault(ctx.request)) as mem:
                    return make(mem)
            except EngramError as error:
                raise MCPError(_INVALID_PARAMS, str(error), wire.problem(error)) from None

        return await self._in_thread(work)

    async def _in_thread(self, work: Callable[[WithDeadline], T]) -> T:
        """Run `work` in a thread; cancel its deadline, and so its calls, when the client cancels the request or disconnects."""
        deadlines: list[Deadline] = []
        try:
            return await anyio.to_thread.run_sync(work, partial(_with_deadline, deadlines), abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class():
            for deadline in deadlines:
                deadline.cancel()
            raise


@contextmanager
def _with_deadline(deadlines: list[Deadline], mem: Engram) -> Iterator[Engram]:
    with mem.deadline(mem.settings.now.serve_timeout_s) as deadline:
        deadlines.append(deadline)
        yield mem


def _progress_reporter(ctx: Context) -> ProgressCallback:
    """Return a callback that reports progress to the client.

    The operation's own thread calls it: a client that does not read delays the operation by `_PROGRESS_TIMEOUT_S` at most.
    """
    numbers = count(1)  # MCP's progress may only rise, while a job's own count begins again with each stage

    async def report(stage: str, share: float | None) -> None:
        with anyio.move_on_after(_PROGRESS_TIMEOUT_S):
            if share is None:
                await ctx.session.report_progress(next(numbers), None, stage)
            else:
                await ctx.session.report_progress(share, 1.0, stage)

    def report_from_thread(stage: str, share: float | None) -> None:
        anyio.from_thread.run(report, stage, share)

    return report_from_thread


def build(access: Access, profile: str = "core") -> Server[Any]:
    """Return an SDK server with the tools of a profile.

    `handlers` is typed `Any` because the SDK's signatures name its own models, while it accepts, and validates, mappings.
    """
    logging.getLogger("mcp").setLevel(logging.CRITICAL + 1)  # its log of a failure would quote the answer
    handlers: Any = Handlers(access, profiles.tools_of(profile))
    server: Server[Any] = Server(
        handshake.NAME,
        version=handshake.version(),
        title=handshake.TITLE,
        instructions=handshake.INSTRUCTIONS,
        get_tool_input_schema=lambda name: handlers.tools[name].input if name in handlers.tools else None,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    server.middleware.clear()  # the SDK's default middleware is telemetry
    return server


def _complete(**parts: Any) -> Answer:
    return {"resultType": "complete", **parts}


def _uncached(**parts: Any) -> Answer:
    """Return an answer that clients must not cache or share: its content depends on the caller's rights."""
    return _complete(ttlMs=0, cacheScope="private", **parts)


def _call_tool(
    with_deadline: WithDeadline, access: Access, request: Any, tool: Tool, arguments: Mapping[str, Any], key: Any
) -> Answer:
    try:
        with with_deadline(access.vault(request)) as mem:
            answer = tool.run(mem if key is None else _with_key(mem, tool, key), arguments)
    except EngramError as error:
        return _error_answer(error)
    except RecursionError:
        return _error_answer(InvalidQuery("the arguments are nested too deeply."))
    except Exception as error:  # noqa: BLE001  a face catches everything; only the type is shown, the message could quote memories
        defect = SystemError_(f"unexpected {type(error).__name__}: a defect in Engram.", way_out="Run `engram doctor`.")
        return _error_answer(defect)
    return _complete(content=[_text(answer.text)], structuredContent=answer.data, isError=False)


def _with_key(mem: Engram, tool: Tool, key: Any) -> Engram:
    """Return the vault with an idempotency key for its next write.

    A key covers one write, and the tools of another server's profile may make several: they take none.
    """
    if not tool.operation:
        raise InvalidQuery("this tool takes no idempotency key.", way_out="Leave it out, or call a tool of Engram's own.")
    return mem.keyed(key)


def _error_answer(error: EngramError) -> Answer:
    """Return an error as text for the model, with its code and parts in `_meta` for programs."""
    return _complete(content=[_text(str(error))], isError=True, _meta={"engram/problem": wire.problem(error)})


def _text(text: str) -> Answer:
    return {"type": "text", "text": text}
