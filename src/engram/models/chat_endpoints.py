"""Endpoints of language models: how each is asked and what its answer means, and one as a `Writer`.

    llm = "ollama:llama3.2"       POST {url}/api/chat            {model, messages, format: SCHEMA, options}   → message.content
    llm = "openai:gpt-5-mini"     POST {url}/chat/completions    {model, messages, response_format, …}        → choices[0]

The second is spoken by many servers besides the one it is named after; `llm_url` says which is meant. Not all of them know how
to hold a model to a schema, and some models take no temperature: one that refuses (HTTP 400, 422) is asked more and more plainly,
in the end with nothing but the words, and from then on as it took it. An answer that comes as a stream all the same is joined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engram.env import Env
from engram.errors import ConfigInvalid, GenerationFailed, GeneratorUnavailable
from engram.models.connections import EndpointClient, EndpointResponse, EndpointSettings, EndpointStatus, address_problem
from engram.models.language_models import CallableGenerator, GeneratedText, GenerationRequest, LanguageModel
from engram.models.spending import Ledger, SpendingBudget
from engram.settings import Settings
from engram.values.frozen import frozen, replace

_REFUSED = (400, 422)


Body = Callable[[str, GenerationRequest, int], dict[str, Any]]
"""What is asked: of which model, what, and how many tokens of an answer."""


@frozen
class ChatProvider:
    """One wire protocol."""

    name: str
    url: str
    chat: str
    probe: str
    bodies: tuple[Body, ...]  # the plainest last
    written: Callable[[Sequence[Any]], GeneratedText]  # of an answer, in one part or many
    after_silence: int = 0  # the body that is sent once an answer was empty


@frozen(kw_only=True)
class ChatEndpoint:
    """One model at one place, as the settings name it."""

    provider: ChatProvider
    model: str
    place: EndpointSettings
    output: int


_UNNAMED = "the setting `llm` must be `openai:NAME` or `ollama:NAME`"


def check_name(llm: str) -> None:
    """For a name that a program gives, which hears of a mistake at once; one in a file must not keep a vault from opening."""
    name, _, model = llm.partition(":")
    if llm and not (name in PROVIDERS and model):
        raise ConfigInvalid(f"{_UNNAMED}.", way_out="Or pass a function from a prompt to text.")


def chat_endpoint(settings: Settings, key: Callable[[], str]) -> ChatEndpoint | None:
    """The endpoint that the setting `llm` names; None if it names none."""
    if not settings.llm:
        return None
    name, _, model = settings.llm.partition(":")
    provider = PROVIDERS.get(name)
    problem = "" if provider and model else _UNNAMED
    provider = provider or PROVIDERS["openai"]
    url = (settings.llm_url or provider.url).rstrip("/")
    place = EndpointSettings(
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
    return ChatEndpoint(provider=provider, model=model, place=place, output=settings.llm_output_tokens)


def language_model(
    settings: Callable[[], Settings],
    key: Callable[[], str],
    ledger: Ledger,
    env: Env,
    function: Callable[[str], str] | None = None,
) -> LanguageModel | None:
    """The language model that was given as a function, or that the settings name; None if there is none."""
    chat = chat_endpoint(settings(), key)
    if function is None and chat is None:
        return None
    writer = CallableGenerator(function) if function is not None else ChatGenerator(chat, env) if chat is not None else None
    return None if writer is None else LanguageModel(writer, SpendingBudget(ledger, settings, env))


class ChatGenerator:
    """A model behind an endpoint. Made without asking it anything."""

    def __init__(self, chat: ChatEndpoint, env: Env) -> None:
        self.name = chat.place.name
        self.place = chat.place.shown
        self._chat = chat
        self._line = EndpointClient(chat.place, env)
        self._plainness = 0

    @property
    def trouble(self) -> str:
        """Why it does not answer; empty if it does. Asked anew when the last sign of life is older than `llm_probe_s`."""
        return self._line.looked().trouble

    def ready(self) -> None:
        _check(self._line.looked())

    def write(self, request: GenerationRequest) -> GeneratedText:
        answer, sign = self._asked(request)
        _check(sign)
        if answer.status != 200:
            raise GenerationFailed(f"{self.name} refused what it was asked (HTTP {answer.status}).")
        written = self._read(answer.content)
        if written is None:
            raise GenerationFailed(f"{self.name} answered with something that is no answer.")
        if not written.text:
            self._plainness = max(self._plainness, self._chat.provider.after_silence)
        return written

    def close(self) -> None:
        self._line.close()

    def _asked(self, request: GenerationRequest) -> tuple[EndpointResponse, EndpointStatus]:
        """As plainly as it has to be."""
        chat, plainness = self._chat, self._plainness
        while True:
            asked = chat.provider.bodies[plainness](chat.model, request, chat.output)
            answer, sign = self._line.post(chat.provider.chat, json.dumps(asked).encode("ascii"))
            if answer.status not in _REFUSED or plainness + 1 == len(chat.provider.bodies):
                break
            plainness += 1
        if answer.status == 200:
            self._plainness = plainness
        return answer, sign

    def _read(self, content: bytes) -> GeneratedText | None:
        """None if it is no answer; and no error, which would hold words of it."""
        try:
            return self._chat.provider.written(_parts(content))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None


def _check(sign: EndpointStatus) -> None:
    if sign.trouble:
        raise GeneratorUnavailable(f"{sign.trouble}.", way_out=sign.way_out)


def _parts(content: bytes) -> list[Any]:
    """An answer as one value; or as those of its lines, if it was streamed though it was not to be."""
    try:
        return [json.loads(content)]
    except ValueError:
        lines = (line.removeprefix(b"data:").strip() for line in content.splitlines())
        return [json.loads(line) for line in lines if line.startswith(b"{")]


def _in_words(request: GenerationRequest) -> list[dict[str, str]]:
    """The messages, with the schema among the instructions."""
    if request.schema is None:
        return request.messages
    form = f"Answer with nothing but JSON of this schema: {json.dumps(request.schema)}"
    return replace(request, instructions=f"{request.instructions}\n\n{form}").messages


def _openai_body(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    return {**_openai_without_temperature(model, request, output), "temperature": 0}


def _openai_without_temperature(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """For models that reason, which refuse one."""
    body: dict[str, Any] = {"model": model, "messages": request.messages, "stream": False, "max_completion_tokens": output}
    if request.schema is not None:
        form = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _openai_words(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    return {"model": model, "messages": _in_words(request), "stream": False}


def _openai_written(parts: Sequence[Any]) -> GeneratedText:
    choices = [part["choices"][0] for part in parts if part["choices"]]
    said = [one.get("message") or one.get("delta") or {} for one in choices]
    ends = [one.get("finish_reason") for one in choices]
    return GeneratedText(
        _text(choices and [one.get("content") for one in said]),
        _count(parts[-1].get("usage"), "prompt_tokens", "completion_tokens"),
        cut="length" in ends,
        declined="content_filter" in ends or any(one.get("refusal") for one in said),
    )


def _ollama_body(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """With a window as long as this needs: by default it is short, and what does not fit is dropped from the front in silence."""
    window = -(-(request.cost + output) // 1024) * 1024
    options = {"temperature": 0, "num_predict": output, "num_ctx": window}
    body: dict[str, Any] = {"model": model, "messages": request.messages, "stream": False, "options": options}
    if request.schema is not None:
        body["format"] = request.schema
    return body


def _ollama_unthinking(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """For models that put all they say into what they think where they are held to a schema. It is not sent unasked: others are
    then no longer held to it (ollama/ollama#15260), or say nothing (#17823)."""
    return {**_ollama_body(model, request, output), "think": False}


def _ollama_words(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """For releases before 0.5, which know JSON and no schema."""
    body = {**_ollama_body(model, request, output), "messages": _in_words(request)}
    return body if request.schema is None else {**body, "format": "json"}


def _ollama_written(parts: Sequence[Any]) -> GeneratedText:
    last = parts[-1]
    text = _text([part["message"]["content"] for part in parts])
    return GeneratedText(text, _count(last, "prompt_eval_count", "eval_count"), cut=last.get("done_reason") == "length")


def _text(contents: Sequence[Any]) -> str:
    """Their words: text, parts of which some are text, or nothing."""
    if not contents:
        raise ValueError
    said = (part for content in contents for part in (content if isinstance(content, list) else [content]))
    return "".join(_words(part) for part in said)


def _words(part: Any) -> str:
    if part is None or isinstance(part, str):
        return part or ""
    return str(part["text"]) if part.get("type") == "text" else ""


def _count(of: Any, *names: str) -> int:
    """0 where it is not told: what only one server counts must not cost an answer."""
    told = [of.get(name) for name in names] if isinstance(of, Mapping) else []
    return sum(max(one, 0) for one in told if isinstance(one, int) and not isinstance(one, bool))


PROVIDERS = {
    provider.name: provider
    for provider in (
        ChatProvider(
            "ollama",
            "http://127.0.0.1:11434",
            "/api/chat",
            "/api/version",
            (_ollama_body, _ollama_unthinking, _ollama_words),
            _ollama_written,
            after_silence=1,
        ),
        ChatProvider(
            "openai",
            "https://api.openai.com/v1",
            "/chat/completions",
            "/models",
            (_openai_body, _openai_without_temperature, _openai_words),
            _openai_written,
        ),
    )
}
