"""The Memory Palace: a web page over the table of operations, served beside the HTTP API. Needs the extra `server`.

Comes in: requests of a browser that has signed in. Goes out: HTML that works without scripts. Every page asks operations, as the
reader that its session's token stands for, and decides nothing about who may see what. Words of memories are always escaped,
nothing is fetched from anywhere else, and nothing of a page is kept by the browser.
"""

from __future__ import annotations
