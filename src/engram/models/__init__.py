"""Interfaces to encoders, language models and rerankers, and the catalogue of encoder models.

Nothing here knows rows, readers or the meaning of a question. Nothing uses the network unless a model is being installed or an
endpoint is configured.
"""
