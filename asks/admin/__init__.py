"""Admin pages for auditors. Importing the modules registers the pages."""

from asks.admin import authority, decisions, ledger, policies

__all__ = ["authority", "decisions", "ledger", "policies"]
