"""Functions of text that no SQL of Spark's says: XML, network addresses, sounds of words, how a locale sorts.

Both engines call the same Python. Spark's workers may have no packages, so these modules import nothing but Python's
own, and are sent to them as they are; `locales` alone imports DuckDB, when it is first called. Each takes texts
that are not NULL, gives a text or None, and raises nothing: what is wrong with a value is told in its result.
"""
