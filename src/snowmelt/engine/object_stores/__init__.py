"""What Spark needs to read and write tables in S3: see `jars.lock`."""
