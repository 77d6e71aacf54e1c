"""What people build agents with: tools that may need approval, and questions to their owners.

Nothing here knows of sessions, runs or models: ``workspace.protocols.eve`` runs what is defined with
it. See docs/python-agents.md.
"""

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
    "agent_named",
    "always",
    "never",
    "once",
    "tool",
]
