"""Import the approvals files in Markdown that people kept before they used the workspace."""

from asks.approvals_import.importing import Planned, import_items, plan_import
from asks.approvals_import.items import ApprovalItem, Contents
from asks.approvals_import.reading import parse_approvals

__all__ = ["ApprovalItem", "Contents", "Planned", "import_items", "parse_approvals", "plan_import"]
