"""``gfscore report``: each form, where it goes, and that a failed one leaves the old file."""

import numpy as np
import pytest

from gfscore import audit
from gfscore.cli.main import run
from gfscore.outputs import report
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
    assert run(["report", "audit.json"]) == 4
    assert (tmp_path / "report.html").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.json", "report.html"]
