"""Every format gives the same samples; what is refused is in tests/cli/test_bad_inputs.py."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from gfscore import read_samples
from gfscore.errors import OptionError
from gfscore.inputs.small_files import read_class_names

NAMES = ["cat", "dog", "emu"]
IDS = ["a", "b", "c", "d"]
GROUPS = ["day", "day", "night", "day"]
LABELS = np.array([0, 2, 1, 1])
LOGITS = np.array([[2.5, -0.5, 1.0], [0.25, 0.5, 4.0], [1.0, 1.5, -3.0], [0.0, -2.0, 8.0]])  # exact in every format


def write_npz(path):
    np.savez(path, logits=LOGITS.astype(np.float32), labels=LABELS, class_names=NAMES, sample_ids=IDS, groups=GROUPS)


def write_npz_compressed(path):
    np.savez_compressed(path, logits=LOGITS, labels=LABELS, class_names=NAMES, sample_ids=IDS, groups=GROUPS)


def write_safetensors(path):
    metadata = {"class_names": json.dumps(NAMES), "sample_ids": json.dumps(IDS), "groups": json.dumps(GROUPS)}
    save_file({"logits": LOGITS.astype(np.float16), "labels": LABELS}, path, metadata=metadata)


def write_csv(path):
    rows = ["sample_id,group,label," + ",".join(NAMES)]
    for row in range(4):
        cells = [IDS[row], GROUPS[row], NAMES[LABELS[row]], *map(str, LOGITS[row])]
        rows.append(",".join(cells))
    path.write_text("\ufeff" + "\n".join(rows) + "\n", encoding="utf-8")


def write_parquet(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(LOGITS.astype(np.float32), columns=NAMES)
    frame.assign(label=LABELS, sample_id=IDS, group=GROUPS).to_parquet(path)


@pytest.mark.parametrize(
    ("suffix", "write"),
    [
        (".npz", write_npz),
        (".npz", write_npz_compressed),
        (".safetensors", write_safetensors),
        (".csv", write_csv),
        (".parquet", write_parquet),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_every_format_gives_the_same_samples(tmp_path, suffix, write):
    write(path := tmp_path / f"model{suffix}")
    samples = read_samples(path)
    np.testing.assert_array_equal(samples.logits, LOGITS)
    assert samples.labels.tolist() == LABELS.tolist()
    assert samples.class_names == tuple(NAMES)
    assert samples.sample_ids == tuple(IDS)
    assert [samples.groups.names[code] for code in samples.groups.codes] == GROUPS


def test_safetensors_logits_are_mapped_not_loaded(tmp_path):
    write_safetensors(path := tmp_path / "model.safetensors")
    assert isinstance(read_samples(path).logits.base, np.memmap)


def test_safetensors_ids_may_be_a_tensor(tmp_path):
    save_file({"logits": LOGITS, "labels": LABELS, "sample_ids": np.arange(4)}, path := tmp_path / "m.safetensors")
    assert read_samples(path).sample_ids == ("0", "1", "2", "3")


def test_bfloat16_is_widened_exactly(tmp_path):
    """Written by hand: NumPy has no bfloat16 to write it with."""
    halves = (LOGITS.astype(np.float32).view(np.uint32) >> 16).astype("<u2")  # exact for these numbers
    labels = LABELS.astype("<i8")
    header = json.dumps(
        {
            "logits": {"dtype": "BF16", "shape": [4, 3], "data_offsets": [0, halves.nbytes]},
            "labels": {"dtype": "I64", "shape": [4], "data_offsets": [halves.nbytes, halves.nbytes + labels.nbytes]},
        }
    ).encode()
    path = tmp_path / "bf16.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + halves.tobytes() + labels.tobytes())
    samples = read_samples(path)
    assert samples.logits.dtype == np.float32
    np.testing.assert_array_equal(samples.logits, LOGITS)


def test_csv_labels_may_be_indices(tmp_path):
    (path := tmp_path / "m.csv").write_text("label,cat,dog\n0,2.5,1\n1,0,3\n")
    assert read_samples(path).labels.tolist() == [0, 1]


def test_csv_labels_that_are_all_names_are_names_even_if_they_are_digits(tmp_path):
    (path := tmp_path / "m.csv").write_text("label,1,2\n1,2.5,1\n2,0,3\n")
    assert read_samples(path).labels.tolist() == [0, 1]


def test_csv_of_many_blocks_is_read_whole(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (9001, 2)).round(6)
    lines = [f"{row % 2},{a},{b}" for row, (a, b) in enumerate(logits.tolist())]
    (path := tmp_path / "m.csv").write_text("label,cat,dog\n" + "\n".join(lines))
    samples = read_samples(path)
    np.testing.assert_array_equal(samples.logits, logits)
    assert samples.labels.tolist() == [row % 2 for row in range(9001)]


@pytest.mark.parametrize("key", ["probs", "probabilities", "logits"])
def test_probabilities_are_taken_when_announced(tmp_path, key):
    np.savez(path := tmp_path / "m.npz", **{key: [[0.25, 0.75], [0.5, 0.5]]}, labels=[0, 1])
    assert read_samples(path, probabilities=True).probabilities


@pytest.mark.parametrize(
    ("suffix", "write"), [(".npz", write_npz), (".safetensors", write_safetensors), (".csv", write_csv)]
)
def test_given_class_names_take_the_place_of_those_in_the_file_but_do_not_move_them(tmp_path, suffix, write):
    write(path := tmp_path / f"m{suffix}")
    assert read_samples(path, class_names=["x", "y", "z"]).class_names == ("x", "y", "z")
    assert read_samples(path, class_names=["cat", "y", "emu"]).class_names == ("cat", "y", "emu")
    for moved in (["emu", "dog", "cat"], ["dog", "y", "z"]):
        with pytest.raises(OptionError, match=rf"class name '{moved[0]}' is given for class 0, which is called 'cat'"):
            read_samples(path, class_names=moved)


def test_class_names_that_have_no_order_are_refused(tmp_path):
    write_npz(path := tmp_path / "m.npz")
    with pytest.raises(OptionError, match=r"class names are a set, which has no fixed order\. Give a list\."):
        read_samples(path, class_names={"x", "y", "z"})


class TestGroups:
    @pytest.fixture
    def logits(self, tmp_path):
        write_npz(path := tmp_path / "m.npz")
        return path

    def groups(self, logits, text, name="groups.csv"):
        path = logits.parent / name
        path.write_text(text)
        samples = read_samples(logits, groups=path)
        return [samples.groups.names[code] for code in samples.groups.codes]

    def test_one_name_per_line(self, logits):
        assert self.groups(logits, "x\ny\nx\ny\n", name="groups.txt") == ["x", "y", "x", "y"]

    def test_a_csv_in_the_order_of_the_samples(self, logits):
        assert self.groups(logits, "camera\nx\ny\nx\ny\n") == ["x", "y", "x", "y"]

    def test_a_csv_joined_on_the_sample_id(self, logits):
        assert self.groups(logits, "sample_id,camera\nd,3\nc,3\nb,2\na,1\nextra,9\n") == ["1", "2", "3", "3"]

    def test_several_columns_are_intersected(self, logits):
        text = "sample_id,camera,light\na,1,day\nb,1,night\nc,2,day\nd,1,day\n"
        assert self.groups(logits, text) == [
            "camera=1, light=day",
            "camera=1, light=night",
            "camera=2, light=day",
            "camera=1, light=day",
        ]


def test_class_names_from_lines_and_from_json(tmp_path):
    (lines := tmp_path / "names.txt").write_text("cat\ndog\n")
    (listed := tmp_path / "names.json").write_text('["cat", "dog"]')
    assert read_class_names(lines) == read_class_names(listed) == ["cat", "dog"]


def test_safetensors_metadata_may_be_null(tmp_path):
    header = json.dumps(
        {
            "__metadata__": None,
            "logits": {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]},
            "labels": {"dtype": "I64", "shape": [2], "data_offsets": [32, 48]},
        }
    ).encode()
    body = np.array([[3.0, 0.0], [0.0, 3.0]]).tobytes() + np.array([0, 1]).tobytes()
    path = tmp_path / "m.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + body)
    assert read_samples(path).class_names == ("0", "1")


def test_a_rounded_probability_that_is_always_0_or_1_is_a_class(tmp_path):
    names, rng = ["ant", "bee", "cow", "elk"], np.random.default_rng(0)
    rows = rng.dirichlet(np.full(3, 0.5), 60).round(2)
    sure = np.arange(60) % 4 == 3
    rows = np.where(sure[:, None], 0.0, rows)
    lines = [
        ",".join(map(str, [i % 4, *row, int(s)])) for i, (row, s) in enumerate(zip(rows.tolist(), sure, strict=True))
    ]
    path = tmp_path / "few.csv"
    path.write_text("\n".join([f"label,{','.join(names)}", *lines]) + "\n")
    assert read_samples(path, probabilities=True).class_names == tuple(names)
