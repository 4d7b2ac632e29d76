from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0003_saved_views'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='device',
            name='inventory_device_id',
        ),
        migrations.AddIndex(
            model_name='device',
            index=models.Index(fields=['cluster', 'driver', 'pool', 'name', 'id'], name='inventory_device_order'),
        ),
    ]
