"""A person's queue: its asks and their order, and the hints to open pages that it changed."""
