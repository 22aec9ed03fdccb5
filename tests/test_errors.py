"""The error tree: codes are a contract with callers, and the drawing in the docstring is the tree itself."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram import errors
from engram.errors import EngramError

# §34.11 of the specification, with the meaning each code must keep; later codes may only be added.
SPECIFIED = {
    "E1001": errors.VaultLocked,
    "E1002": errors.VaultDamaged,
    "E1003": errors.DiskFull,
    "E1004": errors.MigrationFailed,
    "E1005": errors.WriteFailed,
    "E2001": errors.SearchTimeout,
    "E2002": errors.NoIndex,
    "E2003": errors.RateLimited,
    "E2004": errors.InvalidQuery,
    "E3001": errors.EmbedderUnavailable,
    "E3002": errors.EmbeddingFailed,
    "E3003": errors.DimensionMismatch,
    "E3004": errors.ModelChanged,
    "E4001": errors.AccessDenied,
    "E4002": errors.EncryptionFailed,
    "E4003": errors.InjectionBlocked,
    "E4004": errors.ContentTooLarge,
    "E5001": errors.MemoryPressure,
    "E5002": errors.BackgroundStalled,
    "E5003": errors.ConfigInvalid,
}


def below(root: type[EngramError]) -> Iterator[type[EngramError]]:
    for child in root.__subclasses__():
        if child.__module__ == errors.__name__:
            yield child
            yield from below(child)


KINDS = [EngramError, *below(EngramError)]
LEAVES = [kind for kind in KINDS if not any(below(kind))]  # a face may have kinds of its own below these


def drawn() -> dict[str, tuple[str, str]]:
    """The docstring's drawing as name → (parent's name, code or '')."""
    tree: dict[str, tuple[str, str]] = {}
    trail: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"(?P<branch>[ │├└─]*)(?P<name>[A-Z]\w+)(?: +(?P<code>E\d{4})\b.*)?$", line)
        if not found or len(found["branch"]) < 4:
            continue
        depth = len(found["branch"])
        while trail and trail[-1][0] >= depth:
            trail.pop()
        tree[found["name"]] = (trail[-1][1] if trail else "", found["code"] or "")
        trail.append((depth, found["name"]))
    return tree


def test_every_code_of_the_specification_has_its_error() -> None:
    assert {code: kind.code for code, kind in SPECIFIED.items()} == {code: code for code in SPECIFIED}


def test_no_two_errors_share_a_code() -> None:
    codes = [kind.code for kind in KINDS]
    assert len(set(codes)) == len(codes)


def test_every_error_that_is_raised_has_a_code_of_its_own() -> None:
    assert all("code" in vars(kind) and re.fullmatch(r"E[1-5]\d{3}", kind.code) for kind in KINDS[1:])


def test_a_code_begins_with_the_digit_of_its_family() -> None:
    families = {family.code[1]: family for family in EngramError.__subclasses__()}
    assert all(issubclass(leaf, families[leaf.code[1]]) for leaf in LEAVES)


def test_the_drawing_in_the_docstring_matches_the_class_tree() -> None:
    tree = {kind.__name__: (kind.__base__.__name__ if kind is not EngramError else "") for kind in KINDS if kind.__base__}
    assert {name: parent for name, (parent, _) in drawn().items()} == tree


def test_the_drawing_in_the_docstring_shows_the_code_of_every_error() -> None:
    assert {name: code for name, (_, code) in drawn().items() if code} == {leaf.__name__: leaf.code for leaf in LEAVES}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_text_of_an_error_has_code_and_message_and_way_out(kind: type[EngramError]) -> None:
    error = kind("It did not work.")
    assert str(error) == f"{kind.code}: It did not work. {kind.default_way_out}".rstrip()
    assert (error.message, error.way_out) == ("It did not work.", kind.default_way_out)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_way_out_is_a_whole_sentence(kind: type[EngramError]) -> None:
    assert kind.default_way_out == "" or re.fullmatch(r"[A-Z`].*\.", kind.default_way_out)


def test_a_way_out_can_be_given_or_left_out() -> None:
    assert str(errors.NotFound("No such backup.", way_out="List them.")) == "E1008: No such backup. List them."
    assert str(errors.NotFound("No such backup.", way_out="")) == "E1008: No such backup."


def test_an_error_survives_pickling() -> None:
    error = errors.VaultBusy("Somebody is in it.", way_out="Wait.")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(other), other.message, other.way_out, str(other)) == (type(error), error.message, error.way_out, str(error))


def test_one_except_catches_everything_engram_raises() -> None:
    with pytest.raises(EngramError):
        raise errors.ConfigInvalid("No such setting.")


def test_messages_call_a_caller_identity() -> None:
    """Messages say "identity", as the command line does; `Reader` is its name in programs."""
    sources = Path(errors.__file__).parent.rglob("*.py")
    raised = (node for path in sources for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise))
    told = [node.value for one in raised for node in ast.walk(one) if isinstance(node, ast.Constant)]
    assert not [words for words in told if isinstance(words, str) and re.search(r"\b(this|a|another) reader\b", words)]
    assert [words for words in told if isinstance(words, str) and "this identity" in words]
