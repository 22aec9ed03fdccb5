"""Record episodes as they happen, the skills that they teach, and the failures that they warn of.

The rules stand in `memory/`; here they meet the store, the clock and the encoder. An episode is durable event by event; what is
learned from it is kept once it has ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from engram.capture.drafts import cut
from engram.capture.embeddings import Tools, space_of
from engram.capture.observer import Observer
from engram.capture.screen import REFUSED, judged, tier_of
from engram.deadline import without_deadline
from engram.errors import AccessDenied, InjectionBlocked, InvalidContent, NotFound
from engram.guard.injection import InjectionVerdict
from engram.log import Log
from engram.rules.duplicates import LIKE, stem_overlap, stems
from engram.rules.episodes import failure_reason, narrative, novelty_of, significance_of, surprise_of, valence_of, warning_of
from engram.rules.skills import SkillWeights, after_use, clusters, learn, match, with_recoveries
from engram.store.limits import StoreLimits
from engram.store.receipts import ReceiptRequest
from engram.store.validation import check_event, check_goal, check_words
from engram.types import Draft, Edge, Kind, Memory, Policy, Reader, Sensitivity, Source, Space
from engram.values.episodes import EPISODE, LEARNED_FROM, WARNING, Episode, EpisodeEvent, EpisodeOutcome, Participant, Skill
from engram.values.frozen import replace
from engram.values.identity import strictest

log = Log("engram")

_LOOKED_AT = 200
"""Episodes that a new one is compared with: the latest. Skills and expectations are made of what is done now."""
_WARNING_WEIGHS = 0.75


class EpisodeRecorder:
    """Records episodes. Made for one call or many; it holds nothing but its tools."""

    def __init__(self, tools: Tools, observer: Observer) -> None:
        self._tools = tools
        self._observer = observer
        self._store, self._live, self._env = tools.store, tools.live, tools.env

    # ── episodes ───────────────────────────────────────────────────────────────────────────────────────────────────

    def begin(
        self,
        reader: Reader,
        goal: str,
        session: str,
        *,
        participants: Sequence[Participant] = (),
        context: Mapping[str, str] | None = None,
        caused_by: Sequence[str] = (),
        receipt: ReceiptRequest | None = None,
    ) -> Episode:
        check_goal(goal, self._live.now)
        meant = self._observer.worth_keeping(goal)
        memory = Memory(
            text=narrative(meant, EpisodeOutcome.ONGOING, (), ""),
            kind=Kind.EPISODE,
            category=EPISODE,
            source=Source.ASSISTANT,
            scope=reader.scope,
            session=session,
            attributes=dict(context or {}),
        )
        draft = self._observer.draft(memory)
        return self._store.episodes.begin(
            reader, draft, meant, participants=participants, caused_by=caused_by, space=self._space, receipt=receipt
        )

    def event(self, reader: Reader, episode_id: str, told: EpisodeEvent, receipt: ReceiptRequest | None = None) -> EpisodeEvent:
        """Add an event to an episode that is going on."""
        event = self.as_kept(told)
        self._store.episodes.append(reader, episode_id, event, receipt=receipt)
        return event

    def as_kept(self, told: EpisodeEvent) -> EpisodeEvent:
        """Of what is plainly an attack on the model only that there was one."""
        check_event(told, self._live.now)  # before its words are cleaned; the store checks what is left of them
        return replace(told, text=self._harmless(self._observer.worth_keeping(told.text)) if told.text.strip() else "")

    def end(
        self,
        reader: Reader,
        episode_id: str,
        outcome: EpisodeOutcome,
        result: str,
        valence: float | None,
        receipt: ReceiptRequest | None = None,
    ) -> Episode:
        """End an episode with its outcome, and keep the skills and warnings drawn from it, as far as they may be kept.

        Its text is made of its events; none of them keeps it from ending.
        """
        old = self.episode(reader, episode_id)
        said = self._said(result)
        others = [one for one in self._beside(reader, old) if one.id != old.id]
        like = [one for one in others if stem_overlap(stems(one.goal), stems(old.goal)) >= LIKE]
        surprise = surprise_of(outcome, [one.outcome for one in like])
        novelty = novelty_of(old.goal, [one.goal for one in others])
        memory = replace(
            old.memory,
            text=self._told(old, outcome, said),
            importance=significance_of(outcome, surprise, novelty),
            surprise=surprise,
            happened_until=self._env.now(),
        )
        felt = valence_of(outcome) if valence is None else min(max(valence, -1.0), 1.0)
        draft = self._observer.draft(memory, outcome=felt, novelty=surprise)
        ended = self._store.episodes.end(reader, draft, outcome, said, felt, space=self._space, receipt=receipt)
        try:
            with without_deadline():  # it has ended
                self._draw_lessons(reader, ended, [ended, *like])
        except (AccessDenied, InjectionBlocked, InvalidContent) as problem:
            log.warning("nothing was learned from an episode: %s", problem.code)
        return ended

    def _said(self, result: str) -> str:
        """Return the result of an episode as it may be kept."""
        check_words("result", result, self._live.now)
        return self._harmless(self._observer.worth_keeping(result)) if result.strip() else ""

    def _harmless(self, text: str) -> str:
        return REFUSED if judged(text, self._live.now).verdict is InjectionVerdict.REJECTED else text

    def _told(self, episode: Episode, outcome: EpisodeOutcome, said: str) -> str:
        """Return the text of an episode: the whole, or as much of it as does not read as an attack together."""
        for events, result in ((episode.events, said), ((), said), ((), "")):
            text = cut(narrative(episode.goal, outcome, events, result), self._live.now.content_bytes)
            if self._harmless(text) == text:
                return text
        return REFUSED

    def episode(self, reader: Reader, episode_id: str) -> Episode:
        found = self._store.episodes.select(reader, ids=[episode_id])
        if not found:
            raise NotFound("there is no episode of that id that this identity may see.", way_out="See `engram episodes`.")
        return found[0]

    def _beside(self, reader: Reader, episode: Episode) -> list[Episode]:
        """The latest episodes of the same place: what was done elsewhere teaches nothing here."""
        return self._store.episodes.select(_at(reader, episode.memory), limit=_LOOKED_AT)

    # ── what is learned ────────────────────────────────────────────────────────────────────────────────────────────

    def _draw_lessons(self, reader: Reader, ended: Episode, like: Sequence[Episode]) -> None:
        if ended.outcome is EpisodeOutcome.FAILURE and failure_reason(ended):
            self._warn(reader, ended)
        skill = self._skill_of(reader, ended)
        if skill is not None:
            took = None if ended.ended_at is None else (ended.ended_at - ended.started_at).total_seconds()
            self.practise(reader, skill, ended.outcome, failure_reason(ended), took, ended)
        elif ended.outcome is EpisodeOutcome.SUCCESS:
            self._learn(reader, like)

    def _warn(self, reader: Reader, failed: Episode) -> Memory:
        """Keep a warning, so that the failure is known before the same is tried again."""
        warning = Memory(
            text=cut(warning_of(failed), self._live.now.content_bytes),
            category=WARNING,
            importance=_WARNING_WEIGHS,
            source=Source.INFERRED,
            scope=failed.memory.scope,
        )
        kept = self._observer.remember(reader, warning, tier=self._closest(warning.text, [failed]))
        self._store.edges.put(reader, [Edge(kept.id, failed.id, LEARNED_FROM)])
        return kept

    def _skill_of(self, reader: Reader, episode: Episode) -> Skill | None:
        """The skill that an episode says it uses, or that its goal calls for."""
        here = _at(reader, episode.memory)
        if named := episode.memory.attributes.get("skill", ""):
            return next(iter(self._store.skills.select(reader, ids=[named])), None)
        known = self._store.skills.select(here)
        return next((skill for skill in known if match(skill, episode.goal, {}) is not None), None)

    def practise(
        self,
        reader: Reader,
        skill: Skill,
        outcome: EpisodeOutcome,
        result: str,
        seconds: float | None = None,
        episode: Episode | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> Skill:
        """The skill after one more use."""
        now = self._env.now()
        used = after_use(skill, outcome, self._said(result), now, self._live.tuned(SkillWeights).skill_alpha, seconds)
        if episode is not None:
            used = with_recoveries(used, episode, now)
        sources = [episode.id] if episode is not None and used.refinements != skill.refinements else []
        draft = Draft(memory=skill.memory)
        return self._store.skills.put(reader, used, draft, sources=sources, space=self._space, receipt=receipt)

    def learn(self, reader: Reader) -> list[Skill]:
        """The skills that the episodes of this place teach and that are not known yet."""
        here = replace(reader, policy=Policy.OWN)
        found = self._store.episodes.select(here, limit=self._live.tuned(StoreLimits).page_limit)
        known = self._store.skills.select(here)
        fresh = [one for one in found if not any(match(skill, one.goal, {}) for skill in known)]
        return [skill for group in clusters(fresh) if (skill := self._learn(reader, group)) is not None]

    def _learn(self, reader: Reader, episodes: Sequence[Episode]) -> Skill | None:
        learned = learn(episodes, self._live.tuned(SkillWeights).skill_episodes)
        if learned is None:
            return None
        memory = Memory(
            text=cut(learned.text, self._live.now.content_bytes),
            kind=Kind.SKILL,
            category="skill",
            source=Source.INFERRED,
            importance=0.7,
            scope=episodes[0].memory.scope,
            tier=self._closest("", episodes),
        )
        skill = Skill(
            memory=memory,
            name=learned.name,
            cues=learned.cues,
            threshold=learned.threshold,
            preconditions=learned.preconditions,
            steps=learned.steps,
            practice=learned.practice,
            failure_modes=learned.failure_modes,
        )
        sources = [episode.id for episode in episodes]
        return self._store.skills.put(reader, skill, self._observer.draft(memory), sources=sources, space=self._space)

    def _closest(self, text: str, episodes: Sequence[Episode]) -> Sensitivity:
        """Return the tier of a lesson: the strictest of its episodes', or the one that its own words ask for."""
        return reduce(strictest, (one.memory.tier for one in episodes), tier_of(text, self._live.now))

    @property
    def _space(self) -> Space | None:
        return space_of(self._tools.embedder)


def _at(reader: Reader, memory: Memory) -> Reader:
    return replace(reader, scope=memory.scope, policy=Policy.OWN)
