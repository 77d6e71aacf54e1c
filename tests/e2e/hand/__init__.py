"""A hand on the real page: random presses, and what happens while one presses."""
