"""Claims of asks and live grants."""
