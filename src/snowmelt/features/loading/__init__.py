"""Loading files into tables and unloading tables into files."""
