"""Asks, verdicts, grants, policies, votes and the ledger, with the triggers that keep them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # Databases from before 0.1.0 have these applied; they are taken over as they are.
    replaces = [
        ("asks", "0001_asks_and_decisions"),
        ("asks", "0003_ledger"),
        ("asks", "0004_what_was_offered_stays"),
        ("asks", "0005_asks_that_repeat"),
        ("asks", "0006_policies_and_authority"),
        ("asks", "0007_deadlines_that_move"),
        ("asks", "0008_calls_that_may_be_edited"),
        ("asks", "0009_each_decision_is_recorded_once"),
        ("asks", "0010_escalation_and_personal_hours"),
    ]

    initial = True

    dependencies = [("agents", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Anchor",
            fields=[
                ("number", models.PositiveBigIntegerField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("hash", models.CharField(max_length=64, unique=True)),
                ("public_key", models.CharField(max_length=64)),
                ("signature", models.CharField(max_length=128)),
                ("body", models.TextField()),
            ],
            options={"ordering": ("number",)},
        ),
        migrations.CreateModel(
            name="Ask",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("request_key", models.CharField(max_length=200)),
                ("kind", models.CharField(choices=[("question", "Question"), ("approval", "Approval")], default="question", max_length=16)),
                ("prompt", models.TextField()),
                ("prompt_html", models.TextField()),
                ("free_text", models.BooleanField(default=True)),
                ("money_critical", models.BooleanField(default=False)),
                ("context", models.JSONField(blank=True, default=dict)),
                ("imported", models.BooleanField(default=False, help_text="It came from an approvals file; since when it waits is unknown.")),
                ("terms", models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                (
                    "barred",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(),
                        blank=True,
                        db_default=models.Value([], django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                        default=list,
                        size=None,
                    ),
                ),
                ("confidential", models.BooleanField(db_default=False, default=False)),
                ("claimed_at", models.DateTimeField(blank=True, null=True)),
                ("extended", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("card_version", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "status",
                    models.CharField(
                        choices=[("open", "Open"), ("answered", "Answered"), ("withdrawn", "Withdrawn"), ("expired", "Expired"), ("superseded", "Superseded")], default="open", max_length=16
                    ),
                ),
                ("opened_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("close_reason", models.CharField(blank=True, max_length=1000)),
            ],
            options={"ordering": ("opened_at", "pk")},
        ),
        migrations.CreateModel(
            name="Delegation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("reason", models.CharField(max_length=1000)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={"ordering": ("-id",)},
        ),
        migrations.CreateModel(
            name="Dropped",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.CharField(max_length=1000)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"verbose_name_plural": "dropped", "ordering": ("-at", "-id")},
        ),
        migrations.CreateModel(
            name="Effect",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("end", models.CharField(choices=[("done", "It happened"), ("failed", "It did not happen"), ("unknown", "It may or may not have happened")], max_length=8)),
                ("detail", models.CharField(blank=True, max_length=2000)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("id",)},
        ),
        migrations.CreateModel(
            name="Gate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("operation", models.CharField(max_length=200)),
                ("params", models.JSONField()),
                ("files", models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict)),
                ("schema", models.JSONField(blank=True, null=True)),
                ("action_hash", models.CharField(max_length=80)),
                ("policy_version", models.PositiveIntegerField()),
                ("run_version", models.CharField(max_length=40)),
            ],
            options={"ordering": ("session", "number")},
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("request_key", models.CharField(max_length=200)),
                ("operation", models.CharField(max_length=200)),
                ("params", models.JSONField()),
                ("files", models.JSONField(blank=True, default=dict)),
                ("action_hash", models.CharField(max_length=80)),
                ("policy_version", models.PositiveIntegerField()),
                ("made_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("id",)},
        ),
        migrations.CreateModel(
            name="LedgerRecord",
            fields=[
                ("hash", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("chain", models.CharField(max_length=80)),
                ("seq", models.PositiveBigIntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("subject", models.CharField(max_length=80)),
                ("actor", models.CharField(max_length=200)),
                ("at", models.DateTimeField()),
                ("body", models.TextField()),
            ],
            options={"ordering": ("chain", "seq")},
        ),
        migrations.CreateModel(
            name="Nudge",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("reminder", "Reminder"), ("escalation", "Escalation"), ("warning", "Warning before it expires")], max_length=12)),
                ("round", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField()),
                ("to", models.CharField(blank=True, max_length=160)),
                ("said_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={"ordering": ("due_at", "id")},
        ),
        migrations.CreateModel(
            name="Option",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100)),
                ("label", models.CharField(max_length=4000)),
                ("detail", models.CharField(blank=True, max_length=4000)),
                ("style", models.CharField(choices=[("primary", "Primary"), ("default", "Default"), ("danger", "Destructive")], default="default", max_length=16)),
                ("meaning", models.CharField(choices=[("answer", "Answer"), ("approve", "Approve"), ("deny", "Deny")], default="answer", max_length=16)),
                ("position", models.PositiveSmallIntegerField()),
            ],
            options={"ordering": ("ask", "position")},
        ),
        migrations.CreateModel(
            name="PersonalHours",
            fields=[
                ("person", models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name="personal_hours", serialize=False, to=settings.AUTH_USER_MODEL)),
                ("zone", models.CharField(max_length=64)),
                ("days", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=3), size=None)),
                ("opens", models.TimeField()),
                ("closes", models.TimeField()),
            ],
            options={"verbose_name_plural": "personal hours"},
        ),
        migrations.CreateModel(
            name="Policy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("rules", models.JSONField()),
                ("why", models.CharField(help_text="Why it is changed.", max_length=1000)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"verbose_name_plural": "policies", "ordering": ("agent", "-version")},
        ),
        migrations.CreateModel(
            name="Redemption",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("redeemed_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("id",)},
        ),
        migrations.CreateModel(
            name="Refusal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("ask_ref", models.CharField(max_length=64)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("not_found", "There is no such question."),
                            ("not_allowed", "You may not answer this question."),
                            ("four_eyes", "Someone else must answer this: the run was started for you."),
                            ("closed", "This question is already closed."),
                            ("expired", "Nobody answered in time. Nothing was approved."),
                            ("gated", "This action moves money. Approve it with a signed decision file, not here."),
                            ("unbindable", "The answer did not name the action it is for. Nothing was approved. Reload the page."),
                            ("unproven", "The signature does not prove who decided. Nothing was approved."),
                            ("stale", "The question has changed since you looked. Nothing was approved."),
                            ("claimed", "Someone else has claimed this question."),
                            ("reauthenticate", "Confirm it's you before you answer this. Nothing was approved."),
                            ("voted", "You have already voted. Votes are final."),
                            ("invalid", "This answer cannot be stored."),
                            ("empty", "An empty answer is not an answer."),
                            ("unknown_option", "That option was not offered."),
                            ("not_editable", "This action cannot be edited. Nothing was approved."),
                            ("bad_edit", "Your changes do not fit. Nothing was approved."),
                            ("reason_required", "This answer needs a reason."),
                        ],
                        max_length=16,
                    ),
                ),
                ("detail", models.CharField(blank=True, max_length=1000)),
                ("submitted", models.JSONField(blank=True, default=dict)),
                ("via", models.CharField(default="page", max_length=16)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("-created_at", "-id")},
        ),
        migrations.CreateModel(
            name="SignedFile",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("name", models.CharField(max_length=255)),
                ("ask_ref", models.CharField(blank=True, max_length=64)),
                ("principal", models.CharField(blank=True, max_length=255)),
                ("why", models.CharField(max_length=1000)),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("-seen_at", "-id")},
        ),
        migrations.CreateModel(
            name="Verdict",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("option_label", models.CharField(blank=True, max_length=4000)),
                ("text", models.TextField(blank=True)),
                ("meaning", models.CharField(choices=[("answer", "Answer"), ("approve", "Approve"), ("deny", "Deny")], default="answer", max_length=16)),
                ("echo", models.JSONField(blank=True, null=True)),
                ("edit", models.JSONField(blank=True, null=True)),
                ("via", models.CharField(default="page", max_length=16)),
                ("decided_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("-decided_at", "-id")},
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("option_label", models.CharField(max_length=4000)),
                ("text", models.TextField(blank=True)),
                ("meaning", models.CharField(choices=[("answer", "Answer"), ("approve", "Approve"), ("deny", "Deny")], max_length=16)),
                ("echo", models.JSONField(blank=True, null=True)),
                ("via", models.CharField(default="page", max_length=16)),
                ("cast_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={"ordering": ("id",)},
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="anchor",
            trigger=pgtrigger.compiler.Trigger(
                name="anchors_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="eab28491a7890b8711a2f940965c94227bfbf367",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_anchors_never_change_ad3de",
                    table="asks_anchor",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="anchor",
            trigger=pgtrigger.compiler.Trigger(
                name="anchors_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="b9614d0ea51080130ab11b6d2c0714a008a7f980",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_anchors_never_truncate_81b49",
                    table="asks_anchor",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddField(model_name="ask", name="agent", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="asks", to="agents.agent")),
        migrations.AddField(model_name="ask", name="answered_by", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="asks", to="auth.group")),
        migrations.AddField(
            model_name="ask", name="claimed_by", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="claimed_asks", to=settings.AUTH_USER_MODEL)
        ),
        migrations.AddField(
            model_name="ask", name="closed_by", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="closed_asks", to=settings.AUTH_USER_MODEL)
        ),
        migrations.AddField(
            model_name="ask",
            name="escalated_to",
            field=models.ForeignKey(
                blank=True, help_text="Who may answer too, since it has waited too long.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="escalated_asks", to="auth.group"
            ),
        ),
        migrations.AddField(
            model_name="ask",
            name="repeats",
            field=models.OneToOneField(
                blank=True, help_text="The ask that this one asks again, whatever became of that.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="repeated_by", to="asks.ask"
            ),
        ),
        migrations.AddField(model_name="ask", name="run", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="asks", to="agents.run")),
        migrations.AddField(model_name="ask", name="session", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="asks", to="agents.session")),
        migrations.AddField(
            model_name="ask", name="superseded_by", field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="supersedes", to="asks.ask")
        ),
        migrations.AddField(
            model_name="delegation", name="agent", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="delegations", to="agents.agent")
        ),
        migrations.AddField(model_name="delegation", name="delegate", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="answers_for", to=settings.AUTH_USER_MODEL)),
        migrations.AddField(model_name="delegation", name="delegator", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="delegated", to=settings.AUTH_USER_MODEL)),
        migrations.AddField(model_name="dropped", name="ask", field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="dropped", to="asks.ask")),
        migrations.AddField(model_name="dropped", name="by", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="dropped", to=settings.AUTH_USER_MODEL)),
        migrations.AddField(
            model_name="effect",
            name="asked",
            field=models.ForeignKey(
                blank=True, help_text="The ask by which a person is asked what happened.", null=True, on_delete=django.db.models.deletion.PROTECT, related_name="about_effects", to="asks.ask"
            ),
        ),
        migrations.AddField(model_name="gate", name="ask", field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="gate", to="asks.ask")),
        migrations.AddField(model_name="gate", name="session", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="gates", to="agents.session")),
        migrations.AddField(model_name="grant", name="ask", field=models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="grant", to="asks.ask")),
        migrations.AddField(model_name="grant", name="session", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="grants", to="agents.session")),
        migrations.AddIndex(model_name="ledgerrecord", index=models.Index(fields=["at"], name="ledger_by_time")),
        migrations.AddConstraint(model_name="ledgerrecord", constraint=models.UniqueConstraint(fields=("chain", "seq"), name="ledger_chains_have_no_forks")),
        migrations.AddConstraint(
            model_name="ledgerrecord",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        ("verdict", "vote", "refusal", "withdrawn", "expired", "superseded", "imported", "dropped", "policy_changed", "key_created", "key_revoked", "delegated", "delegation_revoked"),
                    )
                ),
                fields=("subject", "kind"),
                name="a_decision_is_in_the_ledger_once",
            ),
        ),
        migrations.AddConstraint(model_name="ledgerrecord", constraint=models.CheckConstraint(condition=models.Q(("seq__gte", 1)), name="ledger_chains_count_from_one")),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerrecord",
            trigger=pgtrigger.compiler.Trigger(
                name="ledger_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="5980190832c21020f6f3ccdf3648c9d46a004666",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_ledger_never_change_ec33d",
                    table="asks_ledgerrecord",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ledgerrecord",
            trigger=pgtrigger.compiler.Trigger(
                name="ledger_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="10d3ef54a0b4163a7527e79c59409d9ad0aa890e",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_ledger_never_truncate_7e196",
                    table="asks_ledgerrecord",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddField(model_name="nudge", name="ask", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="nudges", to="asks.ask")),
        migrations.AddField(model_name="option", name="ask", field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="options", to="asks.ask")),
        migrations.AddConstraint(
            model_name="personalhours",
            constraint=models.CheckConstraint(
                condition=models.Q(("opens__lt", models.F("closes")), models.Q(("days", []), _negated=True), models.Q(("zone", ""), _negated=True)), name="they_open_before_they_close"
            ),
        ),
        migrations.AddField(model_name="policy", name="agent", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="policies", to="agents.agent")),
        migrations.AddField(model_name="policy", name="made_by", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="policies", to=settings.AUTH_USER_MODEL)),
        migrations.AddField(model_name="redemption", name="grant", field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="redemption", to="asks.grant")),
        migrations.AddField(
            model_name="redemption", name="run", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="redemptions", to="agents.run")
        ),
        migrations.AddField(model_name="effect", name="redemption", field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="effect", to="asks.redemption")),
        migrations.AddField(model_name="refusal", name="ask", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="refusals", to="asks.ask")),
        migrations.AddField(
            model_name="refusal", name="by", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="refusals", to=settings.AUTH_USER_MODEL)
        ),
        migrations.AddField(model_name="signedfile", name="refusal", field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="files", to="asks.refusal")),
        migrations.AddField(model_name="verdict", name="ask", field=models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="verdict", to="asks.ask")),
        migrations.AddField(model_name="verdict", name="decided_by", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="verdicts", to=settings.AUTH_USER_MODEL)),
        migrations.AddField(
            model_name="verdict",
            name="on_behalf_of",
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="verdicts_in_my_name", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(model_name="verdict", name="option", field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, to="asks.option")),
        migrations.AddField(model_name="signedfile", name="verdict", field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="files", to="asks.verdict")),
        migrations.AddField(model_name="vote", name="ask", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="votes", to="asks.ask")),
        migrations.AddField(model_name="vote", name="option", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to="asks.option")),
        migrations.AddField(model_name="vote", name="principal", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="votes_in_my_name", to=settings.AUTH_USER_MODEL)),
        migrations.AddField(model_name="vote", name="voter", field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="votes", to=settings.AUTH_USER_MODEL)),
        migrations.AddIndex(model_name="ask", index=models.Index(condition=models.Q(("status", "open")), fields=["agent", "opened_at", "id"], name="asks_that_wait")),
        migrations.AddIndex(model_name="ask", index=models.Index(condition=models.Q(("expires_at__isnull", False), ("status", "open")), fields=["expires_at"], name="asks_that_expire")),
        migrations.AddIndex(model_name="ask", index=models.Index(fields=["agent", "-closed_at", "-id"], name="asks_that_are_over")),
        migrations.AddIndex(model_name="ask", index=models.Index(condition=models.Q(("answered_by__isnull", False)), fields=["answered_by"], name="asks_of_a_group")),
        migrations.AddIndex(model_name="ask", index=models.Index(condition=models.Q(("escalated_to__isnull", False)), fields=["escalated_to"], name="asks_that_are_escalated")),
        migrations.AddConstraint(model_name="ask", constraint=models.UniqueConstraint(fields=("session", "request_key"), name="a_request_is_asked_once")),
        migrations.AddConstraint(
            model_name="ask", constraint=models.CheckConstraint(condition=models.Q(("status", "open"), ("closed_at__isnull", False), _connector="XOR"), name="open_has_no_closing_time")
        ),
        migrations.AddConstraint(
            model_name="ask",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("status", "superseded"), _negated=True), ("superseded_by__isnull", False), _connector="OR"), name="superseded_names_its_successor"
            ),
        ),
        migrations.AddConstraint(
            model_name="ask", constraint=models.CheckConstraint(condition=models.Q(("claimed_by", None), ("claimed_at__isnull", False), _connector="XOR"), name="a_claim_has_a_time")
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="ask",
            trigger=pgtrigger.compiler.Trigger(
                name="ask_moves",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    declare="DECLARE _is_valid_transition BOOLEAN;",
                    func='SELECT CONCAT(OLD."status", \':\', NEW."status") = ANY(\'{open:answered,open:expired,open:superseded,open:withdrawn}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."status" IS DISTINCT FROM NEW."status") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "status" from "%" to "%" on table %\', OLD."status", NEW."status", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                    hash="0027fd1ea74f3455b45621deb35fb764d188bcd7",
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
                name="terms_stay",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."terms" IS DISTINCT FROM (NEW."terms") OR OLD."answered_by_id" IS DISTINCT FROM (NEW."answered_by_id") OR OLD."barred" IS DISTINCT FROM (NEW."barred") OR OLD."confidential" IS DISTINCT FROM (NEW."confidential"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="cff3bc4061a10f5ab98ea3b51dd3f912d9b27265",
                    operation="UPDATE",
                    pgid="pgtrigger_terms_stay_2ea68",
                    table="asks_ask",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(model_name="delegation", index=models.Index(condition=models.Q(("revoked_at", None)), fields=["delegate", "ends_at"], name="delegations_that_stand")),
        migrations.AddConstraint(model_name="delegation", constraint=models.CheckConstraint(condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="a_delegation_ends_after_it_starts")),
        migrations.AddConstraint(
            model_name="delegation", constraint=models.CheckConstraint(condition=models.Q(("delegator", models.F("delegate")), _negated=True), name="nobody_delegates_to_themselves")
        ),
        migrations.AddConstraint(model_name="delegation", constraint=models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="a_delegation_has_a_reason")),
        pgtrigger.migrations.AddTrigger(
            model_name="delegation",
            trigger=pgtrigger.compiler.Trigger(
                name="delegations_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."delegator_id" IS DISTINCT FROM (NEW."delegator_id") OR OLD."delegate_id" IS DISTINCT FROM (NEW."delegate_id") OR OLD."agent_id" IS DISTINCT FROM (NEW."agent_id") OR OLD."starts_at" IS DISTINCT FROM (NEW."starts_at") OR OLD."ends_at" IS DISTINCT FROM (NEW."ends_at") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="00c66f860123d6c8097754f4adb987b35fbe4447",
                    operation="UPDATE",
                    pgid="pgtrigger_delegations_never_change_a6bdd",
                    table="asks_delegation",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="delegation",
            trigger=pgtrigger.compiler.Trigger(
                name="delegations_are_kept",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                    hash="4204864752e60a4e85e02aceb89d4c57b4d400d4",
                    operation="DELETE",
                    pgid="pgtrigger_delegations_are_kept_9c74f",
                    table="asks_delegation",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="dropped", constraint=models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="dropping_has_a_reason")),
        pgtrigger.migrations.AddTrigger(
            model_name="dropped",
            trigger=pgtrigger.compiler.Trigger(
                name="dropped_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="94a7b11a75594325d65b0f34fbf7d8cd98b19169",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_dropped_never_change_05dc6",
                    table="asks_dropped",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="dropped",
            trigger=pgtrigger.compiler.Trigger(
                name="dropped_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="6a8adce42fa8c4a398ddb31ad0f08dcbc2e5444a",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_dropped_never_truncate_284b2",
                    table="asks_dropped",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="gate", constraint=models.UniqueConstraint(fields=("session", "number"), name="gates_are_numbered")),
        migrations.AddConstraint(
            model_name="gate",
            constraint=models.CheckConstraint(
                condition=models.Q(("action_hash__regex", "^v1:[0-9a-f]{64}$"), models.Q(("run_version", ""), _negated=True), models.Q(("operation", ""), _negated=True)), name="a_gate_is_bound"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="gate",
            trigger=pgtrigger.compiler.Trigger(
                name="gates_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="8ef35d88752b27c4b6207e323ff311e956928515",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_gates_never_change_d8393",
                    table="asks_gate",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="gate",
            trigger=pgtrigger.compiler.Trigger(
                name="gates_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="843d5bcac62273fe1a635fb0fdba0681e6dc6471",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_gates_never_truncate_9aad4",
                    table="asks_gate",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(model_name="grant", index=models.Index(fields=["session", "action_hash"], name="grants_by_action")),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="grants_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="845fc2ac4afab97a3823331b7648ef6243124172",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_grants_never_change_48370",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="grant",
            trigger=pgtrigger.compiler.Trigger(
                name="grants_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="1ab8af362c7a2d28f4c61db0897e240f5549c8ae",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_grants_never_truncate_f2fe8",
                    table="asks_grant",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(model_name="nudge", index=models.Index(condition=models.Q(("said_at", None)), fields=["due_at"], name="nudges_to_give")),
        migrations.AddConstraint(model_name="nudge", constraint=models.UniqueConstraint(fields=("ask", "kind", "round"), name="each_nudge_is_given_once")),
        migrations.AddConstraint(model_name="option", constraint=models.UniqueConstraint(fields=("ask", "key"), name="option_keys_are_unique")),
        migrations.AddConstraint(model_name="option", constraint=models.UniqueConstraint(fields=("ask", "position"), name="options_are_in_order")),
        migrations.AddConstraint(model_name="option", constraint=models.UniqueConstraint(fields=("ask", "id"), name="options_belong_to_their_ask")),
        migrations.AddConstraint(
            model_name="option", constraint=models.CheckConstraint(condition=models.Q(models.Q(("key", ""), _negated=True), models.Q(("label", ""), _negated=True)), name="an_option_has_a_name")
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="option",
            trigger=pgtrigger.compiler.Trigger(
                name="options_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="84944b4e8605f959aa18e31a740243309a8cf535",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_options_never_change_1dedd",
                    table="asks_option",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="option",
            trigger=pgtrigger.compiler.Trigger(
                name="options_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="a438d0faa34ee13f56963ccf375d5d04635e0533",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_options_never_truncate_ba5a3",
                    table="asks_option",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="policy", constraint=models.UniqueConstraint(fields=("agent", "version"), name="policy_versions_are_numbered")),
        migrations.AddConstraint(model_name="policy", constraint=models.CheckConstraint(condition=models.Q(("version__gte", 1), models.Q(("why", ""), _negated=True)), name="a_policy_has_a_reason")),
        pgtrigger.migrations.AddTrigger(
            model_name="policy",
            trigger=pgtrigger.compiler.Trigger(
                name="policies_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="b629bea6e5198cecb3089a18e0363489b90042e3",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_policies_never_change_f5c83",
                    table="asks_policy",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="policy",
            trigger=pgtrigger.compiler.Trigger(
                name="policies_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="6fea5a51d62af7906e1f23f47adae635800592b1",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_policies_never_truncate_9d8ea",
                    table="asks_policy",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="redemption",
            trigger=pgtrigger.compiler.Trigger(
                name="redemptions_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="30acd85ca6d2535bfac28d22e575edeae1f48230",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_redemptions_never_change_99f98",
                    table="asks_redemption",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="redemption",
            trigger=pgtrigger.compiler.Trigger(
                name="redemptions_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="3977c40ada68c9e9ab31fe11758b7b4e580bf87a",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_redemptions_never_truncate_4618b",
                    table="asks_redemption",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="effect", constraint=models.CheckConstraint(condition=models.Q(("end", "unknown"), ("asked", None), _connector="XOR"), name="what_is_unknown_is_asked")),
        pgtrigger.migrations.AddTrigger(
            model_name="effect",
            trigger=pgtrigger.compiler.Trigger(
                name="effects_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="16ff1f5c3ea8bde3bef3a29ac1991e046bcae324",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_effects_never_change_9a2de",
                    table="asks_effect",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="effect",
            trigger=pgtrigger.compiler.Trigger(
                name="effects_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="38e240cc81cada2fd0ae4e38b97448aa316bc568",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_effects_never_truncate_dd4ed",
                    table="asks_effect",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="refusal",
            trigger=pgtrigger.compiler.Trigger(
                name="refusals_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="429f433ae13ae1b15aacf07807d4d1c5b57216b9",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_refusals_never_change_d6794",
                    table="asks_refusal",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="refusal",
            trigger=pgtrigger.compiler.Trigger(
                name="refusals_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="2af010e7222723c6376ec48831ae1a337dcaa9a5",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_refusals_never_truncate_51a3b",
                    table="asks_refusal",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(model_name="verdict", index=models.Index(fields=["decided_by", "-decided_at"], name="verdicts_by_person")),
        migrations.AddConstraint(
            model_name="verdict",
            constraint=models.CheckConstraint(
                condition=models.Q(("option__isnull", False), ("text__regex", "[^[:space:]\\u0001-\\u001f\\u00a0\\u00ad\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u3000\\ufeff]"), _connector="OR"),
                name="a_verdict_says_something",
            ),
        ),
        migrations.AddConstraint(
            model_name="verdict", constraint=models.CheckConstraint(condition=models.Q(("edit__isnull", True), ("meaning", "approve"), _connector="OR"), name="only_an_approval_edits")
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="verdict",
            trigger=pgtrigger.compiler.Trigger(
                name="verdicts_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="54c4cdfddf53d31fc68d35148cf219b863463e02",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_verdicts_never_change_cd62f",
                    table="asks_verdict",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="verdict",
            trigger=pgtrigger.compiler.Trigger(
                name="verdicts_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="252c14d5f9d2ebe319c5ddf7d21bb3c1a09d95c0",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_verdicts_never_truncate_a41ec",
                    table="asks_verdict",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="signedfile",
            trigger=pgtrigger.compiler.Trigger(
                name="signed_files_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="9c38f47e973786d9f9ca1ce2f8039449e8b90cad",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_signed_files_never_change_95074",
                    table="asks_signedfile",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="signedfile",
            trigger=pgtrigger.compiler.Trigger(
                name="signed_files_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="421d691f0f9725c6fe7758a50c773c3b0241ecd7",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_signed_files_never_truncate_eff4b",
                    table="asks_signedfile",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="vote", constraint=models.UniqueConstraint(fields=("ask", "voter"), name="a_person_votes_once")),
        migrations.AddConstraint(model_name="vote", constraint=models.UniqueConstraint(fields=("ask", "principal"), name="a_name_counts_once")),
        pgtrigger.migrations.AddTrigger(
            model_name="vote",
            trigger=pgtrigger.compiler.Trigger(
                name="votes_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="cb7063d297e4cfb14a6e4254534c418cd06f79a9",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_votes_never_change_3d79c",
                    table="asks_vote",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="vote",
            trigger=pgtrigger.compiler.Trigger(
                name="votes_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="5f8c729b03f012f0931e2a166f9a3389497a426d",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_votes_never_truncate_67a22",
                    table="asks_vote",
                    when="BEFORE",
                ),
            ),
        ),
    ]
