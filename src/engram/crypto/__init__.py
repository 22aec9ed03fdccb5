"""Keys and where they are found, ciphers, digests, access tokens and process hardening.

Nothing in this room writes a secret to a log, an exception or the vault folder.
"""
