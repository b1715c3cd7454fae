"""``gfscore.toml``: its words are those of the command line, which stands over it; what it cannot mean is refused."""

import inspect
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore import zoo
from gfscore.cli.main import run
from gfscore.jobs.calling import CONFIGURED
from gfscore.jobs.config_files import Config, reference, words_of

LABELS = np.arange(90) % 3
LOGITS = np.random.default_rng(0).normal(0, 1, (90, 3)) + 2 * np.eye(3)[LABELS]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with networks, data, logits and names, which is not the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    for network in ("standard", "trades"):
        shutil.copy(next(each.path for each in zoo.models() if each.name == network), folder / f"{network}.onnx")
    images, labels, _ = zoo.test_set()
    rows = np.concatenate([np.flatnonzero(labels == digit)[:5] for digit in range(10)])
    np.savez(folder / "test.npz", images=images[rows], labels=labels[rows])
    np.savez(folder / "old.npz", logits=LOGITS, labels=LABELS)
    (folder / "names.txt").write_text("\n".join("abcdefghij"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    return folder


def write(folder, text):
    (folder / "gfscore.toml").write_text(text)
    return str(folder / "gfscore.toml")


def printed(capsys, *arguments, code=0):
    capsys.readouterr()
    assert run([*arguments, "--json"]) == code
    found = json.loads(capsys.readouterr().out)
    return {key: value for key, value in found.items() if key != "provenance"}, found["provenance"]


TWO = """
data = "test.npz"
class_names = "names.txt"
permutations = 0
delta = 0.1
seed = 3

[[models]]
model = "standard.onnx"
mean = [0.1]
std = 0.5
name = "mine & yours"

[[models]]
model = "trades.onnx"

[rules]
wcr = 0.001
accuracy = 0.5
"""


def test_it_says_what_the_command_line_would(project, capsys):
    file = write(project, TWO)
    found, provenance = printed(capsys, "audit", "--config", file)
    models = [f"{project}/standard.onnx?mean=0.1&std=0.5&name=mine%20%26%20yours", f"{project}/trades.onnx"]
    words = ["--data", f"{project}/test.npz", "--class-names", f"{project}/names.txt", "--permutations", "0"]
    said = [*words, "--delta", "0.1", "--seed", "3", *(word for model in models for word in ("--model", model))]
    assert found == printed(capsys, "audit", *said)[0]
    assert [model["name"] for model in found["models"]] == ["mine & yours", "trades"]
    assert [model["run"]["preprocessing"]["std"] for model in found["models"]] == [[0.5], [1.0]]
    assert file in provenance["inputs"]


def test_the_command_line_stands_over_it_also_with_a_default(project, capsys):
    file = write(project, TWO)
    assert printed(capsys, "audit", "--config", file, "--delta", "0.05")[0]["models"][0]["interval"]["delta"] == 0.05
    [model] = printed(capsys, "audit", "--config", file, "--model", "zoo:noise")[0]["models"]
    assert (model["name"], model["samples"]["source"], model["interval"]["delta"]) == (
        "noise",
        f"{project}/test.npz",
        0.1,
    )


def test_files_that_are_named_take_the_place_of_models_and_the_other_way_round(project, capsys):
    file = write(project, TWO.replace('class_names = "names.txt"', 'class_names = ["x", "y", "z"]'))
    [model] = printed(capsys, "audit", "--config", file, f"{project}/old.npz")[0]["models"]
    assert [entry["name"] for entry in model["classes"]] == ["x", "y", "z"]
    file = write(project, 'logits = "*.npz"\npermutations = 0\n')
    (project / "test.npz").rename(project / "test.images")
    assert [each["name"] for each in printed(capsys, "audit", "--config", file)[0]["models"]] == ["old"]
    assert printed(capsys, "gate", "--config", file, "--wcr", "0.01")[0]["models"][0]["name"] == "old"
    run_here = ["--model", "zoo:trades", "--data", "zoo:digits", "--n-per-class", "2"]
    assert [each["name"] for each in printed(capsys, "audit", "--config", file, *run_here)[0]["models"]] == ["trades"]


def test_a_gate_has_its_rules_from_it(project, capsys):
    file = write(project, TWO)
    [first, _] = printed(capsys, "gate", "--config", file, code=3)[0]["models"]
    assert [rule["rule"] for rule in first["rules"]] == ["WCR ≥ 0.001", "accuracy ≥ 0.5"]
    [first, _] = printed(capsys, "gate", "--config", file, "--wcr", "1.2", code=3)[0]["models"]
    assert [rule["rule"] for rule in first["rules"]] == ["WCR ≥ 1.2", "accuracy ≥ 0.5"]
    (project / "policy.toml").write_text("[rules]\nrdi = 1.2\n")
    [first, _] = printed(capsys, "gate", "--config", file, "--policy", f"{project}/policy.toml", code=3)[0]["models"]
    assert [rule["metric"] for rule in first["rules"]] == ["rdi"]
    only = write(project, TWO.partition("[rules]")[0].replace("seed = 3", 'policy = "policy.toml"'))
    [first, _] = printed(capsys, "gate", "--config", only, code=3)[0]["models"]
    assert [rule["metric"] for rule in first["rules"]] == ["rdi"]


def test_a_command_has_words_of_its_own(project, capsys):
    tables = '[check]\nsamples = 1\nmethod = ["bisection"]\n[plan]\nn = 50\nclasses = 4\n'
    tables += "[certify]\nsigma = 0.5\nn0 = 5\nn = 10\n"
    file = write(project, f'data = "test.npz"\nmodel = "trades.onnx"\nnorm = "linf"\neps = "2/255"\n{tables}')
    [checked] = printed(capsys, "check", "--config", file)[0]["models"]
    assert checked["claim"]["tried_by"] == ["bisection"]
    [certified] = printed(capsys, "certify", "--config", file, "--method", "smoothing")[0]["models"]
    assert certified["score"]["settings"]["sigma"] == 0.5
    assert [entry.n for entry in gfscore.plan(config=file)] == [entry.n for entry in gfscore.plan(n=50, classes=4)]
    assert run(["plan", "--config", file, "--n", "60"]) == 0


def test_python_takes_it(project):
    file = write(project, TWO)
    found = gfscore.audit(config=file)
    assert [(model.name, model.interval.delta) for model in found.models] == [("mine & yours", 0.1), ("trades", 0.1)]
    whole = gfscore.audit(config=Path(file), options=gfscore.Options(delta=0.2, permutations=0), model="zoo:noise")
    assert (whole.model.name, whole.model.interval.delta) == ("noise", 0.2)
    first = gfscore.audit("zoo:noise", config=file).model
    assert (first.name, first.samples.n) == ("noise", 50)
    both = gfscore.audit("zoo:noise", "zoo:digits", config=file).model
    assert (both.name, both.samples.source) == ("noise", "zoo:digits")
    arrays = gfscore.audit(LOGITS, LABELS, config=write(project, "permutations = 0\ntemperature = 2"))
    assert arrays.model == gfscore.audit(LOGITS, LABELS, permutations=0, temperature=2).model


def test_paths_are_seen_from_the_file_and_names_are_not(project):
    text = 'data = ["zoo:digits", "generator:net.onnx", "generator:zoo", "s3://b/x.npz", "sub/x.npz"]\n'
    file = write(project, f'{text}model = ["zoo:trades", "hf:a/b", "net.onnx?preset=half", "timm:x?checkpoint=/w.pt"]')
    words = Config.read(file).words("audit", [])
    assert words["data"] == [
        "zoo:digits", f"generator:{project}/net.onnx", "generator:zoo", "s3://b/x.npz", f"{project}/sub/x.npz",
    ]  # fmt: skip
    assert words["model"] == ["zoo:trades", "hf:a/b", f"{project}/net.onnx?preset=half", "timm:x?checkpoint=/w.pt"]
    file = write(project, 'class_names = "CIFAR10"\nreference = "robustbench:cifar10/L2"\ngroups = "/tmp/groups.csv"')
    words = Config.read(file).words("audit", [])
    assert words == {"class_names": "CIFAR10", "reference": "robustbench:cifar10/L2", "groups": Path("/tmp/groups.csv")}


@pytest.mark.parametrize("job", CONFIGURED)
def test_every_job_of_the_list_takes_a_file_and_its_keys_are_known(job):
    found = getattr(gfscore, job, None)
    if callable(found):
        assert "config" in inspect.signature(found).parameters
    assert words_of(job)
    assert {name for name, where, _ in reference() if where == f"[{job}]"} <= words_of(job).keys()


WRONG = {
    "datas = 'x'": "datas is no word of gfscore. Did you mean 'data'?",
    "n-per-class = 2": "n-per-class is no word of gfscore. Did you mean 'n_per_class'?",
    "zzzz = 2": "zzzz is no word of gfscore. There are models, logits, stream, pieces, model, data, probabilities, ",
    "wcr = 0.3": "wcr stands at the top, and is a rule. Write it under [rules].",
    "[gate]\nwcr = 0.3": "wcr stands under [gate], and is a rule. Write it under [rules].",
    "samples = 3": "samples stands at the top, and is a word of check. Write it under [check].",
    "[gate]\nadaptiv = true": "adaptiv stands under [gate], where it is no word of gfscore. Did you mean 'adaptive'?",
    "delta = 'small'": "delta is 'small'. Write a number.",
    "adaptive = 1": "adaptive is 1. Write true or false.",
    "batch_size = 2.5": "batch_size is 2.5. Write a whole number.",
    "mean = ['a']": "mean is ['a']. Give a text, a number, or numbers in brackets.",
    "data = 3": "data is 3. Write texts in brackets.",
    "model = 'a.onnx'\nmodels = ['b.onnx']": "has both model and models. Write one of them.",
    "[[models]]\nname = 'x'": 'has a model without its spec. Write [[models]], and below it model = "net.onnx".',
    "[[models]]\nmodel = 'a.onnx'\npreprocess = 'x'": "preprocess stands under [[models]], where it is no",
    "[[models]]\nmodel = 'a.onnx'\ndata = 'x'": "data stands under [[models]], where it is no word of gfscore. ",
    "policy = 'p.toml'\n[rules]\nwcr = 0.1": "has both policy and [rules]. Write the rules in one place.",
    "data = ": 'is not TOML (Invalid value (at end of document)). Write a line such as data = "test.npz".',
}


@pytest.mark.parametrize("text", WRONG)
def test_what_it_cannot_mean_is_refused(text, tmp_path, capsys):
    file = write(tmp_path, text)
    assert run(["gate", "--config", file]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"gfscore: {file}: {WRONG[text]}"), said
    assert said.count("\n") == 1


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert run(["audit", "--config", str(tmp_path / "gfscore.toml")]) == 2
    assert capsys.readouterr().err == f"gfscore: --config: {tmp_path}/gfscore.toml: does not exist. Check the path.\n"


def test_a_file_that_the_configuration_names_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gfscore.toml").write_text('model = "net.onnx"\ndata = "zoo:digits"\n')
    message = "model in gfscore.toml: net.onnx: does not exist. Check the path."
    assert run(["audit", "--config", "gfscore.toml"]) == 2
    assert capsys.readouterr().err == f"gfscore: {message}\n"
    with pytest.raises(ValueError) as caught:
        gfscore.audit(config="gfscore.toml")
    assert str(caught.value) == message
    assert run(["audit", "--config", "gfscore.toml", "--model", "other.onnx"]) == 2
    assert capsys.readouterr().err == "gfscore: --model: other.onnx: does not exist. Check the path.\n"


def test_a_word_under_models_that_belongs_above_is_sent_there(tmp_path, capsys):
    assert run(["audit", "--config", write(tmp_path, "[[models]]\nmodel = 'a.onnx'\ndata = 'x'")]) == 2
    assert capsys.readouterr().err.rstrip().endswith("Move data above the first [table].")
