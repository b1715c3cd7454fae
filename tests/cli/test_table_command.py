"""``gfscore table``: the numbers of the audit, in the clothes of another program."""

import csv
import io
import json

import numpy as np
import pytest

from gfscore import Samples, audit_models, views
from gfscore.cli.main import run
from gfscore.jobs.given_gradients import audit_first_order
from gfscore.results import Metric

HOSTILE = r"a_b & 50% | $x$ <i> \n"


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    labels = np.arange(60) % 3
    names = ["cat", HOSTILE, "=cmd()"]
    samples = {name: Samples.of(rng.normal(0, 2, (60, 3)), labels, class_names=names) for name in ("one", "two")}
    audit = audit_models(samples)
    audit.save("audit.json")
    return audit


def table(capsys, *options):
    assert run(["table", "audit.json", *options]) == 0
    return capsys.readouterr().out


def test_csv_keeps_every_digit(result, capsys):
    rows = list(csv.DictReader(io.StringIO(table(capsys, "--format", "csv", "--rows", "models"))))
    for row, model in zip(rows, result.models, strict=True):
        assert row["Model"] == model.name
        assert float(row["RDI"]) == model.rdi.value
        assert (float(row["WCR lower"]), float(row["WCR upper"])) == model.wcr.interval
        assert (float(row["NRGC lower"]), float(row["NRGC upper"])) == model.nrgc.interval


def test_csv_says_what_was_refuted_and_where_it_abstained(result, capsys):
    def tried(model, share):
        claim = model.claim.model_copy(update={"radius_refuted_share": share, "radius_refuted_interval": (0.1, 0.9)})
        refuted = {"refuted": Metric(value=share, interval=(0.0, 1.0)), "abstained": 0.25}
        classes = tuple(entry.model_copy(update=refuted) for entry in model.classes)
        return model.model_copy(update={"claim": claim, "classes": classes})

    assert "Radii refuted" not in table(capsys, "--format", "csv", "--rows", "models")
    one, two = result.models
    result.model_copy(update={"models": (tried(one, 0.61), two)}).save("audit.json")
    rows = list(csv.DictReader(io.StringIO(table(capsys, "--format", "csv", "--rows", "models"))))
    assert [row["Radii refuted"] for row in rows] == ["0.61", ""]
    assert rows[0]["Radii refuted lower"] == "0.1"
    rows = list(csv.DictReader(io.StringIO(table(capsys, "--format", "csv", "--rows", "classes"))))
    assert [row["Radii refuted"] for row in rows] == ["0.61"] * 3 + [""] * 3
    assert rows[0]["Abstained"] == "0.25"


def test_csv_names_are_no_formulas(result, capsys):
    rows = list(csv.DictReader(io.StringIO(table(capsys, "--format", "csv", "--rows", "classes"))))
    assert {row["Class"] for row in rows} == {"cat", HOSTILE, "'=cmd()"}


def test_markdown_has_the_estimates_and_stays_a_table(result, capsys):
    text = table(capsys, "--rows", "classes")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 6
    assert {line.replace("\\|", "").count("|") for line in lines} == {8}
    entry = result.models[0].classes[0]
    assert views.estimate(entry.score, entry.interval) in lines[2]
    assert "&lt;i>" in text


def test_matrix_has_a_column_per_class(result, capsys):
    text = table(capsys, "--format", "csv", "--rows", "matrix")
    header, first, _ = csv.reader(io.StringIO(text))
    assert header == ["Model", "cat", HOSTILE, "'=cmd()", "GREAT"]
    assert [float(cell) for cell in first[1:4]] == [entry.score for entry in result.models[0].classes]


def test_latex_is_booktabs_with_escaped_names(result, capsys):
    text = table(capsys, "--format", "latex", "--rows", "classes", "--digits", "2")
    for command in (r"\toprule", r"\midrule", r"\bottomrule"):
        assert command in text
    assert r"a\_b \& 50\% \textbar{} \$x\$ \textless{}i\textgreater{} \textbackslash{}n" in text
    entry = result.models[0].classes[0]
    assert f"{entry.score:.2f} [{entry.interval[0]:.2f}, {entry.interval[1]:.2f}]" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {line.replace(r"\&", "").count("&") for line in rows} == {6}


def test_default_layout_follows_the_number_of_models(result, capsys):
    assert table(capsys).startswith("| Model | Accuracy |")
    np.savez("m.npz", logits=[[3.0, 1.0], [0.0, 1.0]], labels=[0, 1])
    run(["audit", "m.npz", "-q", "--out", "."])
    assert table(capsys).startswith("| Class | n |")


def test_out_writes_a_file(result, tmp_path, capsys):
    assert table(capsys, "-o", "table.md") == ""
    printed = table(capsys)
    assert (tmp_path / "table.md").read_text() == f"{printed}\n<!-- gfscore table -->\n"


def test_a_number_that_does_not_exist_is_a_dash(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("m.npz", logits=[[0.0, 2.0], [2.0, 0.0]], labels=[0, 1])
    run(["audit", "m.npz", "-q", "--out", "."])
    assert "| – |" in table(capsys, "--rows", "models")


def test_latex_rows_are_no_option_of_the_line_before(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    audit_models({"m": Samples.of([[3.0, 1.0], [0.0, 1.0]], [0, 1], class_names=["[3cm]", "*"])}).save("audit.json")
    text = table(capsys, "--format", "latex")
    assert "    {}[3cm] & 1 &" in text
    assert "    {}* & 1 &" in text


@pytest.mark.parametrize("form", ["latex", "markdown", "csv"])
@pytest.mark.parametrize("layout", ["models", "classes", "matrix"])
def test_a_strange_result_file_still_makes_one_table(result, capsys, tmp_path, form, layout):
    data = json.loads(result.to_json())
    for model in data["models"]:
        model["score"] |= {"name": "x\n\\input{y}<b>", "activation": None, "temperature": None}
        model["classes"][0]["name"] = "two\nlines"
    (tmp_path / "audit.json").write_text(json.dumps(data))
    text = table(capsys, "--format", form, "--rows", layout)
    assert "\n\\input" not in text
    assert "\n\\INPUT" not in text
    assert "<B>" not in text or form == "latex"  # where it stands in a comment
    assert "None" not in text
    if form != "csv":
        assert "two\nlines" not in text


def test_robust_accuracy_has_columns_in_both_layouts(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    weights, labels = 4 * np.eye(3), np.arange(30) % 3
    images = np.clip(0.4 * np.eye(3)[labels] + np.random.default_rng(0).uniform(0, 0.3, (30, 3)), 0, 1)
    audit = audit_first_order(
        lambda x: x @ weights, images, labels, norm="linf", max_radius=1, eps=0.11,
        gradients=lambda x, y, rivals: weights[y][:, None] - weights[rivals],
    )  # fmt: skip
    audit.save("audit.json")
    rung = audit.model.robustness.headline
    rows = {}
    for layout in ("models", "classes"):
        assert run(["table", "audit.json", "--rows", layout, "--format", "csv"]) == 0
        rows[layout] = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    whole = rows["models"][0]
    assert float(whole["Robust at 0.11"]) == rung.value
    assert float(whole["Worst class robust at 0.11 upper"]) == rung.lowest.interval[1]
    assert whole["Worst class"] == rung.worst
    assert [float(row["Robust at 0.11"]) for row in rows["classes"]] == [entry.value for entry in rung.classes]
