"""What fuzzing, and thinking like an attacker, has found: each stays found. The table is in docs/fuzzing.md."""

import gzip
import io
import json
import mmap
import os
import pickle
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import watched
from PIL import Image
from readers import LABELS, LOGITS, MADE_WITH, READERS, png, written
from watched import attempt

from gfscore.errors import FileError
from gfscore.inputs.data import load_data
from gfscore.inputs.preprocessing import Preprocessing

MB = 1_000_000
NESTED = b")" + b"2\x86" * 30  # the empty tuple, then thirty times a pair of itself: its hash takes 2^30 steps


def npz_bomb():
    """Zeros compress a thousand times; the header and the length agree."""
    buffer, header = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (50 * MB, 2)})
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("logits.npy", "w", force_zip64=True) as member:
            member.write(header.getvalue())
            for _ in range(400):
                member.write(bytes(MB))
        archive.writestr("labels.npy", written(lambda file: np.save(file, LABELS)))
    return buffer.getvalue()


def gzip_bomb():
    return gzip.compress(struct.pack(">4B3I", 0, 0, 8, 3, 4, 10_000, 7_000) + bytes(280 * MB), 1)


def parquet(**columns):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    return written(lambda file: parquet.write_table(pa.table(columns), file))


def repeated_text():
    pa = pytest.importorskip("pyarrow")
    group = pa.DictionaryArray.from_arrays(pa.array(np.zeros(400, np.int32)), pa.array(["x" * MB])).cast(pa.string())
    return parquet(label=np.zeros(400, int), a=np.zeros(400), b=np.full(400, 3.0), group=group)


def pickled_names():
    batch = pickle.dumps({"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 2, 0]}, protocol=4)
    return batch[:-1] + b"\x8c\x09filenames(" + b")" + b"2\x86" * 60 + b"ls."


def empty_tensor():
    tensors = {
        "logits": {"dtype": "F32", "shape": [0, 2**62], "data_offsets": [0, 0]},
        "labels": {"dtype": "I64", "shape": [0], "data_offsets": [0, 0]},
    }
    header = json.dumps(tensors).encode()
    return len(header).to_bytes(8, "little") + header


def line_break_in_a_type():
    return parquet(image=[{"by\ntes": b"x"}, {"by\ntes": b"y"}], label=[0, 1])


def no_row_groups():
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    schema = pa.schema({"image": pa.binary(), "label": pa.int64()})
    return written(lambda file: parquet.ParquetWriter(file, schema).close())


def rows_left_out():
    """The footer gives the column no values, and its row group four rows."""
    path = b"\x05bytes\x15\x02\x16"
    return replaced("images parquet", path + b"\x08", path + b"\x00")


def replaced(name, old, new):
    """The first sound file of a reader, with other bytes in it."""
    if name in MADE_WITH:
        pytest.importorskip(MADE_WITH[name])
    content = READERS[name].seeds()[0]
    assert old in content
    return content.replace(old, new)


def latents_of_no_shape():
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(READERS["generator"].seeds()[0])
    model.graph.input[0].type.tensor_type.ClearField("shape")
    return model.SerializeToString()


FINDINGS = {
    "threshold of 400 digits": ("policy", lambda: b"[rules]\nwcr = " + b"9" * 400, "Give a number"),
    "threshold of 5,000 digits": ("policy", lambda: b"[rules]\nwcr = " + b"9" * 5000, "is not TOML"),
    "lists in lists in a policy": ("policy", lambda: b"[rules]\nwcr = " + b"[" * 5000, "is not TOML"),
    "zip bomb": ("npz", npz_bomb, "a decompression bomb"),
    "gzip bomb": ("idx gzip", gzip_bomb, "a decompression bomb"),
    "rows that take no room": (
        "parquet",
        lambda: parquet(label=np.zeros(12 * MB, np.int8), a=np.zeros(12 * MB, np.float32), b=np.ones(12 * MB, "f4")),
        "a decompression bomb",
    ),
    "one text, again and again": ("parquet", repeated_text, "a column 'group' of"),
    "one image, again and again": (
        "images parquet",
        lambda: parquet(image=[png(0) + bytes(MB)] * 400, label=[0, 1] * 200),
        "a column 'image' of",
    ),
    "key nested in itself": ("cifar", lambda: b"\x80\x04}" + NESTED + b"K\x01s.", "keys that are no text"),
    "keys nested in themselves": ("cifar", lambda: b"\x80\x04}(" + NESTED + b"K\x01u.", "keys that are no text"),
    "dictionary of them": ("cifar", lambda: b"\x80\x04(" + NESTED + b"K\x01d.", "keys that are no text"),
    "set of what is nested in itself": ("cifar", lambda: b"\x80\x04\x8f(" + NESTED + b"\x90.", "is damaged"),
    "name nested in itself": ("cifar", pickled_names, "holds a tuple where a name belongs"),
    "empty tensor of 2^62 columns": ("safetensors", empty_tensor, "logits have no rows"),
    "header of 150,000 columns": (
        "csv",
        lambda: b"label," + b",".join(b"%d" % column for column in range(150_000)) + b"\n",
        "logits have no rows",
    ),
    "name of a column that is no text": (
        "parquet",
        lambda: parquet(label=[0, 1], axx=[1.0, 2.0], b=[2.0, 1.0]).replace(b"axx", b"a\xffx"),
        "holds text that is not UTF-8 (byte 1). Save it as UTF-8.",
    ),
    "name of an image that is no text": (
        "images parquet",
        lambda: replaced("images parquet", b"0.png", b"\xff.png"),
        "holds text that is not UTF-8 (byte 0). Save it as UTF-8.",
    ),
    "rows that are left out": (
        "images parquet",
        rows_left_out,
        "column 'image.bytes' holds 0 rows of 4 declared. Save it again.",
    ),
    "table of no row groups": ("images parquet", no_row_groups, "holds no image. Give at least one of each of two"),
    "line break in a type": ("images parquet", line_break_in_a_type, "column 'image' is struct<by tes: binary>. It "),
    "axis whose name is no text": (
        "onnx",
        lambda: replaced("onnx", b"\n\x03\x12\x01n", b"\n\x03\x12\x01\xff"),
        "names an input, an output or an axis in bytes that are no text. Export it again.",
    ),
    "axis of a generator whose name is no text": (
        "generator",
        lambda: replaced("generator", b"\n\x03\x12\x01n", b"\n\x03\x12\x01\xff"),
        "names an input, an output or an axis in bytes that are no text. Export it again.",
    ),
    "latents of no shape": ("generator", latents_of_no_shape, "input 'z' has shape []. Fix all its axes but the first"),
    "number of 400 digits": ("reference json", lambda: b'{"a": ' + b"9" * 400 + b"}", "which is no number"),
}  # fmt: skip


@pytest.mark.parametrize("name", FINDINGS)
def test_findings_stay_found(name):
    reader, content, message = FINDINGS[name]
    assert message in attempt(READERS[reader], content())


def test_a_chunk_that_declares_half_a_gigabyte_takes_no_memory():
    """Pillow skips what is left of the last chunk, by its declared length; the image before it is sound."""
    content = png(0)
    length = content.index(b"IDAT") - 4
    assert attempt(READERS["images"], content[:length] + b"\x20" + content[length + 1 :]) == ""


def test_one_colour_that_is_made_small_is_refused_before_it_is_unpacked(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Image.new("1", (9000, 9000)).save(tmp_path / name / "one.png")
    with pytest.raises(FileError, match=r"declares an image of 0\.3 GB in 0\.0 MB: a decompression bomb, or one value"):
        load_data(tmp_path, preprocessing=Preprocessing(resize=8, crop=8)).images(slice(0, 1))


def test_lists_in_lists_in_the_notes_of_the_hub_are_left_alone():
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"image": [png(0), png(1)], "label": [0, 1]})
    hub = table.replace_schema_metadata({"huggingface": "[" * 100_000})
    assert attempt(READERS["images parquet"], written(lambda file: parquet.write_table(hub, file))) == ""


def test_a_model_that_asks_for_terabytes_is_refused_in_one_line(tmp_path, capfd):
    pytest.importorskip("onnx")
    from onnx_graphs import hungry

    graph = hungry(tmp_path / "hungry.onnx", values_per_image=10**12)
    said = attempt(READERS["onnx"], graph.read_bytes())
    assert "needs more memory than there is for inputs of shape (2, 3, 2, 2)" in said
    assert capfd.readouterr() == ("", "")


def test_a_damaged_model_writes_nothing_to_standard_output(capfd):
    pytest.importorskip("onnx")
    reader = READERS["onnx"]
    content = reader.seeds()[0].replace(b"MatMul", b"Mat\xfful")
    assert "cannot be opened by onnxruntime" in attempt(reader, content)
    assert capfd.readouterr().out == ""


def test_the_watch_sees_what_it_is_for(monkeypatch):
    """A reader that crashes, takes for ever or takes too much is noticed; one that refuses is not a finding."""

    def reading(function):
        return watched.Reader("file", lambda: [b"x"], function)

    def endless(_path: Path) -> None:
        while True:
            pass

    def native(_path: Path) -> None:
        with mmap.mmap(-1, 600 * MB) as memory:  # which Python does not count
            for _ in range(600):
                memory.write(bytes(MB))

    def refusing(_path: Path) -> None:
        raise FileError("is bad. Save it again.")

    assert attempt(reading(refusing), b"x") == "is bad. Save it again."
    with pytest.raises(watched.TooMuchMemoryError):
        attempt(reading(lambda _path: np.zeros(400 * MB, np.uint8)), b"x")
    with pytest.raises(watched.TooMuchMemoryError):
        attempt(reading(native), b"x")
    with pytest.raises(ZeroDivisionError):
        attempt(reading(lambda _path: 1 // 0), b"x")
    monkeypatch.setattr(watched, "SECONDS", 0.2)
    with pytest.raises(watched.TooLongError, match="of work"):
        attempt(reading(endless), b"x")
    with pytest.raises(watched.TooLongError, match="of waiting"):
        attempt(reading(lambda _path: time.sleep(60)), b"x")


def test_memory_is_traced_before_the_thread_that_watches_starts(monkeypatch):
    """Python 3.11 crashes where a thread starts, and frees memory, while tracing is switched on."""
    traced = []
    monkeypatch.setattr("faulthandler.dump_traceback_later", lambda *_, **__: traced.append(tracemalloc.is_tracing()))
    attempt(READERS["csv"], READERS["csv"].seeds()[0])
    assert traced == [True]
    assert not tracemalloc.is_tracing()


HANGING = """import sys
import time
sys.path[:0] = {paths}
import watched
watched.SECONDS = 0.2
nested = ()
for _ in range(60):
    nested = nested, nested
watched.attempt(watched.Reader("file", list, lambda _path: hash(nested)), b"the culprit")
"""


def test_the_watch_ends_native_code_that_heeds_no_signal(tmp_path):
    here = Path(__file__).parent
    script = HANGING.format(paths=[str(here), str(here.parent / "models"), str(here.parent / "unit")])
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, timeout=60)
    assert done.returncode == 1
    (left,) = tmp_path.glob("gfscore-fuzz-*")
    assert (left / "files" / "file").read_bytes() == b"the culprit"
    assert "in attempt" in (left / "traceback").read_text()


def test_logits_that_repeat_a_little_are_no_bomb(tmp_path):
    path = tmp_path / "m.npz"
    np.savez_compressed(path, logits=np.tile(LOGITS, (1000, 1)), labels=np.tile(LABELS, 1000))
    assert READERS["npz"].read(path).n_samples == 4000
