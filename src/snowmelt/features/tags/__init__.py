"""Tags: what somebody says of tables, columns, schemas and databases, and what is known of it.

Not here: finding personal data (`snowmelt.govern`).
"""
