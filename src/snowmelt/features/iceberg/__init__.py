"""Tables as other engines read them: Iceberg's metadata for a version that a role may read. See docs/design/iceberg.md.

Not here: the files of Iceberg (`storage/iceberg`), and the catalog that clients speak to (`serve/iceberg`).
"""
