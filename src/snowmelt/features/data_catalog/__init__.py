"""The data catalog: a snapshot of all that is offered, and searching it.

Not here: the catalog of the account's objects, which is in the state store (`snowmelt.state`).
"""
