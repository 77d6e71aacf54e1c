import django.db.models.deletion
import django.db.models.functions.datetime
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('agents', '0002_who_a_run_is_for'),
        ('workspace', '0005_eve_turns'),
    ]

    operations = [
        migrations.CreateModel(
            name='EveSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(max_length=40, unique=True)),
                ('token', models.CharField(max_length=64)),
                ('principal', models.CharField(max_length=200)),
                ('operation', models.CharField(blank=True, max_length=200)),
                ('body', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='workspace.apikey')),
                ('session', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='eve', to='agents.session')),
            ],
            options={
                'ordering': ('pk',),
                'constraints': [models.UniqueConstraint(condition=models.Q(('operation', ''), _negated=True), fields=('principal', 'operation'), name='an_eve_session_is_opened_once')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='evesession',
            trigger=pgtrigger.compiler.Trigger(name='eve_sessions_stay', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='57b52cc5ddad742c9d9af439a71dc7dfabfae1e5', operation='UPDATE OR DELETE', pgid='pgtrigger_eve_sessions_stay_e39dc', table='workspace_evesession', when='BEFORE')),
        ),
    ]
