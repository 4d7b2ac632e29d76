import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('claims', '0003_privileged'),
        ('pghistory', '0007_auto_20250421_0444'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PolicySet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveIntegerField(unique=True)),
                ('note', models.TextField(blank=True, default='')),
                ('created_by', models.CharField(max_length=150)),
                ('created_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Approval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=71)),
                ('policy_version', models.PositiveIntegerField()),
                ('rule', models.JSONField()),
                ('reasons', models.JSONField(default=list)),
                ('needed', models.PositiveSmallIntegerField()),
                ('role', models.CharField(blank=True, default='', max_length=16)),
                ('approved_count', models.PositiveSmallIntegerField(default=0)),
                ('is_open', models.BooleanField(default=True)),
                ('decide_by', models.DateTimeField()),
                ('created_at', models.DateTimeField()),
                ('claim_request', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='approval', to='claims.claimrequest')),
            ],
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('verdict', models.CharField(choices=[('approve', 'Approve'), ('deny', 'Deny')], max_length=16)),
                ('reason', models.TextField(blank=True, default='')),
                ('digest', models.CharField(max_length=71)),
                ('decided_at', models.DateTimeField()),
                ('approval', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to='approvals.approval')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='decisions', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='DecisionEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('id', models.BigIntegerField()),
                ('verdict', models.CharField(choices=[('approve', 'Approve'), ('deny', 'Deny')], max_length=16)),
                ('reason', models.TextField(blank=True, default='')),
                ('digest', models.CharField(max_length=71)),
                ('decided_at', models.DateTimeField()),
                ('approval', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to='approvals.approval')),
                ('person', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', related_query_name='+', to=settings.AUTH_USER_MODEL)),
                ('pgh_context', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='pghistory.context')),
                ('pgh_obj', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='approvals.decision')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PolicyRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveSmallIntegerField()),
                ('name', models.CharField(max_length=63)),
                ('document', models.JSONField()),
                ('policy_set', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='rules', to='approvals.policyset')),
            ],
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policyset',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='addcef22e9b847365b3c4c81b00f7c87225f91f2', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_d5c94', table='approvals_policyset', when='BEFORE')),
        ),
        migrations.AddIndex(
            model_name='approval',
            index=models.Index(condition=models.Q(('is_open', True)), fields=['decide_by'], name='approvals_open_by'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(('approved_count__lte', models.F('needed'))), name='approvals_approval_no_more_than_needed'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('approval', 'person'), name='approvals_decision_once'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('verdict', 'deny'), _negated=True), models.Q(('reason', ''), _negated=True), _connector='OR'), name='approvals_decision_denied_with_reason'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='decision',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='d7bfbe13cfe8daf3c42d7e2f56ce0935c59438c8', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_cd8c6', table='approvals_decision', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='decision',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "approvals_decisionevent" ("approval_id", "decided_at", "digest", "id", "person_id", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "reason", "verdict") VALUES (NEW."approval_id", NEW."decided_at", NEW."digest", NEW."id", NEW."person_id", _pgh_attach_context(), NOW(), \'insert\', NEW."id", NEW."reason", NEW."verdict"); RETURN NULL;', hash='50cc7389ceeeaacb835a565b586d8d54e65c98fe', operation='INSERT', pgid='pgtrigger_insert_insert_bdb36', table='approvals_decision', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='decisionevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='cb0b53d33b966592bb58ebfb50741533c9c5cfa6', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_4044e', table='approvals_decisionevent', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='policyrule',
            constraint=models.UniqueConstraint(fields=('policy_set', 'position'), name='approvals_rule_position'),
        ),
        migrations.AddConstraint(
            model_name='policyrule',
            constraint=models.UniqueConstraint(fields=('policy_set', 'name'), name='approvals_rule_name'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='policyrule',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='bfa489ac09354e92c5c7441887c79d576f26bc5e', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_d9ddb', table='approvals_policyrule', when='BEFORE')),
        ),
    ]
