import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
import portal.adoption.domain.phases
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('adoption', '0001_mapping'),
        ('pghistory', '0007_auto_20250421_0444'),
    ]

    operations = [
        migrations.CreateModel(
            name='MigrationPlanEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('cluster', models.CharField(max_length=63)),
                ('phase', models.PositiveSmallIntegerField(default=portal.adoption.domain.phases.Phase['CONTROL_PLANE'])),
                ('state', models.CharField(choices=[('NotStarted', 'NotStarted'), ('Running', 'Running'), ('GateGreen', 'GateGreen'), ('Done', 'Done'), ('Paused', 'Paused'), ('RolledBack', 'RolledBack')], default=portal.adoption.domain.phases.State['NOT_STARTED'], max_length=16)),
                ('confirmed', models.JSONField(blank=True, default=list)),
                ('version', models.PositiveIntegerField(default=1)),
                ('changed_by', models.CharField(max_length=150)),
                ('changed_at', models.DateTimeField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='MigrationStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('move', models.CharField(choices=[('start', 'start'), ('check', 'check'), ('confirm', 'confirm'), ('go-on', 'go-on'), ('pause', 'pause'), ('resume', 'resume'), ('go-back', 'go-back')], max_length=16)),
                ('phase_before', models.PositiveSmallIntegerField(default=portal.adoption.domain.phases.Phase['CONTROL_PLANE'])),
                ('state_before', models.CharField(choices=[('NotStarted', 'NotStarted'), ('Running', 'Running'), ('GateGreen', 'GateGreen'), ('Done', 'Done'), ('Paused', 'Paused'), ('RolledBack', 'RolledBack')], default=portal.adoption.domain.phases.State['NOT_STARTED'], max_length=16)),
                ('phase', models.PositiveSmallIntegerField(default=portal.adoption.domain.phases.Phase['CONTROL_PLANE'])),
                ('state', models.CharField(choices=[('NotStarted', 'NotStarted'), ('Running', 'Running'), ('GateGreen', 'GateGreen'), ('Done', 'Done'), ('Paused', 'Paused'), ('RolledBack', 'RolledBack')], default=portal.adoption.domain.phases.State['NOT_STARTED'], max_length=16)),
                ('reason', models.TextField(blank=True, default='')),
                ('evidence', models.JSONField(blank=True, default=list)),
                ('revision', models.BigIntegerField()),
                ('made_by', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='MigrationStepEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('number', models.PositiveIntegerField()),
                ('move', models.CharField(choices=[('start', 'start'), ('check', 'check'), ('confirm', 'confirm'), ('go-on', 'go-on'), ('pause', 'pause'), ('resume', 'resume'), ('go-back', 'go-back')], max_length=16)),
                ('phase_before', models.PositiveSmallIntegerField(default=portal.adoption.domain.phases.Phase['CONTROL_PLANE'])),
                ('state_before', models.CharField(choices=[('NotStarted', 'NotStarted'), ('Running', 'Running'), ('GateGreen', 'GateGreen'), ('Done', 'Done'), ('Paused', 'Paused'), ('RolledBack', 'RolledBack')], default=portal.adoption.domain.phases.State['NOT_STARTED'], max_length=16)),
                ('phase', models.PositiveSmallIntegerField(default=portal.adoption.domain.phases.Phase['CONTROL_PLANE'])),
                ('state', models.CharField(choices=[('NotStarted', 'NotStarted'), ('Running', 'Running'), ('GateGreen', 'GateGreen'), ('Done', 'Done'), ('Paused', 'Paused'), ('RolledBack', 'RolledBack')], default=portal.adoption.domain.phases.State['NOT_STARTED'], max_length=16)),
                ('reason', models.TextField(blank=True, default='')),
                ('evidence', models.JSONField(blank=True, default=list)),
                ('revision', models.BigIntegerField()),
                ('made_by', models.CharField(max_length=150)),
                ('made_at', models.DateTimeField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='MigrationPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('cluster', models.CharField(max_length=63, unique=True)),
                ('phase', models.PositiveSmallIntegerField(default=portal.adoption.domain.phases.Phase['CONTROL_PLANE'])),
                ('state', models.CharField(choices=[('NotStarted', 'NotStarted'), ('Running', 'Running'), ('GateGreen', 'GateGreen'), ('Done', 'Done'), ('Paused', 'Paused'), ('RolledBack', 'RolledBack')], default=portal.adoption.domain.phases.State['NOT_STARTED'], max_length=16)),
                ('confirmed', models.JSONField(blank=True, default=list)),
                ('version', models.PositiveIntegerField(default=1)),
                ('changed_by', models.CharField(max_length=150)),
                ('changed_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('phase__gte', portal.adoption.domain.phases.Phase['CONTROL_PLANE']), ('phase__lte', portal.adoption.domain.phases.Phase['DRAIN'])), name='adoption_plan_phase'), models.CheckConstraint(condition=models.Q(('state__in', ['NotStarted', 'Running', 'GateGreen', 'Done', 'Paused', 'RolledBack'])), name='adoption_plan_state'), models.CheckConstraint(condition=models.Q(models.Q(('state', portal.adoption.domain.phases.State['DONE']), _negated=True), ('phase', portal.adoption.domain.phases.Phase['DRAIN']), _connector='OR'), name='adoption_plan_done_is_last')],
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='migrationplan',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "adoption_migrationplanevent" ("changed_at", "changed_by", "cluster", "confirmed", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "phase", "state", "version") VALUES (NEW."changed_at", NEW."changed_by", NEW."cluster", NEW."confirmed", NEW."id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."phase", NEW."state", NEW."version"); RETURN NULL;', hash='32856b8a32877f75c325535b75a4d9a27e64af8a', operation='INSERT', pgid='pgtrigger_insert_insert_83fc5', table='adoption_migrationplan', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='migrationplan',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "adoption_migrationplanevent" ("changed_at", "changed_by", "cluster", "confirmed", "id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "phase", "state", "version") VALUES (NEW."changed_at", NEW."changed_by", NEW."cluster", NEW."confirmed", NEW."id", _pgh_attach_context(), NOW(), \'update\', NEW."id", NEW."phase", NEW."state", NEW."version"); RETURN NULL;', hash='745b088df01246d47e5ef8263ca906ffeaed51ea', operation='UPDATE', pgid='pgtrigger_update_update_53702', table='adoption_migrationplan', when='AFTER')),
        ),
        migrations.AddField(
            model_name='migrationplanevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='migrationplanevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='adoption.migrationplan'),
        ),
        migrations.AddField(
            model_name='migrationstep',
            name='plan',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='steps', to='adoption.migrationplan'),
        ),
        migrations.AddField(
            model_name='migrationstepevent',
            name='pgh_context',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context'),
        ),
        migrations.AddField(
            model_name='migrationstepevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='adoption.migrationstep'),
        ),
        migrations.AddField(
            model_name='migrationstepevent',
            name='plan',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='adoption.migrationplan'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='migrationplanevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='7fb1b2641444f4e4b9fb5ac482710ac0feab184a', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_fc998', table='adoption_migrationplanevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='migrationstep',
            constraint=models.UniqueConstraint(fields=('plan', 'number'), name='adoption_step_number'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='migrationstep',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='5c801b7276882aee08e0fbd049f77dd23690ee67', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_c0482', table='adoption_migrationstep', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='migrationstep',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "adoption_migrationstepevent" ("evidence", "id", "made_at", "made_by", "move", "number", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "phase", "phase_before", "plan_id", "reason", "revision", "state", "state_before") VALUES (NEW."evidence", NEW."id", NEW."made_at", NEW."made_by", NEW."move", NEW."number", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."phase", NEW."phase_before", NEW."plan_id", NEW."reason", NEW."revision", NEW."state", NEW."state_before"); RETURN NULL;', hash='14c36c0e11a25a6daf4ab0dfb35325c63c95bc9d', operation='INSERT', pgid='pgtrigger_insert_insert_be89a', table='adoption_migrationstep', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='migrationstepevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='0a0d7957de19782bd4b29a3e695ebd41acfddb0b', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_1c57b', table='adoption_migrationstepevent', when='BEFORE')),
        ),
    ]
