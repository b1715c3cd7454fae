"""Part of a data set is run, and the verdict or the number is about all of it: the commands must not mix the two up."""

from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import FLOAT, write

from gfscore import Audit, Comparison, GateResult, Samples, read_samples
from gfscore.cli.main import run
from gfscore.jobs.options import Options
from gfscore.jobs.stages import score_samples


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))


def test_an_adaptive_gate_on_part_of_a_set_does_not_judge_the_part(capsys):
    """The WCR of the set is 0.684; that of twenty images a class is below 0.65 as often as not."""
    command = ["gate", "--model", "zoo:trades", "--data", "zoo:digits", "--target", "finite", "--adaptive", "--json"]
    verdicts = []
    for seed in range(8):
        run([*command, "--n-per-class", "20", "--wcr", "0.65", "--seed", str(seed)])
        verdicts.append(GateResult.from_json(capsys.readouterr().out).models[0])
    assert "FAIL" not in [verdict.verdict for verdict in verdicts]
    assert {entry.size for entry in verdicts[0].adaptive.classes} == {90}
    assert {entry.available for entry in verdicts[0].adaptive.classes} == {20}
    assert run([*command, "--wcr", "0.65"]) == 0  # the whole set is known when all of it was drawn
    assert run([*command, "--n-per-class", "20", "--wcr", "0.1"]) == 0  # and what is clear needs no more than a part


def _save_sum(path):
    """A network of one number: 2 times the sum of 16 pixels, less 16, against 0."""
    weights = numpy_helper.from_array(np.tile(np.float32([2, 0]), (16, 1)), "weights")
    shift = numpy_helper.from_array(np.float32([-16, 0]), "shift")
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["sum"]),
        helper.make_node("Add", ["sum", "shift"], ["logits"]),
    ]
    shapes = [
        helper.make_tensor_value_info(name, FLOAT, shape)
        for name, shape in (("x", ["n", 1, 4, 4]), ("logits", ["n", 2]))
    ]
    write(path, nodes, shapes[:1], shapes[1:], [weights, shift])


@pytest.fixture
def unbalanced(tmp_path):
    """5,000 images of a class that is nearly always right and 200 of one that mostly is not; and their scores."""
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1], [5000, 200])
    margins = np.where(labels == 0, rng.normal(3.5, 1.5, 5200), rng.normal(-0.5, 2.0, 5200))
    signed = np.where(labels == 0, margins, -margins)  # logit of class 0 minus that of class 1
    images = np.broadcast_to((signed[:, None, None, None] + 16) / 32, (5200, 1, 4, 4)).astype(np.float32)
    np.savez(tmp_path / "images.npz", images=images, labels=labels)
    _save_sum(tmp_path / "net.onnx")
    samples = Samples.of(np.stack([signed, np.zeros(5200)], axis=1), labels)
    return samples, score_samples(samples, Options())


def test_what_is_said_of_the_whole_is_about_the_set_and_not_about_the_draw(unbalanced, capsys):
    samples, local = unbalanced
    correct = float((local.predicted == samples.labels).mean())
    whole = float(local.values.mean())
    command = ["--model", "net.onnx", "--data", "images.npz", "--n-per-class", "100", "--permutations", "0"]
    for target in ("finite", "population"):
        audit = ["audit", *command, "--target", target, "--json"]
        assert run([*audit, "--expect-accuracy", f"{correct:.4f}"]) == 0  # a sound run, which is not stopped
        model = Audit.from_json(capsys.readouterr().out).model
        low, high = model.aggregate_interval
        assert low <= whole <= high
        assert model.samples.weighted_by == "class_sizes"
        assert [entry.size for entry in model.classes] == [5000, 200]
        assert abs(model.accuracy - correct) < 0.05
        assert run([*audit, "--expect-accuracy", "0.6"]) == 2
        said = "on 200 samples, with each class weighed by its size in the data set, not the expected 0.6000"
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("target", ["finite", "population"])
def test_robust_accuracy_and_the_rules_of_a_gate_are_about_the_set(unbalanced, tmp_path, capsys, target):
    samples, local = unbalanced
    radius = ["--score", "first-order", "--norm", "l2", "--eps", "0.3"]
    whole = [
        "audit",
        "--model",
        "net.onnx",
        "--data",
        "images.npz",
        "--permutations",
        "0",
        "--json",
        "--target",
        target,
    ]
    assert run([*whole, *radius]) == 0
    truth = Audit.from_json(capsys.readouterr().out).model
    part = [*whole, "--n-per-class", "100"]
    assert run([*part, *radius]) == 0
    low, high = Audit.from_json(capsys.readouterr().out).model.robust_accuracy.interval
    assert low <= truth.robust_accuracy.value <= high
    if target == "finite":
        assert truth.aggregate_interval == pytest.approx((truth.aggregate,) * 2, abs=1e-11)  # known, not estimated
        assert truth.robust_accuracy.interval == pytest.approx((truth.robust_accuracy.value,) * 2, abs=1e-11)

    run([*part, "--out", "out"])
    capsys.readouterr()
    accuracy = float((local.predicted == samples.labels).mean())  # 0.97; of the part it is 0.7
    (tmp_path / "policy.toml").write_text(f"[rules]\naccuracy = 0.85\naggregate = {0.8 * local.values.mean()}\n")
    assert accuracy > 0.95
    assert run(["gate", "out/audit.json", "--policy", "policy.toml", "--delta", "0.1"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("(classes weighed as in the data set)") == 2


def test_a_stream_weighs_as_a_whole_audit_does(unbalanced, capsys):
    command = ["audit", "--model", "net.onnx", "--data", "images.npz", "--n-per-class", "100", "--permutations", "0"]
    found = []
    for how in ([], ["--stream"]):
        assert run([*command, *how, "--json"]) == 0
        found.append(Audit.from_json(capsys.readouterr().out).model)
    whole, stream = found
    assert stream.samples.weighted_by == whole.samples.weighted_by == "class_sizes"
    assert (stream.aggregate, stream.accuracy) == pytest.approx((whole.aggregate, whole.accuracy), abs=1e-12)
    assert stream.aggregate_interval == pytest.approx(whole.aggregate_interval, abs=0.02)  # blocks, not betting


def test_every_text_says_what_the_accuracy_is_of(unbalanced, capsys):
    command = ["--model", "net.onnx", "--data", "images.npz", "--n-per-class", "100", "--permutations", "0"]
    assert run(["audit", *command, "--out", "out"]) == 0
    of = "the 5,200 samples of the data set (200 drawn, classes weighed by their size in it)"
    printed = " ".join(capsys.readouterr().out.split())
    assert "% (classes weighed as in the data set);" in printed
    assert f"mean over {of}" in printed
    assert run(["report", "out/audit.json", "--format", "md", "--out", "report.md"]) == 0
    assert f"of {of} correctly" in Path("report.md").read_text(encoding="utf-8")
    capsys.readouterr()
    assert run(["table", "out/audit.json"]) == 0
    assert f"Score and accuracy of a model are of {of}." in capsys.readouterr().out.replace("\\", "")


def test_a_logits_file_that_was_made_here_knows_what_it_is_a_part_of(unbalanced, capsys):
    command = ["--model", "net.onnx", "--data", "images.npz", "--n-per-class", "100"]
    assert run(["logits", *command, "-o", "part.safetensors", "--quiet"]) == 0
    models = []
    for source in (command, ["part.safetensors"], ["part.safetensors", "--stream"]):
        capsys.readouterr()
        assert run(["audit", *source, "--permutations", "0", "--json"]) == 0
        models.append(Audit.from_json(capsys.readouterr().out).model)
    assert {model.samples.weighted_by for model in models} == {"class_sizes"}
    assert models[0].aggregate == models[1].aggregate == pytest.approx(models[2].aggregate, abs=1e-12)
    assert run(["audit", "part.safetensors", "--target", "finite", "--permutations", "0", "--json"]) == 0
    assert Audit.from_json(capsys.readouterr().out).model.interval.target == "finite"


def test_rows_of_one_data_set_are_matched_whatever_their_order(unbalanced, capsys):
    """The images are sorted from hard to easy, so that the scores of both versions rise with the row number."""
    images = np.load("images.npz")
    order = np.lexsort([images["images"].sum(axis=(1, 2, 3)), images["labels"]])
    np.savez("sorted.npz", images=images["images"][order], labels=images["labels"][order])
    data = ["--model", "net.onnx", "--data", "sorted.npz"]
    for name, said in {"old": [], "new": ["--mean", "0.01", "--std", "1"]}.items():
        assert run(["logits", *data, *said, "-o", f"{name}.safetensors", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["compare", "old.safetensors", "new.safetensors", "--json"]) == 0
    found = Comparison.from_json(capsys.readouterr().out)
    assert found.pairing == "by row of one data set, which both versions were run on"
    assert found.flags == ()
    for name in ("old", "new"):  # as files from elsewhere, which do not say what they are of
        samples = read_samples(f"{name}.safetensors")
        np.savez(f"{name}.npz", logits=samples.logits, labels=samples.labels)
    assert run(["compare", "old.npz", "new.npz"]) == 2
    assert "the order of the rows goes with their scores" in capsys.readouterr().err
