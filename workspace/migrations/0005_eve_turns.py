import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0002_who_a_run_is_for'),
        ('asks', '0007_deadlines_that_move'),
        ('workspace', '0004_reminders'),
    ]

    operations = [
        migrations.CreateModel(
            name='EveResult',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('output', models.JSONField(null=True)),
                ('failed', models.BooleanField(default=False)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('redemption', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='eve_result', to='asks.redemption')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        migrations.CreateModel(
            name='EveTurn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('messages', models.JSONField(default=list)),
                ('forgotten', models.BooleanField(default=False)),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='eve_turn', to='agents.run')),
                ('session', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='eve_turns', to='agents.session')),
            ],
            options={
                'ordering': ('pk',),
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='everesult',
            trigger=pgtrigger.compiler.Trigger(name='eve_results_never_change', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='6836f4a26bec004375cf10ccbcd85e4a369a14d0', operation='UPDATE OR DELETE', pgid='pgtrigger_eve_results_never_change_3e90a', table='workspace_everesult', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='everesult',
            trigger=pgtrigger.compiler.Trigger(name='eve_results_never_truncate', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot truncate rows from % table', TG_TABLE_NAME;", hash='d6034ac224a8a8659ef21e58407ed25d0816a588', level='STATEMENT', operation='TRUNCATE', pgid='pgtrigger_eve_results_never_truncate_30f5f', table='workspace_everesult', when='BEFORE')),
        ),
    ]
