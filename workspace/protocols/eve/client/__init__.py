"""Drives agents behind other people's eve servers, of both eras of the protocol."""
