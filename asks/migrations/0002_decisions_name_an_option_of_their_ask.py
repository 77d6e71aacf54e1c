from django.db import migrations


class Migration(migrations.Migration):
    """Bind the option of a verdict or a vote to its own ask: a foreign key over both columns."""

    dependencies = [("asks", "0001_asks_decisions_policies_ledger")]

    operations = [
        migrations.RunSQL(
            sql="""
                ALTER TABLE asks_verdict ADD CONSTRAINT verdicts_name_an_option_of_their_ask
                FOREIGN KEY (ask_id, option_id) REFERENCES asks_option (ask_id, id)
            """,
            reverse_sql="""
                ALTER TABLE asks_verdict DROP CONSTRAINT verdicts_name_an_option_of_their_ask
            """,
        ),
        migrations.RunSQL(
            sql="""
                ALTER TABLE asks_vote ADD CONSTRAINT votes_name_an_option_of_their_ask
                FOREIGN KEY (ask_id, option_id) REFERENCES asks_option (ask_id, id)
            """,
            reverse_sql="ALTER TABLE asks_vote DROP CONSTRAINT votes_name_an_option_of_their_ask",
        ),
    ]
