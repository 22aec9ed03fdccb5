"""A question to its hits: plan, arms, fusion, selection, trust, reasons.

Comes in: a question, its reader and the moment it is asked. Goes out: a `Recall`. The stages are pure functions on small
values; only the arms ask the store and the index, and nothing here writes.
"""
