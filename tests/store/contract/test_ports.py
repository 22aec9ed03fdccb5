"""The contract is complete: every method of every port is called by a test in this folder."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_type_hints

from engram.store.ports import Store


def test_every_method_of_every_port_is_tried_by_the_contract() -> None:
    source = "\n".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    missing = []
    for noun, member in vars(Store).items():
        if not isinstance(member, property) or noun == "last_used":
            continue
        port = get_type_hints(member.fget)["return"]
        methods = [
            name
            for name, value in vars(port).items()
            if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
        ]
        missing += [f"{noun}.{name}" for name in methods if not re.search(rf"\.{noun}\.{name}\b", source)]
    assert missing == []
