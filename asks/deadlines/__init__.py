"""Deadlines of an open ask: nudges, extension, expiry. Time never approves."""
