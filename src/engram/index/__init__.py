"""What can be made again from the store, so that questions are answered in milliseconds.

Comes in: rows and the change log, through the store's verbs. Goes out: keys with scores, best first. An index holds
nothing that is not in the store: delete it, and only time is lost. There is no SQL here, and no key leaves that the
reader may not see.
"""
