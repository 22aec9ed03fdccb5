"""Nearest-vector search, in tiers behind one protocol.

Other rooms use `live.LiveIndex`: the vectors of one space of one open vault, kept up to date from the change log. It is made
of the rows in memory and their stored form (`matrix`), the columns that filters compare (`filters`), two search tiers (`exact`,
`quantized`) and the choice between them (`tiers`); together they are a `loaded` index, which a `snapshot` stores.
"""
