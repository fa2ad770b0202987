"""Streams: what changed in a table or view since an offset that only consumption moves."""
