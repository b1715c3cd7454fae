"""Look at the report of the zoo as readers do: ``python scripts/photograph_report.py FOLDER``.

Needs Chromium. The report is that of the zoo on its test images, as ``gfscore demo`` writes it.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from gfscore.jobs.experiments import TEST, audit_zoo
from gfscore.jobs.options import RunOptions
from gfscore.outputs import report

# A browser draws sections when they are scrolled to, and a picture of the whole page scrolls nowhere.
DRAW_ALL = "document.querySelectorAll('.model').forEach(each => each.style.contentVisibility = 'visible')"
SIZES = {"wide": {"width": 1080, "height": 900}, "phone": {"width": 400, "height": 800}}


def main(folder: Path) -> None:
    """The whole page, light and dark, wide and on a phone; and as PDF."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as store, sync_playwright() as playwright:
        path = Path(store) / "report.html"
        path.write_text(report.html(audit_zoo([TEST], RunOptions(store=Path(store)))), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for name, size in SIZES.items():
            for scheme in ("light", "dark"):
                page = browser.new_page(viewport=size, color_scheme=scheme)
                page.goto(path.as_uri())
                page.evaluate(DRAW_ALL)
                page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
        page.pdf(path=folder / "report.pdf", format="A4")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
