from django.db import migrations


class Migration(migrations.Migration):
    """A verdict's option must be one that its own ask offered: a foreign key over both columns."""

    dependencies = [("asks", "0001_asks_and_decisions")]

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
    ]
