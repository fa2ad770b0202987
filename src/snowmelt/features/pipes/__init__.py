"""Pipes: a COPY that loads files as they come."""
