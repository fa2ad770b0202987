"""The values of every type as SQLAlchemy gets them."""

from connection import CREDENTIALS, DATABASE
from snowflake.sqlalchemy import URL
from sqlalchemy import create_engine
from truth import QUERY, SETTINGS, printed

address = {key: CREDENTIALS[key] for key in ("user", "password", "account", "host", "port")}
engine = create_engine(URL(**address, database=DATABASE, schema="PUBLIC"), connect_args={"protocol": "http"})
with engine.connect() as connection:
    connection.exec_driver_sql(SETTINGS)
    result = connection.exec_driver_sql(QUERY)
    print(printed([column[0] for column in result.cursor.description], result.all()))
