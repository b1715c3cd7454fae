"""``gfscore init`` finds out how a model takes its images and writes it down, so that other commands can be called."""

import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore import zoo
from gfscore.cli.main import run
from gfscore.jobs.init import init


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    shutil.copy(next(each.path for each in zoo.models() if each.name == "standard"), "net.onnx")
    images, labels, _ = zoo.test_set()
    np.savez("mnist.npz", images=images, labels=labels)
    return tmp_path


def test_it_writes_a_file_that_every_command_takes(folder, capsys):
    assert run(["init", "net.onnx", "mnist.npz", "--n-per-class", "20"]) == 0
    said = capsys.readouterr().out
    assert said.endswith("Written: gfscore.toml\nNext: gfscore audit --config gfscore.toml\n")
    written = tomllib.loads(Path("gfscore.toml").read_text())
    assert written == {
        "data": "mnist.npz",
        "class_names": "mnist",
        "score": "great",
        "delta": 0.05,
        "n_per_class": 20,
        "models": [{"model": "net.onnx"}],
        "rules": {"robust_accuracy": "0.3@2/255"},
    }
    found = gfscore.audit(config="gfscore.toml")
    assert (found.model.name, found.model.samples.n) == ("net", 200)
    assert run(["gate", "--config", "gfscore.toml"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "PASS Robust accuracy at 2/255 is " in shown
    assert run(["gate", "--config", "gfscore.toml", "--robust-accuracy", "0.99@0.1", "--quiet"]) == 1


def test_rules_that_are_left_out_are_rules_that_can_be_taken_in(folder):
    """What stands behind a # is read as well, once the # is gone."""
    text = init("net.onnx", "mnist.npz", n_per_class=20).text
    lines = [
        line.removeprefix("# ") if line.startswith(("# accuracy", "# [class", '# "*"')) else line
        for line in text.split("\n")
    ]
    Path("gfscore.toml").write_text("\n".join(lines))
    written = tomllib.loads("\n".join(lines))
    assert written["class_robust_accuracy"] == {"*": "0.1@2/255"}
    result = gfscore.gate(config="gfscore.toml")
    assert [rule.metric for rule in result.models[0].rules] == ["robust_accuracy", "accuracy", "class_robust_accuracy"]


def test_the_preset_that_fits_is_written(folder):
    """A network that was trained on pixels from -1 to 1: it maps them back, and without dark ones sees only black."""
    onnx = pytest.importorskip("onnx")
    graph = onnx.load("net.onnx")
    name = graph.graph.input[0].name
    for node in graph.graph.node:
        node.input[:] = ["pixels" if each == name else each for each in node.input]
    graph.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0.5, np.float32), "a_half"))
    steps = (
        ("Mul", [name, "a_half"], "halved"),
        ("Add", ["halved", "a_half"], "unit"),
        ("Neg", [name], "negative"),
        ("GlobalMaxPool", ["negative"], "darkest"),
        ("Relu", ["darkest"], "dark"),
        ("Sign", ["dark"], "is_dark"),
        ("Mul", ["unit", "is_dark"], "pixels"),
    )
    for place, (kind, inputs, output) in enumerate(steps):
        graph.graph.node.insert(place, onnx.helper.make_node(kind, inputs, [output]))
    onnx.save(graph, "shifted.onnx")
    shutil.copy("mnist.npz", "digits.npz")
    found = init("shifted.onnx", "digits.npz", out="sub/mine.toml")
    written = tomllib.loads(found.text)
    assert written["models"] == [{"model": "../shifted.onnx", "preset": "half"}]
    assert "class_names" not in written  # ten classes may be anything
    assert gfscore.audit(config="sub/mine.toml", permutations=0).model.accuracy > 0.9


def test_a_range_that_does_not_tell_is_found(folder):
    images, labels, _ = zoo.test_set()
    unit = images / 255 if images.dtype == np.uint8 else images
    np.savez("wide.npz", images=(255 * unit).astype(np.float32), labels=labels)
    written = tomllib.loads(init("net.onnx", "wide.npz").text)
    assert written["models"][0]["range"] == "0,255"
    assert gfscore.audit(config="gfscore.toml").model.accuracy > 0.9


def test_what_is_said_is_written(folder):
    Path("names.txt").write_text("\n".join("abcdefghij"))
    written = tomllib.loads(init("net.onnx?name=mine", "mnist.npz", mean="0.1", std="1", class_names="names.txt").text)
    assert written["models"] == [{"model": "net.onnx", "mean": "0.1", "std": "1", "name": "mine"}]
    assert written["class_names"] == "names.txt"


def test_nothing_is_written_over_in_silence(folder, capsys):
    Path("gfscore.toml").write_text("mine")
    assert run(["init", "net.onnx", "mnist.npz"]) == 2
    message = "gfscore: gfscore.toml: is there already, with other words. Say --force to write over it, or --out for another file.\n"
    assert capsys.readouterr().err == message
    assert Path("gfscore.toml").read_text() == "mine"
    assert run(["init", "net.onnx", "mnist.npz", "--force", "--quiet"]) == 0
    assert tomllib.loads(Path("gfscore.toml").read_text())["data"] == "mnist.npz"
    assert run(["init", "net.onnx", "mnist.npz", "--quiet"]) == 0  # the same again


def test_what_cannot_be_read_is_said_and_nothing_written(folder, capsys):
    assert run(["init", "net.onnx", "nowhere.npz"]) == 2
    assert capsys.readouterr().err == "gfscore: nowhere.npz: does not exist. Check the path.\n"
    assert not Path("gfscore.toml").exists()
