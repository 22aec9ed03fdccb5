"""Endpoints of language models: how each is asked and what its answer means, and one as a `Writer`.

    llm = "ollama:llama3.2"       POST {url}/api/chat            {model, messages, format: SCHEMA, options}   → message.content
    llm = "openai:gpt-5-mini"     POST {url}/chat/completions    {model, messages, response_format, …}        → choices[0]

The second is spoken by many servers besides the one it is named after; `llm_url` says which is meant. Not all of them know how
to hold a model to a schema, or take a temperature: one that refuses (HTTP 400, 422) is asked again with nothing but the words.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from engram.env import Env
from engram.errors import ConfigInvalid, GenerationFailed, GeneratorUnavailable
from engram.frozen import frozen
from engram.models.budget import Budget, Ledger
from engram.models.generate import CallableWriter, LanguageModel, Request, Written
from engram.models.wire import Line, Place, address_problem
from engram.settings import Settings

_REFUSED = (400, 422)


@frozen
class Provider:
    """One wire protocol."""

    name: str
    url: str
    chat: str
    probe: str
    body: Callable[[str, Request, int], dict[str, Any]]
    written: Callable[[Any], Written]


@frozen(kw_only=True)
class Chat:
    """One model at one place, as the settings name it."""

    provider: Provider
    model: str
    place: Place
    output: int


_UNNAMED = "the setting `llm` must be `openai:NAME` or `ollama:NAME`"


def check_name(llm: str) -> None:
    """For a name that a program gives, which hears of a mistake at once; one in a file must not keep a vault from opening."""
    name, _, model = llm.partition(":")
    if llm and not (name in PROVIDERS and model):
        raise ConfigInvalid(f"{_UNNAMED}.", way_out="Or pass a function from a prompt to text.")


def chat_of(settings: Settings, key: Callable[[], str]) -> Chat | None:
    """The endpoint that the setting `llm` names; None if it names none."""
    if not settings.llm:
        return None
    name, _, model = settings.llm.partition(":")
    provider = PROVIDERS.get(name)
    problem = "" if provider and model else _UNNAMED
    provider = provider or PROVIDERS["openai"]
    url = (settings.llm_url or provider.url).rstrip("/")
    place = Place(
        name=settings.llm,
        url=url,
        probe=provider.probe,
        setting="llm_url",
        key_name=settings.llm_key_env,
        key=key,
        timeout_s=settings.llm_timeout_s,
        connect_s=settings.llm_connect_s,
        probe_s=settings.llm_probe_s,
        meanwhile="rules alone read what is said",
        problem=problem or address_problem(url, "llm_url"),
    )
    return Chat(provider=provider, model=model, place=place, output=settings.llm_output_tokens)


def model_by(
    settings: Callable[[], Settings],
    key: Callable[[], str],
    ledger: Ledger,
    env: Env,
    function: Callable[[str], str] | None = None,
) -> LanguageModel | None:
    """The language model that was given as a function, or that the settings name; None if there is none."""
    chat = chat_of(settings(), key)
    if function is None and chat is None:
        return None
    writer = CallableWriter(function) if function is not None else ChatWriter(chat, env) if chat is not None else None
    return None if writer is None else LanguageModel(writer, Budget(ledger, settings, env))


class ChatWriter:
    """A model behind an endpoint. Made without asking it anything."""

    def __init__(self, chat: Chat, env: Env) -> None:
        self.name = chat.place.name
        self.place = chat.place.shown
        self._chat = chat
        self._line = Line(chat.place, env)
        self._plainly = False

    @property
    def trouble(self) -> str:
        """Why it does not answer; empty if it does. Asked anew when the last sign of life is older than `llm_probe_s`."""
        return self._line.looked().trouble

    def write(self, request: Request) -> Written:
        asked = (
            _plain(self._chat, request)
            if self._plainly
            else self._chat.provider.body(self._chat.model, request, self._chat.output)
        )
        answer, sign = self._line.post(self._chat.provider.chat, json.dumps(asked).encode("ascii"))
        if answer.status in _REFUSED and not self._plainly:
            plain = _plain(self._chat, request)
            answer, sign = self._line.post(self._chat.provider.chat, json.dumps(plain).encode("ascii"))
            self._plainly = answer.status == 200
        if sign.trouble:
            raise GeneratorUnavailable(f"{sign.trouble}.", way_out=sign.way_out)
        if answer.status != 200:
            raise GenerationFailed(f"{self.name} refused what it was asked (HTTP {answer.status}).")
        try:
            written = self._chat.provider.written(json.loads(answer.content))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            raise GenerationFailed(f"{self.name} answered with something that is no answer.") from None
        return written

    def close(self) -> None:
        self._line.close()


def _plain(chat: Chat, request: Request) -> dict[str, Any]:
    """Nothing but the words, the schema among them."""
    messages = request.messages
    if request.schema is not None:
        form = f"Answer with nothing but JSON of this schema: {json.dumps(request.schema)}"
        messages = [{"role": "system", "content": f"{request.instructions}\n\n{form}"}, *messages[1:]]
    return {"model": chat.model, "messages": messages, "stream": False}


def _openai_body(model: str, request: Request, output: int) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "messages": request.messages, "temperature": 0, "max_completion_tokens": output}
    if request.schema is not None:
        form = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _openai_written(answer: Any) -> Written:
    text = answer["choices"][0]["message"]["content"]
    return Written(_text(text), _count(answer.get("usage") or {}, "prompt_tokens", "completion_tokens"))


def _ollama_body(model: str, request: Request, output: int) -> dict[str, Any]:
    """With a window as long as this needs: by default it is short, and what does not fit is dropped from the front in silence."""
    window = -(-(request.cost + output) // 1024) * 1024
    options = {"temperature": 0, "num_predict": output, "num_ctx": window}
    body: dict[str, Any] = {"model": model, "messages": request.messages, "stream": False, "options": options}
    if request.schema is not None:
        body["format"] = request.schema
    return body


def _ollama_written(answer: Any) -> Written:
    return Written(_text(answer["message"]["content"]), _count(answer, "prompt_eval_count", "eval_count"))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(of: Mapping[str, Any], *names: str) -> int:
    return sum(int(of[name]) for name in names if isinstance(of.get(name), int))


PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider("ollama", "http://127.0.0.1:11434", "/api/chat", "/api/version", _ollama_body, _ollama_written),
        Provider("openai", "https://api.openai.com/v1", "/chat/completions", "/models", _openai_body, _openai_written),
    )
}
