"""Take the README's pictures from a running demo.

python scripts/pictures.py [http://localhost:8000]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from portal.demo.people import PEOPLE

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "img"
PICTURES = {
    "gpus": "/c/demo/gpus/?q=gpu-h100-mig",
    "compose": "/c/demo/compose/",
    "overview": "/c/demo/",
    "card": "/c/demo/devices/gpu.nvidia.com/gpu-h100-mig/gpu-0-mig-1g10gb-19-0/",
    "pool": "/c/demo/pools/gpu.nvidia.com/gpu-h100-mig/",
    "classes": "/c/demo/classes/",
    "history": "/c/demo/history/?by=product",
}
ADA = PEOPLE[0]


def main(address: str) -> int:
    """Write each picture into docs/img."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1200, "height": 760})
        _sign_in(page, address)
        for name, path in PICTURES.items():
            page.goto(address + path)
            page.wait_for_timeout(500)
            page.screenshot(path=FOLDER / f"{name}.png")
        browser.close()
    return 0


def _sign_in(page: Page, address: str) -> None:
    page.goto(f"{address}/sign-in/")
    page.fill("[name=username]", ADA.username)
    page.fill("[name=password]", ADA.password)
    page.click("main button")
    page.wait_for_url("**/c/demo/")


if __name__ == "__main__":
    raise SystemExit(main((sys.argv[1:] or ["http://localhost:8000"])[0].rstrip("/")))
