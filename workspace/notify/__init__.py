"""Report events to the outside: an outbox, a command hook and signed webhooks."""
