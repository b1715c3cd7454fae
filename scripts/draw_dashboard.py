"""Take the screenshots of ``docs/dashboard.md``: ``python scripts/draw_dashboard.py`` (needs chromium and Playwright).

The dashboard is started as a user would, on the embedded zoo, and driven in a headless browser.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "dashboard"
WIDTH, PHONE = 1400, 400
PATIENCE = 300_000  # ms
LOADED = """() => !document.querySelector('[data-testid="stSkeleton"]')
    && [...document.images].every(image => image.complete && image.naturalWidth)"""


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def wait_for(url: str) -> None:
    """Until the server answers."""
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health"):
                return
        except urllib.error.URLError:
            time.sleep(0.1)
    raise TimeoutError(url)


def settled(page: Any) -> None:
    """Until the script has run and the charts stand."""
    page.wait_for_timeout(1000)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]', timeout=120_000)
    page.wait_for_function(LOADED, timeout=120_000)
    page.wait_for_timeout(1500)


def take(page: Any, name: str, height: int, width: int = WIDTH) -> None:
    """The top of the page, as a picture of few colours."""
    page.set_viewport_size({"width": width, "height": height})
    settled(page)
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)
    print(f"{name}.png, {path.stat().st_size / 1e3:.0f} kB")


def drive(page: Any, url: str) -> None:
    """What a user would do."""
    page.goto(url)
    page.get_by_text("Worst class:").wait_for(timeout=PATIENCE)
    page.get_by_text("Measuring radii").wait_for(state="detached", timeout=PATIENCE)
    settled(page)
    size = page.get_by_role("slider", name="Size of the attack")
    size.focus()
    size.press("End")
    take(page, "model", 1435)
    page.get_by_role("tab", name="Compare models").click()
    page.get_by_text("What changes from one model to another").wait_for(timeout=PATIENCE)
    page.locator("canvas").first.wait_for(timeout=PATIENCE)  # the charts come after their headings
    take(page, "compare", 1500)
    page.get_by_role("tab", name="Repair").click()
    page.get_by_role("button", name="Find the trade-offs").click()
    page.get_by_text("Bias of each class (CSV)").wait_for(timeout=PATIENCE)
    page.mouse.move(0, 0)  # from the button, which has another colour below it
    take(page, "repair", 1560)


def drive_others(browser: Any, url: str) -> None:
    """The page in the dark, and on a phone."""
    dark = browser.new_context(color_scheme="dark", viewport={"width": WIDTH, "height": 1000}).new_page()
    dark.goto(url)
    dark.get_by_text("Worst class:").wait_for(timeout=PATIENCE)
    take(dark, "dark", 952)
    phone = browser.new_context(viewport={"width": PHONE, "height": 1000}).new_page()
    phone.goto(url)
    phone.get_by_text("Worst class:").wait_for(timeout=PATIENCE)
    take(phone, "phone", 1492, PHONE)


def main() -> None:
    """Start the dashboard on the zoo, drive it and take the pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as store, sync_playwright() as playwright:
        gfscore, kept = [sys.executable, "-m", "gfscore"], os.environ | {"GFSCORE_STORE": store}
        command = [*gfscore, "dashboard", "--port", str(port)]
        server = subprocess.Popen(command, env=kept)
        try:
            wait_for(f"http://127.0.0.1:{port}")
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            drive(browser.new_page(viewport={"width": WIDTH, "height": 1000}), f"http://127.0.0.1:{port}")
            drive_others(browser, f"http://127.0.0.1:{port}")
            browser.close()
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
