"""Access and content checks: keys and their storage, process hardening, visibility, and screening of texts.

Input: a vault's identity and public header, settings, a passphrase or a key. Output: the master key with its sub-keys, and
visibility predicates for the store. Lower rooms make no access decisions, and nothing in this room writes a secret to a log,
an exception or the vault folder.
"""
