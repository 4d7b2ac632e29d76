"""`manage.py load_presets`: the presets that come with the product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from claims.models import Preset
from claims.services import kept_yaml, yaml_text
from claims.services.preset_editing import Change, content_of, make_preset

FOLDER = Path(__file__).resolve().parents[2] / "presets"


class Command(BaseCommand):
    """Add the shipped presets; those that are there stay as people made them."""

    help = "Add the shipped presets to the catalogue; those that are there stay."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Add what is not there, and say how many that were."""
        known = set(Preset.objects.values_list("name", flat=True))
        added = 0
        for path in sorted(FOLDER.glob("*.yaml")):
            if path.stem in known:
                continue
            body = kept_yaml.plain(
                yaml_text.load(path.read_text(encoding="utf-8")).body
            )
            by = Change("load_presets", timezone.now())
            make_preset(path.stem, content_of(body), by)
            added += 1
        if options["verbosity"] > 1:
            self.stdout.write(f"{added} presets added.")
