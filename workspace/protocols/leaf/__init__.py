"""Leaf sessions: one item is reviewed by one agent, which may park at a gate for a person's word.

Two dialects of one protocol: ``inline`` (item, verdict and decision in JSON) and ``files`` (the
same in files on a shared volume). Resuming is sending the session's envelope again.
"""
