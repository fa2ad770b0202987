"""Streams: what changed in a table or view since an offset that only consumption moves.

Not here: how the changes of a table's versions are read (`snowmelt.storage`).
"""
