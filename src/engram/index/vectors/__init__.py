"""Nearest vectors, in tiers behind one protocol.

`live.LiveIndex` is what other rooms use: the vectors of one space of one open vault, followed through the change log.
Below it lie the rows in memory (`rows`), what filters go by (`marks`), two ways to find the nearest (`exact`,
`quantized`) and the choice between them (`registry`). A vector is stored as `encoding` says.
"""
