"""Build the answer to GET /eve/v1/info: the smallest document that current clients accept."""

from __future__ import annotations

from typing import Any

from agents.models import Agent

Json = dict[str, Any]
HEALTH = {"ok": True, "status": "ready", "workflowId": "workflow//needs-you"}


def describe_agent(agent: Agent) -> Json:
    """Return version 5 of the agent-info document. The parts that list files are empty."""
    empty: Json = {"dynamic": [], "static": []}
    return {
        "kind": "eve-agent-info",
        "version": 5,
        "mode": "production",
        "capabilities": {"devRoutes": False},
        "agent": _agent(agent),
        "channels": {"routes": [], "shadowed": []},
        "composition": {"disabled": [], "shadowed": []},
        "connections": [],
        "diagnostics": {"discoveryErrors": 0, "discoveryWarnings": 0},
        "hooks": [],
        "instructions": empty,
        "kernelEffects": [],
        "memories": [],
        "remoteAgents": {"entries": [], "total": 0},
        "sandbox": {
            "logicalPath": "sandbox",
            "owner": {"kind": "application"},
            "sourceId": "sandbox",
            "sourceKind": "markdown",
            "revisionHash": "none",
        },
        "schedules": [],
        "skills": empty,
        "subagents": {"local": [], "total": 0},
        "tools": empty,
        "workspace": {"resourceRoot": None, "rootEntries": []},
    }


def _agent(agent: Agent) -> Json:
    owner = {"kind": "application"}
    backing = {
        "kind": "programmatic",
        "moduleId": "agent",
        "registryId": "workspace",
        "revision": "1",
    }
    config = {
        "logicalPath": "agent.md",
        "owner": owner,
        "sourceId": "agent.md",
        "sourceKind": "module",
        "binding": {"logicalPath": "agent.md", "owner": owner, "backing": backing},
    }
    routing = {"kind": "external", "provider": "workspace"}
    return {
        "name": agent.slug,
        "nodeId": "__root__",
        "agentRoot": "/",
        "appRoot": "/",
        "config": config,
        "model": {"id": f"external/{agent.slug}", "routing": routing},
    }
