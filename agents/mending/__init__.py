"""Change an agent after it was connected: what it is, how it runs, who owns it, and what is checked."""
