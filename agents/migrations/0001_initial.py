"""Agents, sessions, runs, events and the inbox, with the triggers that keep them."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    # Databases from before 0.1.0 have these applied; they are taken over as they are.
    replaces = [("agents", "0001_agents_sessions_runs"), ("agents", "0002_who_a_run_is_for")]

    initial = True

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Lane",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=63, unique=True)),
                ("blocked_until", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=300)),
            ],
            options={"ordering": ("name",)},
        ),
        migrations.CreateModel(
            name="Agent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "slug",
                    models.CharField(
                        max_length=63, unique=True, validators=[django.core.validators.RegexValidator("\\A[a-z0-9][a-z0-9-]{0,62}\\Z", "Use lower-case letters, digits and hyphens, 63 at most.")]
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("title", models.CharField(blank=True, help_text="What it does, in a line.", max_length=200)),
                ("mission", models.TextField(blank=True, help_text="What this agent is to achieve.")),
                ("contract", models.TextField(blank=True, help_text="How it works and what it must ask about.")),
                ("runtime", models.CharField(help_text="What runs a turn of it.", max_length=32)),
                ("settings", models.JSONField(blank=True, default=dict, help_text="The runtime's own settings.")),
                ("wake_policy", models.JSONField(blank=True, default=dict, help_text="When it wakes by itself.")),
                ("lane", models.CharField(blank=True, help_text="Agents of one lane share a rate limit.", max_length=63)),
                ("lifecycle", models.CharField(choices=[("draft", "Draft"), ("active", "Active"), ("paused", "Paused"), ("retired", "Retired")], default="draft", max_length=16)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("owners", models.ManyToManyField(related_name="agents", to=settings.AUTH_USER_MODEL)),
            ],
            options={"ordering": ("slug",)},
        ),
        migrations.CreateModel(
            name="Session",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("title", models.CharField(blank=True, max_length=200)),
                ("is_home", models.BooleanField(default=False, help_text="The session that the agent's schedule and mail wake.")),
                ("state", models.CharField(choices=[("active", "Active"), ("paused", "Paused"), ("ended", "Ended")], default="active", max_length=16)),
                ("state_reason", models.CharField(blank=True, max_length=300)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("WAITING_HUMAN", "Waiting for you"),
                            ("BLOCKED", "Blocked"),
                            ("RUNNING", "Running"),
                            ("DUE", "Due"),
                            ("WAITING_RESOURCE", "Waiting for a limit"),
                            ("BACKING_OFF", "Backing off"),
                            ("SCHEDULED", "Scheduled"),
                            ("WAITING_EVENT", "Waiting for a message"),
                            ("MANUAL", "Manual"),
                            ("PAUSED", "Paused"),
                            ("RETIRED", "Retired"),
                            ("DRAFT", "Draft"),
                        ],
                        default="MANUAL",
                        max_length=20,
                    ),
                ),
                ("status_reason", models.CharField(blank=True, max_length=300)),
                ("moved_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("wake_at", models.DateTimeField(blank=True, null=True)),
                (
                    "wake_cause",
                    models.CharField(
                        choices=[
                            ("human", "A person"),
                            ("mail", "Another agent's message"),
                            ("schedule", "Its schedule"),
                            ("backoff", "Back-off"),
                            ("resource", "A limit that passes"),
                            ("manual", "Only a person starts it"),
                            ("event", "Waits for a message"),
                            ("blocked", "Says it is blocked"),
                        ],
                        default="manual",
                        max_length=16,
                    ),
                ),
                ("idle_streak", models.PositiveIntegerField(default=0)),
                ("error_streak", models.PositiveIntegerField(default=0)),
                ("last_outcome", models.CharField(blank=True, max_length=20)),
                ("last_seq", models.PositiveBigIntegerField(default=0)),
                ("run_count", models.PositiveIntegerField(default=0)),
                ("gate_count", models.PositiveIntegerField(default=0)),
                ("open_asks", models.PositiveIntegerField(default=0)),
                ("external_id", models.CharField(blank=True, max_length=200)),
                ("data", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("agent", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="sessions", to="agents.agent")),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        help_text="Who last started it or wrote to it; nobody once its schedule starts it.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ("-created_at", "-id")},
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("waiting_human", "Waiting for a person"),
                            ("continued", "Continued"),
                            ("completed", "Completed"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=16,
                    ),
                ),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("human", "A person"),
                            ("mail", "Another agent's message"),
                            ("schedule", "Its schedule"),
                            ("backoff", "Back-off"),
                            ("resource", "A limit that passes"),
                            ("manual", "Only a person starts it"),
                            ("event", "Waits for a message"),
                            ("blocked", "Says it is blocked"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[("WORK_DONE", "Work done"), ("NO_WORK", "No work"), ("BLOCKED", "Blocked"), ("RATE_LIMITED", "Rate limited"), ("RETRYABLE_ERROR", "Retryable error")],
                        max_length=20,
                    ),
                ),
                ("epoch", models.PositiveIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=120)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
                ("process", models.JSONField(blank=True, default=dict)),
                ("open_asks", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("usage", models.JSONField(blank=True, default=dict)),
                ("queued_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("requested_by", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="agents.session")),
            ],
            options={"ordering": ("-id",)},
        ),
        migrations.CreateModel(
            name="InboxItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("verdict", "Verdict"), ("message", "A person's message"), ("mail", "Another agent's message")], max_length=16)),
                ("author", models.CharField(max_length=200)),
                ("body", models.TextField()),
                ("data", models.JSONField(blank=True, default=dict)),
                ("hops", models.PositiveSmallIntegerField(default=0)),
                ("state", models.CharField(choices=[("queued", "Queued"), ("leased", "Leased"), ("acked", "Carried"), ("dead", "Given up")], default="queued", max_length=16)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("source_key", models.CharField(blank=True, max_length=80)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("leased_by", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name="given", to="agents.run")),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="inbox", to="agents.session")),
            ],
            options={"ordering": ("id",)},
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveBigIntegerField()),
                ("kind", models.CharField(max_length=32)),
                ("actor", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                ("html", models.TextField(blank=True)),
                ("data", models.JSONField(blank=True, default=dict)),
                ("once_key", models.CharField(blank=True, max_length=64)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("run", models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="events", to="agents.run")),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="events", to="agents.session")),
            ],
            options={"ordering": ("session", "seq")},
        ),
        migrations.AddIndex(model_name="session", index=models.Index(models.F("wake_at"), condition=models.Q(("state", "active"), ("wake_at__isnull", False)), name="sessions_that_are_due")),
        migrations.AddIndex(model_name="session", index=models.Index(fields=["agent", "status"], name="sessions_by_status")),
        migrations.AddConstraint(model_name="session", constraint=models.UniqueConstraint(condition=models.Q(("is_home", True)), fields=("agent",), name="one_home_session_per_agent")),
        migrations.AddConstraint(
            model_name="session", constraint=models.UniqueConstraint(condition=models.Q(("external_id", ""), _negated=True), fields=("agent", "external_id"), name="one_session_per_external_id")
        ),
        migrations.AddConstraint(
            model_name="session",
            constraint=models.CheckConstraint(
                condition=models.Q(("wake_at__isnull", True), ("wake_cause__in", ["backoff", "human", "mail", "resource", "schedule"]), _connector="XOR"), name="waking_has_a_cause"
            ),
        ),
        migrations.AddIndex(model_name="run", index=models.Index(condition=models.Q(("status", "running")), fields=["lease_until"], name="runs_with_a_lease")),
        migrations.AddIndex(model_name="run", index=models.Index(condition=models.Q(("status", "queued")), fields=["queued_at"], name="runs_queued")),
        migrations.AddConstraint(model_name="run", constraint=models.UniqueConstraint(fields=("session", "number"), name="runs_are_numbered")),
        migrations.AddConstraint(
            model_name="run", constraint=models.UniqueConstraint(condition=models.Q(("status__in", ("queued", "running", "waiting_human"))), fields=("session",), name="one_live_run_per_session")
        ),
        migrations.AddConstraint(
            model_name="run", constraint=models.CheckConstraint(condition=models.Q(("status", "running"), ("lease_until__isnull", True), _connector="XOR"), name="running_holds_a_lease")
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(condition=models.Q(("status__in", ("queued", "running", "waiting_human")), ("ended_at__isnull", False), _connector="XOR"), name="over_has_an_end"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(condition=models.Q(models.Q(("status", "waiting_human"), _negated=True), ("open_asks__gt", 0), _connector="OR"), name="waiting_has_an_open_ask"),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="run",
            trigger=pgtrigger.compiler.Trigger(
                name="run_moves",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    declare="DECLARE _is_valid_transition BOOLEAN;",
                    func='SELECT CONCAT(OLD."status", \':\', NEW."status") = ANY(\'{queued:cancelled,queued:running,running:cancelled,running:completed,running:continued,running:failed,running:queued,running:running,running:waiting_human,waiting_human:cancelled,waiting_human:continued}\'::text[]) INTO _is_valid_transition; IF (_is_valid_transition IS FALSE AND OLD."status" IS DISTINCT FROM NEW."status") THEN RAISE EXCEPTION \'pgtrigger: Invalid transition of field "status" from "%" to "%" on table %\', OLD."status", NEW."status", TG_TABLE_NAME; ELSE RETURN NEW; END IF;',
                    hash="78b14a4eb0520671bc26c23f9ec3c8b86c9c24be",
                    operation="UPDATE",
                    pgid="pgtrigger_run_moves_666bc",
                    table="agents_run",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.AddIndex(model_name="inboxitem", index=models.Index(condition=models.Q(("state__in", ("queued", "leased"))), fields=["session", "id"], name="inbox_owed")),
        migrations.AddConstraint(
            model_name="inboxitem", constraint=models.UniqueConstraint(condition=models.Q(("source_key", ""), _negated=True), fields=("session", "source_key"), name="a_thing_is_owed_once")
        ),
        migrations.AddConstraint(
            model_name="inboxitem",
            constraint=models.CheckConstraint(condition=models.Q(models.Q(("state", "leased"), _negated=True), ("leased_by__isnull", False), _connector="OR"), name="a_lease_names_its_run"),
        ),
        migrations.AddConstraint(
            model_name="inboxitem", constraint=models.CheckConstraint(condition=models.Q(models.Q(("state", "dead"), _negated=True), ("kind", "mail"), _connector="OR"), name="only_mail_is_given_up")
        ),
        migrations.AddIndex(model_name="event", index=models.Index(condition=models.Q(("kind", "notice")), fields=["session", "-id"], name="events_that_notify")),
        migrations.AddConstraint(model_name="event", constraint=models.UniqueConstraint(fields=("session", "seq"), name="events_are_numbered")),
        migrations.AddConstraint(
            model_name="event", constraint=models.UniqueConstraint(condition=models.Q(("once_key", ""), _negated=True), fields=("run", "once_key"), name="a_marker_lands_once_per_run")
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="event",
            trigger=pgtrigger.compiler.Trigger(
                name="events_never_change",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="864c68175f96e4647450890b40a1f5af483e3dd2",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_events_never_change_17383",
                    table="agents_event",
                    when="BEFORE",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="event",
            trigger=pgtrigger.compiler.Trigger(
                name="events_never_truncate",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;",
                    hash="2b115ad44b12073d6aa6d3832bc4fbe3c2e9ec78",
                    level="STATEMENT",
                    operation="TRUNCATE",
                    pgid="pgtrigger_events_never_truncate_619bf",
                    table="agents_event",
                    when="BEFORE",
                ),
            ),
        ),
    ]
