"""Loading files into tables and unloading tables into files.

Not here: rows that arrive one by one (`channels`), and sources of built projects (`snowmelt.extract_load`).
"""
