"""The table of operations: everything that can be asked of a memory, once; the command line, MCP and HTTP are its faces.

`OPERATIONS[name].answer(mem, read(operation, arguments))` is a whole call. `schema` has the JSON schemas of both ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from engram.serve.operations import asking, caring, keeping, knowing, looking, minding, recounting, resting
from engram.serve.operations.operation import Arg as Arg
from engram.serve.operations.operation import Effect as Effect
from engram.serve.operations.operation import Operation as Operation
from engram.serve.operations.operation import table
from engram.serve.operations.schema import read as read

OPERATIONS: Mapping[str, Operation] = table(
    keeping.OPERATIONS,
    asking.OPERATIONS,
    looking.OPERATIONS,
    knowing.OPERATIONS,
    recounting.OPERATIONS,
    minding.OPERATIONS,
    resting.OPERATIONS,
    caring.OPERATIONS,
)
