"""What auditors read in the admin. Each page is a module of its own; importing them registers them."""

from asks.admin import authority, decisions, ledger, policies

__all__ = ["authority", "decisions", "ledger", "policies"]
