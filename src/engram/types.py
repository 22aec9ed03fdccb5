"""What flows: the values that every room hands to the next, and the one place to import them from.

Frozen, standard library only, no I/O, no rows, no wire form. A change makes a new value (`frozen.replace`). They are told in
`who.py` (who asks, and whose word it is), `kept.py` (a memory and what it comes from), `answers.py` (what verbs answer with) and
`vitals.py` (how a vault is); what only one kind of memory has is in `kinds.py`.
"""

from __future__ import annotations

from engram.answers import Evidence as Evidence
from engram.answers import Explanation as Explanation
from engram.answers import Fate as Fate
from engram.answers import Hit as Hit
from engram.answers import LeftOut as LeftOut
from engram.answers import Mode as Mode
from engram.answers import Outcome as Outcome
from engram.answers import Quality as Quality
from engram.answers import Reasoned as Reasoned
from engram.answers import Recall as Recall
from engram.answers import Report as Report
from engram.answers import Signal as Signal
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
from engram.kept import Many as Many
from engram.kept import Memory as Memory
from engram.kept import Page as Page
from engram.kept import Proposition as Proposition
from engram.kept import Space as Space
from engram.kept import Status as Status
from engram.kept import StatusChange as StatusChange
from engram.kept import TextHit as TextHit
from engram.kept import Turn as Turn
from engram.kept import Version as Version
from engram.kept import Waiting as Waiting
from engram.vitals import Backup as Backup
from engram.vitals import Change as Change
from engram.vitals import Counts as Counts
from engram.vitals import Encoder as Encoder
from engram.vitals import Event as Event
from engram.vitals import Events as Events
from engram.vitals import Finding as Finding
from engram.vitals import Health as Health
from engram.vitals import Language as Language
from engram.vitals import Latency as Latency
from engram.vitals import Severity as Severity
from engram.vitals import Warmth as Warmth
from engram.who import SCOPE_DIMENSIONS as SCOPE_DIMENSIONS
from engram.who import AuditEntry as AuditEntry
from engram.who import Policy as Policy
from engram.who import Reader as Reader
from engram.who import Role as Role
from engram.who import Scope as Scope
from engram.who import Source as Source
from engram.who import Tier as Tier
from engram.who import scope_values as scope_values
