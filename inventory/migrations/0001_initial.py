import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Cluster',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=63, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')])),
                ('kind', models.CharField(choices=[('live', 'live'), ('offline', 'offline'), ('simulated', 'simulated')], max_length=16)),
                ('kubernetes_version', models.CharField(blank=True, default='', max_length=64)),
                ('feature_gates', models.JSONField(blank=True, default=dict)),
                ('kubeconfig_encrypted', models.TextField(blank=True, default='')),
                ('context', models.CharField(blank=True, default='', max_length=253)),
                ('revision', models.BigIntegerField(default=0)),
                ('kube_system_uid', models.CharField(blank=True, default='', max_length=64)),
                ('heard_at', models.DateTimeField(blank=True, null=True)),
                ('failed_at', models.DateTimeField(blank=True, null=True)),
                ('failure', models.TextField(blank=True, default='')),
                ('kinds', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Allocation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('claim_namespace', models.CharField(max_length=63)),
                ('claim_name', models.CharField(max_length=253)),
                ('claim_uid', models.CharField(blank=True, default='', max_length=64)),
                ('device_request', models.CharField(max_length=128)),
                ('driver', models.CharField(max_length=63)),
                ('pool', models.CharField(max_length=253)),
                ('device', models.CharField(max_length=63)),
                ('share_id', models.CharField(blank=True, default='', max_length=64)),
                ('consumed_capacity', models.JSONField(default=dict)),
                ('admin_access', models.BooleanField(default=False)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='allocations', to='inventory.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'driver', 'pool', 'device'], name='inventory_allocation_device'), models.Index(fields=['cluster', 'claim_namespace', 'claim_name'], name='inventory_allocation_claim')],
            },
        ),
        migrations.CreateModel(
            name='Device',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('driver', models.CharField(max_length=63)),
                ('pool', models.CharField(max_length=253)),
                ('name', models.CharField(max_length=63)),
                ('slice_name', models.CharField(max_length=253)),
                ('node_name', models.CharField(blank=True, default='', max_length=253)),
                ('attributes', models.JSONField()),
                ('capacity', models.JSONField()),
                ('consumes_counters', models.JSONField(default=list)),
                ('taints', models.JSONField(default=list)),
                ('allow_multiple_allocations', models.BooleanField(default=False)),
                ('memory_bytes', models.BigIntegerField(blank=True, null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='devices', to='inventory.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'driver', 'pool', 'name'], name='inventory_device_id'), models.Index(fields=['cluster', 'slice_name'], name='inventory_device_slice'), models.Index(fields=['cluster', 'node_name'], name='inventory_device_node')],
            },
        ),
        migrations.CreateModel(
            name='KubeObject',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=63)),
                ('namespace', models.CharField(blank=True, default='', max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('uid', models.CharField(blank=True, default='', max_length=64)),
                ('resource_version', models.CharField(blank=True, default='', max_length=64)),
                ('pool', models.CharField(blank=True, default='', max_length=320)),
                ('body', models.JSONField()),
                ('revision', models.BigIntegerField()),
                ('seen_at', models.DateTimeField()),
                ('deleted_at', models.DateTimeField(blank=True, null=True)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='objects_seen', to='inventory.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'revision'], name='inventory_object_revision'), models.Index(fields=['cluster', 'uid'], name='inventory_object_uid'), models.Index(condition=models.Q(('pool', ''), _negated=True), fields=['cluster', 'pool'], name='inventory_object_pool')],
                'constraints': [models.UniqueConstraint(fields=('cluster', 'kind', 'namespace', 'name'), name='inventory_kubeobject_key')],
            },
        ),
        migrations.CreateModel(
            name='Pool',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('driver', models.CharField(max_length=63)),
                ('name', models.CharField(max_length=253)),
                ('generation', models.BigIntegerField()),
                ('expected_slice_count', models.BigIntegerField()),
                ('seen_slice_count', models.IntegerField()),
                ('node_name', models.CharField(blank=True, default='', max_length=253)),
                ('verdict', models.CharField(max_length=16)),
                ('problem', models.TextField(blank=True, default='')),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pools', to='inventory.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'driver', 'name'), name='inventory_pool_key')],
            },
        ),
    ]
