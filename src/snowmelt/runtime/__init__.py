"""What every statement goes through: account, session, run, transaction, names, rights, metadata, rewriting.

Not here: a feature. What one adds, it says in a `Feature`; what it wants to know, it hears through `Events`.
"""
