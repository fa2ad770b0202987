"""Webhooks: a receiver that lands each event before it answers. docs/design/webhooks.md."""
