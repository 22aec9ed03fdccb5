"""An embedding endpoint on the command line: which one is in use, whether it answers, and making missing vectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from models.servers import Server, probed_too, serving
from recall.vaults import FACTS
from serve.console import Engram


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def named(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("ENGRAM_MODEL", "ollama:some-model")
    monkeypatch.setenv("ENGRAM_EMBED_URL", server.url)
    return server


def test_the_command_line_says_which_encoder_is_in_use_and_whether_it_answers(made: Engram, named: Server) -> None:
    assert made("model", "verify").out.strip() == f"ollama:some-model answers at {named.url}, 512 dimensions."
    assert "In use is an endpoint: ollama:some-model answers at" in made("model", "list").err
    assert made("model", "list", "--json").json[-1]["answers"] is True
    assert f"answers at {named.url}" in made("status").out
    assert made("remember", FACTS[0]).code == 0
    assert made("status", "--json").json["encoder"]["dimensions"] == 512
    named.reply = probed_too(lambda asked: None)
    failed = made("model", "verify")
    assert (failed.code, failed.err.startswith("E3001")) == (1, True)
    assert "cannot be reached" in made("status").out
    assert "cannot be reached" in made("model").err
    assert made("remember", FACTS[1]).code == 0
    assert made("model", "fill").code == 1
    named.reply = None
    assert made("model", "fill").out.strip() == "1 vector made."
    assert made("model", "fill", "--anew", "--json").json == {"made": 2}
