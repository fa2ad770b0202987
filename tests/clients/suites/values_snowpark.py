"""The values of every type as Snowpark gets them."""

from connection import CREDENTIALS, DATABASE
from snowflake.snowpark import Session
from truth import QUERY, SETTINGS, printed

session = Session.builder.configs({**CREDENTIALS, "database": DATABASE, "schema": "PUBLIC"}).create()
session.sql(SETTINGS).collect()
frame = session.sql(QUERY)
names = [name[1:-1] if name.startswith('"') else name for name in frame.columns]
print(printed(names, frame.collect()))
