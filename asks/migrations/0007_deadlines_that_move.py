from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('asks', '0006_policies_and_authority'),
    ]

    operations = [
        migrations.AddField(
            model_name='ask',
            name='extended',
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
    ]
