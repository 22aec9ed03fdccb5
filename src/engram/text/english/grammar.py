"""Past forms of English verbs, and the names of speakers as they stand inside a sentence."""

from __future__ import annotations

import re

from engram.text.terms import word_set

IRREGULAR_PAST = word_set("""
    ate became began blew bought broke brought built came caught chose did drank drew drove fell fed felt flew forgot fought
    found gave got grew had heard held hid hung kept knew laid led left lent lost made meant met paid ran rang rode rose said
    sang sat saw sent shook shot slept sold spent spoke stood stole struck stuck swam swore taught thought threw told took
    understood was were went woke won wore wrote
    """)

IRREGULAR_PARTICIPLES = word_set("""
    been done gone had seen known given taken written eaten driven ridden chosen spoken broken forgotten fallen grown
    worn drawn shown thrown heard made met bought brought built caught felt found got gotten held kept left lost meant paid
    said sent slept sold spent stood taught thought told understood won lived
    """)

# End in -ed and are not in the past.
_NOT_PAST = word_set("need feed speed proceed exceed succeed heed seed weed bleed breed embed shed wed bed red bred indeed")


def is_past(word: str) -> bool:
    """Return True for a lower-case word that is surely a past form."""
    return word in IRREGULAR_PAST or (len(word) > 3 and word.endswith("ed") and word not in _NOT_PAST)


ASSISTANTS = frozenset(
    {"assistant", "ai", "bot", "system", "model", "ai assistant", "llm", "chatgpt", "gpt", "copilot", "gemini"}
)
_MODEL = re.compile(
    r"(?:chat ?gpt|gpt|claude|gemini|llama|mistral|mixtral|qwen|deepseek|grok|gemma|phi) ?"
    r"(?:v?\d|opus|sonnet|haiku|pro\b|flash|mini|turbo|code|chat|instruct)[\w :]*|o\d(?: mini| pro)?"
)
"""The name of a language model with its version. "Claude" alone is a person's name too, unless a program wrote it small."""
_TOOLS = frozenset({
    "tool", "function", "system", "bash", "shell", "terminal", "console", "stdout", "stderr", "ipython", "code interpreter",
})  # fmt: skip
_USERS = frozenset({"user", "human", "me", ""})
_SEPARATOR = re.compile(r"[\s_.-]+")


def named(speaker: str) -> str:
    """Return the name of a speaker as it stands inside a sentence."""
    name = " ".join(speaker.split())
    if name.lower() in _USERS:
        return "the user"
    return "the assistant" if is_assistant(name) else name


def is_assistant(speaker: str) -> bool:
    """Return True for the role of an assistant, and for the name of a language model."""
    name = _SEPARATOR.sub(" ", speaker.lower()).strip()
    return name in ASSISTANTS or speaker.strip() == "claude" or _MODEL.fullmatch(name) is not None


def is_tool(speaker: str) -> bool:
    """Return True for the role of a tool, whose words are the output of a program."""
    name = _SEPARATOR.sub(" ", speaker.lower()).strip()
    return name in _TOOLS or name.startswith(("tool ", "function "))
