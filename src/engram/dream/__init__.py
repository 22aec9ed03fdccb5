"""Background jobs of an idle vault: duplicates are merged, faded memories archived, related ones linked, and more.

Input: an open vault and a reader. Output: a `PassReport`. `jobs` defines and lists the jobs, `runner` runs them, `probes` checks
that recall did not get worse, `schedule` decides when; every other module is one job. No job changes words or erases a memory.
"""
