"""The truth: rows, and all the SQL there is.

Comes in: values and a Reader with every call. Goes out: values. Other rooms see verbs (`contract.Store`), never SQL, and
no verb can be called without a Reader, whose visibility is applied inside the query. The store knows no index, no model
and no face.
"""
