"""K16: three months of use leave fewer active memories than were stored, and recall of the important ones is as good."""

from __future__ import annotations

from hand_clock import HandClock
from recall.vaults import OWNER

from engram.engine import Engram
from engram.types import Memory, Status
from engram.values.dreams import PassStatus
from engram.values.query import Filter

TOWNS = ("Oslo", "Bergen", "Lund", "Kiel", "Riga", "Turku", "Ghent", "Porto", "Faro", "Ulm")
TRADES = ("baker", "welder", "tailor", "pilot", "glazier", "vintner", "cooper", "printer", "joiner")


def day(mem: Engram, number: int) -> int:
    """Store one day's input: a fact, the same fact in other words, a guess, and minor events."""
    town, trade, scope = TOWNS[number % 10], TRADES[number // 10], mem.reader.scope
    said = [
        Memory(text=f"The {trade} of {town} starts work at gate {number}", scope=scope),
        Memory(text=f"The {trade} of {town} begins work at gate {number}", scope=scope),
        Memory(text=f"Perhaps the {trade} of {town} owns boat {number}", scope=scope, confidence=0.2),
        Memory(text=f"A gull sat on roof {number} of {town}", scope=scope, category="moment", importance=0.1),
        Memory(text=f"Bus {number} to {town} was late", scope=scope, category="moment", importance=0.1),
    ]
    return len(mem._vault.store.memories.add(mem.reader, said))


def test_ninety_days_of_use_leave_fewer_active_memories_and_equal_recall(mem: Engram, clock: HandClock) -> None:
    owner = mem.as_reader(OWNER)
    said = 0
    for number in range(90):
        said += day(mem, number)
        clock.advance(86_400)
        if number % 30 == 29:
            assert owner.consolidate().ending is PassStatus.DONE, "no pass had to be undone"
    for _ in range(2):
        clock.advance(180 * 86_400)
        owner.consolidate()

    asked = range(0, 90, 6)
    found = [mem.recall(f"{TRADES[number // 10]} {TOWNS[number % 10]} gate {number}", limit=3) for number in asked]
    in_use = len(mem._vault.store.memories.keys_having(OWNER, Filter(statuses=(Status.ACTIVE,))))
    assert said == 450
    assert in_use == 90, "every fact once; guesses and slight things are put away"
    assert all(f"gate {number}" in hits[0].memory.text for number, hits in zip(asked, found, strict=True))
    assert all(one.after is None or one.before is None or one.after >= one.before for one in owner.dreams(limit=100))
