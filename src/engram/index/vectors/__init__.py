"""Nearest-vector search, in tiers behind one protocol.

Other rooms use `live.LiveIndex`: the vectors of one space of one open vault, kept up to date from the change log. It is made
of the rows in memory (`rows`), the columns that filters compare (`marks`), two search tiers (`exact`, `quantized`) and the
choice between them (`registry`). `encoding` defines the stored form of a vector.
"""
