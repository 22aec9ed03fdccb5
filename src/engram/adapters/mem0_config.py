"""What a configuration of mem0 says, in Engram's terms: where the vault is, and which models are used."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engram.store.folder import VaultFolder

_ENDPOINTS = ("openai", "ollama")
_TEMPORARY = "/tmp/qdrant"  # noqa: S108  where mem0 keeps what it was told no place for


def place(path: object) -> Path | None:
    """The folder that a configuration names, if it is free or ours; a new one beside it if another program's database is there,
    which mem0 removes with all it holds; none if it names none."""
    if path is None or str(path) == _TEMPORARY:
        return None
    folder = Path(str(path)).expanduser()
    taken = folder.is_file() or (folder.is_dir() and any(folder.iterdir()) and not VaultFolder(folder).exists())
    return folder.with_name(f"{folder.name}-engram") if taken else folder


def settings_of(config: Mapping[str, Any]) -> dict[str, object]:
    """Engram's settings for what a mem0 configuration says of models. Of providers that are unknown here nothing is taken:
    the bundled encoder and the rules do their work. A key in it is never used; keys are in the environment."""
    made: dict[str, object] = {}
    for name, setting, url, key in (
        ("llm", "llm", "llm_url", "llm_key_env"),
        ("embedder", "model", "embed_url", "embed_key_env"),
    ):
        provider = str((config.get(name) or {}).get("provider") or "")
        given = section(config, name)
        if provider in _ENDPOINTS and given.get("model"):
            made[setting] = f"{provider}:{given['model']}"
            made |= {url: given[f"{provider}_base_url"]} if given.get(f"{provider}_base_url") else {}
            made |= {key: "OPENAI_API_KEY"} if provider == "openai" else {}
    return made


def plain(config: Any) -> dict[str, Any]:
    """A configuration as a dictionary: it may be one, or mem0's own `MemoryConfig`."""
    with warnings.catch_warnings(action="ignore"):  # its parts are of other types than it says
        return dict(config.model_dump() if hasattr(config, "model_dump") else config or {})


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = (config.get(name) or {}).get("config") or {}
    return found if isinstance(found, Mapping) else {}
