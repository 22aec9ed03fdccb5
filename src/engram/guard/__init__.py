"""Who may come in: keys, where they are kept, how the process is closed to onlookers, and what a reader may see.

Comes in: a vault's identity and public header, settings, a passphrase or a key. Goes out: the master key and the sub-keys
made from it, and predicates for the store. No room below may be asked to decide about access, and nothing in here
writes a secret into a log, an exception or the vault folder.
"""
