"""The Memory Palace: web pages over the table of operations, served beside the HTTP API. Needs the extra `server`.

Input: requests of a browser that has signed in. Output: HTML that works without scripts. Every page calls operations as the
reader of its session's token and decides nothing about visibility. The text of memories is always escaped, no resource is loaded
from another host, and the browser may not cache a page.
"""

from __future__ import annotations
