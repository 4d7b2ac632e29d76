import claims.domain.lifecycle
import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('inventory', '0001_initial'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ClaimPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=32)),
                ('namespace', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('manifest', models.JSONField()),
                ('defaulted', models.JSONField()),
                ('digest', models.CharField(max_length=71)),
                ('class_pins', models.JSONField(default=list)),
                ('diagnostics', models.JSONField(default=list)),
                ('preview', models.JSONField(null=True)),
                ('revision', models.BigIntegerField()),
                ('created_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='inventory.cluster')),
            ],
        ),
        migrations.CreateModel(
            name='ClaimRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ('acting_groups', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('Draft', 'Draft'), ('Submitted', 'Submitted'), ('PendingApproval', 'PendingApproval'), ('Approved', 'Approved'), ('Denied', 'Denied'), ('Applying', 'Applying'), ('Active', 'Active'), ('ApplyFailed', 'ApplyFailed'), ('Releasing', 'Releasing'), ('Released', 'Released'), ('Expired', 'Expired'), ('Revoked', 'Revoked'), ('Cancelled', 'Cancelled')], default=claims.domain.lifecycle.State['SUBMITTED'], max_length=16)),
                ('submission_key', models.UUIDField()),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('object_uid', models.CharField(blank=True, default='', max_length=64)),
                ('message', models.TextField(blank=True, default='')),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('attempt_count', models.IntegerField(default=0)),
                ('submitted_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
                ('plan', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='claim_request', to='claims.claimplan')),
                ('requester', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='claim_requests', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='claim_requests', to='accounts.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='ClaimRequestEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('public_id', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('acting_groups', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('Draft', 'Draft'), ('Submitted', 'Submitted'), ('PendingApproval', 'PendingApproval'), ('Approved', 'Approved'), ('Denied', 'Denied'), ('Applying', 'Applying'), ('Active', 'Active'), ('ApplyFailed', 'ApplyFailed'), ('Releasing', 'Releasing'), ('Released', 'Released'), ('Expired', 'Expired'), ('Revoked', 'Revoked'), ('Cancelled', 'Cancelled')], default=claims.domain.lifecycle.State['SUBMITTED'], max_length=16)),
                ('submission_key', models.UUIDField()),
                ('request_id', models.CharField(blank=True, default='', max_length=64)),
                ('object_uid', models.CharField(blank=True, default='', max_length=64)),
                ('message', models.TextField(blank=True, default='')),
                ('lease_until', models.DateTimeField(blank=True, null=True)),
                ('retry_at', models.DateTimeField(blank=True, null=True)),
                ('attempt_count', models.IntegerField(default=0)),
                ('submitted_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField()),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='claims.claimrequest')),
                ('plan', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='claims.claimplan')),
                ('requester', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='accounts.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddIndex(
            model_name='claimrequest',
            index=models.Index(fields=['state', 'retry_at'], name='claims_request_due'),
        ),
        migrations.AddConstraint(
            model_name='claimrequest',
            constraint=models.UniqueConstraint(fields=('requester', 'submission_key'), name='claims_claimrequest_submission_once'),
        ),
        migrations.AddConstraint(
            model_name='claimrequest',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['Draft', 'Submitted', 'PendingApproval', 'Approved', 'Denied', 'Applying', 'Active', 'ApplyFailed', 'Releasing', 'Released', 'Expired', 'Revoked', 'Cancelled'])), name='claims_claimrequest_state_known'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequest',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "id", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."id", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;', hash='385a4dbdb4d65538160fad243e79a303bcd5a0cf', operation='INSERT', pgid='pgtrigger_insert_insert_58539', table='claims_claimrequest', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequest',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "id", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."id", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;', hash='0b28380048f20bfb7009cbcf4e86dcf95451716e', operation='UPDATE', pgid='pgtrigger_update_update_5b51d', table='claims_claimrequest', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequestevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='8dfbbf4eea70e3dc2f461d2b10c18b280ffab7c5', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_40984', table='claims_claimrequestevent', when='BEFORE')),
        ),
    ]
