"""The database refuses the illegal moves of a grant."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("asks", "0006_end_older_grants")]

    operations = [
        migrations.AddIndex(
            model_name="grant",
            index=models.Index(
                condition=models.Q(("state", "minted")), fields=["session"], name="grants_that_live"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="grants_never_go",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                    hash="ade990dd2147e29af405a3b40329a870074e95a3",
                    operation="DELETE",
                    pgid="pgtrigger_grants_never_go_9ab53",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="a_grant_begins_minted",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (NOT (NEW.\"state\" = 'minted'))",
                    func="RAISE EXCEPTION 'pgtrigger: Cannot insert a grant that is not minted';",
                    hash="28aea4b8a159c59e46fcc934a19fe177d7a05399",
                    operation="INSERT",
                    pgid="pgtrigger_a_grant_begins_minted_579e7",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="grant_moves",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    declare="DECLARE _is_valid_transition BOOLEAN;",
                    func='SELECT CONCAT(OLD."state", \':\', NEW."state") = ANY(\'{minted:lapsed,minted:taken,minted:withdrawn,taken:used}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."state" IS DISTINCT FROM NEW."state") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "state" from "%" to "%" on table %\', OLD."state", NEW."state", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                    hash="fdeb26343f21fea58327e14a50ae586e4b892944",
                    operation="UPDATE",
                    pgid="pgtrigger_grant_moves_97971",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="what_is_granted_stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."session_id" IS DISTINCT FROM (NEW."session_id") OR OLD."ask_id" IS DISTINCT FROM (NEW."ask_id") OR OLD."request_key" IS DISTINCT FROM (NEW."request_key") OR OLD."operation" IS DISTINCT FROM (NEW."operation") OR OLD."params" IS DISTINCT FROM (NEW."params") OR OLD."files" IS DISTINCT FROM (NEW."files") OR OLD."action_hash" IS DISTINCT FROM (NEW."action_hash") OR OLD."policy_version" IS DISTINCT FROM (NEW."policy_version") OR OLD."credentials" IS DISTINCT FROM (NEW."credentials") OR OLD."made_at" IS DISTINCT FROM (NEW."made_at") OR OLD."expires_at" IS DISTINCT FROM (NEW."expires_at"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="8219562df149eaf3ba12c7049cb30b058dd3cd90",
                    operation="UPDATE",
                    pgid="pgtrigger_what_is_granted_stays_c4a61",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="an_ended_grant_stays",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.\"state\" IN ('used', 'lapsed', 'withdrawn'))",
                    func="RAISE EXCEPTION 'pgtrigger: Cannot change a grant that has ended';",
                    hash="3dd38a505afd734132731de999e9dcbc6ee90435",
                    operation="UPDATE",
                    pgid="pgtrigger_an_ended_grant_stays_0f286",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="redemption",
            trigger=pgtrigger.compiler.Trigger(
                name="only_a_taken_grant_is_redeemed",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="IF NOT EXISTS (SELECT FROM asks_grant WHERE id = NEW.grant_id AND state = 'taken') THEN RAISE EXCEPTION 'pgtrigger: Cannot redeem a grant that was not taken'; END IF; RETURN NEW;",
                    hash="d55a8db4472ee11928a5b61c5b2261f41dec3e57",
                    operation="INSERT",
                    pgid="pgtrigger_only_a_taken_grant_is_redeemed_7aaab",
                    table="asks_redemption",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("state__in", ("minted", "taken")),
                    ("ended_at__isnull", False),
                    _connector="XOR",
                ),
                name="an_ended_grant_has_a_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("end", ""),
                    ("state__in", ("lapsed", "withdrawn")),
                    models.Q(("end", "upgraded"), ("state", "used")),
                    _connector="OR",
                ),
                name="only_an_ended_grant_says_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("lapsed", "withdrawn")), _negated=True),
                    models.Q(("end", ""), _negated=True),
                    _connector="OR",
                ),
                name="an_unused_grant_says_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "withdrawn"), _negated=True),
                    ("ended_by__isnull", False),
                    _connector="OR",
                ),
                name="a_withdrawn_grant_names_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="grant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "minted"), _negated=True),
                    ("expires_at__isnull", False),
                    _connector="OR",
                ),
                name="a_live_grant_expires",
            ),
        ),
    ]
