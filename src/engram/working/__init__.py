"""Working memory of an open vault: one working set per scope, held in memory and saved in the vault when work stops.

The rules are pure and live in `rules/`; this room adds the clock, the encoder, the redaction of private and recalled text, and
the store. It stands above `capture`, whose redaction it uses, and below the vault, which owns it and saves all sets on closing.
"""
