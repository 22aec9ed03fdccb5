"""The Engram class: opens the rooms, hands over, decides nothing.

Comes in: what a program, a command or a server asks for. Goes out: values. Identity is fixed when the vault is opened
(or by `as_reader`, for servers that establish it themselves) and is never an argument of a verb.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from engram.env import Env, in_utc
from engram.errors import ConfigInvalid, InvalidContent
from engram.log import Log
from engram.models.chat_endpoints import check_name
from engram.models.embedders import Embedder
from engram.models.language_models import Extractor
from engram.models.rerankers import Reranker
from engram.settings import LiveSettings, Settings
from engram.store.sqlite.vault import Ask
from engram.types import Policy, Reader, Role, Scope
from engram.values.frozen import replace
from engram.vault import OpenVault, credentials_from
from engram.verbs.access_tokens import Granting
from engram.verbs.dreams import Resting
from engram.verbs.entities import Knowing
from engram.verbs.episodes import Recounting
from engram.verbs.files import Carrying
from engram.verbs.knowledge import Assessing
from engram.verbs.turns import Running
from engram.verbs.vault import Looking

log = Log("engram")


class Engram(Running, Assessing, Knowing, Recounting, Looking, Carrying, Granting, Resting):
    """One open vault as one reader sees it. Use it as a context manager, or call `close`."""

    # ── opening and closing ────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def open(
        cls,
        path: str | Path | None = None,
        *,
        reader: Reader | None = None,
        key: bytes | bytearray | str | None = None,
        ask: Ask | None = None,
        settings: Mapping[str, object] | None = None,
        env: Env | None = None,
        session: str | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        extractor: Extractor | None = None,
        llm: Callable[[str], str] | None = None,
        role: Role | str = Role.AGENT,
        tuning: Iterable[object] = (),
    ) -> Self:
        """Open the vault for a reader whose identity the caller has established; `engram.open` is the plain way.

        role: of the reader that the settings name, if none is given. tuning: `Weights` and `Limits` of rooms, for benchmarks
        and tests (see `LiveSettings`).
        """
        standing = _role(role)
        vault = OpenVault(
            path,
            credentials_from(key, ask),
            settings=settings,
            env=env or Env(),
            session=session,
            embedder=embedder,
            reranker=reranker,
            extractor=extractor,
            llm=llm,
            tuning=tuning,
        )
        policy = Policy.ALL if standing is Role.OWNER else Policy(vault.live.now.policy)
        return cls(vault, reader or Reader(scope_of(vault.live.now), policy, standing))

    def close(self) -> None:
        """Finish queued writes, fold the log in, wipe the keys. Closing twice is closing once."""
        self._vault.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engram {'closed' if self._vault.closed else 'open'} as {self._reader.role.value}>"

    def as_reader(self, reader: Reader) -> Self:
        """The same open vault as someone else sees it. For code that establishes identities, such as a server."""
        return type(self)(self._vault, reader)

    def keyed(self, key: str) -> Self:
        """The same view, whose next write is made once for this key: any verb that is an operation, and an episode's steps.

        Asked again with it by the same reader, in any process and within `receipt_hours`, a write is not made but answered as the
        first time. The same key for something else is E1010; while the first is under way it is E1009.
        """
        if not isinstance(key, str) or not 0 < len(key.encode(errors="replace")) <= 256:  # type: ignore[redundant-expr]
            raise InvalidContent("an idempotency key is a text of 1 to 256 bytes.", way_out="Use a UUID.")
        return type(self)(self._vault, self._reader, key)

    @property
    def reader(self) -> Reader:
        return self._reader

    @property
    def notice(self) -> str:
        """If opening made the vault: where its key is, and what losing it means."""
        return self._vault.notice

    @property
    def env(self) -> Env:
        """The clock, ids and dice of this vault, for a face that dates things itself."""
        return self._vault.env

    @property
    def settings(self) -> LiveSettings:
        """The values in force (`.now`) and the way to change them while running (`.set`)."""
        return self._vault.live


def scope_of(settings: Settings) -> Scope:
    return Scope(settings.project, settings.squad, settings.agent, settings.channel, settings.user)


def _role(given: Role | str) -> Role:
    try:
        return Role(given)
    except ValueError:
        raise ConfigInvalid("there is no such role.", way_out=f"Say one of {', '.join(Role)}.") from None


def open_engram(
    path: str | Path | None = None,
    *,
    agent: str | None = None,
    project: str | None = None,
    squad: str | None = None,
    channel: str | None = None,
    user: str | None = None,
    session: str | None = None,
    key: bytes | bytearray | str | None = None,
    settings: Mapping[str, object] | None = None,
    embedder: Embedder | None = None,
    reranker: Reranker | None = None,
    extractor: Extractor | None = None,
    llm: str | Callable[[str], str] | None = None,
    clock: Callable[[], datetime] | None = None,
    role: Role | str = Role.AGENT,
) -> Engram:
    """Open the vault at `path` (else `ENGRAM_HOME`, the setting `home`, or the platform's data folder); it is made if missing.

    agent, project, squad, channel, user: who this program is. They decide what it sees and where it writes.
    key: the vault's key as 32 bytes or recovery text, if it is not in the keychain, a key file or a passphrase.
    llm: a language model that reads what was said besides the rules, `ollama:NAME` or `openai:NAME` as in the
    settings, or any function from a prompt to text. extractor: the same, from turns to statements (`engram.Extracted`).
    settings: values that go over the configuration file and the environment. clock: tells the time in tests.
    role: `owner` sees all that the vault holds and may do all there is to do with it, such as `purge`, `backup`, `audit` and
    a trusted `import_`; whoever has the key may be that.
    """
    named = {"agent": agent, "project": project, "squad": squad, "channel": channel, "user": user}
    named["llm"] = llm if isinstance(llm, str) else None
    given = {name: value for name, value in named.items() if value is not None}
    env = Env() if clock is None else replace(Env(), now=lambda: in_utc(clock()))
    if isinstance(llm, str):
        check_name(llm)
    return Engram.open(
        path,
        key=key,
        settings={**(settings or {}), **given},
        env=env,
        session=session,
        embedder=embedder,
        reranker=reranker,
        extractor=extractor,
        llm=None if isinstance(llm, str) else llm,
        role=role,
    )
