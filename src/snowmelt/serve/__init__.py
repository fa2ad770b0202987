"""HTTP: the server that owns a data directory, and the client that reaches it.

Not here: SQL and what it means.
"""
