"""The verbs of facts: learn one, list what is believed of a subject."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engram.store.validation import check_fact
from engram.text.english.entities import folded
from engram.text.english.facts import Fact
from engram.types import Kind, Memory
from engram.values.entities import Belief
from engram.verbs.view import View, id_of, require_name

_LEARNED_CONFIDENCE = 0.8
"""The confidence in a fact that the caller states as one."""


def learn(view: View, subject: str, predicate: str, thing: str, *, many: bool = False) -> Memory:
    """Store a fact: "Ada", "works at", "Acme". It outdates facts that it contradicts, unless a subject may have `many` of them.

    Memory and fact are one write. A statement that is stored encrypted (an address) becomes a memory and no fact, because facts
    are stored unencrypted within the vault.
    """
    check_fact(subject, predicate, thing)
    text = f"{subject.strip()} {predicate.strip()} {thing.strip()}."
    draft = Memory(text=text, kind=Kind.FACT, confidence=_LEARNED_CONFIDENCE, scope=view.reader.scope)
    fact = Fact(folded(subject), " ".join(predicate.casefold().split()), folded(thing), single=not many)
    write = partial(view.vault.observer.remember, view.reader, draft, stated=[fact])
    return view.write_once(("learn", draft, fact), write, id_of, view.stored)


def beliefs(view: View, subject: str, *, past: bool = False, inferred: bool = False) -> Sequence[Belief]:
    """Return the present facts of a subject, newest first; `past`: also former ones.

    inferred: also facts that follow from these and are stated nowhere: the parser is part of the compiler, and that of the
    toolchain. They are inferred on each call, so that they are gone with any of their premises.
    """
    return view.entities.beliefs(require_name(subject), past=past, inferred=inferred)
