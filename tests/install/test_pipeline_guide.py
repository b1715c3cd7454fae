"""The guide to a gate, and the page of integrations: every command is run, and does what the text says."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("mkdocs")
pytest.importorskip("latex2mathml")

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def run_page():
    """What the build of the documentation does with a page: a command that fails unannounced is an error."""
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "build" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return lambda name: hooks.on_page_markdown((DOCS / name).read_text(encoding="utf-8"))


def test_the_guide_does_what_it_says(run_page):
    page = run_page("pipeline.md")
    sections = dict(part.split("\n", 1) for part in re.split(r"\n## (?=\d)", page)[1:])
    judged = sections["3. Judge a model"]
    assert re.findall(r"^(PASS|FAIL|UNDECIDED)  ", judged, re.MULTILINE) == ["PASS", "FAIL"]
    assert "samples instead of 900 would decide" in " ".join(sections["4. When the data cannot tell"].split())
    passes = re.search(r"after\s+(\d+)\s+of\s+900\s+forward", sections["5. Do not pay for more than the verdict"])
    assert int(passes[1]) < 450
    assert "PASS  candidate" in sections["6. Hold a version against the one before"]
    shown = sections["7. Let the CI system show it"]
    assert '<testsuites name="gfscore gate" tests="3" failures="0"' in shown
    assert "Robustness gate: PASS" in shown
    assert "Written: model-card.md" in sections["8. Hand on what was found"]


def test_the_guide_has_no_command_but_the_installation_that_is_not_run():
    text = (DOCS / "pipeline.md").read_text(encoding="utf-8")
    unrun = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert unrun == ["$ pip install gfscore\n"]


def test_the_page_of_integrations_runs(run_page):
    page = run_page("integrations.md")
    assert "zoo:trades is not robust enough (FAIL)" in page
    assert "model-index:" in page
