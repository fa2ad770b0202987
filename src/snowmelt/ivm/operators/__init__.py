"""The operators of the algebra: one class in one file each, with all that any pass asks of it."""
