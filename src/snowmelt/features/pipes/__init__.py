"""Pipes: a COPY that loads files as they come.

Not here: reading files and what a COPY does (`snowmelt.features.loading`).
"""
