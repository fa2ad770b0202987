"""Numbered steps that bring a store of any earlier version to the present one.

A step is frozen once it was released: a later change of the tables is a new step. Steps hold their own SQL
and import neither `tables` nor the records, because both go on changing.
"""
