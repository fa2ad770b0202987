"""The first snapshot of a PostgreSQL, read by COPY at the point where its slot begins; see docs/design/cdc.md."""
