"""The verbs of models: the encoder and the language model in use."""

from __future__ import annotations

from engram.types import EncoderState, LanguageModelState
from engram.verbs.view import View


def encoder(view: View) -> EncoderState:
    """Return the encoder in use, and its trouble if it does not answer."""
    return view.vault.encoder()


def language(view: View) -> LanguageModelState:
    """Return the language model in use, its trouble if it does not answer, and its cost."""
    return view.vault.language()
