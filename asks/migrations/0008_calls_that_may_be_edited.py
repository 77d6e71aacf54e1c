from django.db import migrations, models


class Migration(migrations.Migration):
    """An owner may change a call before approving it: its params' shape, and what was changed."""

    dependencies = [
        ('asks', '0007_deadlines_that_move'),
    ]

    operations = [
        migrations.AddField(
            model_name='gate',
            name='schema',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='verdict',
            name='edit',
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name='verdict',
            constraint=models.CheckConstraint(condition=models.Q(('edit__isnull', True), ('meaning', 'approve'), _connector='OR'), name='only_an_approval_edits'),
        ),
        migrations.AlterField(
            model_name='refusal',
            name='reason',
            field=models.CharField(choices=[('not_found', 'There is no such question.'), ('not_allowed', 'This is not yours to answer.'), ('four_eyes', 'Somebody else must answer this: the run was started for you.'), ('closed', 'This question is already closed.'), ('expired', 'Nobody answered in time. Nothing was approved.'), ('gated', 'Money-critical actions are not answerable here. No grant was minted; use the signed channel.'), ('unbindable', 'This answer did not say which action it is for. Nothing was approved; load the page again.'), ('unproven', 'The signature does not prove who decided this. Nothing was approved.'), ('stale', 'What is asked has changed since you looked. Nothing was approved.'), ('claimed', 'Somebody else has claimed this question.'), ('reauthenticate', 'This answer needs you to prove who you are once more. Nothing was approved.'), ('voted', 'You have voted already, and a vote stays as it is.'), ('invalid', 'This answer cannot be kept as it is.'), ('empty', 'An empty answer is not an answer.'), ('unknown_option', 'That option was not offered.'), ('not_editable', 'This action may not be changed here. Nothing was approved.'), ('bad_edit', 'What you changed does not fit. Nothing was approved.'), ('reason_required', 'This answer needs a reason in words.')], max_length=16),
        ),
    ]
