"""Verdicts can be taken back for some seconds: windows, retractions, and the ask's present verdict."""

import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0006_hold_sessions"),
        ("asks", "0008_add_credential_of_votes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Retraction",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("via", models.CharField(default="page", max_length=16)),
                ("ask_then", models.JSONField()),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                "ordering": ("-at", "-id"),
            },
        ),
        migrations.CreateModel(
            name="UndoWindow",
            fields=[
                (
                    "verdict",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="window",
                        serialize=False,
                        to="asks.verdict",
                    ),
                ),
                ("until", models.DateTimeField()),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("verdict",),
            },
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name="ask",
            name="ask_moves",
        ),
        migrations.RemoveConstraint(
            model_name="ledgerrecord",
            name="a_decision_is_in_the_ledger_once",
        ),
        migrations.RemoveConstraint(
            model_name="vote",
            name="a_person_votes_once",
        ),
        migrations.RemoveConstraint(
            model_name="vote",
            name="a_name_counts_once",
        ),
        migrations.AddField(
            model_name="ask",
            name="retracted",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="ask",
            name="verdict",
            field=models.OneToOneField(
                blank=True,
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="asks.verdict",
            ),
        ),
        migrations.AddField(
            model_name="verdict",
            name="round",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="vote",
            name="round",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name="verdict",
            name="ask",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="verdicts", to="asks.ask"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ask",
            trigger=pgtrigger.compiler.Trigger(
                name="ask_moves",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    declare="DECLARE _is_valid_transition BOOLEAN;",
                    func='SELECT CONCAT(OLD."status", \':\', NEW."status") = ANY(\'{open:answered,open:expired,open:superseded,open:withdrawn,answered:open}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."status" IS DISTINCT FROM NEW."status") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "status" from "%" to "%" on table %\', OLD."status", NEW."status", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                    hash="8be3ce58302f4aa2a3a109a94275471fecdb2070",
                    operation="UPDATE",
                    pgid="pgtrigger_ask_moves_1d44b",
                    table="asks_ask",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ask",
            trigger=pgtrigger.compiler.Trigger(
                name="ask_reopens",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (NEW.\"status\" = 'open' AND OLD.\"status\" = 'answered')",
                    func="\n                    IF NEW.verdict_id IS NOT NULL OR NEW.retracted <> OLD.retracted + 1\n                    OR NOT EXISTS (\n                        SELECT FROM asks_retraction\n                        WHERE asks_retraction.verdict_id = OLD.verdict_id)\n                    THEN\n                        RAISE check_violation\n                        USING MESSAGE =\n                            'Invalid transition: only a retraction opens an answered ask again.';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="4a8527c1fdf6e5fc355550dcdd736d51a38cb246",
                    operation="UPDATE",
                    pgid="pgtrigger_ask_reopens_f0827",
                    table="asks_ask",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="verdict",
            trigger=pgtrigger.compiler.Trigger(
                name="verdicts_follow_retractions",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (NEW."round" > 0)',
                    func="\n                    IF NEW.round <> (\n                        SELECT count(*) FROM asks_verdict earlier\n                        JOIN asks_retraction ON asks_retraction.verdict_id = earlier.id\n                        WHERE earlier.ask_id = NEW.ask_id)\n                    THEN\n                        RAISE unique_violation USING MESSAGE = 'The ask has a verdict.';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="e381bb103fa877929ad863c24fd9030fe52ce44a",
                    operation="INSERT",
                    pgid="pgtrigger_verdicts_follow_retractions_06e31",
                    table="asks_verdict",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="vote",
            trigger=pgtrigger.compiler.Trigger(
                name="votes_follow_retractions",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (NEW."round" > 0)',
                    func="\n                    IF EXISTS (\n                        SELECT FROM asks_vote earlier WHERE earlier.ask_id = NEW.ask_id\n                        AND (earlier.voter_id = NEW.voter_id\n                            OR earlier.principal_id = NEW.principal_id)\n                        AND NOT EXISTS (\n                            SELECT FROM asks_retraction\n                            WHERE asks_retraction.vote_id = earlier.id))\n                    THEN\n                        RAISE unique_violation USING MESSAGE = 'A person votes once.';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="8c6209248de205e2c3b50a08868e545972653b7c",
                    operation="INSERT",
                    pgid="pgtrigger_votes_follow_retractions_9f591",
                    table="asks_vote",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="ledgerrecord",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        (
                            "verdict",
                            "vote",
                            "retracted",
                            "refusal",
                            "withdrawn",
                            "expired",
                            "superseded",
                            "imported",
                            "dropped",
                            "policy_changed",
                            "key_created",
                            "key_revoked",
                            "delegated",
                            "delegation_revoked",
                        ),
                    )
                ),
                fields=("subject", "kind"),
                name="a_decision_is_in_the_ledger_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="verdict",
            constraint=models.UniqueConstraint(
                fields=("ask", "round"), name="asks_verdict_ask_id_and_round"
            ),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.UniqueConstraint(
                fields=("ask", "voter", "round"), name="a_person_votes_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="vote",
            constraint=models.UniqueConstraint(
                fields=("ask", "principal", "round"), name="a_name_counts_once"
            ),
        ),
        migrations.AddField(
            model_name="retraction",
            name="by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="retractions",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="retraction",
            name="verdict",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="retraction",
                to="asks.verdict",
            ),
        ),
        migrations.AddField(
            model_name="retraction",
            name="vote",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="retraction",
                to="asks.vote",
            ),
        ),
        migrations.AddField(
            model_name="undowindow",
            name="pressed_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="undo_windows",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="undowindow",
            name="session",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="undo_windows",
                to="agents.session",
            ),
        ),
        migrations.AddField(
            model_name="undowindow",
            name="vote",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="window",
                to="asks.vote",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="retraction",
            trigger=pgtrigger.compiler.Trigger(
                name="retractions_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="c4d32dfff494486c5a24be706b0404a0f2e19c00",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_retractions_never_change_2ce9e",
                    table="asks_retraction",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="retraction",
            trigger=pgtrigger.compiler.Trigger(
                name="retractions_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="21ff4823a52ac3909e3ccb7ef6997949dc9c7093",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_retractions_never_truncate_bf93c",
                    table="asks_retraction",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="retraction",
            trigger=pgtrigger.compiler.Trigger(
                name="retractions_are_in_time",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    IF NEW.at NOT BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp()\n                    OR NOT EXISTS (\n                        SELECT FROM asks_undowindow undo\n                        JOIN asks_ask ask ON ask.verdict_id = undo.verdict_id\n                        WHERE undo.verdict_id = NEW.verdict_id AND undo.pressed_by_id = NEW.by_id\n                        AND undo.vote_id IS NOT DISTINCT FROM NEW.vote_id\n                        AND undo.until > NEW.at AND undo.delivered_at IS NULL\n                        AND ask.status = 'answered')\n                    THEN\n                        RAISE check_violation\n                        USING MESSAGE = 'Only who pressed takes a verdict back, and only in time.';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="c2e85ed09de440a309e2c149f1110384f9238843",
                    operation="INSERT",
                    pgid="pgtrigger_retractions_are_in_time_91725",
                    table="asks_retraction",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(
            model_name="undowindow",
            index=models.Index(
                condition=models.Q(("delivered_at__isnull", True)),
                fields=["session"],
                name="windows_that_are_open",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="undowindow",
            trigger=pgtrigger.compiler.Trigger(
                name="windows_are_kept",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                    hash="9405a75a23e67c47cb0a2cfbe6884cea71de47d4",
                    operation="DELETE",
                    pgid="pgtrigger_windows_are_kept_fe263",
                    table="asks_undowindow",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="undowindow",
            trigger=pgtrigger.compiler.Trigger(
                name="windows_are_short",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    IF NEW.until > clock_timestamp() + interval '31 seconds' THEN\n                        RAISE check_violation USING MESSAGE = 'An undo window lasts 30 seconds at most.';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="713bc10e412e96323a2b4c76ae1e8edddb206a18",
                    operation="INSERT",
                    pgid="pgtrigger_windows_are_short_5f9cb",
                    table="asks_undowindow",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="undowindow",
            trigger=pgtrigger.compiler.Trigger(
                name="windows_only_end",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="\n                    IF NEW.until > OLD.until OR OLD.delivered_at IS NOT NULL\n                    OR (NEW.verdict_id, NEW.session_id, NEW.pressed_by_id, NEW.vote_id)\n                        IS DISTINCT FROM\n                        (OLD.verdict_id, OLD.session_id, OLD.pressed_by_id, OLD.vote_id)\n                    OR EXISTS (\n                        SELECT FROM asks_retraction WHERE asks_retraction.verdict_id = OLD.verdict_id)\n                    THEN\n                        RAISE check_violation USING MESSAGE = 'An undo window only ends.';\n                    END IF;\n                    RETURN NEW;\n                ",
                    hash="b39a06d0336dd0b6a31bcfb9aeed8f17adf5cf00",
                    operation="UPDATE",
                    pgid="pgtrigger_windows_only_end_1a8ed",
                    table="asks_undowindow",
                    when="BEFORE",
                ),
            ),
        ),
    ]
