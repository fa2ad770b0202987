"""What every statement goes through: account, session, run, transaction, names, rights, metadata, rewriting.

It knows no feature. What a feature adds, it says in a `Feature`; what it wants to know, it hears through `Events`.
"""
