"""The rules by which memories behave: strength, lifecycle, contradiction, edges, episodes, skills, working memory and more.

Pure functions on frozen values: times, vectors and settings are passed in, and results are returned. Nothing here does I/O.
"""
