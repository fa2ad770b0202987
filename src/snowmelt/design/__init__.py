"""From a description of what is needed to a design: rules, data and templates, all of them readable. No Spark.

Not here: an account; what it writes is applied by `projects`.
"""
