"""Who calls and which vault is meant: what the options before the command say, and what every command does with it.

Here the identity of the console is made: the owner, standing where the options or the settings say. Questions
(passphrase, are you sure) are put only to a terminal.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram import settings as settings_room
from engram.env import Env
from engram.errors import ContentTooLarge, InvalidContent, VaultLocked
from engram.frozen import field, mutable, replace
from engram.guard.process import harden
from engram.guard.unlock import PassphrasePrompt
from engram.serve.cli import show
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.store.sqlite.maintenance import key_facts
from engram.store.sqlite.vault import Credentials
from engram.types import Policy, Role

if TYPE_CHECKING:
    from engram.engine import Engram

Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
All = Annotated[bool, typer.Option("--all", help="Look everywhere in the vault, whoever it belongs to.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

INPUT_BYTES = 2**20
"""The highest limit that `content_bytes` can be given; nothing longer could be kept, so nothing longer is read."""


class BadCall(typer.TyperException):
    """The command was called in a way that cannot be meant."""

    exit_code = 2


@mutable
class Caller:
    """Filled from the options before the command; commands get it from `of`."""

    vault: str | None = None
    identity: dict[str, object] = field(default_factory=dict)
    json: bool = False
    quiet: bool = False
    debug: bool = False
    env: Env = field(default_factory=Env)

    @property
    def path(self) -> Path:
        from engram.vault import vault_path  # as in `open`

        return vault_path(settings_room.home() if self.vault is None else self.vault)

    def live(self) -> LiveSettings:
        return LiveSettings(self.identity, monotonic=self.env.monotonic)

    @contextlib.contextmanager
    def open(
        self, *, everything: bool = False, make: bool = False, settings: Mapping[str, object] | None = None
    ) -> Iterator[Engram]:
        """The vault as its owner sees it from where they stand, or all of it. Only with `make` is a missing one made."""
        from engram.engine import Engram  # half a second of numpy and onnxruntime, which help and completion do without

        if not make:
            key_facts(self.path)  # a mistyped path is an error, not a new vault
        ask = self.ask if exists(self.path) else self.ask_new
        with Engram.open(self.path, ask=ask, settings={**self.identity, **(settings or {})}, env=self.env) as opened:
            if opened.notice:
                self.remark(f"A new vault was made at {self.path}.\n{opened.notice}")
            reader = replace(opened.reader, role=Role.OWNER)
            yield opened.as_reader(replace(reader, policy=Policy.ALL) if everything else reader)

    @property
    def credentials(self) -> Credentials:
        return Credentials(None, self.ask)

    @property
    def ask(self) -> PassphrasePrompt | None:
        """Asks for the passphrase of a vault; None where nobody could answer."""
        return (lambda: getpass.getpass("Passphrase: ")) if _answers() else None

    @property
    def ask_new(self) -> PassphrasePrompt | None:
        """Asks for a passphrase twice; once given it is known, because making a vault asks again to open it."""
        return functools.cache(_new_passphrase) if _answers() else None

    def harden(self, live: LiveSettings) -> tuple[str, ...]:
        """Close the process to onlookers, as opening a vault does; returns what the platform would not do."""
        return harden() if live.now.harden_process else ()

    def confirm(self, question: str, yes: bool) -> None:
        if yes:
            return
        if not _answers():
            raise BadCall("This asks before it goes on, and there is no terminal to ask on. Pass --yes if you are sure.")
        print(f"{show.safe(question)} [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            show.remark("Nothing was done.")
            raise typer.Exit(1)

    def remark(self, text: str) -> None:
        """Stands after the answer, also in one file with it; where the reader of the answer has gone, nothing more is said."""
        if not self.quiet:
            sys.stdout.flush()
            show.remark(text)

    def say(self, text: str) -> None:
        """The answer of a command that has none but that it was done."""
        if not self.quiet:
            show.line(text)


def of(ctx: typer.Context, as_json: bool = False) -> Caller:
    found = ctx.find_object(Caller) or Caller()
    found.json |= as_json
    return found


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Completes what was begun with one of these."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]  # typer knows the argument by its name


def exists(path: Path) -> bool:
    return VaultFolder(path).exists()


def words(given: list[str], most: int = INPUT_BYTES) -> str:
    """The text meant by arguments: the words themselves, or standard input for a single dash, at most so many bytes of it."""
    return _from_input(most) if given == ["-"] else " ".join(given)


def secret_line(prompt: str) -> str:
    """A secret that is not the passphrase of a vault: typed unseen, or the first line of standard input."""
    return getpass.getpass(prompt) if _answers() else _from_input().partition("\n")[0]


def _from_input(most: int = INPUT_BYTES) -> str:
    content = bytearray()
    while sys.stdin is not None and len(content) <= most and (more := sys.stdin.buffer.read(INPUT_BYTES)):
        content += more
    if len(content) > most:
        raise ContentTooLarge(f"there are more than {most:,} bytes on standard input.")
    try:
        return content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        # `from None`: the decoder's own error carries the words.
        raise InvalidContent(
            f"what is on standard input is not UTF-8 (at byte {error.start}).", way_out="Convert it first."
        ) from None


def _new_passphrase() -> str:
    first = getpass.getpass("New passphrase: ")
    if getpass.getpass("The same again: ") != first:
        raise VaultLocked("the two passphrases are not the same.", way_out="Nothing was made. Try again.")
    return first


def _answers() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
