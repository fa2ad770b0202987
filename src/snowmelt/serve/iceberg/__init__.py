"""An Iceberg REST catalog of what a role may read. See docs/design/iceberg.md."""
