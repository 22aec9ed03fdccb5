"""Answer questions: plan, arms, fusion, scoring, selection, trust, explanation.

A question, its reader and the moment it is asked come in; a `Recall` goes out. The stages are pure functions on small values;
only the arms read the store and the index, and nothing here writes.
"""
