"""Contracts, data products and what else turns tables into something that others can build on.

Pure: no account, no state store. Not here: what reads or writes those (`snowmelt.features`).
"""
