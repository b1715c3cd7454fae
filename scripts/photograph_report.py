"""Photograph the report for ``docs/report.md`` and the README: ``python scripts/photograph_report.py``.

Needs Chromium. The report is that of the zoo on its test images, as ``gfscore demo`` writes it.
"""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from draw_figures import shrink
from gfscore.jobs.experiments import TEST, audit_zoo
from gfscore.jobs.options import RunOptions
from gfscore.outputs import report

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "report"
SIZE = {"width": 1080, "height": 760}


def photograph(page: Page, name: str, heading: str, *, point_at: str | None = None) -> None:
    """What a reader sees below a heading, pointing at something there or at nothing."""
    page.evaluate("id => document.getElementById(id).scrollIntoView()", heading)
    if point_at is None:
        page.mouse.move(0, 0)
    else:
        page.hover(point_at)
    page.screenshot(path=FOLDER / f"{name}.png")
    shrink(FOLDER / f"{name}.png")


def main() -> None:
    """The page as it opens, two models side by side, and the temperature in the dark."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as store, sync_playwright() as playwright:
        path = Path(store) / "report.html"
        path.write_text(report.html(audit_zoo([TEST], RunOptions(store=Path(store)))), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport=SIZE, color_scheme=scheme, device_scale_factor=1.5)
            page.goto(path.as_uri())
            page.select_option("#model", label="pgd-large")
            if scheme == "light":
                photograph(page, "verdict", "h-verdict")
                page.select_option("#beside", label="awp")
                photograph(page, "beside", "h-profile", point_at="#profile .row >> nth=1")
            else:
                page.locator("#slider").fill("85")
                photograph(page, "temperature", "h-temperature")
        browser.close()


if __name__ == "__main__":
    main()
