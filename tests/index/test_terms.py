"""Choosing the terms of a question that the text index looks up."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.index.terms import STOP_WORDS, TermPlanner
from engram.text.terms import terms


class Vocabulary:
    """Document frequencies of a vault, and a record of the requests for them."""

    def __init__(self, **counts: int) -> None:
        self.counts = counts
        self.asked: list[list[str]] = []

    def __call__(self, terms: Sequence[str], most: int) -> list[int]:
        self.asked.append(list(terms))
        return [min(self.counts.get(term, 0), most) for term in terms]


def test_stop_words_are_left_out_and_rare_terms_come_first() -> None:
    planner = TermPlanner(Vocabulary(heroku=3, api=40, runs=10, the=9000, on=8000))
    assert planner.plan(terms("What is the API that runs on Heroku?"), 1000, 1).terms == ("heroku", "runs", "api")


def test_terms_that_no_memory_contains_are_left_out() -> None:
    assert TermPlanner(Vocabulary(heroku=3)).plan(terms("Heroku unheard"), 1000, 1).terms == ("heroku",)
    assert TermPlanner(Vocabulary()).plan(terms("Heroku unheard"), 1000, 1).terms == ()


@pytest.mark.parametrize(("budget", "wanted"), [(2, ("a1",)), (3, ("a1", "b2")), (6, ("a1", "b2", "c3")), (5, ("a1", "b2"))])
def test_chosen_terms_stay_within_the_posting_budget(budget: int, wanted: tuple[str, ...]) -> None:
    assert TermPlanner(Vocabulary(a1=1, b2=2, c3=3)).plan(terms("c3 b2 a1"), budget, 1).terms == wanted


def test_at_least_one_term_is_chosen_even_over_budget() -> None:
    assert TermPlanner(Vocabulary(tea=10**6)).plan(terms("tea"), 100, 1).terms == ("tea",)
    assert len(TermPlanner(Vocabulary(tea=10**6, cup=10**6)).plan(terms("cup of tea"), 100, 1).terms) == 1


def test_a_question_of_stop_words_alone_is_still_looked_up() -> None:
    planner = TermPlanner(Vocabulary(to=50, be=30, why=5))
    assert set(planner.plan(terms("to be or not to be"), 1000, 1).terms) == {"to", "be"}
    assert planner.plan(terms("Why?"), 1000, 1).terms == ("why",)


@pytest.mark.parametrize("question", ["", "  ", "???", '"*"', "\x00"])
def test_a_question_without_words_has_no_terms(question: str) -> None:
    assert TermPlanner(Vocabulary(a=1)).plan(terms(question), 1000, 1).terms == ()


def test_frequencies_are_cached_until_much_of_the_vault_has_changed() -> None:
    vocabulary = Vocabulary(tea=1, cup=5)
    planner = TermPlanner(vocabulary)
    assert planner.plan(terms("cup tea"), 1000, 1).terms == ("tea", "cup")
    vocabulary.counts = {"tea": 50, "cup": 5}
    assert planner.plan(terms("cup tea"), 1000, 100).terms == ("tea", "cup")
    assert len(vocabulary.asked) == 1
    assert planner.plan(terms("cup tea"), 1000, 500).terms == ("cup", "tea")
    assert len(vocabulary.asked) == 2
    assert planner.plan(terms("cup tea"), 1000, 10).terms == ("cup", "tea"), "a vault that was put back to an earlier state"
    assert len(vocabulary.asked) == 3


def test_a_term_that_was_absent_is_counted_again_in_the_next_plan() -> None:
    vocabulary = Vocabulary()
    planner = TermPlanner(vocabulary)
    assert planner.plan(terms("Miso"), 1000, 1).terms == ()
    vocabulary.counts = {"miso": 1}
    assert planner.plan(terms("Miso"), 1000, 2).terms == ("miso",)


def test_a_larger_budget_clears_the_cached_frequencies() -> None:
    """A frequency is counted only up to the budget, so one counted under a smaller budget is too low."""
    planner = TermPlanner(Vocabulary(tea=5000, cup=4000))
    assert len(planner.plan(terms("tea cup"), 100, 1).terms) == 1
    assert planner.plan(terms("tea cup"), 6000, 1).terms == ("cup",)


def test_no_term_is_lost_when_another_thread_clears_the_cache() -> None:
    """Another thread may clear the cache between the look-up and the count."""
    vocabulary = Vocabulary(tea=1)
    planner = TermPlanner(vocabulary)
    stop = threading.Event()
    lost: list[int] = []

    def ask(step: int) -> None:
        change = step
        while not stop.is_set():
            change += 1000 * step
            if planner.plan(terms("tea"), 1000, change).terms != ("tea",):
                lost.append(change)

    threads = [threading.Thread(target=ask, args=(step,)) for step in (1, 2, 0)]
    for thread in threads:
        thread.start()
    stop.wait(1.0)
    stop.set()
    for thread in threads:
        thread.join()
    assert lost == []


def test_terms_cleared_by_another_thread_are_counted_in_the_same_call() -> None:
    """The same race made deterministic: the cache is cleared while this call counts an unknown term."""
    counts = {"tea": 1, "cup": 1}
    planner: TermPlanner

    def frequencies(terms: Sequence[str], most: int) -> list[int]:
        if "cup" in terms:
            planner._known.clear()  # as a call with a later change does
        return [counts.get(term, 0) for term in terms]

    planner = TermPlanner(frequencies)
    planner.plan(terms("tea"), 1000, 1)
    assert set(planner.plan(terms("cup tea"), 1000, 1).terms) == {"cup", "tea"}


@given(st.text(max_size=60), st.integers(1, 50))
def test_planning_any_question_keeps_its_invariants(question: str, budget: int) -> None:
    planner = TermPlanner(lambda terms, most: [min(len(term), most) for term in terms])
    chosen = planner.plan(terms(question), budget, 1).terms
    assert len(set(chosen)) == len(chosen)
    assert len(chosen) <= 1 or sum(map(len, chosen)) <= budget
    if any(term not in STOP_WORDS for term in chosen):
        assert STOP_WORDS.isdisjoint(chosen)
