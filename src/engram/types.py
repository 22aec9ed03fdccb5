"""What flows: the values that every room hands to the next, and the one place to import them from.

Frozen, standard library only, no I/O, no rows, no wire form. A change makes a new value (`frozen.replace`). They are told in
`who.py` (who asks, and whose word it is), `kept.py` (a memory and what it comes from), `answers.py` (what verbs answer with) and
`vitals.py` (how a vault is); what only one kind of memory has is in `kinds.py`.
"""

from __future__ import annotations

from engram.answers import ArmSignal as ArmSignal
from engram.answers import Evidence as Evidence
from engram.answers import Explanation as Explanation
from engram.answers import Fate as Fate
from engram.answers import Hit as Hit
from engram.answers import LeftOut as LeftOut
from engram.answers import Mode as Mode
from engram.answers import Outcome as Outcome
from engram.answers import Quality as Quality
from engram.answers import Reasoning as Reasoning
from engram.answers import Recall as Recall
from engram.answers import Report as Report
from engram.answers import Stage as Stage
from engram.answers import Trust as Trust
from engram.answers import Verdict as Verdict
from engram.answers import Why as Why
from engram.kept import NEUTRAL as NEUTRAL
from engram.kept import NO_ATTRIBUTES as NO_ATTRIBUTES
from engram.kept import Affect as Affect
from engram.kept import Draft as Draft
from engram.kept import Edge as Edge
from engram.kept import Fact as Fact
from engram.kept import Kind as Kind
from engram.kept import Memory as Memory
from engram.kept import Page as Page
from engram.kept import PendingTurn as PendingTurn
from engram.kept import Proposition as Proposition
from engram.kept import Space as Space
from engram.kept import Status as Status
from engram.kept import StatusChange as StatusChange
from engram.kept import TextHit as TextHit
from engram.kept import Turn as Turn
from engram.kept import ValueSequence as ValueSequence
from engram.kept import Version as Version
from engram.vitals import Backup as Backup
from engram.vitals import ChangeEvent as ChangeEvent
from engram.vitals import ChangeEvents as ChangeEvents
from engram.vitals import ChangeLogEntry as ChangeLogEntry
from engram.vitals import Counts as Counts
from engram.vitals import EncoderState as EncoderState
from engram.vitals import Finding as Finding
from engram.vitals import Health as Health
from engram.vitals import IndexState as IndexState
from engram.vitals import LanguageModelState as LanguageModelState
from engram.vitals import Latency as Latency
from engram.vitals import Severity as Severity
from engram.who import SCOPE_DIMENSIONS as SCOPE_DIMENSIONS
from engram.who import AuditEntry as AuditEntry
from engram.who import Policy as Policy
from engram.who import Reader as Reader
from engram.who import Role as Role
from engram.who import Scope as Scope
from engram.who import Sensitivity as Sensitivity
from engram.who import Source as Source
from engram.who import Tier as Tier
from engram.who import scope_values as scope_values
