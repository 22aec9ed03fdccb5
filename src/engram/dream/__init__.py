"""What happens at rest: memories that say the same are merged, what has faded is put away, and what belongs together is linked.

Comes in: an open vault and a reader. Goes out: a `Report`. `job.py` says what a job is, `runner.py` runs them, `probes.py` looks
whether recall got worse, `jobs.py` lists them; every other module is one job. Nothing here changes words or removes a memory.
"""
