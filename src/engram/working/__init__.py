"""Working memory of whoever uses an open vault: one desk for each scope, in memory, put away in the vault when work stops.

The rules are in `memory/`; here they meet the clock, the encoder, the marks that keep private and recalled words out, and the
store. It stands above `capture`, whose marks it needs, and below the vault, which owns it and puts all desks away on closing.
"""
