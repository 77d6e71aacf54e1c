from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workspace', '0003_responses'),
    ]

    operations = [
        migrations.AlterField(
            model_name='outboxitem',
            name='kind',
            field=models.CharField(choices=[('ask.opened', 'A question was asked'), ('ask.answered', 'A question was answered'), ('ask.withdrawn', 'A question was withdrawn'), ('ask.expired', 'A question expired unanswered'), ('ask.superseded', 'A question was asked again, changed'), ('ask.reminded', 'A question still waits'), ('agent.notify', 'An agent said something in passing'), ('session.blocked', 'A session is blocked without a question')], max_length=20),
        ),
    ]
