"""``gfscore calibrate`` and ``audit --calibrate``: one calibration, shown in both places."""

import json
from pathlib import Path

import numpy as np
import pytest

from gfscore import Audit, Options, Samples, audit_models, calibrate, views
from gfscore.cli.main import run
from gfscore.ranking import agreement
from gfscore.results import ModelRanking

GAPS = {"weak": 0.5, "middling": 1.5, "strong": 3.0, "scaled": 2.0}


@pytest.fixture
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 3
    arrays = {}
    for name, gap in GAPS.items():
        logits = rng.normal(0, 1, (120, 3)) + gap * np.eye(3)[labels]
        arrays[name] = logits * (5 if name == "scaled" else 1)
        np.savez(f"{name}.npz", logits=arrays[name], labels=labels)
    (tmp_path / "reference.csv").write_text("model,value\nweak,1\nmiddling,3\nstrong,4\nscaled,2\n")
    return {name: Samples.of(logits, labels) for name, logits in arrays.items()}


REFERENCE = {"weak": 1, "middling": 3, "strong": 4, "scaled": 2}
FILES = [f"{name}.npz" for name in GAPS]


@pytest.mark.parametrize("objective", ["models", "classes", "stability", "given"])
def test_the_command_agrees_with_the_function(models, capsys, objective):
    assert run(["calibrate", *FILES, "--objective", objective, "--reference", "reference.csv", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = calibrate(models, objective, reference=REFERENCE)
    assert printed == json.loads(expected.to_json())
    assert set(printed) >= {"objective", "temperature", "intervals", "value", "flags", "baselines"}


def test_it_prints_what_the_choice_is_worth(models, capsys):
    assert run(["calibrate", *FILES, "--objective", "models", "--reference", "reference.csv"]) == 0
    text = capsys.readouterr().out
    for words in ("T*", "maximal on", "at T = 1", "clean accuracy alone", "the paper's grid", "leaving one model out"):
        assert words in text
    assert "1.000, by definition" in text
    calibrated = calibrate(models, "models", reference=REFERENCE).reference.calibrated
    assert f"rank correlation {calibrated.spearman:.3f} (p = {calibrated.spearman_p:.2g}" in text


def test_audit_shows_every_metric_at_both_temperatures(models, capsys):
    assert run(["audit", *FILES, "--calibrate", "given", "--reference", "reference.csv"]) == 0
    text = capsys.readouterr().out
    result = Audit.load("gfscore-audit/audit.json")
    best = result.calibration.temperature
    assert f"All metrics at T* = {best:.4g}:" in text
    assert "these intervals are a band, which holds at all temperatures at once" in " ".join(text.split())
    at_best = audit_models(models, Options(temperature=best, permutations=0))
    for model, expected in zip(result.models, at_best.models, strict=True):
        assert model.score.temperature == 1.0
        assert model.calibrated.temperature == best
        assert model.calibrated.interval.temperatures == (0.01, 10.0)
        assert expected.interval.temperatures is None
        for name in ("rdi", "nrgc", "wcr", "fp_great", "theil", "atkinson", "aggregate", "class_mean"):
            found, fixed = model.calibrated.metric(name), expected.metric(name)
            assert found.value == fixed.value
            assert found.interval[0] <= found.value <= found.interval[1]
        for entry, fixed in zip(model.calibrated.classes, expected.classes, strict=True):
            assert entry.model_copy(update={"interval": fixed.interval}) == fixed
            assert entry.interval[0] <= fixed.interval[0] + 0.02  # but for the bound of the worst class
            assert entry.interval[1] >= fixed.interval[1]
        assert set(model.curves.scores) == {"0", "1", "2"}
        nearest = int(np.argmin(np.abs(np.log(model.curves.temperature))))
        assert model.curves.temperature[nearest] == pytest.approx(1, rel=0.05)
        assert model.curves.aggregate[nearest] == pytest.approx(model.aggregate, abs=0.05)


def test_ranking_of_several_models_is_in_the_result(models):
    assert run(["audit", *FILES, "--reference", "reference.csv", "-q"]) == 0
    ranking = Audit.load("gfscore-audit/audit.json").ranking
    audited = audit_models(models).models
    scores, clean = [model.aggregate for model in audited], [model.accuracy for model in audited]
    wanted = list(REFERENCE.values())
    assert ranking.score_and_clean_accuracy == agreement(scores, clean)
    assert ranking.score_and_reference == agreement(scores, wanted)
    assert ranking.clean_accuracy_and_reference == agreement(clean, wanted)
    assert run(["audit", *FILES[:2], "-q"]) == 0
    assert Audit.load("gfscore-audit/audit.json").ranking is None


def test_the_ranking_of_several_models_is_printed(models, capsys):
    assert run(["audit", *FILES, "--reference", "reference.csv"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    ranking = Audit.load("gfscore-audit/audit.json").ranking
    for name in ("score and clean accuracy", "score and reference", "clean accuracy and reference"):
        found = getattr(ranking, name.replace(" ", "_"))
        assert (
            f"Do {name} order the models alike? Rank correlation {found.spearman:.3f} (p = {found.spearman_p:.2g}"
            in text
        )
    low, high = views.ends(ranking.score_and_reference.spearman_interval)
    assert f"95% interval {low} to {high}" in text
    alone = ModelRanking(score_and_clean_accuracy=ranking.score_and_clean_accuracy)
    assert audit_models(models).ranking == alone


def test_clean_accuracies_from_robustbench(models, capsys, tmp_path):
    names = ["Rade2021Helper_R18_ddpm", "Wu2020Adversarial", "Ding2020MMA"]
    for old, new in zip(FILES, names, strict=False):
        (tmp_path / f"{new}.npz").write_bytes((tmp_path / old).read_bytes())
    files = [f"{name}.npz" for name in names]
    options = ["--objective", "models", "--accuracies", "robustbench:cifar10/L2", "--json"]
    assert run(["calibrate", *files, *options]) == 0
    assert json.loads(capsys.readouterr().out)["models"] == names
    assert run(["calibrate", *FILES, *options]) == 2
    assert "robustbench:cifar10/L2 has no value for model 'weak'; it has " in capsys.readouterr().err


def test_two_models_cannot_be_calibrated_over_models(models, capsys):
    assert run(["calibrate", *FILES[:2], "--objective", "models"]) == 0
    text = capsys.readouterr().out
    assert "undefined" in text
    assert "at least 3 are needed" in text


@pytest.mark.parametrize("command", [["calibrate", *FILES, "--objective"], ["audit", *FILES, "-q", "--calibrate"]])
def test_clean_accuracies_may_come_from_a_file(models, capsys, command):
    clean = {"weak": 0.9, "middling": 0.1, "strong": 0.2, "scaled": 0.3}
    Path("clean.json").write_text(json.dumps(clean))
    assert run([*command, "models", "--accuracies", "clean.json", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    expected = calibrate(models, "models", accuracies=clean)
    assert (printed if command[0] == "calibrate" else printed["calibration"]) == json.loads(expected.to_json())
    assert expected.value != calibrate(models, "models").value


MODELS = ("calibrate", "--objective", "models", "--temperature-range")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["calibrate", "--objective", "classes", "--accuracies", "a.csv"], "Leave the accuracies out."),
        (["calibrate", "--objective", "stability", "--accuracies", "a.csv"], "Leave the accuracies out."),
        (["audit", "--calibrate", "classes", "--accuracies", "a.csv"], "Leave the accuracies out."),
        (["audit", "--accuracies", "a.csv"], "--accuracies is what a temperature is chosen by. Say --calibrate too"),
        (["calibrate", "--objective", "given"], "Give one (--reference;"),
        (["audit", "--calibrate", "given"], "Give one (--reference;"),
        (["calibrate", "--objective", "modles"], "objective 'modles' is not known."),
        (["audit", "--calibrate", "modles"], "objective 'modles' is not known."),
        (
            ["calibrate", "--objective", "models", "--temperature-range", "2,1"],
            "--temperature-range: temperatures from 2 to 1 are no range.",
        ),
        (
            ["calibrate", "--objective", "models", "--temperature-range", "0.01,1e8"],
            "--temperature-range: temperatures from 0.01 to 1e+08",
        ),
        (
            ["calibrate", "--objective", "models", "--temperature-range", "1e-300,1e300"],
            "--temperature-range: temperatures from 1e-300 to",
        ),
        ([*MODELS, "0,1"], "--temperature-range: temperature 0"),
    ],
)
def test_what_cannot_be_done_is_refused_before_a_file_is_read(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert run([arguments[0], "missing.npz", *arguments[1:]]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "missing.npz" not in error


def test_a_wide_range_is_searched(models, capsys):
    assert run(["calibrate", *FILES, "--objective", "classes", "--temperature-range", "1e-6,1e4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["grid"]["tried"] > 100_000


def test_class_names_choose_the_columns_of_tables(models, capsys):
    for name, samples in models.items():
        rows = zip(samples.labels.tolist(), samples.logits.tolist(), strict=True)
        lines = ["label,a,b,c,pred", *(f"{'abc'[label]},{','.join(map(str, row))},1" for label, row in rows)]
        Path(f"{name}.csv").write_text("\n".join(lines))
    command = ["calibrate", *(f"{name}.csv" for name in models), "--objective", "stability", "--json"]
    assert run(command) == 2
    assert "has a column 'pred' that no label names" in capsys.readouterr().err
    Path("names.txt").write_text("a\nb\nc\n")
    assert run([*command, "--class-names", "names.txt"]) == 0
    expected = calibrate(models, "stability")
    assert json.loads(capsys.readouterr().out)["temperature"] == expected.temperature


def test_models_are_run_and_normalised_word_by_word(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    nets, how = ["zoo:standard", "zoo:trades", "zoo:awp"], {"n_per_class": 5, "mean": "0.5", "std": "0.5"}
    said = [word for net in nets for word in ("--model", net)]
    said += ["--data", "zoo:digits", "--n-per-class", "5", "--mean", "0.5", "--std", "0.5"]
    assert run(["calibrate", "--objective", "models", *said, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    found = calibrate(model=nets, data="zoo:digits", objective="models", **how)
    assert json.loads(found.to_json()) == printed
    assert calibrate(nets, "models", data="zoo:digits", **how) == found
    assert calibrate(nets, "models", data="zoo:digits", n_per_class=5) != found
