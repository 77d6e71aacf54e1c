"""Sign-in links, API keys, the outbox, and the rows of the eve and Responses protocols."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
import workspace.models.outbox
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # Databases from before 0.1.0 have these applied; they are taken over as they are.
    replaces = [
        ("workspace", "0001_entry_links"),
        ("workspace", "0002_keys_and_outbox"),
        ("workspace", "0003_responses"),
        ("workspace", "0004_reminders"),
        ("workspace", "0005_eve_turns"),
        ("workspace", "0006_eve_sessions"),
        ("workspace", "0007_webhook_secrets_rotate"),
    ]

    initial = True

    dependencies = [("agents", "0001_initial"), ("asks", "0001_initial"), migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField(max_length=12, unique=True)),
                ("hash", models.CharField(max_length=64)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(
                            choices=[("run:create", "Start runs"), ("run:read", "Read sessions, runs and asks"), ("ask:create", "Raise asks"), ("ask:answer", "Answer and withdraw asks")],
                            max_length=16,
                        ),
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("agent", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="api_keys", to="agents.agent")),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty when it was made on the command line.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="created_api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("person", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="api_keys", to=settings.AUTH_USER_MODEL)),
            ],
            options={"ordering": ("name", "pk")},
        ),
        migrations.CreateModel(
            name="EntryLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                ("user", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="entry_links", to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name="EveResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("output", models.JSONField(null=True)),
                ("failed", models.BooleanField(default=False)),
                ("at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("redemption", models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="eve_result", to="asks.redemption")),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="EveSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.CharField(max_length=40, unique=True)),
                ("token", models.CharField(max_length=64)),
                ("principal", models.CharField(max_length=200)),
                ("operation", models.CharField(blank=True, max_length=200)),
                ("body", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("key", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="workspace.apikey")),
                ("session", models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="eve", to="agents.session")),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="EveTurn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("messages", models.JSONField(default=list)),
                ("forgotten", models.BooleanField(default=False)),
                ("run", models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name="eve_turn", to="agents.run")),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="eve_turns", to="agents.session")),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="OutboxItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("uid", models.CharField(default=workspace.models.outbox.new_uid, max_length=40, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("ask.opened", "A question was asked"),
                            ("ask.answered", "A question was answered"),
                            ("ask.withdrawn", "A question was withdrawn"),
                            ("ask.expired", "A question expired unanswered"),
                            ("ask.superseded", "A question was asked again, changed"),
                            ("ask.reminded", "A question still waits"),
                            ("agent.notify", "An agent said something in passing"),
                            ("session.blocked", "A session is blocked without a question"),
                        ],
                        max_length=20,
                    ),
                ),
                ("actor", models.CharField(max_length=200)),
                ("subject", models.CharField(max_length=40)),
                ("seq", models.PositiveBigIntegerField()),
                ("payload", models.JSONField()),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("spread_at", models.DateTimeField(blank=True, null=True)),
                ("agent", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="agents.agent")),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="agents.session")),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="Response",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.CharField(max_length=64, unique=True)),
                ("idempotency", models.CharField(blank=True, help_text="By which its caller knows this request, if it said.", max_length=100)),
                (
                    "status",
                    models.CharField(choices=[("queued", "Queued"), ("in_progress", "In progress"), ("completed", "Completed"), ("failed", "Failed"), ("cancelled", "Cancelled")], max_length=12),
                ),
                ("background", models.BooleanField(default=False)),
                ("stored", models.BooleanField(default=True)),
                ("commentary", models.BooleanField(default=False, help_text="Steps are told as messages instead of function calls.")),
                ("confidential", models.BooleanField(default=False)),
                ("paused", models.BooleanField(default=False, help_text="It ended with a question.")),
                ("let_go", models.BooleanField(default=False, help_text="Its question was closed unanswered.")),
                ("request", models.JSONField(null=True)),
                ("body", models.JSONField(default=dict)),
                ("kept", models.JSONField(default=dict)),
                ("cost_usd", models.DecimalField(blank=True, decimal_places=6, max_digits=12, null=True)),
                ("next_seq", models.PositiveIntegerField(default=0)),
                ("item_count", models.PositiveIntegerField(default=0)),
                ("open_seq", models.PositiveIntegerField(blank=True, help_text="The event that began a message that goes on still.", null=True)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                ("agent", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="agents.agent")),
                ("answers", models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="answering_response", to="asks.ask")),
                (
                    "key",
                    models.ForeignKey(
                        blank=True,
                        help_text="The key that asked for it; none for what a page or a schedule started.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="workspace.apikey",
                    ),
                ),
                ("previous", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="followed_by", to="workspace.response")),
                ("root", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="chain", to="workspace.response")),
                ("run", models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="response", to="agents.run")),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="responses", to="agents.session")),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="ResponseEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveIntegerField()),
                ("type", models.CharField(max_length=64)),
                ("data", models.TextField()),
                ("response", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="events", to="workspace.response")),
            ],
            options={"ordering": ("response", "seq")},
        ),
        migrations.CreateModel(
            name="ResponseInput",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveIntegerField()),
                ("item_id", models.CharField(max_length=64, unique=True)),
                ("data", models.JSONField()),
                ("response", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="inputs", to="workspace.response")),
            ],
            options={"ordering": ("response", "position")},
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("url", models.CharField(max_length=1000)),
                ("secret", models.CharField(max_length=120)),
                ("former_secret", models.CharField(blank=True, max_length=120)),
                ("former_until", models.DateTimeField(blank=True, null=True)),
                ("kinds", django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), blank=True, default=list, size=None)),
                ("active", models.BooleanField(default=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("paused_until", models.DateTimeField(blank=True, null=True)),
                ("last_error", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("owner", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="webhooks", to=settings.AUTH_USER_MODEL)),
            ],
            options={"ordering": ("pk",)},
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(choices=[("queued", "To be delivered"), ("delivered", "Delivered"), ("given_up", "Given up")], default="queued", max_length=12)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_try", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("last_error", models.CharField(blank=True, max_length=500)),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
                ("item", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="workspace.outboxitem")),
                ("endpoint", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name="deliveries", to="workspace.webhookendpoint")),
            ],
            options={"verbose_name_plural": "deliveries", "ordering": ("-pk",)},
        ),
        migrations.AddConstraint(model_name="apikey", constraint=models.UniqueConstraint(condition=models.Q(("revoked_at", None)), fields=("name",), name="living_keys_have_names")),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("scopes__contains", ["ask:answer"]), _negated=True), ("person__isnull", False), _connector="OR"), name="only_a_person_answers"
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey", constraint=models.CheckConstraint(condition=models.Q(("person__isnull", False), ("agent__isnull", False), _connector="OR"), name="a_key_belongs_to_someone")
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("scopes__contained_by", ["run:create", "run:read", "ask:create", "ask:answer"]), models.Q(("scopes", []), _negated=True)), name="scopes_are_known"
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="keys_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."prefix" IS DISTINCT FROM (NEW."prefix") OR OLD."hash" IS DISTINCT FROM (NEW."hash") OR OLD."scopes" IS DISTINCT FROM (NEW."scopes") OR OLD."agent_id" IS DISTINCT FROM (NEW."agent_id") OR OLD."person_id" IS DISTINCT FROM (NEW."person_id") OR OLD."created_by_id" IS DISTINCT FROM (NEW."created_by_id") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="9843ee4cb10900635ccaa95ea95a644313629736",
                    operation="UPDATE",
                    pgid="pgtrigger_keys_never_change_3410d",
                    table="workspace_apikey",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="keys_are_kept",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot delete rows from % table', TG_TABLE_NAME;",
                    hash="0126e702c6db878a5c43fcf4282e1bb5fe1d9434",
                    operation="DELETE",
                    pgid="pgtrigger_keys_are_kept_34b4d",
                    table="workspace_apikey",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="apikey",
            trigger=pgtrigger.compiler.Trigger(
                name="revoked_is_for_good",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."revoked_at" IS NOT NULL AND OLD."revoked_at" IS DISTINCT FROM (NEW."revoked_at"))',
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="ff5b506eb20478225f1d2bfb6dfda3958d5ce9e9",
                    operation="UPDATE",
                    pgid="pgtrigger_revoked_is_for_good_898a3",
                    table="workspace_apikey",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="entrylink", constraint=models.CheckConstraint(condition=models.Q(("used_at", None), ("used_at__lte", models.F("expires_at")), _connector="OR"), name="entry_link_used_in_time")
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="everesult",
            trigger=pgtrigger.compiler.Trigger(
                name="eve_results_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="6836f4a26bec004375cf10ccbcd85e4a369a14d0",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_eve_results_never_change_3e90a",
                    table="workspace_everesult",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="everesult",
            trigger=pgtrigger.compiler.Trigger(
                name="eve_results_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="d6034ac224a8a8659ef21e58407ed25d0816a588",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_eve_results_never_truncate_30f5f",
                    table="workspace_everesult",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(
            model_name="evesession", constraint=models.UniqueConstraint(condition=models.Q(("operation", ""), _negated=True), fields=("principal", "operation"), name="an_eve_session_is_opened_once")
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="evesession",
            trigger=pgtrigger.compiler.Trigger(
                name="eve_sessions_stay",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="57b52cc5ddad742c9d9af439a71dc7dfabfae1e5",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_eve_sessions_stay_e39dc",
                    table="workspace_evesession",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(model_name="outboxitem", index=models.Index(condition=models.Q(("spread_at", None)), fields=["id"], name="outbox_to_spread")),
        migrations.AddIndex(model_name="outboxitem", index=models.Index(fields=["created_at"], name="outbox_by_age")),
        migrations.AddIndex(model_name="response", index=models.Index(fields=["session", "-id"], name="responses_of_a_session")),
        migrations.AddConstraint(
            model_name="response", constraint=models.UniqueConstraint(condition=models.Q(("idempotency", ""), _negated=True), fields=("key", "idempotency"), name="a_request_is_taken_once")
        ),
        migrations.AddConstraint(
            model_name="response",
            constraint=models.CheckConstraint(condition=models.Q(("status__in", ("queued", "in_progress")), ("ended_at__isnull", False), _connector="XOR"), name="a_response_ends_once"),
        ),
        migrations.AddConstraint(
            model_name="response",
            constraint=models.CheckConstraint(condition=models.Q(models.Q(("paused", True), _negated=True), ("status", "completed"), _connector="OR"), name="a_pause_is_completed"),
        ),
        migrations.AddConstraint(model_name="responseevent", constraint=models.UniqueConstraint(fields=("response", "seq"), name="response_events_are_numbered")),
        pgtrigger.migrations.AddTrigger(
            model_name="responseevent",
            trigger=pgtrigger.compiler.Trigger(
                name="events_are_never_rewritten",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="cd7c91103b32475b9960b6fe1cc28834ae876e09",
                    operation="UPDATE",
                    pgid="pgtrigger_events_are_never_rewritten_35bba",
                    table="workspace_responseevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="responseinput", constraint=models.UniqueConstraint(fields=("response", "position"), name="response_inputs_are_in_order")),
        pgtrigger.migrations.AddTrigger(
            model_name="responseinput",
            trigger=pgtrigger.compiler.Trigger(
                name="inputs_are_never_rewritten",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update rows from % table', TG_TABLE_NAME;",
                    hash="bc21364eaf33735f7bec7c53a3324393f7b4f623",
                    operation="UPDATE",
                    pgid="pgtrigger_inputs_are_never_rewritten_9cd96",
                    table="workspace_responseinput",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddConstraint(model_name="webhookendpoint", constraint=models.UniqueConstraint(fields=("owner", "url"), name="a_person_names_a_url_once")),
        migrations.AddConstraint(model_name="webhookendpoint", constraint=models.CheckConstraint(condition=models.Q(("secret__startswith", "whsec_")), name="webhooks_are_signed")),
        migrations.AddIndex(model_name="delivery", index=models.Index(condition=models.Q(("state", "queued")), fields=["next_try"], name="deliveries_due")),
        migrations.AddConstraint(model_name="delivery", constraint=models.UniqueConstraint(fields=("item", "endpoint"), name="a_sink_is_told_once", nulls_distinct=False)),
        migrations.AddConstraint(
            model_name="delivery", constraint=models.CheckConstraint(condition=models.Q(("state", "delivered"), ("delivered_at__isnull", True), _connector="XOR"), name="delivered_has_a_time")
        ),
    ]
