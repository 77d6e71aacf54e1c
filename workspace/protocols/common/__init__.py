"""Shared parts of the protocols: the HTTP door, and what every client of a remote server needs."""
