"""Leaf sessions: one agent reviews one item, and may pause at a gate for a person's decision.

The protocol has two dialects: ``inline`` (item, verdict and decision in JSON) and ``files`` (the same
in files on a shared volume). Sending the session's envelope again resumes it.
"""
