import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_api_tokens'),
        ('claims', '0002_ending_pods'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='claimrequest',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='claimrequest',
            name='update_update',
        ),
        migrations.AddField(
            model_name='claimrequest',
            name='ended_by',
            field=models.CharField(blank=True, default='', max_length=150),
        ),
        migrations.AddField(
            model_name='claimrequest',
            name='expires_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='claimrequest',
            name='justification',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.AddField(
            model_name='claimrequestevent',
            name='ended_by',
            field=models.CharField(blank=True, default='', max_length=150),
        ),
        migrations.AddField(
            model_name='claimrequestevent',
            name='expires_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='claimrequestevent',
            name='justification',
            field=models.TextField(blank=True, default=''),
        ),
        migrations.AddIndex(
            model_name='claimrequest',
            index=models.Index(condition=models.Q(('expires_at__isnull', False)), fields=['expires_at'], name='claims_request_expires'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequest',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "ended_by", "ending_pods", "expires_at", "id", "justification", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."ended_by", NEW."ending_pods", NEW."expires_at", NEW."id", NEW."justification", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;', hash='ec023c2b95284d8fd26b2f41353e3b3931c71d21', operation='INSERT', pgid='pgtrigger_insert_insert_58539', table='claims_claimrequest', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequest',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "ended_by", "ending_pods", "expires_at", "id", "justification", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."ended_by", NEW."ending_pods", NEW."expires_at", NEW."id", NEW."justification", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;', hash='0fdb815d591570bed83fbc172519e3c86eb9b676', operation='UPDATE', pgid='pgtrigger_update_update_5b51d', table='claims_claimrequest', when='AFTER')),
        ),
    ]
