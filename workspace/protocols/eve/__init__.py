"""The eve protocol: agents in Python whose tools may need approval and which may ask questions."""
