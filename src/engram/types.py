"""The values of the public API under one name: frozen, without I/O, rows or wire form.

A change makes a new value (`frozen.replace`). They are defined in `values/`: `identity` (scopes, readers), `memories`, `turns`,
`edges`, `recall` (the answers of verbs) and `health` (the state of a vault). Values of episodes, skills, entities and background
passes are imported from their own modules there.
"""

from __future__ import annotations

from engram.values.edges import Edge as Edge
from engram.values.health import Backup as Backup
from engram.values.health import ChangeEvent as ChangeEvent
from engram.values.health import ChangeEvents as ChangeEvents
from engram.values.health import ChangeLogEntry as ChangeLogEntry
from engram.values.health import Counts as Counts
from engram.values.health import EncoderState as EncoderState
from engram.values.health import Finding as Finding
from engram.values.health import Health as Health
from engram.values.health import IndexState as IndexState
from engram.values.health import LanguageModelState as LanguageModelState
from engram.values.health import Latency as Latency
from engram.values.health import Severity as Severity
from engram.values.identity import SCOPE_DIMENSIONS as SCOPE_DIMENSIONS
from engram.values.identity import AuditEntry as AuditEntry
from engram.values.identity import Policy as Policy
from engram.values.identity import Reader as Reader
from engram.values.identity import Role as Role
from engram.values.identity import Scope as Scope
from engram.values.identity import Sensitivity as Sensitivity
from engram.values.identity import Source as Source
from engram.values.identity import Tier as Tier
from engram.values.identity import scope_values as scope_values
from engram.values.memories import NEUTRAL as NEUTRAL
from engram.values.memories import NO_ATTRIBUTES as NO_ATTRIBUTES
from engram.values.memories import Affect as Affect
from engram.values.memories import Correction as Correction
from engram.values.memories import CorrectionFate as CorrectionFate
from engram.values.memories import Draft as Draft
from engram.values.memories import Fact as Fact
from engram.values.memories import Kind as Kind
from engram.values.memories import Memory as Memory
from engram.values.memories import Mention as Mention
from engram.values.memories import Name as Name
from engram.values.memories import Page as Page
from engram.values.memories import Proposition as Proposition
from engram.values.memories import Replacement as Replacement
from engram.values.memories import Space as Space
from engram.values.memories import Status as Status
from engram.values.memories import StatusChange as StatusChange
from engram.values.memories import Strength as Strength
from engram.values.memories import TextHit as TextHit
from engram.values.memories import ValueSequence as ValueSequence
from engram.values.memories import Version as Version
from engram.values.recall import ArmSignal as ArmSignal
from engram.values.recall import Evidence as Evidence
from engram.values.recall import Explanation as Explanation
from engram.values.recall import Fate as Fate
from engram.values.recall import Hit as Hit
from engram.values.recall import LeftOut as LeftOut
from engram.values.recall import Mode as Mode
from engram.values.recall import Outcome as Outcome
from engram.values.recall import Quality as Quality
from engram.values.recall import Reasoning as Reasoning
from engram.values.recall import Recall as Recall
from engram.values.recall import Report as Report
from engram.values.recall import Stage as Stage
from engram.values.recall import Trust as Trust
from engram.values.recall import Verdict as Verdict
from engram.values.recall import Why as Why
from engram.values.turns import DroppedPiece as DroppedPiece
from engram.values.turns import PendingTurn as PendingTurn
from engram.values.turns import Turn as Turn

# Earlier names, kept for programs that import them.
Change = ChangeLogEntry
Encoder = EncoderState
Event = ChangeEvent
Events = ChangeEvents
Language = LanguageModelState
Many = ValueSequence
Reasoned = Reasoning
Signal = ArmSignal
Waiting = PendingTurn
Warmth = IndexState
