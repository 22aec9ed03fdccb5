"""`engram model`, with a small stand-in for the encoder, so that nothing is downloaded; and with an embedding endpoint."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from models.servers import Server, probed_too, serving
from recall.vaults import FACTS
from serve.console import Engram

from engram.models import catalogue
from engram.models.catalogue import Model, ModelFile
from engram.serve.cli.caller import Caller
from engram.serve.cli.progress import progress

CONTENT = b"weights" * 1000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Model:
    artefact = ModelFile("model.onnx", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), "hub/model.onnx", "pack/model.onnx")
    model = Model(
        name=catalogue.DEFAULT,
        about="small",
        licence="MIT",
        dimensions=4,
        max_tokens=8,
        query_prefix="",
        passage_prefix="",
        background=(0.0, 1.0),
        files=(artefact,),
        wheel="none==1",
        wheel_sha256="",
    )
    monkeypatch.setattr(catalogue, "catalogue", lambda: {model.name: model})
    monkeypatch.setenv("ENGRAM_MODELS", str(tmp_path / "models"))
    return model


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(CONTENT)
    return folder


def test_a_model_is_installed_from_a_folder_and_verified(engram: Engram, small: Model, source: Path) -> None:
    assert engram("model", "list").lines[0].split("\t")[:2] == [small.name, "no"]
    missing = engram("model", "verify")
    assert missing.code == 1
    assert "model.onnx" in missing.err
    installed = engram("model", "install", "--from", str(source))
    assert installed.out.startswith(f"{small.name} is installed: ")
    assert engram("model", "verify").out.startswith(f"{small.name} is intact: 1 file in ")
    assert engram("model").lines[0].split("\t")[1] == "yes"
    assert engram("model", "install", "--json").json["new"] is False


def test_a_model_is_installed_from_an_archive(engram: Engram, small: Model, tmp_path: Path) -> None:
    archive = tmp_path / "model.whl"
    with zipfile.ZipFile(archive, "w") as members:
        members.writestr("pack/model.onnx", CONTENT)
    told = engram("model", "install", "--from", str(archive), "--json").json
    assert (told["new"], told["installed"], told["bytes"]) == (True, True, len(CONTENT))


def test_a_model_with_wrong_bytes_is_refused_and_damage_is_detected(engram: Engram, small: Model, source: Path) -> None:
    (source / "model.onnx").write_bytes(b"x" * len(CONTENT))
    refused = engram("model", "install", "--from", str(source))
    assert refused.code == 1
    assert refused.err.startswith("E")
    assert not small.installed()
    (small.folder / "model.onnx").write_bytes(b"x" * len(CONTENT))
    damaged = engram("model", "verify", "--json")
    assert (damaged.code, json.loads(damaged.out)["wrong"]) == (1, ["model.onnx"])


def test_an_unknown_model_is_refused(engram: Engram, small: Model) -> None:
    assert engram("model", "verify", "gpt").code == 1
    assert engram("model", "install", "--from", "/no/such").code == 2


def test_a_progress_bar_appears_on_a_terminal_and_is_wiped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress(Caller()) as tell:
        tell("half", 0.5)
        tell("no total", None)
    shown = capsys.readouterr().err
    assert "━" * 12 + "╌" * 12 + "  50% half" in shown
    assert shown.endswith("\r\x1b[K")
    with progress(Caller(quiet=True)) as tell:
        tell("half", 0.5)
    assert capsys.readouterr().err == ""


def test_model_show_prints_the_capabilities_of_a_language_model(
    engram: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = engram("model", "show", "anthropic/claude-opus-4.6").lines
    assert [line.split("  ", 1)[1].strip() for line in lines] == [
        "claude-opus-4.6",
        "anthropic",
        "200,000 tokens",
        "32,768 tokens",
        "claude, estimated",
        "tools, vision, thinking",
    ]
    exact = engram("model", "show", "gpt-4o", "--json").json
    assert (exact["window"], exact["tokenizer"], exact["exact"], exact["known"]) == (128_000, "o200k", True, True)
    assert "cautious guesses" in engram("model", "show", "nobody").err
    own = tmp_path / "models.toml"
    own.write_text('[models.nobody]\nlike = "gpt-4o"\nwindow = 9000', "utf-8")
    monkeypatch.setenv("ENGRAM_MODELS_FILE", str(own))
    assert engram("model", "show", "nobody", "--json").json["window"] == 9000
    own.write_text("[models", "utf-8")
    broken = engram("model", "show", "nobody")
    assert broken.code == 1
    assert "E5003" in broken.err


def test_model_show_reports_whether_the_model_in_use_answers(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engram("model", "show").code == 2
    with serving() as server:
        monkeypatch.setenv("ENGRAM_LLM", "ollama:some-model")
        monkeypatch.setenv("ENGRAM_LLM_URL", server.url)
        assert "answers at" in engram("model", "show").lines[0]
        engram("init")
        assert engram("model", "show", "--json").json["trouble"] == ""
    gone = engram("model", "show")
    assert gone.code == 1
    assert "cannot be reached" in gone.out
    assert "cannot be reached" in engram("status").out


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
