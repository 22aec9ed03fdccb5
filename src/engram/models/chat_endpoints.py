"""Chat endpoints of language models: requests, responses, and a `TextGenerator` over them.

    llm = "ollama:llama3.2"       POST {url}/api/chat            {model, messages, format: SCHEMA, options}   → message.content
    llm = "openai:gpt-5-mini"     POST {url}/chat/completions    {model, messages, response_format, …}        → choices[0]

Many servers besides OpenAI's speak the second protocol; `llm_url` names the server. Not all of them support a schema, and some
models accept no temperature: after a refusal (HTTP 400, 422) simpler requests are tried, down to one with messages only, and the
first that is accepted is used from then on. A response that is streamed although that was not requested is joined.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engram.env import Env
from engram.errors import ConfigInvalid, GenerationFailed, GeneratorUnavailable
from engram.models.connections import (
    ConnectionLimits,
    EndpointClient,
    EndpointResponse,
    EndpointSettings,
    EndpointStatus,
    address_problem,
)
from engram.models.language_models import CallableGenerator, GeneratedText, GenerationRequest, LanguageModel, TextGenerator
from engram.models.spending import Ledger, SpendingBudget
from engram.settings import Settings
from engram.values.frozen import frozen, replace

_REFUSED = (400, 422)


Body = Callable[[str, GenerationRequest, int], dict[str, Any]]
"""Builds the request body from the model's name, the request and the limit of output tokens."""


@frozen
class ChatProvider:
    """A wire protocol: its default address, its paths, and the functions that build requests and parse answers."""

    name: str
    url: str
    chat: str
    probe: str
    bodies: tuple[Body, ...]  # from the most demanding to the simplest
    parse: Callable[[Sequence[Any]], GeneratedText]  # takes the JSON values of an answer, several if it was streamed
    after_empty: int = 0  # the index of the body to use once an answer was empty


@frozen(kw_only=True)
class ChatEndpoint:
    """A chat model at an address, as the settings name it. `output`: the limit of output tokens."""

    provider: ChatProvider
    model: str
    connection: EndpointSettings
    output: int


_BAD_NAME = "the setting `llm` must be `openai:NAME` or `ollama:NAME`"


def check_name(llm: str) -> None:
    """Raise ConfigInvalid for a bad name that a program passes. A bad name in a settings file must not prevent opening."""
    name, _, model = llm.partition(":")
    if llm and not (name in PROVIDERS and model):
        raise ConfigInvalid(f"{_BAD_NAME}.", way_out="Or pass a function from a prompt to text.")


def chat_endpoint(settings: Settings, key: Callable[[], str], limits: ConnectionLimits) -> ChatEndpoint | None:
    """Return the endpoint that the setting `llm` names, or None if it is empty."""
    if not settings.llm:
        return None
    name, _, model = settings.llm.partition(":")
    provider = PROVIDERS.get(name)
    problem = "" if provider and model else _BAD_NAME
    provider = provider or PROVIDERS["openai"]
    url = (settings.llm_url or provider.url).rstrip("/")
    connection = EndpointSettings(
        name=settings.llm,
        url=url,
        probe=provider.probe,
        setting="llm_url",
        key_name=settings.llm_key_env,
        key=key,
        timeout_s=settings.llm_timeout_s,
        connect_s=limits.connect_s,
        probe_s=limits.probe_s,
        meanwhile="turns are read by rules alone",
        problem=problem or address_problem(url, "llm_url"),
    )
    return ChatEndpoint(provider=provider, model=model, connection=connection, output=settings.llm_output_tokens)


def language_model(
    settings: Callable[[], Settings],
    key: Callable[[], str],
    ledger: Ledger,
    env: Env,
    function: Callable[[str], str] | None = None,
    limits: ConnectionLimits = ConnectionLimits(),
) -> LanguageModel | None:
    """Return the language model given as a function, else the one that the settings name, else None."""
    generator: TextGenerator
    if function is not None:
        generator = CallableGenerator(function)
    elif (endpoint := chat_endpoint(settings(), key, limits)) is not None:
        generator = ChatGenerator(endpoint, env)
    else:
        return None
    return LanguageModel(generator, SpendingBudget(ledger, settings, env))


class ChatGenerator:
    """A text generator behind a chat endpoint. Making one sends no request."""

    def __init__(self, chat: ChatEndpoint, env: Env) -> None:
        self.name = chat.connection.name
        self.place = chat.connection.shown
        self._chat = chat
        self._client = EndpointClient(chat.connection, env)
        self._body = 0  # index of the first of the provider's bodies that the endpoint accepts

    @property
    def trouble(self) -> str:
        """The reason why the endpoint does not answer, or "". Probes it if the last check is older than `probe_s`."""
        return self._client.check().trouble

    def ready(self) -> None:
        _raise_if_down(self._client.check())

    def generate(self, request: GenerationRequest) -> GeneratedText:
        response, status = self._send(request)
        _raise_if_down(status)
        if response.status != 200:
            raise GenerationFailed(f"{self.name} refused the request (HTTP {response.status}).")
        generated = self._parse(response.content)
        if generated is None:
            raise GenerationFailed(f"{self.name} returned a response that cannot be parsed.")
        if not generated.text:
            self._body = max(self._body, self._chat.provider.after_empty)
        return generated

    def close(self) -> None:
        self._client.close()

    def _send(self, request: GenerationRequest) -> tuple[EndpointResponse, EndpointStatus]:
        """Send the request, trying simpler bodies while the endpoint refuses."""
        chat, number = self._chat, self._body
        while True:
            body = chat.provider.bodies[number](chat.model, request, chat.output)
            response, status = self._client.post(chat.provider.chat, json.dumps(body).encode("ascii"))
            if response.status not in _REFUSED or number + 1 == len(chat.provider.bodies):
                break
            number += 1
        if response.status == 200:
            self._body = number
        return response, status

    def _parse(self, content: bytes) -> GeneratedText | None:
        """Return the answer, or None if it cannot be parsed. Raises nothing, since an error would quote the answer."""
        try:
            return self._chat.provider.parse(_parts(content))
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None


def _raise_if_down(status: EndpointStatus) -> None:
    if status.trouble:
        raise GeneratorUnavailable(f"{status.trouble}.", way_out=status.way_out)


def _parts(content: bytes) -> list[Any]:
    """Return the JSON values of a response: one, or one per line if the server streamed although it was told not to."""
    try:
        return [json.loads(content)]
    except ValueError:
        lines = (line.removeprefix(b"data:").strip() for line in content.splitlines())
        return [json.loads(line) for line in lines if line.startswith(b"{")]


def _messages_with_schema(request: GenerationRequest) -> list[dict[str, str]]:
    """Return the messages with the schema spelled out in the instructions."""
    if request.schema is None:
        return request.messages
    form = f"Answer with nothing but JSON of this schema: {json.dumps(request.schema)}"
    return replace(request, instructions=f"{request.instructions}\n\n{form}").messages


def _openai_body(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    return {**_openai_without_temperature(model, request, output), "temperature": 0}


def _openai_without_temperature(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """Build a request without a temperature, which reasoning models refuse."""
    body: dict[str, Any] = {"model": model, "messages": request.messages, "stream": False, "max_completion_tokens": output}
    if request.schema is not None:
        form = {"name": "answer", "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def _openai_without_schema(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    return {"model": model, "messages": _messages_with_schema(request), "stream": False}


def _parse_openai(parts: Sequence[Any]) -> GeneratedText:
    choices = [part["choices"][0] for part in parts if part["choices"]]
    messages = [choice.get("message") or choice.get("delta") or {} for choice in choices]
    reasons = [choice.get("finish_reason") for choice in choices]
    return GeneratedText(
        _text(choices and [message.get("content") for message in messages]),
        _count(parts[-1].get("usage"), "prompt_tokens", "completion_tokens"),
        cut="length" in reasons,
        declined="content_filter" in reasons or any(message.get("refusal") for message in messages),
    )


def _ollama_body(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """Build a request with a context window that fits it. Ollama's default is short, and drops the beginning without notice."""
    window = -(-(request.cost + output) // 1024) * 1024
    options = {"temperature": 0, "num_predict": output, "num_ctx": window}
    body: dict[str, Any] = {"model": model, "messages": request.messages, "stream": False, "options": options}
    if request.schema is not None:
        body["format"] = request.schema
    return body


def _ollama_without_thinking(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """Build a request with thinking disabled, for models that under a schema put their whole answer into the thinking. Not sent
    first, because other models then ignore the schema (ollama/ollama#15260) or answer nothing (#17823)."""
    return {**_ollama_body(model, request, output), "think": False}


def _ollama_without_schema(model: str, request: GenerationRequest, output: int) -> dict[str, Any]:
    """Build a request for releases before 0.5, which support JSON but no schema."""
    body = {**_ollama_body(model, request, output), "messages": _messages_with_schema(request)}
    return body if request.schema is None else {**body, "format": "json"}


def _parse_ollama(parts: Sequence[Any]) -> GeneratedText:
    last = parts[-1]
    text = _text([part["message"]["content"] for part in parts])
    return GeneratedText(text, _count(last, "prompt_eval_count", "eval_count"), cut=last.get("done_reason") == "length")


def _text(contents: Sequence[Any]) -> str:
    """Join the contents, each a text, a list of parts of which some are text, or None."""
    if not contents:
        raise ValueError
    parts = (part for content in contents for part in (content if isinstance(content, list) else [content]))
    return "".join(_part_text(part) for part in parts)


def _part_text(part: Any) -> str:
    if part is None or isinstance(part, str):
        return part or ""
    return str(part["text"]) if part.get("type") == "text" else ""


def _count(usage: Any, *names: str) -> int:
    """Sum the named token counts. A missing or odd count is 0, since not every server reports them."""
    counts = [usage.get(name) for name in names] if isinstance(usage, Mapping) else []
    return sum(max(count, 0) for count in counts if isinstance(count, int) and not isinstance(count, bool))


PROVIDERS = {
    provider.name: provider
    for provider in (
        ChatProvider(
            "ollama",
            "http://127.0.0.1:11434",
            "/api/chat",
            "/api/version",
            (_ollama_body, _ollama_without_thinking, _ollama_without_schema),
            _parse_ollama,
            after_empty=1,
        ),
        ChatProvider(
            "openai",
            "https://api.openai.com/v1",
            "/chat/completions",
            "/models",
            (_openai_body, _openai_without_temperature, _openai_without_schema),
            _parse_openai,
        ),
    )
}
