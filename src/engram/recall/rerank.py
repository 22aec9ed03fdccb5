"""Reorder the best candidates: for diversity (MMR), by a cross-encoder (§35.1), or the newest first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from engram.deadline import current_deadline, deadline, run_bounded
from engram.errors import EmbeddingError, EmbeddingFailed, SearchTimeout
from engram.models.embedders import Vectors
from engram.models.rerankers import Reranker
from engram.recall.fusion import Scores
from engram.rules.episodes import is_warning
from engram.types import Kind, Memory

_BEARS = 0.5  # of the best match, from which a skill or a warning bears on the question
_NEARLY = 0.85  # of the score of the older statement, which the newer one must reach


def mmr(scores: npt.NDArray[np.float32], vectors: Vectors, weight: float) -> list[int]:
    """Return the order by maximal marginal relevance, as positions in `scores`, which are best first.

    A score loses up to `weight` of the best score, by the greatest cosine with any candidate placed before it. A NaN vector
    resembles nothing.
    """
    known = np.nan_to_num(vectors)
    cosines = known @ known.T
    best = float(scores[0]) if len(scores) else 0.0
    remaining = list(range(len(scores)))
    order: list[int] = []
    greatest = np.zeros(len(scores), np.float32)  # cosine of each candidate with any placed one
    while remaining:
        marginal = scores[remaining] - weight * best * greatest[remaining]
        chosen = remaining.pop(int(np.argmax(marginal)))
        order.append(chosen)
        greatest = np.maximum(greatest, cosines[chosen])
    return order


def opinions(
    reranker: Reranker, question: str, texts: Sequence[str], seconds: float, monotonic: Callable[[], float]
) -> npt.NDArray[np.float32]:
    """Return a reranker's scores of texts, one finite number each; raise EmbeddingError or SearchTimeout if it fails.

    A reranker is another's code: it may raise anything, and return anything. It gets so many seconds, and at most half of those
    that the caller's deadline leaves.
    """
    outer = current_deadline()
    limit = seconds if outer is None else min(seconds, outer.left / 2)
    try:
        with deadline(max(limit, 1e-3), monotonic):
            scores = np.asarray(run_bounded(partial(reranker.score, question, texts), "candidates were reranked"), np.float32)
    except (EmbeddingError, SearchTimeout):
        raise
    except Exception as error:  # noqa: BLE001
        raise EmbeddingFailed(f"the reranking model failed ({type(error).__name__}).") from None
    if scores.shape != (len(texts),) or not np.all(np.isfinite(scores)):
        raise EmbeddingFailed("the reranking model did not return one finite number for each text.")
    return scores


def by_opinion(scores: npt.NDArray[np.float32], opinions: npt.NDArray[np.float32], weight: float) -> list[int]:
    """Return the order by a reranking model's opinions blended with the scores before it, both in standard deviations."""
    blended = weight * _standard(opinions) + (1.0 - weight) * _standard(scores)
    order: list[int] = np.argsort(-blended, kind="stable").tolist()
    return order


def _standard(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    spread = float(values.std()) or 1.0
    standardized: npt.NDArray[np.float32] = (values - values.mean()) / np.float32(spread)
    return standardized


def skills_first(memories: Sequence[Memory], matches: Sequence[float]) -> list[int]:
    """Return the order in which skills that match stand first, and behind them the failures and prohibitions that match.

    One matches if it reaches a share of the best match. Without such a skill the order is as it was.
    """
    least = _BEARS * max(matches, default=0.0)
    bearing = [place for place, match in enumerate(matches) if match >= least > 0.0]
    skills = [place for place in bearing if memories[place].kind is Kind.SKILL]
    if not skills:
        return list(range(len(memories)))
    warnings = [place for place in bearing if place not in skills and is_warning(memories[place])]
    first = [*skills, *warnings]
    return [*first, *(place for place in range(len(memories)) if place not in first)]


def rivals_in_order(keys: Sequence[int], rivals: Sequence[tuple[int, int]]) -> list[int]:
    """Return positions in `keys` such that each memory stands right behind the later one that may replace it, if both are there.

    rivals: (later, earlier) keys. Of several later ones the best placed counts.
    """
    order = list(keys)
    places = {key: place for place, key in enumerate(order)}
    later_of: dict[int, int] = {}
    for later, earlier in rivals:
        if later in places and earlier in places:
            known = later_of.get(earlier)
            later_of[earlier] = later if known is None or places[later] < places[known] else known
    for earlier, later in sorted(later_of.items(), key=lambda pair: places[pair[0]]):
        if order.index(later) > order.index(earlier):
            order.remove(later)
            order.insert(order.index(earlier), later)
    return [places[key] for key in order]


def newest(
    scores: Scores, vectors: Vectors, moments: Sequence[int | None], speakers: Sequence[str], least_cosine: float
) -> list[int]:
    """Return the order in which, of statements by one speaker on the same matter, the newest is first.

    Two statements are on the same matter from a cosine of `least_cosine` on. The newer one must match nearly as well: what was
    true last is worth more than the best wording, but not more than the answer.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.nan_to_num(vectors / np.maximum(lengths, 1e-9))
    same_matter = units @ units.T >= least_cosine
    order = list(range(len(scores)))
    for place in range(len(order)):
        above = order[place]
        for lower in range(place + 1, len(order)):
            below = order[lower]
            later, earlier = moments[below], moments[above]
            if later is None or earlier is None or later <= earlier or speakers[above] != speakers[below]:
                continue
            if same_matter[above, below] and scores[below] >= _NEARLY * scores[above] > 0:
                order.insert(place, order.pop(lower))
                break
    return order
