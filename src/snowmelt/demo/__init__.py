"""`snowmelt demo`: a live PostgreSQL shop, captured, kept as a dimension, summed up, and checked at the end.

Not here: anything that the product needs.
"""
