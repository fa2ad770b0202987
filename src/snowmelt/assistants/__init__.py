"""Tools for assistants: what a person does with commands, by the Model Context Protocol. See docs/reference/mcp.md.

Not here: what a tool does; it calls what the commands call.
"""
