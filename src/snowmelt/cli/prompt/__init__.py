"""The interactive prompt of `snowmelt sql`: reading, completing and colouring statements, and its own commands.

What a statement means belongs to `sql`, and how a result is printed to `cli/output.py`.
"""
