"""The rule that holds tenants' budgets in the cluster."""

import pgtrigger
from django.db import migrations
from django.utils import timezone

NAME = "tenant-budgets"


def make(apps, schema_editor):
    rule = apps.get_model("admission", "GuardRule")
    if rule.objects.filter(name=NAME).exists():
        return
    # What ships with the product is nobody's act: the trail begins after it.
    with pgtrigger.ignore():
        made = rule.objects.create(
            name=NAME,
            kind="budgets",
            mode="deny",
            params={},
            failure_policy="Ignore",
            changed_by="slicewise",
            changed_at=timezone.now(),
        )
        apps.get_model("admission", "GuardCount").objects.create(rule=made)


class Migration(migrations.Migration):
    dependencies = [("admission", "0003_budgets_are_held")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
