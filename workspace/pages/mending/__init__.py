"""The pages on which an agent is changed: edited, shared, retired, handed over, and read what it is told."""
