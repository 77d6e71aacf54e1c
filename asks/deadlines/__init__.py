"""What time does to an open ask: nudges, more time, expiry. Time never approves."""
