"""`manage.py calibrate_advisor`: thresholds from what came of claims."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from portal.admission.domain.drawing import svg_of
from portal.admission.services.calibrating import make_calibration
from portal.admission.services.outcomes import look
from portal.core.commands import PortalCommand


class Command(PortalCommand):
    """Calibrate, store, and draw; nothing is switched on by it."""

    help = (
        "Choose the advisor's thresholds for a precision, on outcomes that are known."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the precision wanted, and where to draw."""
        parser.add_argument("--precision", type=float, default=0.9)
        parser.add_argument("--by", default="command", help="for the record")
        parser.add_argument("--svg", metavar="FOLDER", help="write both curves there")

    def handle(self, *args: Any, **options: Any) -> None:
        """Calibrate; print it as JSON, with the table of each curve."""
        now = timezone.now()
        look(now=now)
        made = make_calibration(
            precision=options["precision"], by=options["by"], now=now
        )
        if options["svg"]:
            folder = Path(options["svg"])
            folder.mkdir(parents=True, exist_ok=True)
            for name in ("unsafe", "fallback"):
                text = svg_of(
                    made.document[f"{name}_curve"], f"Precision and recall, {name}"
                )
                (folder / f"{name}.svg").write_text(text)
        self.write_json(
            {
                "id": str(made.public_id),
                "digest": made.digest,
                "from": made.first_at,
                "to": made.last_at,
                **made.document,
            }
        )
