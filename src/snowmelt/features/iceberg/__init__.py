"""Tables as other engines read them. See docs/design/iceberg.md."""
