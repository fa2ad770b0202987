"""Delta tables: where they live, their versions and files, writing them, and what changed."""
