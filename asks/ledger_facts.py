"""What a ledger record says, taken from the rows it is about.

PostgreSQL builds the facts, when a record is written and again when it is proved, so that a changed
row is found as surely as a changed record. What is not in the rows (``EXTRAS``) stands in the record
only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from django.db import connection

from asks.plain import Json

#: What only a record knows: the names of that day, how long it waited, the device, the signature,
#: the file it was imported from.
EXTRAS = ["names", "waited_seconds", "device", "proof", "source"]


def _utc(column: LiteralString) -> LiteralString:
    """A moment as text, in UTC with microseconds, whatever the session's own settings are."""
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


_OPTIONS: LiteralString = """
(SELECT coalesce(jsonb_agg(jsonb_build_object(
   'id', o.id, 'key', o.key, 'label', o.label, 'detail', o.detail, 'style', o.style,
   'meaning', o.meaning) ORDER BY o.position), '[]') FROM asks_option o WHERE o.ask_id = a.id)
"""
_ASK: LiteralString = f"""
jsonb_build_object(
  'id', a.id, 'session', a.session_id, 'run', a.run_id, 'request_key', a.request_key,
  'kind', a.kind, 'prompt', a.prompt, 'free_text', a.free_text,
  'money_critical', a.money_critical, 'imported', a.imported, 'context', a.context,
  'opened_at', {_utc("a.opened_at")}, 'expires_at', {_utc("a.expires_at")},
  'options', {_OPTIONS})
  || CASE WHEN a.terms = '{{}}' THEN '{{}}'::jsonb ELSE jsonb_build_object('terms', a.terms) END
  || CASE WHEN a.answered_by_id IS NULL THEN '{{}}'::jsonb
     ELSE jsonb_build_object('answered_by', a.answered_by_id) END
  || CASE WHEN a.barred = '{{}}' THEN '{{}}'::jsonb
     ELSE jsonb_build_object('barred', to_jsonb(a.barred)) END
"""
_GATE: LiteralString = """
(SELECT jsonb_build_object(
   'id', g.id, 'number', g.number, 'operation', g.operation, 'params', g.params,
   'action_hash', g.action_hash, 'policy_version', g.policy_version,
   'run_version', g.run_version)
   || CASE WHEN g.files = '{}' THEN '{}'::jsonb ELSE jsonb_build_object('files', g.files) END
 FROM asks_gate g WHERE g.ask_id = a.id)
"""
#: What expired may be asked again later, so only a superseded ask tells of its successor.
_CLOSING: LiteralString = f"""
jsonb_build_object(
  'status', a.status, 'closed_at', {_utc("a.closed_at")}, 'by', a.closed_by_id,
  'reason', a.close_reason,
  'superseded_by', CASE a.status WHEN 'superseded' THEN a.superseded_by_id END)
"""
_VERDICT: LiteralString = f"""
SELECT v.id, jsonb_build_object(
  'ask', {_ASK}, 'gate', {_GATE}, 'closing', {_CLOSING},
  'verdict', jsonb_build_object(
    'id', v.id, 'by', v.decided_by_id, 'option', c.key, 'label', v.option_label, 'text', v.text,
    'text_sha256', encode(sha256(convert_to(v.text, 'UTF8')), 'hex'), 'meaning', v.meaning,
    'echo', v.echo, 'via', v.via, 'decided_at', {_utc("v.decided_at")})
    || CASE WHEN v.on_behalf_of_id IS NULL THEN '{{}}'::jsonb
       ELSE jsonb_build_object('on_behalf_of', v.on_behalf_of_id) END) AS facts
FROM asks_verdict v JOIN asks_ask a ON a.id = v.ask_id LEFT JOIN asks_option c ON c.id = v.option_id
WHERE v.id = ANY(%s)
"""  # noqa: S608  made of the texts above only
_VOTE: LiteralString = f"""
SELECT w.id, jsonb_build_object('vote', jsonb_build_object(
  'id', w.id, 'ask', w.ask_id, 'by', w.voter_id, 'in_the_name_of', w.principal_id, 'option', c.key,
  'label', w.option_label, 'text', w.text, 'meaning', w.meaning, 'echo', w.echo, 'via', w.via,
  'cast_at', {_utc("w.cast_at")})) AS facts
FROM asks_vote w JOIN asks_option c ON c.id = w.option_id WHERE w.id = ANY(%s)
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
#: An imported ask may be answered later, so only what cannot change is told.
_IMPORTED: LiteralString = """
SELECT a.id, jsonb_build_object('imported', jsonb_build_object(
  'id', a.id, 'session', a.session_id, 'request_key', a.request_key, 'prompt', a.prompt,
  'imported', a.imported)) AS facts
FROM asks_ask a WHERE a.id = ANY(%s)
"""


@dataclass(frozen=True)
class Told:
    """What a kind of record tells of: the name before the id in its subject, and how to ask for it."""

    subject: str
    query: LiteralString


TOLD: Mapping[str, Told] = {
    "verdict": Told("verdict", _VERDICT),
    "vote": Told("vote", _VOTE),
    "refusal": Told("refusal", _REFUSAL),
    "withdrawn": Told("ask", _CLOSED_ASK),
    "expired": Told("ask", _CLOSED_ASK),
    "superseded": Told("ask", _CLOSED_ASK),
    "imported": Told("ask", _IMPORTED),
}


def of(kind: str, pk: int) -> dict[str, Any]:
    """The facts of one row, which exists."""
    return of_all(kind, [pk])[pk]


def of_all(kind: str, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """The facts of those rows that exist, by id."""
    with connection.cursor() as cursor:
        cursor.execute(TOLD[kind].query, [list(ids)])
        return {pk: _parsed(facts) for pk, facts in cursor.fetchall()}


def _parsed(facts: Json) -> dict[str, Any]:
    """Django's cursors give jsonb as text."""
    parsed: dict[str, Any] = json.loads(facts) if isinstance(facts, str) else facts
    return parsed
