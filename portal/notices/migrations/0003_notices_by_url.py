from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # Notices are written meanwhile.
    atomic = False

    dependencies = [
        ('notices', '0002_numbers'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='notice',
            index=models.Index(fields=['url', 'event'], name='notices_notice_of_url'),
        ),
    ]
