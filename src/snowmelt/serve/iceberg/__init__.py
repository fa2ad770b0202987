"""An Iceberg REST catalogue of what a role may read. See docs/design/iceberg.md."""
