"""The queue: what waits for a person, in which order, and the hints that it changed."""
