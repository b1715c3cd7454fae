"""A logits file remembers the run that made it, and whoever reads it says so."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from gfscore import audit, compare, gate
from gfscore.cli.main import run
from gfscore.inputs.array_files import remembered_run
from gfscore.jobs.named_files import name_files

RUN = "gfscore.run"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Logits of two networks, one with a preprocessing of its own."""
    folder = tmp_path_factory.mktemp("remembered")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GFSCORE_STORE", str(folder / "store"))
        command = ["logits", "--data", "zoo:digits", "--quiet", "--model"]
        for name, *said in (("trades", "--mean", "0.1", "--std", "0.5", "--batch-size", "64"), ("pgd-large",)):
            assert run([*command, f"zoo:{name}", "-o", str(folder / f"of-{name}.safetensors"), *said]) == 0
    return folder


def rewrite(path, target, **metadata):
    """The file with other metadata: a value of None takes a key out."""
    length = int.from_bytes(path.read_bytes()[:8], "little")
    old = json.loads(path.read_bytes()[8 : 8 + length])["__metadata__"] | metadata
    save_file(load_file(path), target, {key: value for key, value in old.items() if value is not None})


def test_an_audit_of_a_logits_file_says_what_made_it(files, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = audit(files / "of-trades.safetensors").model
    direct = audit("zoo:trades", "zoo:digits", mean="0.1", std="0.5", batch_size=64, radii="none", store=tmp_path).model
    assert model.name == direct.name == "trades"
    assert model.run == direct.run
    assert (model.run.data.source, model.run.batch_size, model.run.preprocessing.mean) == ("zoo:digits", 64, (0.1,))
    assert model.samples.source == "of-trades.safetensors"
    assert [entry.name for entry in model.classes] == [entry.name for entry in direct.classes]
    assert run(["audit", str(files / "of-trades.safetensors")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "of-trades.safetensors was made on zoo:digits; preprocessing: mean 0.1, std 0.5; batches of 64." in said


def test_a_gate_a_stream_and_a_comparison_know_the_model(files):
    verdict = gate(files / "of-trades.safetensors", wcr=0.1).models[0]
    assert (verdict.name, verdict.preprocessing) == ("trades", "mean 0.1, std 0.5")
    streamed = audit(files / "of-trades.safetensors", stream=True).model
    assert (streamed.name, streamed.run) == ("trades", remembered_run(files / "of-trades.safetensors"))
    changed = compare(files / "of-pgd-large.safetensors", files / "of-trades.safetensors")
    assert (changed.old, changed.new) == ("pgd-large", "trades")


def test_shards_of_one_model_have_its_name_and_shards_of_two_that_of_their_folder(files, tmp_path):
    logits, length = load_file(files / "of-trades.safetensors"), 450
    about = {RUN: remembered_run(files / "of-trades.safetensors").model_dump_json()}
    (tmp_path / "shards").mkdir()
    for number in range(2):
        rows = {name: values[number * length : (number + 1) * length] for name, values in logits.items()}
        save_file(rows, tmp_path / "shards" / f"{number}.safetensors", about)
    one = audit(tmp_path / "shards", stream=True).model
    assert (one.name, one.run.batch_size) == ("trades", 64)
    shutil.copy(files / "of-pgd-large.safetensors", tmp_path / "shards" / "2.safetensors")
    two = audit(tmp_path / "shards", stream=True).model
    assert (two.name, two.run) == ("shards", None)


def test_files_of_one_model_are_called_as_the_files(files, tmp_path):
    trades, other = files / "of-trades.safetensors", files / "of-pgd-large.safetensors"
    for name in ("old", "new", "pgd-large"):
        shutil.copy(trades, tmp_path / f"{name}.safetensors")
    np.savez(tmp_path / "trades.npz", **load_file(trades))

    def names(*paths, **how):
        return [each.name for each in name_files(paths, **how)]

    assert names(trades, other) == ["trades", "pgd-large"]
    assert names(tmp_path / "old.safetensors", tmp_path / "new.safetensors", other) == ["old", "new", "pgd-large"]
    assert names(tmp_path / "old.safetensors", tmp_path / "trades.npz") == ["old", "trades"]
    # the second is called as the first remembers its model
    assert names(other, tmp_path / "pgd-large.safetensors") == ["of-pgd-large", "trades"]
    assert names(trades, other, beside_runs=True) == ["of-trades", "of-pgd-large"]
    assert names(tmp_path / "nothing.safetensors") == ["nothing"]


def test_a_file_without_a_record_is_read_as_before(files, tmp_path):
    path = tmp_path / "bare.safetensors"
    rewrite(files / "of-trades.safetensors", path, **{RUN: None, "run": "another tool's"})
    model = audit(path).model
    assert (model.name, model.run) == ("bare", None)


def test_a_record_of_a_later_version_is_read(files, tmp_path):
    path = tmp_path / "later.safetensors"
    told = json.loads(remembered_run(files / "of-trades.safetensors").model_dump_json()) | {"engine": "new"}
    rewrite(files / "of-trades.safetensors", path, **{RUN: json.dumps(told)})
    assert remembered_run(path) == remembered_run(files / "of-trades.safetensors")


def test_what_a_name_hides_is_spelled_out(files, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = json.loads(remembered_run(files / "of-trades.safetensors").model_dump_json())
    told["model"]["name"], told["data"]["source"] = "\x1b[2Jnet", "/etc/\x07passwd"
    rewrite(files / "of-trades.safetensors", tmp_path / "odd.safetensors", **{RUN: json.dumps(told)})
    assert run(["audit", "odd.safetensors"]) == 0
    shown = capsys.readouterr().out
    assert "\\x1b[2Jnet: 900 samples" in shown
    assert "made on /etc/\\x07passwd" in shown
    assert "\x1b" not in shown
