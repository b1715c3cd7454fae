"""Real networks run end to end: the right numbers, the guards, and what it costs."""

import importlib
import json
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from onnx_graphs import linear
from scipy.special import expit, softmax

from gfscore import SCORE_MAX, Audit, Options, audit, audit_models, read_samples
from gfscore.cli.main import run
from gfscore.dashboard.subjects import zoo_subjects
from gfscore.engines.local import measured
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model, shims
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Logits, Run
from gfscore.storage.store import Store

CIFAR10 = ("--preset", "cifar10")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    return tmp_path


@pytest.fixture(scope="module")
def manifest(realdata):
    return {entry["file"]: entry for entry in json.loads((realdata / "manifest.json").read_text())}


def plain_scores(logits, labels, activation):
    """The definition, in float64, without any of our code."""
    logits = logits.astype(np.float64)
    confidences = softmax(logits, axis=1) if activation == "softmax" else expit(logits)
    rows = np.arange(len(labels))
    own = confidences[rows, labels].copy()
    confidences[rows, labels] = -1
    return SCORE_MAX * np.maximum(own - confidences.max(axis=1), 0)


def test_a_run_is_described_alike_whoever_made_it(here, capsys):
    what = ("--model", "zoo:standard", "--data", "zoo:digits", "--json")
    runs = [audit(model="zoo:standard", data="zoo:digits").model.run]
    for how in ([], ["--stream"]):
        assert run(["audit", *what, *how]) == 0
        runs.append(Audit.from_json(capsys.readouterr().out).model.run)
    runs += [subject.run for subject in zoo_subjects(lambda _done, _name: None) if subject.name == "standard"]
    assert len(runs) == 4
    assert [each == runs[0] for each in runs] == [True] * 4
    assert runs[0].batch_size == 128


def test_a_network_that_gives_probabilities_is_streamed_as_it_is_audited(here, capsys):
    linear(here / "net.onnx", head=("Softmax",))
    images = np.random.default_rng(0).random((60, 3, 2, 2), dtype=np.float32)
    np.savez(here / "data.npz", images=images, labels=np.arange(60) % 5)
    what = ("audit", "--model", "net.onnx", "--output", "softmax", "--data", "data.npz", "--layout", "NCHW", "--json")
    assert run([*what, "--stream"]) == 2
    assert "logits look like probabilities" in capsys.readouterr().err
    found = []
    for how in ([], ["--stream"]):
        assert run([*what, "--probabilities", *how]) == 0
        found.append(json.loads(capsys.readouterr().out)["models"][0])
    assert [model["score"]["probabilities"] for model in found] == [True, True]
    whole, streamed = ([entry["score"] for entry in model["classes"]] for model in found)
    assert streamed == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize(
    "network",
    [
        "cifar_cnn_a_adv",
        "mnist_wk",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in (
                *("cifar_cnn_a_mix", "cifar_conv_small_pgd", "cifar_base_kw", "cifar_wide_kw", "cifar_sgd_8px"),
                *("cifar_resnet20", "cifar_resnet56", "mnist_colt_0.1", "fmnist_wk"),
            )
        ),
    ],
)
def test_audit_of_a_model_agrees_with_a_plain_recomputation(realdata, manifest, here, network):
    about = manifest[f"models/{network}.onnx"]
    mean, std = (",".join(map(str, np.atleast_1d(about[name]))) for name in ("mean", "std"))
    command = [
        "audit",
        "--model",
        str(realdata / f"models/{network}.onnx"),
        "--data",
        str(realdata / about["data"]),
    ]
    command += ["--mean", mean, "--std", std, "--expect-accuracy", str(about["accuracy"]), "-q", "--permutations", "0"]
    for activation in ("softmax", "sigmoid"):
        assert run([*command, "--activation", activation]) == 0
        model = Audit.load("gfscore-audit/audit.json").model
        assert round(model.accuracy * 10_000) == pytest.approx(round(about["accuracy"] * 10_000), abs=1)
        logits = read_samples(next((here / "store").glob("??/*/logits.safetensors")))
        expected = plain_scores(logits.logits, logits.labels, activation)
        for k, entry in enumerate(model.classes):
            assert entry.score == pytest.approx(expected[logits.labels == k].mean(), abs=1e-6)
        assert model.aggregate == pytest.approx(expected.mean(), abs=1e-6)
    assert model.run.preprocessing.mean == tuple(np.atleast_1d(about["mean"]))
    assert model.samples.seed is None


def test_a_wrong_std_is_caught_by_the_expected_accuracy(realdata, manifest, here, capsys):
    about = manifest["models/cifar_cnn_a_adv.onnx"]
    command = ["audit", "--model", str(realdata / "models/cifar_cnn_a_adv.onnx")]
    command += ["--data", str(realdata / "cifar10_test.npz"), "--mean", "0.4914,0.4822,0.4465", "--std", "0.2023"]
    assert run([*command, "--expect-accuracy", str(about["accuracy"])]) == 2
    assert "not the expected 0.6565 (sampling alone allows" in capsys.readouterr().err


def test_a_torch_model_left_in_train_mode_is_caught(here, capsys, monkeypatch):
    pytest.importorskip("torch")
    (here / "mine.py").write_text(
        textwrap.dedent("""
            import torch

            def network():
                torch.manual_seed(0)
                return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.BatchNorm1d(64), torch.nn.Linear(64, 10))

            def ready():
                return network().eval()
        """)
    )
    monkeypatch.syspath_prepend(here)
    assert run(["audit", "--model", "torch:mine:network", "--data", "zoo:digits"]) == 2
    assert "gives other logits when the same images come in another batch" in capsys.readouterr().err
    assert run(["audit", "--model", "torch:mine:ready", "--data", "zoo:digits", "-q"]) == 0


def test_test_and_generated_samples_stand_side_by_side(here):
    command = [
        "audit",
        "--model",
        "zoo:standard",
        "--data",
        "zoo:digits",
        "--data",
        "generator:zoo",
        "--seed",
        "3",
        "-q",
    ]
    assert run(command) == 0
    on_test, generated = Audit.load("gfscore-audit/audit.json").models
    assert (on_test.samples.n, on_test.samples.seed) == (900, None)
    assert (generated.samples.n, generated.samples.seed) == (1000, 3)
    assert on_test.name == "standard on zoo:digits"
    assert generated.run.data.fingerprint != on_test.run.data.fingerprint


def test_finite_intervals_are_about_the_data_set(here):
    command = ["audit", "--model", "zoo:standard", "--data", "zoo:digits", "-q"]
    widths = {}
    for label, options in {
        "population": ["--n-per-class", "60"],
        "finite": ["--n-per-class", "60", "--target", "finite"],
        "whole": ["--target", "finite"],
    }.items():
        assert run([*command, *options]) == 0
        model = Audit.load("gfscore-audit/audit.json").model
        assert model.interval.target == ("population" if label == "population" else "finite")
        widths[label] = max(entry.interval[1] - entry.interval[0] for entry in model.classes)
    assert widths["population"] > widths["finite"] > widths["whole"]
    assert widths["whole"] == pytest.approx(0, abs=1e-9)


def test_logits_command_writes_a_file_that_audit_reads(here, capsys):
    assert run(["logits", "--model", "zoo:standard", "--data", "zoo:digits", "-o", "digits.safetensors"]) == 0
    assert capsys.readouterr().out == "Written: digits.safetensors\n"
    assert run(["audit", "digits.safetensors", "--json"]) == 0
    from_file = Audit.from_json(capsys.readouterr().out).model
    assert run(["audit", "--model", "zoo:standard", "--data", "zoo:digits", "--radii", "none", "--json"]) == 0
    from_model = Audit.from_json(capsys.readouterr().out).model
    assert from_file.classes == from_model.classes


def test_store_commands(here, capsys):
    run(["logits", "--model", "zoo:standard", "--data", "zoo:digits", "-o", "a.safetensors", "-q"])
    assert run(["store", "list"]) == 0
    listed = capsys.readouterr().out
    assert "standard" in listed
    assert "finished" in listed
    assert run(["store", "verify"]) == 0
    assert capsys.readouterr().out == "1 of 1 entries are sound.\n"
    path = next((here / "store").glob("??/*/logits.safetensors"))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    run(["store", "verify"])
    assert "damaged: " in capsys.readouterr().out
    assert run(["store", "clear", path.parent.name[:8]]) == 0
    assert capsys.readouterr().out == "Deleted 1 of 1 entries.\n"
    assert not path.exists()


def bare_loop(path, inputs, batch):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    start = time.perf_counter()
    for first in range(0, len(inputs), batch):
        session.run(None, {name: inputs[first : first + batch]})
    return time.perf_counter() - start


@pytest.mark.parametrize(
    ("network", "n", "batch", "limit"),
    [
        ("cifar_resnet20", 2048, 128, 1.15),
        pytest.param("cifar_wide_kw", 10_000, 1, 1.3, marks=pytest.mark.long),
        pytest.param("cifar_resnet20", 10_000, 128, 1.15, marks=pytest.mark.long),
    ],
)
def test_end_to_end_costs_little_more_than_a_bare_loop(realdata, manifest, tmp_path, network, n, batch, limit):
    """Read, preprocess, forward, score, write, against forward passes alone; side by side, best ratio of a few."""
    about = manifest[f"models/{network}.onnx"]
    with np.load(realdata / "cifar10_test.npz") as file:
        np.savez(tmp_path / "images.npz", images=file["images"][:n], labels=file["labels"][:n])
    path = realdata / f"models/{network}.onnx"
    preprocessing = Preprocessing(mean=tuple(about["mean"]), std=tuple(about["std"]))
    data = load_data(tmp_path / "images.npz", preprocessing=preprocessing)
    inputs = preprocessing.apply(data.images(slice(0, n)), data.layout, "NCHW")
    ratios = []
    for attempt in range(8):
        bare = bare_loop(path, inputs, batch)
        model = load_model(path)
        start = time.perf_counter()
        fresh = load_data(tmp_path / "images.npz", preprocessing=preprocessing)
        store = Store(tmp_path / f"store{attempt}")
        logits = measured(Run(model=model, data=fresh, preprocessing=preprocessing, store=store), Logits()).path
        audit_models({"net": read_samples(logits)}, Options(permutations=0)).save(tmp_path / "audit.json")
        ratios.append((time.perf_counter() - start) / bare)
        if min(ratios) <= limit:
            break
    assert min(ratios) <= limit, ratios


@pytest.mark.long
def test_peak_memory_does_not_grow_with_the_number_of_samples(realdata, tmp_path):
    code = """
        import re, sys, threading, time
        from pathlib import Path
        from gfscore.cli.main import run

        peak, done = 0, False

        def watch():  # anonymous memory: pages of mapped files are the system's to take back
            global peak
            while not done:
                peak = max(peak, int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
                time.sleep(0.005)

        thread = threading.Thread(target=watch)
        thread.start()
        model, data, store = sys.argv[1:]
        options = ["--preset", "cifar10", "--store", store, "-q", "-o", "l.safetensors"]
        code = run(["logits", "--model", model, "--data", data, *options])
        done = True
        thread.join()
        assert code == 0
        print(peak)
    """
    with np.load(realdata / "cifar10_test.npz") as file:
        images, labels = file["images"], file["labels"]
    peaks = []
    for repeats in (1, 8):
        data = tmp_path / f"images{repeats}.npz"
        np.savez(data, images=np.tile(images, (repeats, 1, 1, 1)), labels=np.tile(labels, repeats))
        command = [
            sys.executable,
            "-c",
            textwrap.dedent(code),
            str(realdata / "models/cifar_cnn_a_adv.onnx"),
            str(data),
        ]
        done = subprocess.run(
            [*command, str(tmp_path / f"store{repeats}")], capture_output=True, text=True, cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 10_000, peaks  # kB; the 70,000 images more are 215 MB


def test_the_papers_model_is_run_and_set_beside_its_published_numbers(realdata, here, capsys):
    torch = pytest.importorskip("torch")
    pytest.importorskip("pyautoattack")
    shims.torch_for("a test")
    shims.stand_in_for_autoattack()
    with shims.no_deprecations():
        zoo = importlib.import_module("robustbench.model_zoo")
    (cifar10,) = (threats for data, threats in zoo.model_dicts.items() if data.value == "cifar10")
    (l2,) = (models for threat, models in cifar10.items() if threat.value == "L2")
    name = "Sehwag2021Proxy_R18"
    torch.manual_seed(0)
    (here / "models" / "cifar10" / "L2").mkdir(parents=True)
    torch.save(l2[name]["model"]().state_dict(), here / "models" / "cifar10" / "L2" / f"{name}.pt")
    command = ["reproduce", "cifar10", "--only", name, "--model-dir", str(here / "models"), "--n-per-class", "5"]
    assert run([*command, "--data", str(realdata / "cifar10_test.npz")]) == 0
    text = capsys.readouterr().out
    assert "Sehwag_R18" in text
    assert "The paper prints: " in text
    model = Audit.load("gfscore-reproduce/audit.json").model
    assert (model.samples.n, model.score.activation) == (50, "sigmoid")
