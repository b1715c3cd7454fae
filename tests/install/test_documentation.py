"""The README shows what its commands print, the site builds without a warning, and its guides do what they say."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import readme_examples

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("with_models", [False, True])
def test_the_readme_shows_what_its_commands_print(with_models, request):
    folder = request.getfixturevalue("realdata") if with_models else None
    text = readme_examples.README.read_text(encoding="utf-8")
    assert len(readme_examples.BLOCK.findall(text)) == 2
    assert readme_examples.refreshed(folder).splitlines() == text.splitlines()


def test_the_site_builds_without_a_warning_and_every_command_in_it_does_what_the_text_says(tmp_path):
    """One test: the build runs the commands of all pages, and one that fails unannounced is an error."""
    pytest.importorskip("mkdocs")
    site = tmp_path / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}
    assert {"index.html", *(f"{name}/index.html" for name in ("quickstart", "reproduction", "cli", "api"))} <= pages
    method = (site / "method" / "index.html").read_text(encoding="utf-8")
    assert "<math" in method
    assert "\\frac" not in method
    guide_holds(sections_of(site / "pipeline" / "index.html"))
    integrations = text_of((site / "integrations" / "index.html").read_text(encoding="utf-8"))
    assert "zoo:trades is not robust enough (FAIL)" in integrations
    assert "model-index:" in integrations


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", page))


def sections_of(page: Path) -> dict[str, str]:
    """Title and text of the numbered sections of a page."""
    parts = re.findall(r"<h2 id=[^>]*>(\d.*?)<a .*?</h2>(.*?)(?=<h2|</article>)", page.read_text("utf-8"), re.DOTALL)
    return {text_of(title): text_of(content) for title, content in parts}


def guide_holds(sections: dict[str, str]) -> None:
    judged = sections["3. Judge a model"]
    assert re.findall(r"^(PASS|FAIL|UNDECIDED)  ", judged, re.MULTILINE) == ["PASS", "FAIL"]
    assert "radii instead of 900 would decide" in " ".join(sections["4. When the data cannot tell"].split())
    passes = re.search(r"after\s+(\d+)\s+of\s+900\s", sections["5. Do not pay for more than the verdict"])
    assert int(passes[1]) < 450
    assert "PASS  awp" in sections["6. Hold a version against the one before"]
    shown = sections["7. Let the CI system show it"]
    assert '<testsuites name="gfscore gate" tests="3" failures="0"' in shown
    assert "Robustness gate: PASS" in shown
    assert "Written: model-card.md" in sections["8. Hand on what was found"]


def test_the_guide_has_no_command_but_the_installation_that_is_not_run():
    text = (ROOT / "docs" / "pipeline.md").read_text(encoding="utf-8")
    unrun = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert [line.partition("#")[0].strip() for line in unrun] == ["$ pip install gfscore"]
