"""The protocol of Snowflake's clients over HTTP. See docs/design/snowflake-door.md."""
