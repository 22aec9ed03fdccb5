"""Indexes that answer a question in milliseconds and can be rebuilt from the store.

Input: rows and the change log, read through the store's ports. Output: keys with scores, best first. An index holds nothing
that is not in the store, so deleting it costs only the time to rebuild it. There is no SQL here, and no key is returned that
the reader may not see.
"""
