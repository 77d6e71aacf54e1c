from django.db import migrations, models

NEW = (
    "verdict",
    "vote",
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
)


class Migration(migrations.Migration):
    """A vote, a change of policy, a key and a delegation have one record each, as verdicts have."""

    dependencies = [
        ("asks", "0008_calls_that_may_be_edited"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="ledgerrecord", name="a_decision_is_in_the_ledger_once"
        ),
        migrations.AddConstraint(
            model_name="ledgerrecord",
            constraint=models.UniqueConstraint(
                condition=models.Q(("kind__in", NEW)),
                fields=("subject", "kind"),
                name="a_decision_is_in_the_ledger_once",
            ),
        ),
    ]
