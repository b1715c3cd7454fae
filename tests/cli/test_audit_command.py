"""``gfscore audit`` as a user runs it."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from gfscore import Audit, audit, views
from gfscore.cli.main import run
from gfscore.jobs.named_files import model_names


@pytest.fixture
def logits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    values = rng.normal(0, 1, (90, 3)).astype(np.float32)
    values[np.arange(90), labels] += np.array([3.0, 1.0, 0.2])[labels]
    np.savez("net.npz", logits=values, labels=labels, class_names=["ant", "[red]bee", "cow"])
    return values, labels


def test_prints_the_profile_and_writes_the_result(logits, tmp_path, capsys):
    assert run(["audit", "net.npz"]) == 0
    text = capsys.readouterr().out
    result = Audit.load(tmp_path / "gfscore-audit" / "audit.json")
    model = result.model
    assert "net: 90 samples, 3 classes, clean accuracy" in text
    assert "[red]bee" in text  # a name is text, never markup
    assert f"Least protected: {model.wcr.class_} at {model.wcr.value:.3f}." in text
    for entry in model.classes:
        assert views.estimate(entry.score, entry.interval) in text
    assert "Not a certificate." in text
    assert "Written: gfscore-audit/audit.json" in text


def test_agrees_with_the_python_function(logits, capsys):
    assert run(["audit", "net.npz", "--temperature", "2", "--fairness-weight", "0.3", "--delta", "0.1", "--json"]) == 0
    model = Audit.from_json(capsys.readouterr().out).model
    values, labels = logits
    expected = audit(
        values,
        labels,
        class_names=["ant", "[red]bee", "cow"],
        temperature=2,
        fairness_weight=0.3,
        delta=0.1,
        name="net",
    ).model
    assert model.model_copy(update={"samples": expected.samples}) == expected


def test_json_writes_no_file_unless_asked(logits, tmp_path, capsys):
    assert run(["audit", "net.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "gfscore.audit/1"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.npz"]
    assert run(["audit", "net.npz", "--json", "--out", "here"]) == 0
    assert (tmp_path / "here" / "audit.json").read_text() != ""


def test_quiet_prints_nothing(logits, tmp_path, capsys):
    assert run(["audit", "net.npz", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "gfscore-audit" / "audit.json").exists()


def test_several_files_make_a_table_of_models(logits, monkeypatch, capsys):
    values, labels = logits
    np.savez("other.npz", logits=values / 3, labels=labels)
    monkeypatch.setenv("COLUMNS", "200")
    assert run(["audit", "net.npz", "other.npz"]) == 0
    text = capsys.readouterr().out
    result = Audit.load("gfscore-audit/audit.json")
    assert [model.name for model in result.models] == ["net", "other"]
    for model in result.models:
        line = next(line for line in text.splitlines() if line.startswith(f"{model.name} "))
        for key in ("wcr", "rdi", "nrgc", "fp_great"):
            assert views.metric_text(model, key) in line  # with its interval
        assert f" {model.wcr.class_} " in line


def test_provenance_has_hash_command_and_versions(logits, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["gfscore", "audit", "net.npz", "--json"])
    assert run(sys.argv[1:]) == 0
    provenance = json.loads(capsys.readouterr().out)["provenance"]
    assert provenance["command"] == "gfscore audit net.npz --json"
    assert len(provenance["inputs"]["net.npz"]) == 64
    assert provenance["numpy"] == np.__version__


def test_per_sample_rows_hold_no_formula(logits, tmp_path):
    values, labels = logits
    hostile = ["=cmd|' /C calc'!A1", "+1+1", "-2+3", "@SUM(1)", "\n=1+1", "＝1+1", "＋1", "－1", "＠SUM(1)"]
    ids = [*hostile, *(f"s{row}" for row in range(len(hostile), len(labels)))]
    np.savez("=net.npz", logits=values, labels=labels, sample_ids=ids, class_names=["=HYPERLINK(1)", "b", "c"])
    assert run(["audit", "./=net.npz", "--per-sample", "rows.csv", "-q"]) == 0
    with (tmp_path / "rows.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    texts = [cell for row in rows for name, cell in zip(header, row, strict=True) if name != "score"]
    assert [cell for cell in texts if cell[:1] in "=+-@\n＝＋－＠"] == []
    assert [row[header.index("sample_id")] for row in rows[: len(hostile)]] == [f"'{name}" for name in hostile]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_per_sample_rows_average_to_the_profile(logits, tmp_path, suffix):
    path = tmp_path / f"rows.{suffix}"
    assert run(["audit", "net.npz", "--per-sample", str(path), "-q"]) == 0
    if suffix == "csv":
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        rows = pytest.importorskip("pandas").read_parquet(path).to_dict("records")
    assert len(rows) == 90
    assert set(rows[0]) == {"model", "sample_id", "label", "predicted", "correct", "score"}
    for entry in Audit.load("gfscore-audit/audit.json").classes:
        scores = [float(row["score"]) for row in rows if row["label"] == entry.name]
        assert sum(scores) / len(scores) == pytest.approx(entry.score, abs=1e-12)
        correct = [str(row["correct"]) == "True" for row in rows if row["label"] == entry.name]
        assert sum(correct) / len(correct) == pytest.approx(entry.accuracy)


def test_groups_from_a_file(logits, tmp_path, capsys):
    (tmp_path / "groups.txt").write_text("\n".join("day" if row % 5 else "night" for row in range(90)))
    assert run(["audit", "net.npz", "--groups", "groups.txt", "--per-sample", "rows.csv"]) == 0
    model = Audit.load("gfscore-audit/audit.json").model
    assert model.partition == "group"
    assert [(entry.name, entry.n) for entry in model.classes] == [("day", 72), ("night", 18)]
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].endswith(",group")


def test_names_that_move_the_cursor_are_spelled_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("m.npz", logits=[[3.0, 1.0], [0.0, 1.0]], labels=[0, 1], class_names=["\x1b[2Jgone", "b"])
    assert run(["audit", "m.npz"]) == 0
    assert "\x1b[2J" not in capsys.readouterr().out


def test_an_audit_can_be_repeated_over_its_old_result(logits, tmp_path):
    for _ in range(2):
        assert run(["audit", "net.npz", "-q"]) == 0
    assert [path.name for path in (tmp_path / "gfscore-audit").iterdir()] == ["audit.json"]


def test_a_reader_that_stops_early_is_no_error(logits):
    command = f"{sys.executable} -m gfscore audit net.npz --json | head -c 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["a.npz"], ["a"]),
        (["x/a.npz", "y/a.npz", "b.npz"], ["x/a", "y/a", "b"]),
        (["p/x/a.npz", "q/x/a.npz"], ["p/x/a", "q/x/a"]),
        (["a.npz", "a.csv"], ["a.npz", "a.csv"]),
    ],
)
def test_models_are_named_by_what_tells_their_files_apart(paths, names, tmp_path):
    assert list(model_names([tmp_path / path for path in paths])) == names
