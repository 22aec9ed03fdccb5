"""Words → memories: what is worth keeping of what was said, and in which form.

Comes in: turns as they were said. Goes out: statements that stand by themselves, each with its place in the turn, and a
verdict with a reason for every other character. `signals`, `marks`, `propositions`, `chunks`, `categories` and `tiers` are
pure: no files, no store, no models, no clock.
"""
