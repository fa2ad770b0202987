"""Projects: folders of definitions, compared with the catalog and applied to it."""
