"""Seams to models: what turns words into vectors, and where its files come from.

Comes in: text. Goes out: unit vectors with the fingerprint of the model that made them. Nothing here knows a row, a
reader or a question's meaning; nothing goes to the network unless a model is being installed or an endpoint was named.
"""
