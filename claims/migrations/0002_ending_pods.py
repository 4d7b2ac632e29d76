import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('claims', '0001_initial'),
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
            name='ending_pods',
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddField(
            model_name='claimrequestevent',
            name='ending_pods',
            field=models.JSONField(blank=True, default=list),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequest',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "ending_pods", "id", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."ending_pods", NEW."id", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;', hash='6502210665bab69ac5d2fec877bee4b47973cdbb', operation='INSERT', pgid='pgtrigger_insert_insert_58539', table='claims_claimrequest', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='claimrequest',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "claims_claimrequestevent" ("acting_groups", "attempt_count", "changed_at", "ending_pods", "id", "lease_until", "message", "object_uid", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "plan_id", "public_id", "request_id", "requester_id", "retry_at", "state", "submission_key", "submitted_at", "tenant_id") VALUES (NEW."acting_groups", NEW."attempt_count", NEW."changed_at", NEW."ending_pods", NEW."id", NEW."lease_until", NEW."message", NEW."object_uid", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."plan_id", NEW."public_id", NEW."request_id", NEW."requester_id", NEW."retry_at", NEW."state", NEW."submission_key", NEW."submitted_at", NEW."tenant_id"); RETURN NULL;', hash='8d5deb47718df117fb0bc089de2c7766c5df699d', operation='UPDATE', pgid='pgtrigger_update_update_5b51d', table='claims_claimrequest', when='AFTER')),
        ),
    ]
