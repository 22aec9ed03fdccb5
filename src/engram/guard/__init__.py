"""Screening of content and readers: visibility, personal data, secrets, prompt injection and rate limits.

Lower rooms make no access decisions. Nothing in this room reads or writes the store, and no result quotes the text it judged:
findings are spans, kinds and scores.
"""
