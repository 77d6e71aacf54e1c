"""Asks of the same question share a digest, so that a card can show what its reader answered before.

The digest is that of ``asks.queue.earlier_answers.likeness_of``.
"""

from django.db import migrations, models
from django.db.models import Q

DIGEST = """
UPDATE asks_ask ask
SET likeness = left(asked.words, 1)
               || left(encode(sha256(convert_to(asked.words, 'UTF8')), 'hex'), 31)
FROM (
    SELECT one.id, coalesce(
        (SELECT 'a' || chr(31) || gate.operation FROM asks_gate gate WHERE gate.ask_id = one.id),
        'q' || chr(31) || one.prompt || coalesce(
            (SELECT string_agg(chr(31) || option.label, '' ORDER BY option.position)
             FROM asks_option option WHERE option.ask_id = one.id), '')
    ) AS words
    FROM asks_ask one
) asked
WHERE asked.id = ask.id
"""


class Migration(migrations.Migration):
    dependencies = [("asks", "0003_keep_order_of_names")]

    operations = [
        migrations.AddField(
            model_name="ask",
            name="likeness",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The same for every ask of the same question.",
                max_length=32,
            ),
        ),
        migrations.RunSQL(DIGEST, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="ask",
            index=models.Index(
                fields=["agent", "likeness"],
                condition=Q(status="answered"),
                name="answers_to_a_question",
            ),
        ),
    ]
