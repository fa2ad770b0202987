"""When dynamic tables are refreshed: a pure tick that decides, and a runner that carries out.

Not here: threads, clocks and the state store, which are handed in.
"""
