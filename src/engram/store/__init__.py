"""The store: the rows of a vault, and all of the project's SQL.

Comes in: values, and a Reader with every call. Goes out: values. Other packages use the protocols in `ports.py`, never SQL. No
row is read without a Reader, whose visibility is part of the query. The store knows no index, no model and no interface.
"""
