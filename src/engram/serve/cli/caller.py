"""The caller of a command: identity, vault and output mode, from the options before the command.

The command line acts as the owner, in the scope that the options or the settings name. Prompts (a passphrase, a confirmation)
appear only on a terminal.
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
from engram.crypto.hardening import harden
from engram.crypto.key_sources import PassphrasePrompt
from engram.env import Env
from engram.errors import ContentTooLarge, InvalidContent, VaultLocked
from engram.serve.cli import terminal
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder
from engram.store.maintenance import key_facts
from engram.types import Policy, Role
from engram.values.frozen import field, mutable, replace

if TYPE_CHECKING:
    from engram.engine import Engram

Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
All = Annotated[bool, typer.Option("--all", help="Look everywhere in the vault, whoever it belongs to.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

INPUT_BYTES = 2**20
"""The maximum of the setting `content_bytes`: a longer text could not be stored, so no more is read."""


class BadCall(typer.TyperException):
    """Raised for arguments that make no sense together; exit code 2."""

    exit_code = 2


@mutable
class Caller:
    """The options before the command; commands get it from `caller_of`."""

    vault: str | None = None
    identity: dict[str, object] = field(default_factory=dict)
    json: bool = False
    quiet: bool = False
    debug: bool = False
    env: Env = field(default_factory=Env)

    @property
    def path(self) -> Path:
        from engram.vault import vault_path  # late: as in `open`

        return vault_path(settings_room.home() if self.vault is None else self.vault)

    def live(self) -> LiveSettings:
        return LiveSettings(self.identity, monotonic=self.env.monotonic)

    @contextlib.contextmanager
    def open(
        self, *, everything: bool = False, make: bool = False, settings: Mapping[str, object] | None = None
    ) -> Iterator[Engram]:
        """Open the vault as its owner, in the caller's scope or with `everything` in all scopes. A missing vault is an error
        unless `make`."""
        from engram.engine import Engram  # late: numpy and onnxruntime take half a second, and help and completion need neither

        if not make:
            key_facts(self.path)  # raises if the path is no vault
        ask = self.ask_passphrase if vault_exists(self.path) else self.ask_new_passphrase
        with Engram.open(self.path, ask=ask, settings={**self.identity, **(settings or {})}, env=self.env) as opened:
            if opened.notice:
                self.remark(f"A new vault was made at {self.path}.\n{opened.notice}")
            reader = replace(opened.reader, role=Role.OWNER)
            yield opened.as_reader(replace(reader, policy=Policy.ALL) if everything else reader)

    @property
    def credentials(self) -> Credentials:
        return Credentials(None, self.ask_passphrase)

    @property
    def ask_passphrase(self) -> PassphrasePrompt | None:
        """A prompt for the vault's passphrase; None without a terminal."""
        return (lambda: getpass.getpass("Passphrase: ")) if _is_interactive() else None

    @property
    def ask_new_passphrase(self) -> PassphrasePrompt | None:
        """A prompt for a new passphrase, to be typed twice; None without a terminal. The answer is cached, because making a vault
        asks a second time to open it."""
        return functools.cache(_new_passphrase) if _is_interactive() else None

    def harden(self, live: LiveSettings) -> tuple[str, ...]:
        """Harden the process, as opening a vault does, and return notes on measures that the platform refused."""
        return harden() if live.now.harden_process else ()

    def confirm(self, question: str, yes: bool) -> None:
        if yes:
            return
        if not _is_interactive():
            raise BadCall("This command asks for confirmation, and there is no terminal to ask on. Pass --yes if you are sure.")
        print(f"{terminal.safe(question)} [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            terminal.remark("Nothing was done.")
            raise typer.Exit(1)

    def remark(self, text: str) -> None:
        """Print a remark on standard error, unless --quiet. Standard output is flushed first, to keep the order if both go to one
        file and to stop if its reader has gone."""
        if not self.quiet:
            sys.stdout.flush()
            terminal.remark(text)

    def say(self, text: str) -> None:
        """Print a confirmation that something was done, unless --quiet."""
        if not self.quiet:
            terminal.line(text)


def caller_of(ctx: typer.Context, as_json: bool = False) -> Caller:
    """Return the caller of the running command; `as_json` is the command's own --json."""
    caller = ctx.find_object(Caller) or Caller()
    caller.json |= as_json
    return caller


def complete_from(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a shell completion that offers the names with the typed prefix."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]  # typer passes by name: `incomplete`


def vault_exists(path: Path) -> bool:
    return VaultFolder(path).exists()


def text_argument(given: list[str], most: int = INPUT_BYTES) -> str:
    """Return the words of an argument as one text, or standard input for a single dash, at most `most` bytes of it."""
    return _read_stdin(most) if given == ["-"] else " ".join(given)


def read_secret(prompt: str) -> str:
    """Read a secret other than a vault's passphrase: typed without echo, or the first line of standard input."""
    return getpass.getpass(prompt) if _is_interactive() else _read_stdin().partition("\n")[0]


def _read_stdin(most: int = INPUT_BYTES) -> str:
    content = bytearray()
    while sys.stdin is not None and len(content) <= most and (more := sys.stdin.buffer.read(INPUT_BYTES)):
        content += more
    if len(content) > most:
        raise ContentTooLarge(f"there are more than {most:,} bytes on standard input.")
    try:
        return content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError as error:
        # `from None`: the decoder's error holds the text.
        raise InvalidContent(f"standard input is not UTF-8 (at byte {error.start}).", way_out="Convert it first.") from None


def _new_passphrase() -> str:
    first = getpass.getpass("New passphrase: ")
    if getpass.getpass("The same again: ") != first:
        raise VaultLocked("the two passphrases differ.", way_out="Nothing was created. Try again.")
    return first


def _is_interactive() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
