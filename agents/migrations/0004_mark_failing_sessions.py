"""Sessions that fail already when this version is installed become cards too.

They failed three times in a row, or were paused by their last failure.
"""

from django.db import migrations

_MARK = """
UPDATE agents_session AS s SET failing_since = s.moved_at,
  status = CASE WHEN a.lifecycle = 'active' AND s.status IN ('BACKING_OFF', 'PAUSED')
                THEN 'FAILING' ELSE s.status END
FROM agents_agent AS a
WHERE a.id = s.agent_id AND s.state <> 'ended' AND s.error_streak > 0
  AND (s.error_streak >= 3 AND s.state = 'active'
       OR s.state = 'paused' AND s.state_reason LIKE 'Given up after it failed%')
"""
_UNMARK = """
UPDATE agents_session SET failing_since = NULL,
  status = CASE WHEN status <> 'FAILING' THEN status
                WHEN state = 'paused' THEN 'PAUSED' ELSE 'BACKING_OFF' END
WHERE failing_since IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_add_session_failing_since")]

    operations = [migrations.RunSQL(sql=_MARK, reverse_sql=_UNMARK)]
