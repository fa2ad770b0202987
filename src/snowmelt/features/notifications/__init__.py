"""Messages about what happens: rules over metrics and queries, and the channels that they are sent to.

Not here: alerts as objects of a schema (`alerts`).
"""
