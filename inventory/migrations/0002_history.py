import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('inventory', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='CardSpan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('driver', models.CharField(max_length=63)),
                ('pool', models.CharField(max_length=253)),
                ('card', models.CharField(max_length=63)),
                ('since', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('is_newest', models.BooleanField(default=True)),
                ('total', models.BigIntegerField(null=True)),
                ('allocated', models.BigIntegerField(null=True)),
                ('at_least', models.BooleanField(default=False)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='card_spans', to='inventory.cluster')),
            ],
            options={
                'indexes': [models.Index(fields=['cluster', 'driver', 'pool', 'card', 'until'], name='inventory_cardspan_card')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_newest', True)), fields=('cluster', 'driver', 'pool', 'card'), name='inventory_cardspan_newest')],
            },
        ),
        migrations.CreateModel(
            name='HistorySample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('scope', models.CharField(choices=[('cluster', 'whole cluster'), ('product', 'product'), ('class', 'class'), ('pool', 'pool'), ('tenant', 'tenant')], max_length=16)),
                ('key', models.CharField(blank=True, default='', max_length=320)),
                ('at', models.DateTimeField()),
                ('cards', models.IntegerField()),
                ('total', models.BigIntegerField(null=True)),
                ('allocated', models.BigIntegerField(null=True)),
                ('available', models.BigIntegerField(null=True)),
                ('at_least', models.BooleanField(default=False)),
                ('cluster', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='history', to='inventory.cluster')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('cluster', 'scope', 'key', 'at'), name='inventory_history_slot')],
            },
        ),
    ]
