"""A connection over TLS, to a server whose certificate the client was told to trust."""

from connection import connect

with connect(protocol="https", ocsp_fail_open=True) as connection:
    print(connection.cursor().execute("SELECT 'encrypted'").fetchone()[0])
