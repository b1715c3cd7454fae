"""``gfscore report``: each form, where it goes, and that a failed one leaves the old file."""

import re
import shutil

import numpy as np
import pytest

from gfscore import audit
from gfscore.cli.main import run
from gfscore.cli.output_commands import FIGURE_NAMES
from gfscore.cli.written import check_free
from gfscore.outputs import report
from gfscore.outputs.figures import ALL_FIGURES
from gfscore.outputs.report.pdf_report import BROWSERS
from gfscore.results import Audit


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, labels = np.random.default_rng(0), np.arange(60) % 3
    made = audit(rng.normal(0, 1, (60, 3)) + 2 * np.eye(3)[labels], labels)
    made.save("audit.json")
    return made


@pytest.mark.parametrize(
    ("form", "write", "name"),
    [
        ("html", report.html, "report.html"),
        ("md", report.markdown, "report.md"),
        ("model-card", report.model_card, "model-card.md"),
    ],
)
def test_each_form_has_its_file(result, tmp_path, capsys, form, write, name):
    assert run(["report", "audit.json", "--format", form]) == 0
    assert capsys.readouterr().out == f"Written: {name}\n"
    assert (tmp_path / name).read_text(encoding="utf-8") == write(Audit.load("audit.json"))
    assert run(["report", "audit.json", "--format", form, "--out", "there/r.txt", "-q"]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "there/r.txt").read_bytes() == (tmp_path / name).read_bytes()


def test_keys_of_a_later_version_are_ignored(result, tmp_path):
    text = result.to_json().replace('"schema"', '"news": {"x": 1}, "schema"', 1)
    (tmp_path / "audit.json").write_text(text)
    assert run(["report", "audit.json", "-q"]) == 0


def test_a_failed_report_leaves_the_old_one(result, tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr("gfscore.storage.files.os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    assert run(["report", "audit.json", "--force"]) == 4
    assert (tmp_path / "report.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.json", "report.html"]


@pytest.fixture
def two(result, tmp_path):
    for folder in ("a", "b"):
        result.save(tmp_path / folder / "audit.json")


def test_folders_and_several_audits_are_one_report(two, tmp_path):
    assert run(["report", "a", "-q"]) == 0
    assert run(["report", "a", "b/audit.json", "-o", "both.md", "-q"]) == 0
    text = (tmp_path / "both.md").read_text(encoding="utf-8")
    assert re.findall("^## (.*)$", text, re.MULTILINE) == ["model (a)", "model (b)", "How it was made"]
    assert run(["table", "a", "b", "--rows", "models", "--format", "csv", "-o", "both.csv"]) == 0
    assert "model (b)" in (tmp_path / "both.csv").read_text(encoding="utf-8")


def test_the_ending_says_how_it_is_written(two, tmp_path, capsys):
    assert run(["report", "a", "-o", "r.md", "-q"]) == 0
    assert (tmp_path / "r.md").read_text(encoding="utf-8").startswith("# Robustness by class")
    assert run(["report", "a", "-o", "r.txt"]) == 2
    assert "has the ending '.txt', which does not say what to write" in capsys.readouterr().err
    assert run(["report", "a", "-o", "r.pdf", "--format", "html"]) == 2
    assert "reads like pdf, and --format is html" in capsys.readouterr().err


def test_a_pdf_needs_a_browser(two, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("gfscore.outputs.report.pdf_report.shutil.which", lambda _: None)
    assert run(["report", "a", "-o", "r.pdf"]) == 2
    assert "a PDF is printed by Chromium, Chrome or Edge, and none is on the PATH." in capsys.readouterr().err
    assert not (tmp_path / "r.pdf").exists()


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no browser that prints")
def test_a_pdf(two, tmp_path, capsys):
    assert run(["report", "a", "-o", "r.pdf", "-q"]) == 0
    assert (tmp_path / "r.pdf").read_bytes().startswith(b"%PDF-")
    assert check_free(tmp_path / "r.pdf", force=False)  # ours


def test_only_files_of_gfscore_are_replaced_and_that_is_said(two, tmp_path, capsys):
    assert run(["report", "a", "-q"]) == 0
    assert run(["report", "a"]) == 0
    assert capsys.readouterr().err == "gfscore: report.html replaced an earlier file of that name.\n"
    (tmp_path / "mine.html").write_text("my own page")
    assert run(["report", "a", "-o", "mine.html"]) == 2
    said = "is there already, and nothing in it says that gfscore wrote it. Choose another --out, or say --force."
    assert capsys.readouterr().err == f"gfscore: mine.html: {said}\n"
    assert (tmp_path / "mine.html").read_text() == "my own page"
    assert run(["report", "a", "-o", "mine.html", "--force", "-q"]) == 0


def test_a_result_goes_to_a_file_or_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("net.npz", logits=np.random.default_rng(0).normal(0, 1, (60, 3)), labels=np.arange(60) % 3)
    assert run(["audit", "net.npz", "-o", "x.json", "-q"]) == 0
    assert (tmp_path / "x.json").is_file()
    (tmp_path / "y.json").write_text("{}")
    assert run(["audit", "net.npz", "-o", "y.json", "-q"]) == 2
    assert run(["gate", "net.npz", "--rdi", "1.2", "-o", "g.json"]) == 2
    assert "reads like a file, and gate.json and audit.json are written. Name a folder." in capsys.readouterr().err


def test_figures_that_draw_nothing_are_an_error(two, capsys):
    assert tuple(ALL_FIGURES) == FIGURE_NAMES
    assert run(["figures", "a", "--only", "calibration"]) == 2
    assert "nothing was drawn. calibration: this result has no calibration curve." in capsys.readouterr().err


def test_audits_by_two_scores_are_not_joined(result, tmp_path, capsys):
    score = result.model.score.model_copy(update={"name": "other"})
    for name, each in {"a": result.model, "b": result.model.model_copy(update={"score": score})}.items():
        result.model_copy(update={"models": (each,)}).save(tmp_path / f"{name}.json")
    assert run(["report", "a.json", "b.json"]) == 2
    assert "the audits are by different scores, great (a.json) and other (b.json)" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert run(["report", "empty"]) == 2
    assert "empty: is a folder without audit.json" in capsys.readouterr().err
