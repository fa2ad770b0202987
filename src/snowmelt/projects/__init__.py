"""Projects: folders of definitions, compared with the catalog and applied to it.

Not here: how an object is created or altered; that is SQL.
"""
