"""Commands from and to an object store: the same numbers, in the same files, under addresses."""

import inspect
import json
import os
from pathlib import Path
from typing import get_args

import numpy as np
import onnx_graphs
import pytest
from PIL import Image

from gfscore import zoo
from gfscore.cli.main import application, run
from gfscore.jobs.given_words import HERE, WRITTEN
from gfscore.results import Audit

READ = {
    "audits",
    "baseline",
    "class_names",
    "config",
    "groups",
    "inputs",
    "label_names",
    "logits",
    "note",
    "paths",
    "pilot",
    "policy",
    "radii",
}


def out_of(store, address):
    return store.cat_file(address.removeprefix("s3://")).decode()


def names_a_path(annotation):
    return annotation is Path or any(map(names_a_path, get_args(annotation)))


def without_provenance(text):
    return {key: value for key, value in json.loads(text).items() if key != "provenance"}


def test_every_path_of_every_command_is_read_or_written_or_stays_here():
    app = application()
    commands = [entry.callback for entry in app.registered_commands]
    commands += [
        entry.callback for group in app.registered_groups for entry in group.typer_instance.registered_commands
    ]
    taken = {
        name
        for command in commands
        for name, entry in inspect.signature(command).parameters.items()
        if names_a_path(entry.annotation)
    }
    assert taken | {"folder"} == READ | WRITTEN | HERE  # check is told its folder from Python


def test_an_audit_of_remote_logits_is_that_of_local_ones(store, bucket, logits, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["gfscore", "audit"])
    Path("names.txt").write_text("ant\nbee\ncow\n")
    for name in (str(logits("a/net.npz")), str(logits("b/net.npz", seed=1)), "names.txt"):
        store.put_file(name, f"{bucket}/{os.path.relpath(name)}")
    paths = ["audit", "a/net.npz", "b/net.npz", "--class-names", "names.txt", "--seed", "1"]
    addresses = [f"s3://{bucket}/{each}" if Path(each).is_file() else each for each in paths]
    assert run([*paths, "--out", "here", "--per-sample", "here/samples.csv"]) == 0
    shown = capsys.readouterr()
    there = f"s3://{bucket}/there"
    assert run([*addresses, "--out", there, "--per-sample", f"{there}/samples.csv"]) == 0
    assert capsys.readouterr().out.replace(there, "here") == shown.out
    remote = out_of(store, f"{there}/audit.json")
    assert without_provenance(remote) == without_provenance(Path("here/audit.json").read_text())
    assert out_of(store, f"{there}/samples.csv") == Path("here/samples.csv").read_text()
    hashes = [json.loads(text)["provenance"]["inputs"] for text in (remote, Path("here/audit.json").read_text())]
    assert list(hashes[0]) == [f"s3://{bucket}/{each}" for each in hashes[1]]
    assert list(hashes[0].values()) == list(hashes[1].values())


def test_results_are_written_there_and_read_back(store, bucket, logits, capsys, monkeypatch):
    there = f"s3://{bucket}"
    for seed in (0, 1):
        store.put_file(str(logits(f"net{seed}.npz", seed=seed)), f"{bucket}/net{seed}.npz")
    store.pipe_file(f"{bucket}/policy.toml", b"[rules]\nwcr = 0.1\n")
    assert run(["audit", f"{there}/net0.npz", "--out", f"{there}/run", "-q"]) == 0
    audit = f"{there}/run/audit.json"
    assert run(["report", audit, "--out", f"{there}/run/report.html"]) == 0
    assert run(["table", audit, "--out", f"{there}/run/table.md"]) == 0
    assert run(["figures", audit, "--out", f"{there}/run/figures", "--only", "forest", "--format", "svg"]) == 0
    assert (
        run(["gate", audit, "--policy", f"{there}/policy.toml", "--out", f"{there}/gate", "--junit", f"{there}/j.xml"])
        == 0
    )
    assert run(["compare", f"{there}/net0.npz", f"{there}/net1.npz", "--out", f"{there}/change.json", "-q"]) == 0
    assert run(["plan", "--pilot", audit, "--half-width", "0.1"]) == 0
    assert run(["calibrate", f"{there}/net0.npz", "--objective", "stability"]) == 0
    printed = capsys.readouterr().out
    assert f"Written: {there}/run/report.html\n" in printed
    assert f"Written: {there}/run/figures/forest.svg (" in printed
    written = ["change.json", "gate/audit.json", "gate/gate.json", "j.xml", "run/audit.json", "run/figures/forest.svg"]
    written += ["run/report.html", "run/table.md"]
    given = ["net0.npz", "net1.npz", "policy.toml"]
    assert [name.partition("/")[2] for name in store.find(bucket)] == sorted(written + given)
    assert json.loads(out_of(store, f"{there}/change.json"))["provenance"]["inputs"].keys() == {
        f"{there}/net0.npz",
        f"{there}/net1.npz",
    }
    audited = Audit.load(audit)
    audited.save(f"{there}/again.json")
    assert Audit.load(f"{there}/again.json") == audited
    for name in store.find(bucket):
        assert os.environ["AWS_SECRET_ACCESS_KEY"].encode() not in store.cat_file(name)
        assert os.environ["AWS_ACCESS_KEY_ID"].encode() not in store.cat_file(name)


def test_pieces_of_a_stream(store, bucket, logits, capsys):
    for seed in range(3):
        store.put_file(str(logits(f"parts/{seed}.npz", seed=seed)), f"{bucket}/parts/{seed}.npz")
    store.pipe_file(f"{bucket}/parts/readme.txt", b"not a piece")
    local = sorted(str(path) for path in Path("parts").iterdir())
    assert run(["audit", "--pieces", *local, "--out", "here", "-q"]) == 0
    expected = without_provenance(Path("here/audit.json").read_text())
    store.put_file(local[0], f"{bucket}/odd/[0-2].npz")  # a name that looks like a pattern is a name
    assert run(["audit", f"s3://{bucket}/odd/[0-2].npz", "--json", "-q"]) == 0
    for given in (["--pieces", f"s3://{bucket}/parts/*.npz"], ["--pieces", f"s3://{bucket}/parts/[0-2].npz"]):
        assert run(["audit", *given, "--out", f"s3://{bucket}/out", "-q"]) == 0
        assert without_provenance(out_of(store, f"s3://{bucket}/out/audit.json")) == expected
    assert run(["audit", "--stream", f"s3://{bucket}/parts/", "--out", f"s3://{bucket}/out", "-q"]) == 0
    assert without_provenance(out_of(store, f"s3://{bucket}/out/audit.json")) == expected


@pytest.fixture
def pictures(tmp_path, store, bucket):
    """Images of five classes as an .npz and as a folder, here and there."""
    rng, labels = np.random.default_rng(0), np.arange(20) % 5
    images = rng.integers(0, 256, (20, 2, 2, 3), dtype=np.uint8)
    order = np.argsort(labels, kind="stable")  # as a folder has them
    np.savez(tmp_path / "images.npz", images=images[order], labels=labels[order])
    for row, label in enumerate(labels):
        (tmp_path / "images" / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(images[row]).save(tmp_path / "images" / str(label) / f"{row:02d}.png")
    store.put_file("images.npz", f"{bucket}/images.npz")
    store.put("images", f"{bucket}/images", recursive=True)
    return labels[order]


def test_models_and_images(store, bucket, pictures, tmp_path, transfers, capsys):
    onnx_graphs.linear(tmp_path / "net.onnx")
    store.put_file("net.onnx", f"{bucket}/net.onnx")
    assert run(["logits", "--model", "net.onnx", "--data", "images.npz", "-o", "here.safetensors", "-q"]) == 0
    transfers()
    common = ["logits", "--model", f"s3://{bucket}/net.onnx", "--store", "other"]
    for data in ("images.npz", "images"):
        out = f"s3://{bucket}/{Path(data).suffix or 'folder'}.safetensors"
        assert run([*common, "--data", f"s3://{bucket}/{data}", "-o", out, "-q"]) == 0, capsys.readouterr()
        arrays = [_tensors(Path("here.safetensors").read_bytes()), _tensors(store.cat_file(out.removeprefix("s3://")))]
        for name in ("logits", "labels"):
            np.testing.assert_array_equal(arrays[0][name], arrays[1][name])
    transfers()
    assert run(["audit", *common[1:], "--data", f"s3://{bucket}/images", "--out", f"s3://{bucket}/run", "-q"]) == 0
    assert transfers() == []  # the network, and twenty images
    entry = json.loads(out_of(store, f"s3://{bucket}/run/audit.json"))["models"][0]
    assert entry["samples"]["source"] == f"s3://{bucket}/images"
    assert entry["run"]["model"]["name"] == "net"
    assert run(["audit", "--model", "net.onnx", "--data", "images", "--out", "here", "-q"]) == 0
    local = json.loads(Path("here/audit.json").read_text())["models"][0]
    assert local["run"]["data"].pop("source") == local["samples"].pop("source") == "images"
    assert entry["run"]["data"].pop("source") == entry["samples"].pop("source")
    assert entry == local  # fingerprints too


def _tensors(content):
    from safetensors.numpy import load

    return load(content)


@pytest.mark.parametrize("location", ["weights.bin", "./weights.bin", "deep/weights.bin"])
def test_weights_beside_a_graph_come_with_it(store, bucket, pictures, tmp_path, location, transfers):
    onnx_graphs.with_external_weights(tmp_path / "net.onnx", location)
    store.put_file("net.onnx", f"{bucket}/models/net.onnx")
    args = ["logits", "--model", f"s3://{bucket}/models/net.onnx", "--data", "images.npz", "-q", "-o"]
    key = f"{bucket}/models/{location.removeprefix('./')}"
    store.pipe_file(key, onnx_graphs.weights().tobytes())
    transfers()
    assert run([*args, "one.safetensors"]) == 0
    assert len(transfers()) == 2  # graph and weights, each once
    store.pipe_file(key, (2 * onnx_graphs.weights()).tobytes())  # the graph is the same, its weights are not
    assert run([*args, "two.safetensors"]) == 0
    one, two = (_tensors(Path(name).read_bytes())["logits"] for name in ("one.safetensors", "two.safetensors"))
    np.testing.assert_allclose(two, 2 * one, rtol=1e-5)


@pytest.mark.parametrize("location", ["../secret.bin", "/etc/hostname", "deep/../../secret.bin"])
def test_weights_outside_the_folder_are_not_fetched(store, bucket, pictures, tmp_path, location, transfers, capsys):
    onnx_graphs.with_external_weights(tmp_path / "net.onnx", location)
    store.put_file("net.onnx", f"{bucket}/models/net.onnx")
    store.pipe_file(f"{bucket}/secret.bin", onnx_graphs.weights().tobytes())
    transfers()
    assert (
        run(["logits", "--model", f"s3://{bucket}/models/net.onnx", "--data", "images.npz", "-o", "x.safetensors"]) == 2
    )
    assert transfers() == ["models/net.onnx"]
    assert capsys.readouterr().err == (
        f"gfscore: s3://{bucket}/models/net.onnx: takes weights from {location!r}, outside its folder. Put them beside "
        "it and export it again.\n"
    )


def test_a_generator(store, bucket, monkeypatch):
    store.put_file(str(zoo.generator().path), f"{bucket}/generator.onnx")
    spec = f"generator:s3://{bucket}/generator.onnx"
    model = f"zoo:{zoo.models()[0].name}"
    args = ["audit", "--model", model, "--n-per-class", "4", "--classes", "10", "-q", "--data"]
    assert run([*args, spec, "--out", "there"]) == 0
    assert run([*args, f"generator:{zoo.generator().path}", "--out", "here"]) == 0
    there, here = (json.loads(Path(folder, "audit.json").read_text())["models"][0] for folder in ("there", "here"))
    assert there["classes"] == here["classes"]
    assert there["samples"]["source"] == f"{spec} (4 per class, seed 0)"


def test_the_dashboard_gets_copies(store, bucket, logits, monkeypatch, capsys):
    for seed in range(2):
        store.put_file(str(logits(seed=seed)), f"{bucket}/folder/{seed}.npz")
    served = []
    serve = "gfscore.dashboard.serving.serve"
    monkeypatch.setattr(serve, lambda paths, **options: served.append((paths, options["data"])))
    assert run(["dashboard", f"s3://{bucket}/folder", f"s3://{bucket}/folder/*.npz", "--data", f"s3://{bucket}/x"]) == 0
    [(paths, data)] = served
    assert [path.name for path in paths] == ["folder", "0.npz", "1.npz"]
    assert sorted(path.name for path in paths[0].iterdir()) == ["0.npz", "1.npz"]
    assert data == f"s3://{bucket}/x"


def test_file_addresses_are_paths(copies, logits, capsys):
    uri = logits("my net.npz").as_uri()
    assert run(["audit", uri, "--out", Path("run").absolute().as_uri()]) == 0
    assert f"Written: {Path('run/audit.json').absolute()}\n" in capsys.readouterr().out
    assert not copies.exists()
