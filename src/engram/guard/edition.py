"""The version of the injection rules and weights, in a module of its own because the rules are slow to load."""

from __future__ import annotations

VERSION = 2
"""Covers rules and weights together. A memory screened under another version is screened again before it enters a prompt."""
