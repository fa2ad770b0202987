"""The values of every type as the connector gets them."""

from connection import connect
from truth import QUERY, SETTINGS, printed

with connect() as connection:
    cursor = connection.cursor()
    cursor.execute(SETTINGS)
    cursor.execute(QUERY)
    print(printed([column.name for column in cursor.description], cursor.fetchall()))
