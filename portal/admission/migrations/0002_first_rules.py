"""The rules that Slicewise begins with."""

import pgtrigger
from django.db import migrations
from django.utils import timezone

RULES = [
    {
        "name": "admin-access",
        "kind": "admin-access",
        "mode": "deny",
        "params": {"maxClaims": 32},
        "failure_policy": "Fail",
    },
    {
        "name": "diagnostics",
        "kind": "diagnostics",
        "mode": "deny",
        "params": {},
        "failure_policy": "Ignore",
    },
]


def make(apps, schema_editor):
    rule = apps.get_model("admission", "GuardRule")
    count = apps.get_model("admission", "GuardCount")
    # What ships with the product is nobody's act: the trail begins after it.
    with pgtrigger.ignore():
        for each in RULES:
            made = rule.objects.create(
                **each, changed_by="slicewise", changed_at=timezone.now()
            )
            count.objects.create(rule=made)


class Migration(migrations.Migration):
    dependencies = [("admission", "0001_initial")]
    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
