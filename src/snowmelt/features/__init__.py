"""One folder for each feature: its kinds of objects, statements, definitions, commands, listings and rights.

A feature imports the runtime, never the other way round. `snowmelt.accounts` lists the features.
"""
