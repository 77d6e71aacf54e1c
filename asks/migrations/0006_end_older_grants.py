"""Grants of the older version: used, taken, or lapsed. Until now an unused one never lapsed."""

from django.db import migrations

_USED = """
UPDATE asks_grant g SET state = 'used', run_id = r.run_id, ended_at = e.at, "end" = 'upgraded'
FROM asks_redemption r JOIN asks_effect e ON e.redemption_id = r.id WHERE r.grant_id = g.id
"""
_TAKEN = """
UPDATE asks_grant g SET state = 'taken', run_id = r.run_id
FROM asks_redemption r WHERE r.grant_id = g.id AND g.state = 'minted'
"""
_LAPSED = """
UPDATE asks_grant SET state = 'lapsed', "end" = 'upgraded', ended_at = now() WHERE state = 'minted'
"""


class Migration(migrations.Migration):
    dependencies = [("asks", "0005_add_state_of_grants")]

    operations = [migrations.RunSQL([_USED, _TAKEN, _LAPSED], reverse_sql=migrations.RunSQL.noop)]
