"""What exists, as tables: the rows of SHOW, DESCRIBE, INFORMATION_SCHEMA and the text of GET_DDL."""
