"""Channels on the side of the account: checking rows, committing them, and what can be asked about them.

Not here: the client's side of a channel and the protocol between them (`snowmelt.ingest`).
"""
