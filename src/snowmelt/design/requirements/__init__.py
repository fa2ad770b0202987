"""What is asked of a pipeline: the file, its schema, and what is still missing in it."""
