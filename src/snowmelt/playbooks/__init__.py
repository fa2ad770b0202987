"""Runbooks that a machine carries out: with questions, a memory, and a way back.

Not here: what a step does; that is SQL.
"""
