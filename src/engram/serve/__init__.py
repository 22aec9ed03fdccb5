"""The faces: thin ways in and out of the same operations.

A face establishes who is asking, hands the question to the engine and shows the answer. It decides nothing about
memories, and no face calls another. Nothing below this room knows of terminals or JSON.
"""
