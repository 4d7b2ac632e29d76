"""Thresholds of the advisor, tried by sliders: the figures beside them follow."""

from __future__ import annotations

import os
import subprocess
import sys

from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT

# Three claims that were let through: P(safe), and whether they had to wait.
STORE = """
from django.utils import timezone
from inventory.models import Cluster
from portal.admission.models import AdmissionDecision
for i, (safe, result) in enumerate([(0.2, "waited"), (0.5, "allocated"), (0.8, "waited")]):
    AdmissionDecision.objects.create(
        at=timezone.now(), cluster=Cluster.objects.get(name="demo"), kind="ResourceClaim",
        namespace="ai-training", name=f"c{i}", uid=f"tried-{i}", username="ada@orchid",
        outcome="admit", asked_digest="x", advisor_mode="shadow", result=result,
        exact_severity=1, advice={"safe": safe, "action": "admit_primary",
        "confidence": 0.5, "severity": 1.0},
    )
"""


def test_a_slider_recomputes_without_a_button(page: Page, demo, sign_in):
    subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", STORE],
        cwd=ROOT,
        env={**os.environ, "SLICEWISE_STATE_DIR": str(demo.state)},
        check=True,
    )
    sign_in(page, "dora@platform")
    page.goto("/admission/?safe=0.21&confidence=0.5&severity=1")
    row = page.get_by_role("row", name="Denied as unsafe")
    expect(row).to_contain_text("1 1.000 0.500", use_inner_text=True)

    slider = page.get_by_label("Least P(safe)")
    slider.fill("0.6")
    expect(row).to_contain_text("2 0.500 0.500", use_inner_text=True)
    expect(page.locator("output[for=tried-safe]")).to_have_text("0.60")

    slider.focus()
    page.keyboard.press("End")
    expect(row).to_contain_text("3 0.667 1.000", use_inner_text=True)
    # What is tried is what “as tried above” would set.
    expect(page.locator("#judged input[name=safe]")).to_have_value("1.0")
