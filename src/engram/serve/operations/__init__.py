"""The table of operations: every call that the command line, MCP, HTTP and the web page offer, defined once.

`OPERATIONS[name].answer(mem, read(operation, arguments))` is a complete call. `schema` makes the JSON schemas of an operation's
input and output.
"""

from __future__ import annotations

from collections.abc import Mapping

from engram.serve.operations import (
    audit,
    backups,
    boxes,
    changes,
    context,
    dreams,
    edges,
    entities,
    episodes,
    erasure,
    facts,
    feedback,
    gaps,
    health,
    knowledge,
    lifecycle,
    memories,
    recall,
    skills,
    turns,
    working,
)
from engram.serve.operations.operation import Arg as Arg
from engram.serve.operations.operation import Effect as Effect
from engram.serve.operations.operation import Operation as Operation
from engram.serve.operations.operation import table
from engram.serve.operations.schema import read as read

OPERATIONS: Mapping[str, Operation] = table(
    memories.OPERATIONS,
    lifecycle.OPERATIONS,
    edges.OPERATIONS,
    boxes.OPERATIONS,
    feedback.OPERATIONS,
    turns.OPERATIONS,
    recall.OPERATIONS,
    context.OPERATIONS,
    entities.OPERATIONS,
    facts.OPERATIONS,
    episodes.OPERATIONS,
    skills.OPERATIONS,
    working.OPERATIONS,
    knowledge.OPERATIONS,
    gaps.OPERATIONS,
    dreams.OPERATIONS,
    health.OPERATIONS,
    audit.OPERATIONS,
    erasure.OPERATIONS,
    backups.OPERATIONS,
    changes.OPERATIONS,
)
