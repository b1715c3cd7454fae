"""The README shows what the program prints, and the site builds without a warning."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gfscore.cli.main import run

ROOT = Path(__file__).parents[2]


def made_up_network(path):
    """The network of the quickstart, which knows cows least."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 3
    logits = rng.normal(0, 1, (600, 3))
    logits[np.arange(600), labels] += np.array([4, 2, 0.5])[labels]
    np.savez(path, logits=logits, labels=labels, class_names=["ant", "bee", "cow"])


def test_the_readme_shows_what_audit_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    made_up_network("net.npz")
    assert run(["audit", "net.npz"]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    shown = re.search(r"\$ gfscore audit net\.npz\n(net:.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = shown[1].rstrip().splitlines()
    assert lines == printed[: len(lines)]


def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    pages = {page.relative_to(tmp_path / "site").as_posix() for page in (tmp_path / "site").rglob("*.html")}
    assert {
        "index.html",
        "quickstart/index.html",
        "reproduction/index.html",
        "cli/index.html",
        "api/index.html",
    } <= pages
    method = (tmp_path / "site" / "method" / "index.html").read_text()
    assert "<math" in method
    assert "\\frac" not in method
