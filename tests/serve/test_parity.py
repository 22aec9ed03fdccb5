"""Every operation answers alike through the library, the command line, HTTP and MCP."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_origin
from urllib.parse import quote, urlencode

import pytest
from serve.console import Engram as Console
from serve.served import Answer, Api, serving
from serve.talking import call
from serve.test_operations import arguments_of

import engram
from engram.serve.http.routes import routes
from engram.serve.mcp import tools
from engram.serve.operations import OPERATIONS, Operation, read
from engram.types import Reader, Role, Scope, Turn

REX = Reader(Scope(agent="rex"), role=Role.OWNER)
MOVING = {
    "milliseconds",
    "latencies",
    "accesses",
    "rss_bytes",
    "vault_bytes",
    "wal_bytes",
    "readers_open",
    "readers_idle",
    "path",
}
"""Members that differ between two runs of the same face."""

GROWING = {"status", "audit", "events", "backups"}
"""Operations whose output grows with every call, so that only its shape can be compared."""

Call = Callable[[Operation, Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Prepared:
    """A vault, and arguments for every operation on it. Each face calls all of them, in order, on its own copy."""

    path: Path
    arguments: Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    path = tmp_path_factory.mktemp("parity") / "vault"
    key = {"key_source": "file", "key_file": str(path.with_name("the.key"))}
    with engram.open(path, agent="rex", settings={"backup_hours": 0, **key}) as opened:
        mem = opened.as_reader(REX)
        arguments = arguments_of(mem)
        mem.forget(arguments["restore"]["id"])
    return Prepared(path, arguments)


def library(path: Path, console: Console) -> Iterator[Call]:
    with engram.open(path, agent="rex") as opened:
        mem = opened.as_reader(REX)
        yield lambda operation, given: operation.answer(mem, read(operation, given))


def library_anew(path: Path, console: Console) -> Iterator[Call]:
    """The library, opened and closed for every call as a command does, so that working memory is saved in between."""

    def call(operation: Operation, given: Mapping[str, Any]) -> Any:
        with engram.open(path, agent="rex") as opened:
            return operation.answer(opened.as_reader(REX), read(operation, given))

    yield call


def command_line(path: Path, console: Console) -> Iterator[Call]:
    yield lambda operation, given: console("--agent", "rex", *words_for(operation, given, path), "--json").json


def http(path: Path, console: Console) -> Iterator[Call]:
    with engram.open(path, agent="rex") as opened:
        mem = opened.as_reader(REX)
        secret = mem.grant("parity", role=Role.OWNER, writes=True).secret
        with serving(mem) as server:
            yield lambda operation, given: request(Api(server.port, secret), operation, given)


def mcp(path: Path, console: Console) -> Iterator[Call]:
    """MCP tools of the full profile. The ten of the core profile answer in a shorter form and have tests of their own."""
    with engram.open(path, agent="rex") as opened:
        mem = opened.as_reader(REX)
        core = {tool.name: tool.operation for tool in tools.core()}

        def call_tool(operation: Operation, given: Mapping[str, Any]) -> Any:
            if operation.name in core.values():
                return operation.answer(mem, read(operation, given))
            answer = call(mem, f"memory_{operation.name}", given, "full")
            assert not answer.is_error, answer.content[0].text
            return answer.structured_content

        yield call_tool


Face = Callable[[Path, Console], Iterator[Call]]
FACES: Mapping[str, tuple[Face, Face]] = {
    "command line": (library_anew, command_line),
    "http": (library, http),
    "mcp": (library, mcp),
}
"""Each face, with the way of using the library that it is compared to."""


def words_for(operation: Operation, given: Mapping[str, Any], folder: Path) -> list[str]:
    """Call an operation as a person would type it."""
    ids: list[str] = []
    texts: list[str] = []
    options: list[str] = []
    for one in operation.fields:
        if one.name not in given:
            continue
        value = given[one.name]
        flag = one.arg.flags[0] if one.arg.flags else f"--{one.name.replace('_', '-')}"
        if one.arg.positional:
            (texts if one.arg.free_text else ids).extend(value if isinstance(value, list) else [str(value)])
        elif get_origin(one.type) is tuple and Turn in one.type.__args__:
            file = folder.parent / f"{one.name}.jsonl"
            file.write_text("".join(json.dumps(turn) + "\n" for turn in value))
            options += [flag, str(file)]
        elif isinstance(value, bool):
            on, _, off = flag.partition("/")
            options += [on] if value else [off] if off else []
        elif isinstance(value, dict):
            options += [part for name, text in value.items() for part in (flag, f"{name}={text}")]
        else:
            options += [part for each in (value if isinstance(value, list) else [value]) for part in (flag, str(each))]
    return [operation.name.replace("_", "-"), *options, *ids, *texts]


def request(api: Api, operation: Operation, given: Mapping[str, Any]) -> Any:
    answer = ask(api, operation, given)
    assert answer.status in (200, 201), answer.body
    return answer.json


def ask(api: Api, operation: Operation, given: Mapping[str, Any]) -> Answer:
    """Call an operation by its HTTP route and return the answer, also of an error."""
    (route,) = (one for one in routes() if one.operation is operation)
    path = route.path
    for name in route.in_path:
        value = given[name]
        path = path.replace(f"{{{name}}}", quote(str(value[0] if isinstance(value, list) else value)))
    rest = {name: value for name, value in given.items() if name not in route.in_path}
    if route.has_body:
        return api(route.method, path, rest)
    said = {name: _in_address(value) for name, value in rest.items()}
    return api(route.method, f"{path}?{urlencode(said, doseq=True)}")


def _in_address(value: Any) -> Any:
    if isinstance(value, dict):
        return [f"{name}:{text}" for name, text in value.items()]
    return str(value).lower() if isinstance(value, bool) else value


def settled(value: Any, known: str) -> Any:
    """An answer without members that differ between two runs: new ids, times, paths, figures."""
    if isinstance(value, dict):
        return {name: "…" if name in MOVING else settled(part, known) for name, part in value.items()}
    if isinstance(value, list):
        return [settled(part, known) for part in value]
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value):
        return "a moment"
    if isinstance(value, str) and re.fullmatch(r"[0-9A-HJKMNP-TV-Z]{26}", value) and value not in known:
        return "a new id"
    if isinstance(value, str):
        return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "a minute", value)
    return round(value, 3) if isinstance(value, float) else value


@pytest.mark.parametrize("face", FACES)
def test_every_operation_answers_as_the_library_does(
    face: str, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engram: Console
) -> None:
    monkeypatch.setenv("ENGRAM_KEY_SOURCE", "file")
    monkeypatch.setenv("ENGRAM_KEY_FILE", str(prepared.path.with_name("the.key")))
    monkeypatch.setenv("ENGRAM_BACKUP_HOURS", "0")
    known = json.dumps(prepared.arguments)
    answers: dict[str, dict[str, Any]] = {}
    for name, make in zip(("library", face), FACES[face], strict=True):
        path = tmp_path / name
        shutil.copytree(prepared.path, path)
        monkeypatch.setenv("ENGRAM_HOME", str(path))
        with contextmanager(make)(path, engram) as call:
            answers[name] = {each: settled(call(OPERATIONS[each], given), known) for each, given in prepared.arguments.items()}
    assert answers["library"].keys() == OPERATIONS.keys()
    for each in OPERATIONS:
        expected, found = answers["library"][each], answers[face][each]
        assert found.keys() == expected.keys(), each
        assert each in GROWING or found == expected, each
