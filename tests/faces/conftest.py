"""A real browser for what people look at: Debian's Chromium, headless, driven by Playwright."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gfscore.paper import published_audit
from gfscore.results import Audit

ARTEFACTS = Path(__file__).parents[1] / "artefacts"  # screenshots and printed pages, for people to look at
AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
AT_HOME = {"", "127.0.0.1", "::1", "localhost"}  # a file, a data URL or this machine
SERIOUS = {"serious", "critical"}


def _missing(what: str) -> None:
    """Skip where a tool is not installed, but never where the tests decide whether a change lands."""
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing: .ci/run installs it")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="module")  # not longer: Playwright's event loop stays open and would meet that of other tests
def browser() -> Iterator[Any]:
    executable = shutil.which("chromium")
    if executable is None:
        _missing("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages with the options of a context; at the end none may have complained or asked another host."""
    contexts, complaints = [], []

    def ask(url: str) -> None:
        if (urlsplit(url).hostname or "") not in AT_HOME:
            complaints.append(f"outside request: {url}")

    def note(message: Any) -> None:
        if message.type == "error":
            complaints.append(f"console: {message.text}")

    def opened(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: ask(request.url))
        page.on("websocket", lambda socket: ask(socket.url))
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
        page.complaints = complaints
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def page(open_page: Callable[..., Any]) -> Any:
    return open_page()


@pytest.fixture
def artefact(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Where to keep a picture of this test: ``artefact("dark.png")``."""

    def path(name: str) -> Path:
        ARTEFACTS.mkdir(exist_ok=True)
        test = re.sub(r"[^\w.-]+", "-", request.node.name)
        return ARTEFACTS / f"{test}-{name}"

    return path


@pytest.fixture
def accessibility() -> Callable[..., list[str]]:
    """What axe-core finds serious in a page, or in the part of it that a selector names."""
    if not AXE.is_file():
        _missing("axe-core")

    def violations(page: Any, selector: str | None = None) -> list[str]:
        page.evaluate(AXE.read_text(encoding="utf-8"))  # not a script element, which the page's policy would refuse
        found = page.evaluate("selector => axe.run(selector ?? document)", selector)["violations"]
        return [
            f"{violation['id']}: {node['html'][:200]} ({node['failureSummary']})"
            for violation in found
            if violation["impact"] in SERIOUS
            for node in violation["nodes"]
        ]

    return violations


@pytest.fixture(scope="session")
def zoo(demo: Any) -> Audit:
    """The audit that the demo writes."""
    return Audit.load(demo.folder / "audit.json")


@pytest.fixture(scope="session")
def results(zoo: Audit) -> dict[str, Audit]:
    """That of the zoo, and the paper's: 17 models on 10 classes, 5 on 1,000."""
    return {"zoo": zoo, "cifar10": published_audit("cifar10"), "imagenet": published_audit("imagenet")}
