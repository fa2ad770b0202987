"""One folder for each feature: its kinds of objects, statements, definitions, commands, listings and rights.

`snowmelt.accounts` lists the features. Not here: what every statement goes through (`snowmelt.runtime`), and what
imports no account.
"""
