"""Take the documentation's pictures from a running demo, light and dark.

python scripts/pictures.py [http://localhost:8000] [NAME…]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from portal.demo.people import PEOPLE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from portal.demo.people import Person

ADA = next(each for each in PEOPLE if each.tenant)
DORA = next(each for each in PEOPLE if "admin" in each.roles)
FOLDER = Path(__file__).resolve().parent.parent / "docs" / "img"
# Name → who looks, at what.
PICTURES = {
    "gpus": (ADA, "/c/demo/gpus/?q=gpu-h100-mig"),
    "compose": (ADA, "/c/demo/compose/?preset=hopper-shares"),
    "overview": (ADA, "/c/demo/"),
    "presets": (ADA, "/c/demo/presets/"),
    "card": (ADA, "/c/demo/devices/gpu.nvidia.com/gpu-h100-mig/gpu-0-mig-1g10gb-19-0/"),
    "pool": (ADA, "/c/demo/pools/gpu.nvidia.com/gpu-h100-mig/"),
    "devices": (ADA, "/c/demo/devices/?attribute=gpu.nvidia.com/productName"),
    "pools": (ADA, "/c/demo/pools/"),
    "classes": (ADA, "/c/demo/classes/"),
    "claims": (ADA, "/c/demo/claims/"),
    "claim": (ADA, "/c/demo/claims/ai-serving/attached/"),
    "domains": (ADA, "/c/demo/domains/"),
    "clusters": (DORA, "/clusters/"),
    "history": (ADA, "/c/demo/history/?by=product"),
    "budgets": (DORA, "/budgets/"),
    "adoption": (DORA, "/c/demo/adoption/"),
}
Theme = Literal["light", "dark"]
THEMES: dict[Theme, str] = {"light": "", "dark": "-dark"}


def main(address: str, names: list[str]) -> int:
    """Write each picture, or those named, into docs/img."""
    if unknown := set(names) - set(PICTURES):
        sys.stderr.write(
            f"No such picture: {', '.join(sorted(unknown))}; there are"
            f" {', '.join(PICTURES)}.\n"
        )
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = {name: PICTURES[name] for name in names or PICTURES}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for person in (ADA, DORA):
            paths = {n: path for n, (who, path) in wanted.items() if who == person}
            for theme in THEMES:
                _take(browser, address, person, paths, theme)
        browser.close()
    return 0


def _take(
    browser: Browser, address: str, person: Person, paths: dict[str, str], theme: Theme
) -> None:
    """Take one person's pictures in one theme."""
    page = browser.new_page(
        viewport={"width": 1360, "height": 820}, color_scheme=theme, locale="en-GB"
    )
    _sign_in(page, address, person)
    for name, path in paths.items():
        answer = page.goto(address + path)
        if answer is None or not answer.ok:
            raise SystemExit(f"{path} is not there: the demo is another one.")
        page.wait_for_timeout(1500)
        # A long navigation is scrolled to its entry, and takes the page with it.
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=FOLDER / f"{name}{THEMES[theme]}.png")
    page.close()


def _sign_in(page: Page, address: str, person: Person) -> None:
    page.goto(f"{address}/sign-in/")
    page.fill("[name=username]", person.username)
    page.fill("[name=password]", person.password)
    page.click("main button")
    page.wait_for_url("**/c/demo/")


if __name__ == "__main__":
    given = sys.argv[1:] or ["http://localhost:8000"]
    raise SystemExit(main(given[0].rstrip("/"), given[1:]))
