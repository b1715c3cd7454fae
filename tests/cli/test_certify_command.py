"""``gfscore certify`` as a user runs it: models, logits files, and radii from elsewhere."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from gfscore import Audit, Options
from gfscore.cli.main import run
from gfscore.inputs import chains
from gfscore.jobs.certify import certify_given, certify_lipschitz, certify_smoothing
from gfscore.measures import votes
from gfscore.scores.smoothing import Noise

SMOOTHING = ["certify", "--method", "smoothing", "--n0", "10", "--n", "60", "--n-per-class", "4", "--permutations", "0"]
ZOO = ["--model", "zoo:noise", "--data", "zoo:digits", "--store", "store"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    logits = rng.normal(0, 1, (60, 3)).astype(np.float32)
    logits[np.arange(60), labels] += 2
    ids = np.array([f"image {row}" for row in range(60)])
    np.savez("net.npz", logits=logits, labels=labels, sample_ids=ids, class_names=["ant", "bee", "cow"])
    return logits, labels, ids


def saved():
    return Audit.load("gfscore-audit/audit.json").model


def test_smoothing_prints_a_profile_and_keeps_its_votes(here, capsys, monkeypatch):
    assert run([*SMOOTHING, *ZOO, "--per-sample", "rows.csv"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    model = saved()
    assert "certified radius, L2, sigma = 0.25, n0 = 10, n = 60, seed = 0, alpha = 0.001" in text
    assert "abstained" in text
    assert "A certificate. L2 radii in [0, 1] pixels of the smoothed classifier" in text
    assert model.claim.certified
    assert model.score.name == "smoothing"
    assert model.run.model.name == "noise"
    assert any(entry.score > 0 for entry in model.classes)
    rows = list(csv.DictReader(Path("rows.csv").read_text().splitlines()))
    assert {row["abstained"] for row in rows} <= {"True", "False"}
    assert sum(float(row["score"]) for row in rows) / len(rows) == pytest.approx(model.aggregate)

    def fail(*_args, **_kwargs):
        raise AssertionError("computed again")

    monkeypatch.setattr(votes, "noise_votes", fail)
    assert run([*SMOOTHING, *ZOO, "--alpha", "0.01", "--json"]) == 0  # alpha is no part of what is kept
    again = Audit.from_json(capsys.readouterr().out).model
    assert again.aggregate > model.aggregate
    assert run(["store", "list", "--store", "store"]) == 0
    assert "under way" not in capsys.readouterr().out
    assert run(["store", "verify", "--store", "store"]) == 0
    assert "2 of 2 entries are sound" in capsys.readouterr().out


def test_given_radii_agree_with_the_python_function(here, capsys):
    logits, labels, ids = here
    radii = np.random.default_rng(1).random(60) / 5
    order = np.random.default_rng(2).permutation(60)
    lines = [f"{ids[row]},{radii[row]},verified" for row in order]
    Path("radii.csv").write_text("\n".join(["sample_id,radius,status", *lines]))
    assert run(["certify", "net.npz", "--method", "given", "--radii", "radii.csv", "--cap", "0.2", "--json"]) == 0
    audit = Audit.from_json(capsys.readouterr().out)
    expected = certify_given(logits, labels, radii, cap=0.2, class_names=["ant", "bee", "cow"], name="net").model
    assert audit.model.model_copy(update={"samples": expected.samples}) == expected
    assert set(audit.provenance.inputs) == {"net.npz", "radii.csv"}
    wrong = logits.argmax(axis=1) != labels
    flag = next(flag for flag in expected.flags if flag.code == "radius_of_misclassified")
    assert flag.message.startswith(f"{wrong.sum()} samples have a radius but are misclassified")


@pytest.mark.parametrize("suffix", ["npz", "parquet", "csv"])
@pytest.mark.parametrize("by_id", [True, False])
def test_radii_are_read_from_every_format(here, capsys, suffix, by_id):
    logits, labels, ids = here
    radii = np.linspace(0, 0.06, 60)
    order = np.arange(60)[::-1] if by_id else np.arange(60)
    path = f"radii.{suffix}"
    if suffix == "npz":
        named = {"sample_ids": ids[order]} if by_id else {}
        np.savez(path, radii=radii[order], **named)
    else:
        pandas = pytest.importorskip("pandas")
        table = pandas.DataFrame({"radius": radii[order]} | ({"sample_id": ids[order]} if by_id else {}))
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    options = ["--method", "given", "--radii", path, "--norm", "linf", "-q"]
    assert run(["certify", "net.npz", *options]) == 0
    right = logits.argmax(axis=1) == labels
    model = saved()
    assert model.aggregate == pytest.approx(np.where(right, radii, 0).mean(), rel=1e-6)
    assert model.score.norm == "linf"
    assert model.score.range == (0.0, 16 / 255)


def test_a_given_constant_works_on_logits(here, capsys):
    logits, labels, _ = here
    assert run(["certify", "net.npz", "--method", "lipschitz", "--lipschitz", "12.5", "--json"]) == 0
    found = Audit.from_json(capsys.readouterr().out).model
    expected = certify_lipschitz(logits, labels, 12.5, class_names=["ant", "bee", "cow"], name="net").model
    assert found.model_copy(update={"samples": expected.samples}) == expected
    margins = np.diff(np.sort(logits.astype(float), axis=1)[:, -2:], axis=1)[:, 0]
    right = logits.argmax(axis=1) == labels
    assert found.aggregate == pytest.approx(np.where(right, margins / (np.sqrt(2) * 12.5), 0).mean())


def test_a_constant_for_inputs_is_divided_by_the_smallest_std(here, capsys):
    options = ["--n-per-class", "4", "--mean", "0.5", "--std", "0.25", "--permutations", "0", "--json"]
    assert run(["certify", *ZOO, "--method", "lipschitz", "--lipschitz", "100", "--of-inputs", *options]) == 0
    settings = json.loads(capsys.readouterr().out)["models"][0]["score"]["settings"]
    assert settings["lipschitz"] == 400.0
    assert settings["lipschitz_from"] == "given for inputs, divided by the smallest std"


def test_a_constant_is_computed_from_the_layers(here, capsys):
    pytest.importorskip("onnx")
    assert run(["certify", *ZOO, "--method", "lipschitz", "--n-per-class", "4", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["models"][0]["score"]
    assert score["settings"]["lipschitz_from"] == "product of spectral norms, divided by the smallest std"
    assert score["settings"]["lipschitz"] > 0
    assert score["norm"] == "l2"


RESIDUAL = """
from torch import manual_seed, nn

class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)

def make():
    manual_seed(0)
    inner = [nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1)]
    for each in inner[::2]:
        each.weight.data *= 0.02  # so that what is added decides
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), Residual(*inner), nn.Flatten(), nn.Linear(256, 10)).eval()

def hooked():
    module = nn.Sequential(nn.Flatten(), nn.Linear(64, 10), nn.Identity()).eval()
    module[2].register_forward_hook(lambda layer, given, made: 100 * made)
    return module
"""
OF_A_NETWORK = ["certify", "--method", "lipschitz", "--data", "zoo:digits", "--n-per-class", "4", "--store", "store"]


def test_a_residual_network_is_not_taken_for_its_layers(here, capsys):
    pytest.importorskip("torch")
    Path("networks_of_mine.py").write_text(RESIDUAL)
    assert run([*OF_A_NETWORK, "--model", "torch:networks_of_mine:make", "-q"]) == 2
    assert capsys.readouterr().err == (
        "gfscore: networks_of_mine:make: layer 1 (Residual) is a Sequential with code of its own (forward), so no "
        "Lipschitz constant is computed. Give a proven one with --lipschitz.\n"
    )
    assert run([*OF_A_NETWORK, "--model", "torch:networks_of_mine:hooked", "-q"]) == 2
    assert "layer 2 (Identity) has a forward hook" in capsys.readouterr().err
    assert not Path("gfscore-audit").exists()


def test_a_constant_below_what_is_seen_is_refused(here, capsys, monkeypatch):
    """Given for pixels, given for inputs, or computed with a factor that is wrong."""
    pytest.importorskip("onnx")
    told = "two images were found whose logits differ by "
    assert run([*OF_A_NETWORK, "--model", "zoo:noise", "--lipschitz", "0.5", "-q"]) == 2
    assert f"gfscore: noise: Lipschitz constant 0.5 is none: {told}" in capsys.readouterr().err
    inputs = ["--lipschitz", "0.25", "--of-inputs", "--mean", "0.5", "--std", "0.5"]
    assert run([*OF_A_NETWORK, "--model", "zoo:noise", *inputs, "-q"]) == 2
    assert f"Lipschitz constant 0.5 is none: {told}" in capsys.readouterr().err
    monkeypatch.setattr(chains, "linear_norm", lambda weight: 1e-3)
    assert run([*OF_A_NETWORK, "--model", "zoo:noise", "-q"]) == 2
    error = capsys.readouterr().err
    assert f"as the product of its spectral norms, but {told}" in error
    assert "one of the two cannot be, so nothing is certified." in error
    assert not Path("gfscore-audit").exists()


def test_smoothing_of_a_function_in_memory():
    rng = np.random.default_rng(0)
    labels = np.arange(80) % 2
    images = rng.random((80, 1, 4, 4)) * 0.2 + 0.6 * labels[:, None, None, None]

    def brightness(pixels):
        mean = pixels.mean(axis=(1, 2, 3))
        return np.stack([0.4 - mean, mean - 0.4], axis=1)

    audit = certify_smoothing(brightness, images, labels, noise=Noise(n=300), options=Options(permutations=0))
    truth = np.abs(images.mean(axis=(1, 2, 3)) - 0.4) * 4  # 16 pixels: the distance is the mean's times sqrt(16)
    assert 0 < audit.aggregate < truth.mean()
    assert audit.model.abstained == 0


def test_the_caption_of_a_table_says_that_it_is_a_certificate(here, capsys):
    assert run(["certify", "net.npz", "--method", "lipschitz", "--lipschitz", "12.5", "-q"]) == 0
    assert run(["table", "gfscore-audit/audit.json"]) == 0
    text = capsys.readouterr().out
    assert "not a certificate" not in text
    assert "true if the logits are L-Lipschitz" in text


def test_ids_of_radii_that_are_no_text_are_refused(here, capsys):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"radius": [0.1, 0.2], "sample_id": ["axx", "b"]})
    pytest.importorskip("pyarrow.parquet").write_table(table, "radii.parquet", compression="none")
    Path("radii.parquet").write_bytes(Path("radii.parquet").read_bytes().replace(b"axx", b"a\xffx"))
    np.savez("two.npz", logits=3 * np.eye(2), labels=[0, 1], sample_ids=["axx", "b"])
    assert run(["certify", "two.npz", "--method", "given", "--radii", "radii.parquet"]) == 2
    assert "radii.parquet: holds text that is not UTF-8 (byte 1). Save it as UTF-8." in capsys.readouterr().err
