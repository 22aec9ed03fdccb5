"""Turn hits, working memory and history into a prompt within a budget of tokens.

A message, its recall and the turns before it come in; a `ContextWindow` goes out, in which every token is accounted for.
"""
