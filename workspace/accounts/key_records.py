"""The facts of API keys in the ledger, and the queries for keys that lack a record."""

from __future__ import annotations

from typing import LiteralString

from asks.ledger.record_facts import FactSource

_MADE: LiteralString = """
'id', k.id, 'name', k.name, 'prefix', k.prefix, 'sha256', k.hash, 'scopes', to_jsonb(k.scopes),
'agent', k.agent_id, 'person', k.person_id, 'by', k.created_by_id,
'at', to_char(k.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
"""
_CREATED: LiteralString = f"""
SELECT k.id, jsonb_build_object('key', jsonb_build_object({_MADE})) AS facts
FROM workspace_apikey k WHERE k.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_REVOKED: LiteralString = f"""
SELECT k.id, jsonb_build_object('key', jsonb_build_object({_MADE}, 'revoked_at',
  to_char(k.revoked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))) AS facts
FROM workspace_apikey k WHERE k.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
KINDS = {"key_created": FactSource("key", _CREATED), "key_revoked": FactSource("key", _REVOKED)}
UNRECORDED: dict[str, LiteralString] = {
    "key": """
SELECT k.id FROM workspace_apikey k WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'key_created' AND r.subject = 'key:' || k.id)
ORDER BY k.id LIMIT 1""",
    "revoked key": """
SELECT k.id FROM workspace_apikey k WHERE k.revoked_at IS NOT NULL AND NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'key_revoked' AND r.subject = 'key:' || k.id)
ORDER BY k.id LIMIT 1""",
}
