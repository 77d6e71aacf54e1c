"""The toolkit for agents defined in Python: tools that may need approval, and questions to owners.

It does not depend on sessions, runs or models. ``workspace.protocols.eve`` runs the agents that are
defined with it. See docs/python-agents.md.
"""

from asks.policies.wording import Wording
from workspace.toolkit.agents import AgentDefinition, NoSuchAgent, agent_named
from workspace.toolkit.approval import Needs, Proposal, always, never, once
from workspace.toolkit.tools import BadInput, BadTool, Tool, ToolContext, ToolFailed, tool

__all__ = [
    "AgentDefinition",
    "BadInput",
    "BadTool",
    "Needs",
    "NoSuchAgent",
    "Proposal",
    "Tool",
    "ToolContext",
    "ToolFailed",
    "Wording",
    "agent_named",
    "always",
    "never",
    "once",
    "tool",
]
