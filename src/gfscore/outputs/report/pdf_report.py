"""A report as PDF: its page, printed by a browser without a window."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from gfscore.errors import OptionError, RunError
from gfscore.storage import atomic_file

BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "msedge", "brave-browser"),
)
SECONDS = 120  # that printing may take
DRAWING = 10_000  # milliseconds, of the page's own clock, that its scripts may draw
MARK = b"% gfscore report\n"  # after the end, where readers ignore it: tells later that gfscore wrote the file


def find_browser() -> str:
    """The program that prints pages; refused with what to do where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise OptionError(
            "a PDF is printed by Chromium, Chrome or Edge, and none is on "
            "the PATH. Install one, or write the report as "
            ".html and print it from a browser."
        )
    return found


def write_pdf(path: Path, page: str) -> None:
    """Print a page into a file, whole or not at all."""
    browser = find_browser()
    with tempfile.TemporaryDirectory(prefix="gfscore-pdf-") as name, atomic_file(path) as target:
        folder = Path(name)
        (folder / "report.html").write_text(page, encoding="utf-8")
        printed = folder / "report.pdf"
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # it refuses root otherwise
        command = [
            *(browser, "--headless", "--disable-gpu", "--no-pdf-header-footer", *root),
            *(f"--user-data-dir={folder / 'profile'}", f"--virtual-time-budget={DRAWING}"),
            *(f"--print-to-pdf={printed}", (folder / "report.html").as_uri()),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise RunError(f"{browser} could not print the report ({error}). Write it as .html.") from error
        if not printed.is_file():
            raise RunError(f"{browser} ended with {done.returncode} and printed nothing. Write the report as .html.")
        target.write_bytes(printed.read_bytes().rstrip(b"\n") + b"\n" + MARK)
