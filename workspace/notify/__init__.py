"""What is told outside: an outbox, a command hook and signed webhooks."""
