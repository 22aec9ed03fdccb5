"""The verbs of skills and warnings: learnt from episodes, looked up by situation, practised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.store.receipts import ReceiptRequest
from engram.types import Memory
from engram.values.episodes import EpisodeOutcome, Skill, SkillMatch
from engram.verbs.view import View, outcome_of, require_positive


def skills(
    view: View, situation: str | None = None, *, context: Mapping[str, str] | None = None, limit: int = 10
) -> Sequence[SkillMatch]:
    """Return the skills that fit a situation, the best first, by their cues and by meaning; without a situation, all skills.

    context: the circumstances. A skill with a different precondition is left out, unless it nearly always works.
    """
    require_positive("limit", limit)
    return view.episodes.skills(situation, context or {}, limit)


def learn_skills(view: View) -> Sequence[Skill]:
    """Learn new skills from the episodes of this scope. The end of a successful episode does this too."""
    return view.write_once(
        ("learn_skills",),
        lambda receipt: tuple(view.vault.episode_recorder.learn(view.reader)),
        lambda learned: " ".join(skill.id for skill in learned),
        lambda ids: tuple(view.vault.store.skills.select(view.reader, ids=ids.split())),
    )


def practise(
    view: View, skill_id: str, outcome: EpisodeOutcome | str, result: str = "", *, seconds: float | None = None
) -> Skill:
    """Record how a skill did when it was used: its success rate moves, and a failure becomes one of its failure modes.
    `mem.episode(skill=id)` does this by itself."""
    ending = outcome_of(outcome)

    def write(*, receipt: ReceiptRequest | None) -> Skill:
        skill = view.episodes.skill(skill_id)
        return view.vault.episode_recorder.practise(view.reader, skill, ending, result, seconds, receipt=receipt)

    request = ("practise", skill_id, ending, result, seconds)
    return view.write_once(request, write, lambda skill: skill.id, view.episodes.skill)


def warnings(view: View, about: str | None = None, *, limit: int = 10) -> Sequence[Memory]:
    """Return what was tried and failed, and what must not be done: about a task, the most relevant first; or all, newest first.

    A failed episode leaves a warning by itself; `remember(…, category="warning")` makes one; a statement that forbids something,
    or says that it was tried in vain, counts wherever it was made.
    """
    return view.episodes.warnings(about, limit)
