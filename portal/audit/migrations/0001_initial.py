import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Seal',
            fields=[
                ('number', models.BigIntegerField(primary_key=True, serialize=False)),
                ('table', models.CharField(max_length=63)),
                ('event_id', models.BigIntegerField()),
                ('object_id', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('actor', models.CharField(blank=True, default='', max_length=150)),
                ('reason', models.TextField(blank=True, default='')),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('content', models.JSONField()),
                ('changes', models.JSONField(default=dict)),
                ('is_routine', models.BooleanField(default=False)),
                ('previous', models.CharField(max_length=64)),
                ('digest', models.CharField(max_length=64)),
            ],
            options={
                'indexes': [models.Index(fields=['table', 'object_id'], name='audit_seal_object'), models.Index(fields=['actor'], name='audit_seal_actor'), models.Index(fields=['at'], name='audit_seal_at')],
                'constraints': [models.UniqueConstraint(fields=('table', 'event_id'), name='audit_seal_event_once')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='seal',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='425da599b8e4cf7384a383a64e17697a9d08a345', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_4de12', table='audit_seal', when='BEFORE')),
        ),
    ]
