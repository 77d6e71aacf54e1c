"""Approvals files in markdown, as people kept them before: read, and taken over."""

from asks.approvals.importing import Planned, import_items, plan
from asks.approvals.items import Contents, Item
from asks.approvals.reading import parse

__all__ = ["Contents", "Item", "Planned", "import_items", "parse", "plan"]
