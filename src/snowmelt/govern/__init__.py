"""Contracts, data products and what else turns tables into something that others can build on.

Pure: no account, no state store. What reads or writes those is in `features`.
"""
