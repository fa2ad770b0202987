"""The command line: thin commands over a session, a server or a library. Nothing here decides anything.

Not here: anything that a library call or SQL could need too.
"""
