"""Delta tables: where they live, their versions and files, writing them, and what changed.

Not here: columns' meaning, transactions over tables, and who may read.
"""
