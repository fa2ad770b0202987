"""A streaming ingest client, in the shape of Snowpipe Streaming's."""
