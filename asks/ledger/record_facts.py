"""Build the facts of a ledger record from the rows that it describes.

PostgreSQL builds the facts when a record is written and again when it is proved. A changed row is
therefore found as reliably as a changed record. The facts in ``EXTRAS`` are stored in no other row;
only the record has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from agents.db import statements
from agents.text.canonical_json import Json

#: Facts that only the record holds: the names at that time, how long the ask waited, the device, the
#: signature, and the file that an ask was imported from.
EXTRAS = ["names", "waited_seconds", "device", "proof", "source"]


def _utc(column: LiteralString) -> LiteralString:
    """Return SQL that formats a moment in UTC with microseconds, independent of session settings."""
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


_OPTIONS: LiteralString = """
(SELECT coalesce(jsonb_agg(jsonb_build_object(
   'id', o.id, 'key', o.key, 'label', o.label, 'detail', o.detail, 'style', o.style,
   'meaning', o.meaning, 'position', o.position) ORDER BY o.position), '[]')
 FROM asks_option o WHERE o.ask_id = a.id)
"""
#: Facts of an ask that never change, and those that can change while it is open.
_LASTING: LiteralString = f"""
(jsonb_build_object(
  'id', a.id, 'session', a.session_id, 'run', a.run_id, 'agent', a.agent_id,
  'request_key', a.request_key, 'kind', a.kind, 'prompt', a.prompt, 'free_text', a.free_text,
  'shown_sha256', encode(sha256(convert_to(a.prompt_html, 'UTF8')), 'hex'),
  'money_critical', a.money_critical, 'imported', a.imported, 'context', a.context,
  'opened_at', {_utc("a.opened_at")}, 'options', {_OPTIONS})
  || CASE WHEN a.terms = '{{}}' THEN '{{}}'::jsonb ELSE jsonb_build_object('terms', a.terms) END
  || CASE WHEN a.answered_by_id IS NULL THEN '{{}}'::jsonb
     ELSE jsonb_build_object('answered_by', a.answered_by_id) END
  || CASE WHEN a.barred = '{{}}' THEN '{{}}'::jsonb
     ELSE jsonb_build_object('barred', to_jsonb(a.barred)) END
  || CASE WHEN a.confidential THEN jsonb_build_object('confidential', true)
     ELSE '{{}}'::jsonb END
  || CASE WHEN a.repeats_id IS NULL THEN '{{}}'::jsonb
     ELSE jsonb_build_object('repeats', a.repeats_id) END)
"""
_CHANGING: LiteralString = f"""
(jsonb_build_object('expires_at', {_utc("a.expires_at")})
  || CASE WHEN a.extended = 0 THEN '{{}}'::jsonb
     ELSE jsonb_build_object('extended', a.extended) END
  || CASE WHEN a.escalated_to_id IS NULL THEN '{{}}'::jsonb
     ELSE jsonb_build_object('escalated_to', a.escalated_to_id) END)
"""
_ASK: LiteralString = f"({_LASTING} || {_CHANGING})"
_CHANGING_OF: LiteralString = f"SELECT {_CHANGING} FROM asks_ask a WHERE a.id = %s"  # noqa: S608
_GATE: LiteralString = """
(SELECT jsonb_build_object(
   'id', g.id, 'session', g.session_id, 'number', g.number, 'operation', g.operation, 'params', g.params,
   'action_hash', g.action_hash, 'policy_version', g.policy_version,
   'run_version', g.run_version)
   || CASE WHEN g.files = '{}' THEN '{}'::jsonb ELSE jsonb_build_object('files', g.files) END
   || CASE WHEN g.schema IS NULL THEN '{}'::jsonb ELSE jsonb_build_object('schema', g.schema) END
 FROM asks_gate g WHERE g.ask_id = a.id)
"""
#: An expired ask can gain a successor later, so only a superseded ask includes it.
_CLOSING: LiteralString = f"""
jsonb_build_object(
  'status', a.status, 'closed_at', {_utc("a.closed_at")}, 'by', a.closed_by_id,
  'reason', a.close_reason,
  'superseded_by', CASE a.status WHEN 'superseded' THEN a.superseded_by_id END)
"""
#: The ask of a verdict that was taken back is open again, so its facts at that time come from elsewhere.
_ASK_THEN: LiteralString = f"CASE WHEN t.id IS NULL THEN {_ASK} ELSE {_LASTING} || t.ask_then END"
_CLOSING_THEN: LiteralString = f"""
CASE WHEN t.id IS NULL THEN {_CLOSING} ELSE jsonb_build_object(
  'status', 'answered', 'closed_at', {_utc("v.decided_at")}, 'by', v.decided_by_id,
  'reason', '', 'superseded_by', NULL) END
"""
_VERDICT: LiteralString = f"""
SELECT v.id, jsonb_build_object(
  'ask', {_ASK_THEN}, 'gate', {_GATE}, 'closing', {_CLOSING_THEN},
  'verdict', jsonb_build_object(
    'id', v.id, 'by', v.decided_by_id, 'option', c.key, 'label', v.option_label, 'text', v.text,
    'text_sha256', encode(sha256(convert_to(v.text, 'UTF8')), 'hex'), 'meaning', v.meaning,
    'echo', v.echo, 'via', v.via, 'decided_at', {_utc("v.decided_at")})
    || CASE WHEN v.on_behalf_of_id IS NULL THEN '{{}}'::jsonb
       ELSE jsonb_build_object('on_behalf_of', v.on_behalf_of_id) END
    || CASE WHEN v.edit IS NULL THEN '{{}}'::jsonb
       ELSE jsonb_build_object('edit', v.edit) END
    || CASE WHEN v.round = 0 THEN '{{}}'::jsonb
       ELSE jsonb_build_object('round', v.round) END) AS facts
FROM asks_verdict v JOIN asks_ask a ON a.id = v.ask_id LEFT JOIN asks_option c ON c.id = v.option_id
LEFT JOIN asks_retraction t ON t.verdict_id = v.id
WHERE v.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_VOTE: LiteralString = f"""
SELECT w.id, jsonb_build_object('vote', jsonb_build_object(
  'id', w.id, 'ask', w.ask_id, 'by', w.voter_id, 'in_the_name_of', w.principal_id, 'option', c.key,
  'label', w.option_label, 'text', w.text, 'meaning', w.meaning, 'echo', w.echo, 'via', w.via,
  'cast_at', {_utc("w.cast_at")})
  || CASE WHEN w.credential = '' THEN '{{}}'::jsonb
     ELSE jsonb_build_object('credential', w.credential) END
  || CASE WHEN w.round = 0 THEN '{{}}'::jsonb
     ELSE jsonb_build_object('round', w.round) END) AS facts
FROM asks_vote w JOIN asks_option c ON c.id = w.option_id WHERE w.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_RETRACTED: LiteralString = f"""
SELECT t.id, jsonb_build_object('retraction', jsonb_build_object(
  'id', t.id, 'verdict', t.verdict_id, 'vote', t.vote_id, 'by', t.by_id, 'via', t.via,
  'ask_then', t.ask_then, 'at', {_utc("t.at")})) AS facts
FROM asks_retraction t WHERE t.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_REFUSAL: LiteralString = f"""
SELECT f.id, jsonb_build_object('refusal', jsonb_build_object(
  'id', f.id, 'ask', f.ask_id, 'ask_ref', f.ask_ref, 'by', f.by_id, 'reason', f.reason,
  'detail', f.detail, 'submitted', f.submitted, 'via', f.via,
  'at', {_utc("f.created_at")})) AS facts
FROM asks_refusal f WHERE f.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_CLOSED_ASK: LiteralString = f"""
SELECT a.id, jsonb_build_object('ask', {_ASK}, 'gate', {_GATE}, 'closing', {_CLOSING}) AS facts
FROM asks_ask a WHERE a.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
#: An imported ask can be answered later, so only the columns that cannot change are included.
_IMPORTED: LiteralString = """
SELECT a.id, jsonb_build_object('imported', jsonb_build_object(
  'id', a.id, 'session', a.session_id, 'request_key', a.request_key, 'prompt', a.prompt,
  'imported', a.imported)) AS facts
FROM asks_ask a WHERE a.id = ANY(%s)
"""

_DROPPED: LiteralString = f"""
SELECT d.ask_id AS id, jsonb_build_object('dropped', jsonb_build_object(
  'id', d.id, 'ask', d.ask_id, 'by', d.by_id, 'reason', d.reason, 'at', {_utc("d.at")})) AS facts
FROM asks_dropped d WHERE d.ask_id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_POLICY: LiteralString = f"""
SELECT p.id, jsonb_build_object('policy', jsonb_build_object(
  'id', p.id, 'agent', p.agent_id, 'version', p.version, 'rules', p.rules, 'why', p.why,
  'by', p.made_by_id, 'at', {_utc("p.created_at")})) AS facts
FROM asks_policy p WHERE p.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_A_DELEGATION: LiteralString = f"""
'id', d.id, 'from', d.delegator_id, 'to', d.delegate_id, 'agent', d.agent_id,
'starts_at', {_utc("d.starts_at")}, 'ends_at', {_utc("d.ends_at")}, 'reason', d.reason,
'at', {_utc("d.created_at")}
"""
_DELEGATION: LiteralString = f"""
SELECT d.id, jsonb_build_object('delegation', jsonb_build_object({_A_DELEGATION})) AS facts
FROM asks_delegation d WHERE d.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_REVOKED_DELEGATION: LiteralString = f"""
SELECT d.id, jsonb_build_object('delegation', jsonb_build_object(
  {_A_DELEGATION}, 'revoked_at', {_utc("d.revoked_at")})) AS facts
FROM asks_delegation d WHERE d.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
#: A grant that has ended never changes.
_GRANT: LiteralString = f"""
SELECT g.id, jsonb_build_object('grant', jsonb_build_object(
  'id', g.id, 'session', g.session_id, 'ask', g.ask_id, 'request_key', g.request_key,
  'operation', g.operation, 'params', g.params, 'files', g.files, 'action_hash', g.action_hash,
  'policy_version', g.policy_version, 'credentials', to_jsonb(g.credentials), 'run', g.run_id,
  'made_at', {_utc("g.made_at")}, 'expires_at', {_utc("g.expires_at")}, 'state', g.state,
  'end', g.end, 'ended_at', {_utc("g.ended_at")}, 'ended_by', g.ended_by_id)) AS facts
FROM asks_grant g WHERE g.id = ANY(%s)
"""  # noqa: S608  made of the texts above only


@dataclass(frozen=True)
class FactSource:
    """The rows behind a kind of record: the prefix of its subject, and the query of the facts."""

    subject: str
    query: LiteralString


FACT_SOURCES: dict[str, FactSource] = {
    "verdict": FactSource("verdict", _VERDICT),
    "vote": FactSource("vote", _VOTE),
    "retracted": FactSource("retraction", _RETRACTED),
    "refusal": FactSource("refusal", _REFUSAL),
    "withdrawn": FactSource("ask", _CLOSED_ASK),
    "expired": FactSource("ask", _CLOSED_ASK),
    "superseded": FactSource("ask", _CLOSED_ASK),
    "imported": FactSource("ask", _IMPORTED),
    "dropped": FactSource("ask", _DROPPED),
    "grant_lapsed": FactSource("grant", _GRANT),
    "grant_withdrawn": FactSource("grant", _GRANT),
    "grant_used": FactSource("grant", _GRANT),
    "policy_changed": FactSource("policy", _POLICY),
    "delegated": FactSource("delegation", _DELEGATION),
    "delegation_revoked": FactSource("delegation", _REVOKED_DELEGATION),
}

#: Queries for a row without a record: it was written past the ledger, or its record was removed.
UNRECORDED: dict[str, LiteralString] = {
    "verdict": """
SELECT v.id FROM asks_verdict v WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'verdict' AND r.subject = 'verdict:' || v.id)
ORDER BY v.id LIMIT 1""",
    "vote": """
SELECT w.id FROM asks_vote w WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'vote' AND r.subject = 'vote:' || w.id)
ORDER BY w.id LIMIT 1""",
    "refusal": """
SELECT f.id FROM asks_refusal f WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'refusal' AND r.subject = 'refusal:' || f.id)
ORDER BY f.id LIMIT 1""",
    "closed ask": """
SELECT a.id FROM asks_ask a WHERE a.status NOT IN ('open', 'answered') AND NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.subject = 'ask:' || a.id
  AND (r.kind = a.status OR r.kind = 'imported' AND a.status = 'withdrawn'))
ORDER BY a.id LIMIT 1""",
    "answered ask": """
SELECT a.id FROM asks_ask a LEFT JOIN (
  SELECT v.id, v.ask_id FROM asks_verdict v
  WHERE NOT EXISTS (SELECT FROM asks_retraction t WHERE t.verdict_id = v.id)
) AS standing ON standing.id = a.verdict_id AND standing.ask_id = a.id
WHERE (a.status = 'answered') <> (standing.id IS NOT NULL)
OR (a.verdict_id IS NULL) <> (standing.id IS NULL) ORDER BY a.id LIMIT 1""",
    "reopened ask": """
SELECT a.id FROM asks_ask a LEFT JOIN (
  SELECT v.ask_id, count(*) AS times FROM asks_retraction t JOIN asks_verdict v ON v.id = t.verdict_id
  GROUP BY v.ask_id) AS recorded ON recorded.ask_id = a.id
WHERE a.retracted <> coalesce(recorded.times, 0) ORDER BY a.id LIMIT 1""",
    "retraction": """
SELECT t.id FROM asks_retraction t WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'retracted' AND r.subject = 'retraction:' || t.id)
ORDER BY t.id LIMIT 1""",
    "extended ask": """
SELECT a.id FROM asks_ask a LEFT JOIN (
  SELECT r.subject, count(*) AS times FROM asks_ledgerrecord r WHERE r.kind = 'extended'
  GROUP BY r.subject) AS recorded ON recorded.subject = 'ask:' || a.id
WHERE a.extended <> coalesce(recorded.times, 0) ORDER BY a.id LIMIT 1""",
    "escalated ask": """
SELECT a.id FROM asks_ask a LEFT JOIN (
  SELECT DISTINCT r.subject FROM asks_ledgerrecord r WHERE r.kind = 'escalated'
) AS recorded ON recorded.subject = 'ask:' || a.id
WHERE a.escalated_to_id IS NOT NULL AND recorded.subject IS NULL ORDER BY a.id LIMIT 1""",
    "dropped ask": """
SELECT d.ask_id FROM asks_dropped d WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'dropped' AND r.subject = 'ask:' || d.ask_id)
ORDER BY d.ask_id LIMIT 1""",
    "ended grant": """
SELECT g.id FROM asks_grant g WHERE g.state IN ('lapsed', 'withdrawn', 'used') AND g.end <> 'upgraded'
AND NOT EXISTS (
  SELECT FROM asks_ledgerrecord r
  WHERE r.kind = 'grant_' || g.state AND r.subject = 'grant:' || g.id)
ORDER BY g.id LIMIT 1""",
    "policy": """
SELECT p.id FROM asks_policy p WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'policy_changed' AND r.subject = 'policy:' || p.id)
ORDER BY p.id LIMIT 1""",
    "delegation": """
SELECT d.id FROM asks_delegation d WHERE NOT EXISTS (
  SELECT FROM asks_ledgerrecord r WHERE r.kind = 'delegated' AND r.subject = 'delegation:' || d.id)
ORDER BY d.id LIMIT 1""",
    "revoked delegation": """
SELECT d.id FROM asks_delegation d WHERE d.revoked_at IS NOT NULL AND NOT EXISTS (
  SELECT FROM asks_ledgerrecord r
  WHERE r.kind = 'delegation_revoked' AND r.subject = 'delegation:' || d.id)
ORDER BY d.id LIMIT 1""",
}


def register_facts(
    kinds: Mapping[str, FactSource], unrecorded: Mapping[str, LiteralString]
) -> None:
    """Register kinds of records whose rows belong to a layer above this one."""
    FACT_SOURCES.update(kinds)
    UNRECORDED.update(unrecorded)


def facts_of(kind: str, pk: int) -> dict[str, Any]:
    """Return the facts of one row. ``pk`` is the id in the record's subject. Raises KeyError."""
    return facts_of_all(kind, [pk])[pk]


def changing_facts_of(ask_id: int) -> dict[str, Any]:
    """Return those facts of an ask that can change while it is open."""
    ((facts,),) = statements.query(_CHANGING_OF, ask_id)
    return _parsed(facts)


def facts_of_all(kind: str, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return {id: facts} of the rows that exist."""
    rows = statements.query(FACT_SOURCES[kind].query, list(ids))
    return {pk: _parsed(facts) for pk, facts in rows}


def _parsed(facts: Json) -> dict[str, Any]:
    """Parse the facts if they are text: Django's cursors return jsonb as text."""
    parsed: dict[str, Any] = json.loads(facts) if isinstance(facts, str) else facts
    return parsed
