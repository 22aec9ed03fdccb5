"""How memory behaves while it is in use: what was just said, what is in mind, where the talk is going. Pure rules on frozen
values; times, vectors and limits are passed in, and what leaves is returned.
"""
