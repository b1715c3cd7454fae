"""The files of a stream agree with each other, and no sample counts twice."""

import json

import numpy as np
import pytest

from gfscore.cli.main import run
from gfscore.inputs.logits_files import Shards, find_shards

NAMES = ["ant", "bee", "cow"]


def table(first, n, *, names=NAMES, label=None, ids=True, seed=0):
    rng = np.random.default_rng(seed)
    lines = [",".join([*(["sample_id"] if ids else []), "label", *names])]
    for row in range(first, first + n):
        cells = [f"s{row}"] if ids else []
        cells += [
            names[row % 3] if label is None else str(label(row)),
            *(f"{value:.3f}" for value in rng.normal(0, 2, 3)),
        ]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


@pytest.fixture
def stream(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").mkdir()

    def stream(files, *options):
        for name, content in files.items():
            (tmp_path / "net" / name).write_text(content)
        code = run(["audit", "--stream", "net", "--out", "run", "--permutations", "0", *options])
        printed = capsys.readouterr()
        if code:
            return printed.err.removeprefix("gfscore: ").strip()
        return json.loads((tmp_path / "run" / "audit.json").read_text())["models"][0]

    return stream


def test_shards_that_share_a_sample_are_refused(stream):
    assert stream({"a.csv": table(0, 400), "b.csv": table(400, 200, seed=1)})["samples"]["n"] == 600
    assert stream({"b.csv": table(399, 201, seed=1)}) == (
        "net/b.csv: holds the sample 's399', and so does net/a.csv: it would count twice. Keep it in one of them; "
        "or, if each file numbers its rows anew, leave the ids out with --ignore-columns sample_id."
    )


def test_a_repeated_sample_is_found_among_many_shards(stream):
    files = {f"{number:02d}.csv": table(10 * number, 10, seed=number) for number in range(40)}
    assert stream(files)["samples"]["n"] == 400
    assert stream({"39.csv": table(74, 1) + "x7,ant,1,2,3\n"}).startswith(
        "net/39.csv: holds the sample 's74', and so does net/07.csv: "
    )


def test_equal_hashes_are_not_equal_samples(monkeypatch, tmp_path):
    monkeypatch.setattr("gfscore.inputs.logits_files.hash", lambda _: 7, raising=False)
    for name, first in (("a", 0), ("b", 5)):
        (tmp_path / f"{name}.csv").write_text(table(first, 5))
    shards = Shards()
    assert [shards.read(tmp_path / f"{name}.csv").n_samples for name in "ab"] == [5, 5]


def test_a_shard_beside_itself_in_another_format_is_refused(stream, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "net").mkdir(exist_ok=True)
    np.savez(tmp_path / "net" / "a.npz", logits=rng.normal(size=(9, 3)), labels=np.arange(9) % 3, class_names=NAMES)
    assert stream({"a.csv": table(0, 9, ids=False)}) == (
        "net/a.npz: has the name of net/a.csv and another format: the same samples would count twice. "
        "Leave one out, or rename it."
    )


def test_hidden_files_are_no_shards(stream, tmp_path):
    files = {"a.csv": table(0, 60), ".a.csv.x7k2.csv": table(60, 60, seed=1), "._a.npz": "what a desktop leaves"}
    assert stream(files)["samples"]["n"] == 60
    assert find_shards(tmp_path / "net") == [tmp_path / "net" / "a.csv"]


class TestLabels:
    def test_shards_whose_labels_can_only_be_read_in_two_ways_are_refused(self, stream):
        numbered = {"names": ["1", "2", "3"], "ids": False}
        files = {"a.csv": table(0, 300, label=lambda row: row % 3, **numbered)}
        assert stream(files | {"b.csv": table(0, 300, label=lambda row: 1 + row % 2, **numbered)}) == (
            "net/b.csv: has labels such as '1' that may be names or indices: as a name it is column '1', as an index "
            "column '2'. Say --labels-from 0 if the first class is 0, or --labels-from 1 if the first class is 1."
        )
        assert stream(files | {"b.csv": table(0, 300, label=lambda row: 2 + row % 2, seed=1, **numbered)}) == (
            "net/b.csv: has labels that can only be names of columns, net/a.csv has indices. "
            "Use one of them throughout."
        )

    def test_shards_that_each_hold_one_class_are_a_stream(self, stream):
        files = {
            f"{name}.csv": table(0, 40, label=lambda _, name=name: name, ids=False, seed=k)
            for k, name in enumerate(NAMES)
        }
        assert [entry["n"] for entry in stream(files)["classes"]] == [40, 40, 40]

    def test_a_column_that_no_shard_names_is_refused(self, stream):
        files = {
            "a.csv": table(0, 40, label=lambda _: "ant", ids=False),
            "b.csv": table(0, 40, label=lambda _: "bee", ids=False, seed=1),
        }
        assert stream(files).startswith("net/a.csv: has a column 'cow' that no label names: a class without a sample")

    def test_columns_that_were_left_out_are_said(self, stream):
        text = table(0, 60, names=["ant", "bee", "Unnamed: 7"], label=lambda row: ["ant", "bee"][row % 2])
        found = {flag["code"]: flag["message"] for flag in stream({"a.csv": text})["flags"]}
        assert found["left_out_columns"].endswith("left out (Unnamed: 7).")


def test_a_group_for_each_sample_of_a_stream_is_refused(stream):
    text = table(0, 60).replace("sample_id", "group")
    assert stream({"a.csv": text}) == (
        "net: groups have 60 values for 60 samples: an id, and no group. Give an attribute that samples share."
    )
