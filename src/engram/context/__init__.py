"""Hits to a prompt: a budget first, then sections filled within their grants, every token accounted for.

Comes in: a message, what was recalled for it and what was said before. Goes out: a `ContextWindow`. Pure: nothing here reads a
store or writes anything.
"""
