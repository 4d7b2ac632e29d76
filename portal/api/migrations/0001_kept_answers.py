from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client', models.CharField(max_length=64)),
                ('key', models.CharField(max_length=255)),
                ('request_digest', models.CharField(max_length=64)),
                ('held_until', models.DateTimeField()),
                ('status', models.IntegerField(blank=True, null=True)),
                ('headers', models.JSONField(default=dict)),
                ('document', models.TextField(blank=True, default='')),
                ('expires_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['expires_at'], name='api_kept_expires')],
                'constraints': [models.UniqueConstraint(fields=('client', 'key'), name='api_kept_once')],
            },
        ),
    ]
