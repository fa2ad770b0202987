"""The command line: thin, over the service layer.

Not here: anything that a library call or SQL could need too.
"""
