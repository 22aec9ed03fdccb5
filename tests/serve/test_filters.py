"""Filters by name on the command line, over HTTP and MCP, and on the page (R21)."""

from __future__ import annotations

from pathlib import Path

import pytest
from serve.console import Engram as Console
from serve.paged import kept, signed_in
from serve.served import serving
from serve.talking import call

SAID = ("Ana owns the boat shed", "Tom owns the boat house", "The boat plan is in src/boats.py", "Das Boot liegt noch im Hafen")
CASES = {
    ("people", "--person", "person", "Ana"): SAID[0],
    ("files", "--file", "file", "boats.py"): SAID[2],
    ("languages", "--language", "language", "de"): SAID[3],
    ("languages", "--language", "language", "python"): SAID[2],
    ("topics", "--topic", "topic", "harbour"): SAID[1],
}


@pytest.mark.parametrize(("argument", "option", "value"), [(case[0], case[1], case[3]) for case in CASES])
def test_commands_take_names(made: Console, argument: str, option: str, value: str) -> None:
    for text in SAID:
        assert made("remember", text, "--category", "harbour" if text == SAID[1] else "fact").code == 0
    expected = next(text for case, text in CASES.items() if (case[0], case[3]) == (argument, value))
    for command in (("recall", "boat boot"), ("list",)):
        found = made(*command, option, value, "--json").json
        assert [hit.get("memory", hit)["text"] for hit in found.get("hits", found.get("memories"))] == [expected]
    assert expected in made("context", "boat boot", option, value).out
    unknown = made("list", "--person", "Zed")
    assert "note: nobody is known by the name 'Zed'." in unknown.err


def test_servers_and_the_page_take_names(tmp_path: Path) -> None:
    with kept(tmp_path / "vault") as mem:
        for text in SAID:
            mem.remember(text, category="harbour" if text == SAID[1] else "fact")
        with serving(mem) as api, signed_in(mem) as visitor:
            for (argument, _, field, value), expected in CASES.items():
                hits = api.post("/v1/search", {"query": "boat boot", "limit": 9, argument: [value]}).json["hits"]
                assert [hit["memory"]["text"] for hit in hits] == [expected]
                listed = api.get(f"/v1/memories?{argument}={value}").json["memories"]
                assert [memory["text"] for memory in listed] == [expected]
                told = call(mem, "memory_search", {"query": "boat boot", "limit": 9, argument: [value]}).content[0].text
                assert [text in told for text in SAID] == [text == expected for text in SAID]
                for page in (f"/ui/search?q=boat+boot&{field}={value}", f"/ui/memories?{field}={value}"):
                    shown = visitor.read(page)
                    assert expected in shown
            assert "Nobody is known by the name 'Zed'." in visitor.read("/ui/memories?person=Zed")
            bad = api.post("/v1/search", {"query": "boat", "people": [""]})
            assert (bad.status, bad.json["code"]) == (400, "E2004")
