"""Every reader of files that a stranger may have made: valid files to begin with, and how each is read.

To fuzz another reader, add it to READERS; the tests take it from there.
"""

import gzip
import io
import json
import pickle
import struct
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from safetensors.numpy import save

from gfscore import Audit, Options, Samples, audit, read_samples
from gfscore.inputs.data import load_data
from gfscore.inputs.models.onnx_model import external_files, load_onnx
from gfscore.inputs.small_files import read_class_names, read_groups, read_policy, read_reference
from gfscore.jobs.stages import score_samples
from gfscore.judge import Policy
from gfscore.measures.summary_files import read_summary, summary_to_bytes
from gfscore.summaries import Summary

LOGITS = np.array([[3.0, 0.0, 1.0], [0.5, 2.0, -1.0], [0.0, 1.0, 4.0], [2.0, 0.0, 5.0]], dtype=np.float32)
LABELS = np.array([0, 1, 2, 0])
IMAGES = np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3)


@dataclass(frozen=True)
class Reader:
    """How a kind of file is read."""

    name: str  # of the file, below the folder it is put into
    seeds: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    beside: Callable[[Path], None] = lambda _folder: None  # writes what else must be there


def written(write: Callable[[Any], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


def npz_seeds() -> list[bytes]:
    named = {"class_names": ["a", "b", "c"], "groups": ["x", "y", "x", "y"], "sample_ids": np.arange(4)}
    return [
        written(lambda file: np.savez(file, logits=LOGITS, labels=LABELS)),
        written(lambda file: np.savez_compressed(file, logits=LOGITS, labels=LABELS, **named)),
    ]


def image_npz_seeds() -> list[bytes]:
    return [
        written(lambda file: np.savez(file, images=IMAGES, labels=LABELS)),
        written(lambda file: np.savez_compressed(file, x=IMAGES, y=LABELS, class_names=["a", "b", "c"])),
    ]


def safetensors_seeds() -> list[bytes]:
    names = {"class_names": json.dumps(["a", "b", "c"]), "groups": json.dumps(["x", "y", "x", "y"])}
    return [
        save({"logits": LOGITS, "labels": LABELS}),
        save({"logits": LOGITS.astype(np.float16), "labels": LABELS, "sample_ids": np.arange(4)}, metadata=names),
    ]


def parquet_seeds() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"label": LABELS, "a": LOGITS[:, 0], "b": LOGITS[:, 1], "c": LOGITS[:, 2]})
    named = table.append_column("group", pa.array(["x", "y", "x", "y"]))
    return [
        written(lambda file: parquet.write_table(table, file)),
        written(lambda file: parquet.write_table(named, file, compression="NONE", use_dictionary=False)),
    ]


@cache
def png(index: int) -> bytes:
    return written(lambda file: Image.fromarray(IMAGES[index]).save(file, "PNG"))


def image_parquet_seeds() -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    images = [{"bytes": png(index), "path": f"{index}.png"} for index in range(4)]
    table = pa.table({"image": images, "label": LABELS})
    info = {"info": {"features": {"label": {"names": ["a", "b", "c"]}}}}
    hub = table.replace_schema_metadata({"huggingface": json.dumps(info)})
    return [written(lambda file, chosen=chosen: parquet.write_table(chosen, file)) for chosen in (table, hub)]


def csv_seeds() -> list[bytes]:
    return [
        b"label,a,b,c\n0,3,0,1\n1,.5,2,-1\n2,0,1,4\n0,2,0,5\n",
        b'sample_id,label,group,a,"b,c"\nx,a,day,1,2e3\ny,"b,c",night,-.1,0\n',
    ]


def idx_seeds() -> list[bytes]:
    return [struct.pack(">4B3I", 0, 0, 8, 3, 4, 8, 8) + IMAGES[..., 0].tobytes()]


def idx_labels(folder: Path) -> None:
    (folder / "t10k-labels-idx1-ubyte").write_bytes(struct.pack(">4BI", 0, 0, 8, 1, 4) + bytes(LABELS.tolist()))


def cifar_seeds() -> list[bytes]:
    from test_data_arrays import python_2_batch  # as the files that are distributed

    pixels = np.arange(4 * 3072, dtype=np.uint8).reshape(4, 3072)
    batch = {"data": pixels, "labels": LABELS.tolist(), "filenames": ["a.png", "b.png", "c.png", "d.png"]}
    return [python_2_batch(pixels, LABELS.tolist()), pickle.dumps(batch, protocol=4)]


def cifar_names(folder: Path) -> None:
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["ant", "bee", "cow"]}, protocol=2))


def read_images(path: Path) -> None:
    load_data(path).images(slice(0, 4))


def read_image_folder(path: Path) -> None:
    load_data(path.parents[1]).images(slice(0, 4))


def image_folder(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / "pictures" / name).mkdir(parents=True, exist_ok=True)
        (folder / "pictures" / name / "other.png").write_bytes(png(0))


def image_seeds() -> list[bytes]:
    picture = Image.fromarray(IMAGES[0])
    return [written(lambda file, form=form: picture.save(file, form)) for form in ("PNG", "JPEG", "BMP", "GIF", "TIFF")]


def onnx_seeds() -> list[bytes]:
    import onnx_graphs  # which needs onnx

    with tempfile.TemporaryDirectory() as folder:
        inner, outer = Path(folder) / "inner.onnx", Path(folder) / "outer.onnx"
        onnx_graphs.linear(inner)
        onnx_graphs.with_external_weights(outer, "weights.bin")
        return [inner.read_bytes(), outer.read_bytes()]


def read_onnx(path: Path) -> None:
    model = load_onnx(path, threads=1)
    model(np.zeros((2, 3, 2, 2), dtype=np.float32))


def generator_seeds() -> list[bytes]:
    from test_generators import save_generator  # which needs onnx, too

    with tempfile.TemporaryDirectory() as folder:
        return [save_generator(Path(folder) / "g.onnx").read_bytes()]


def read_generator(path: Path) -> None:
    load_data(f"generator:{path}", n_per_class=2, n_classes=3).images(slice(0, 4))


def audit_seeds() -> list[bytes]:
    return [audit(LOGITS, LABELS).to_json().encode()]


def summary_seeds() -> list[bytes]:
    samples = Samples.of(LOGITS, LABELS)
    return [summary_to_bytes(Summary.of(samples, score_samples(samples, Options())))]


def policy_seeds() -> list[bytes]:
    classes = b'[class]\n"*" = 0.1\ncat = 2e-1\n[class_accuracy]\ndog = 0.5\n'
    changes = b"[change]\nwcr = -0.05\n[change.class]\n'*' = -1\n"
    return [b"[rules]\nwcr = 0.1\nrdi = 0.5\naccuracy = 0.6\n", b"[rules]\nnrgc = 0.2 # at most\n" + classes + changes]


def read_rules(path: Path) -> None:
    for rule in Policy.of(read_policy(path)).rules:
        assert "\n" not in rule.text


READERS = {
    "npz": Reader("m.npz", npz_seeds, read_samples),
    "safetensors": Reader("m.safetensors", safetensors_seeds, read_samples),
    "parquet": Reader("m.parquet", parquet_seeds, read_samples),
    "csv": Reader("m.csv", csv_seeds, read_samples),
    "groups": Reader(
        "g.csv",
        lambda: [b"sample_id,camera\n3,left\n1,right\n0,left\n2,right\n", b"light\na\nb\na\nb\n"],
        lambda path: read_groups(path, np.arange(4), 4),
    ),
    "class names": Reader("n.json", lambda: [b'["ant", "bee", "cow"]'], read_class_names),
    "reference": Reader("r.csv", lambda: [b"model,value\na,1.5\nb,2\n"], lambda path: read_reference(str(path))),
    "reference json": Reader("r.json", lambda: [b'{"a": 1.5, "b": 2}'], lambda path: read_reference(str(path))),
    "images npz": Reader("d.npz", image_npz_seeds, read_images),
    "images parquet": Reader("d.parquet", image_parquet_seeds, read_images),
    "images": Reader("pictures/a/one.png", image_seeds, read_image_folder, beside=image_folder),
    "idx": Reader(
        "t10k-images-idx3-ubyte", idx_seeds, lambda path: read_images(path.parent), beside=idx_labels
    ),
    "idx gzip": Reader(
        "t10k-images-idx3-ubyte.gz",
        lambda: [gzip.compress(content, mtime=0) for content in idx_seeds()],
        lambda path: read_images(path.parent),
        beside=idx_labels,
    ),
    "cifar": Reader("test_batch", cifar_seeds, lambda path: read_images(path.parent), beside=cifar_names),
    "onnx": Reader("m.onnx", onnx_seeds, read_onnx),
    "onnx wire": Reader("m.onnx", onnx_seeds, external_files),
    "generator": Reader("g.onnx", generator_seeds, read_generator),
    "audit": Reader("audit.json", audit_seeds, Audit.load),
    "summary": Reader("s.safetensors", summary_seeds, read_summary),
    "policy": Reader("policy.toml", policy_seeds, read_rules),
}  # fmt: skip
MADE_WITH = {  # packages that the valid files need
    "parquet": "pyarrow",
    "images parquet": "pyarrow",
    "onnx": "onnx",
    "onnx wire": "onnx",
    "generator": "onnx",
}
