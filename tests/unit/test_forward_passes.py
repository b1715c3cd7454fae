"""A batch that does not fit is halved and counted; one that fails says where; nothing that was finished is lost.

And the mistakes that make a robustness number meaningless are caught before anything is scored.
"""

import subprocess
import sys
import textwrap
from dataclasses import dataclass, field

import numpy as np
import pytest
from fakes import FakeData, FakeModel
from safetensors import safe_open

from gfscore import Options, StreamingAudit, audit, read_samples
from gfscore.engines.local import measured
from gfscore.errors import ModelError, OptionError, RunError
from gfscore.inputs.models import CallableModel
from gfscore.inputs.models.forward_passes import (
    OUT_OF_MEMORY,
    BatchDependenceError,
    ClassCountError,
    as_logits,
    check_batch_independence,
    forward_batches,
    out_of_memory,
    pad,
)
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.jobs.stages import audit_scores, score_samples
from gfscore.measures import Logits, Run, logits
from gfscore.measures.summary_files import summary_from_bytes, summary_to_bytes
from gfscore.storage.store import Store

PLAIN = Preprocessing()


@dataclass
class Narrow(FakeModel):
    """Runs out of memory on more images than it has room for, while it is short of it."""

    room: int = 3
    short: range = range(0)  # which calls are
    tried: list[int] = field(default_factory=list)

    def __call__(self, inputs):
        self.tried.append(len(inputs))
        if len(inputs) > self.room and len(self.tried) in self.short:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate much")
        return super().__call__(inputs)


ALWAYS = range(1_000_000)
INPUTS = np.random.default_rng(2).random((50, 1, 3, 3), dtype=np.float32)


@pytest.mark.parametrize("batch_size", [1, 4, 7, 50, 64])
@pytest.mark.parametrize("room", [1, 2, 3, 6, 64])
def test_halved_batches_give_the_same_logits_and_are_counted(batch_size, room):
    done = forward_batches(Narrow(room=room, short=ALWAYS), INPUTS, batch_size)
    np.testing.assert_array_equal(done.values, FakeModel()(INPUTS))
    sizes = [min(batch_size, 50 - start) for start in range(0, 50, batch_size)]
    assert done.halved == sum(size > room for size in sizes)


def test_only_the_batch_that_did_not_fit_is_halved():
    model = Narrow(short=range(2, 3))
    assert forward_batches(model, INPUTS, 10).halved == 1
    assert model.tried == [10, 10, 5, 5, 10, 10, 10]


def test_one_image_that_does_not_fit_is_an_error():
    with pytest.raises(RunError, match=r"^fake failed on row 7 \(RuntimeError: .*DefaultCPUAllocator"):
        forward_batches(Narrow(room=0, short=ALWAYS), INPUTS, 4, rows=range(7, 57))


def test_a_fixed_batch_cannot_be_halved():
    with pytest.raises(RunError, match=r"rows 0 to 4 .*its fixed batch of 5 cannot be halved\)\. What was finished"):
        forward_batches(Narrow(fixed_batch=5, short=ALWAYS), INPUTS, 128, rows=range(50))


@pytest.mark.parametrize("text", [*OUT_OF_MEMORY])
def test_what_runtimes_say_is_understood_also_inside_our_own_errors(text):
    error = ModelError("cannot run")
    error.__cause__ = RuntimeError(f"before {text} after")
    assert out_of_memory(error)
    error.__cause__ = error  # as when it was raised again with the name of a file
    assert not out_of_memory(error)


def test_torch_has_a_type_for_it():
    torch = pytest.importorskip("torch")
    assert out_of_memory(torch.OutOfMemoryError("of any wording"))
    assert not out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


LIMITED = """
    import resource, sys
    from pathlib import Path
    import numpy as np
    from gfscore.inputs.models.forward_passes import forward_batches
    from gfscore.inputs.models import load_model
    model = load_model(sys.argv[1], threads=1)
    inputs = np.ones((8, 3, 2, 2), np.float32)
    model(inputs[:1])
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 220_000_000,) * 2)
    done = forward_batches(model, inputs, 8)
    print(done.halved, *done.values.ravel().tolist())
"""


def run_limited(model, folder):
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), str(model)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=True).stdout.split()


def test_memory_that_runs_out_in_onnxruntime(tmp_path):
    pytest.importorskip("onnx")
    from onnx_graphs import hungry

    hungry(tmp_path / "hungry.onnx", values_per_image=16_000_000)
    assert run_limited(tmp_path / "hungry.onnx", tmp_path) == ["1", *["12.0"] * 8]


def test_memory_that_runs_out_in_torch(tmp_path):
    pytest.importorskip("torch")
    code = """
        import torch
        class Hungry(torch.nn.Module):
            def forward(self, x):
                room = torch.zeros(len(x), 16_000_000)
                return x.flatten(1).sum(dim=1, keepdim=True) + room[:, :1]
        hungry = Hungry
    """
    (tmp_path / "mine.py").write_text(textwrap.dedent(code))
    assert run_limited("torch:mine:hungry", tmp_path) == ["1", *["12.0"] * 8]


def failing(at, result):
    """A model that does something else for one batch, the one that begins with image ``at``."""
    images = PLAIN.apply(FakeData().images(slice(at, at + 1)), "NHWC", "NCHW")
    sound = FakeModel()

    def function(inputs):
        return result(sound(inputs)) if (inputs[0] == images[0]).all() else sound(inputs)

    return CallableModel(function, name="odd", fingerprint="odd")


def out_of_luck(_logits):
    raise OSError("out of luck")


def compute(store, model, **options):
    settings = {"data": FakeData(), "batch_size": 4} | options
    return measured(Run(model=model, store=store, **settings), Logits()).path


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (out_of_luck, "OSError: out of luck"),
        (lambda logits: np.where(np.arange(4) == 1, np.nan, logits), "gives logits that are not finite; look for"),
        (lambda logits: np.where(np.arange(4) == 1, -np.inf, logits), "gives logits that are not finite; look for"),
        (lambda logits: logits[:, :3], "gives 3 logits per image here and 4 elsewhere"),
        (lambda logits: logits[:-1], r"returned shape \(3, 4\) for 4 inputs"),
        (lambda logits: logits[0], r"returned shape \(4,\) for 4 inputs"),
        (lambda logits: logits.astype(int), "returned int64; logits are floats"),
    ],
    ids=["raises", "nan", "infinite", "fewer classes", "fewer rows", "one row", "integers"],
)
def test_a_batch_that_fails_names_its_rows_and_keeps_the_shards_before_it(tmp_path, monkeypatch, result, told):
    monkeypatch.setattr(logits, "SHARD_ROWS", 8)
    store = Store(tmp_path)
    with pytest.raises(
        RunError, match=rf"^odd failed on rows 28 to 31 \({told}.*\)\. What was finished before is kept"
    ):
        compute(store, failing(28, result))
    assert [entry.name for entry in sorted(store.entries()[0].path.glob("shard-*"))] == [
        f"shard-{index:06d}.safetensors" for index in range(3)
    ]
    finished = compute(store, CallableModel(FakeModel(), name="odd", fingerprint="odd"))
    np.testing.assert_array_equal(
        read_samples(finished).logits, FakeModel()(PLAIN.apply(FakeData().all, "NHWC", "NCHW"))
    )


def test_the_count_is_kept_with_the_logits_and_becomes_a_flag(tmp_path, monkeypatch):
    monkeypatch.setattr(logits, "SHARD_ROWS", 8)
    store = Store(tmp_path)
    whole = read_samples(compute(Store(tmp_path / "whole"), FakeModel()))
    narrow = Narrow(short=range(12, 16))  # after 5 calls of the guards and 6 batches
    path = compute(store, narrow)
    for found in (read_samples(path), read_samples(compute(store, FakeModel()))):  # as computed, and as stored
        np.testing.assert_array_equal(found.logits, whole.logits)
        assert found.halved_batches == 2
        flags = audit_scores(found, score_samples(found, Options()), Options(), name="m").flags
        (flag,) = (flag for flag in flags if flag.code == "halved_batches")
        assert flag.message.startswith("2 batches did not fit into memory and were run in halves: numbers may differ")
        monkeypatch.setattr("gfscore.jobs.stream.PIECE_ROWS", 7)
        streamed = StreamingAudit().add(found)
        again = summary_from_bytes(summary_to_bytes(streamed.summary()))
        assert again.halved_batches == 2  # once, in however many pieces
        assert flag in streamed.result().flags
    assert "halved_batches" not in [flag.code for flag in audit(whole.logits, whole.labels).flags]
    with safe_open(path, framework="np") as file:
        counts = file.metadata()["halved_batches"]
    raw = bytearray(path.read_bytes())
    raw[raw.index(whole.logits[0].tobytes())] ^= 1
    path.write_bytes(raw)
    compute(store, FakeModel())  # the first shard is computed again; what is noted of the others stays
    with safe_open(path, framework="np") as file:
        assert file.metadata()["halved_batches"] == counts


class BatchNormed(FakeModel):
    """Centres its logits over the batch, as batch norm does in train mode."""

    def __call__(self, inputs):
        logits = super().__call__(inputs)
        return logits - logits.mean(axis=0)


def test_logits_that_depend_on_the_batch_are_refused(tmp_path):
    with pytest.raises(BatchDependenceError, match=r"fake gives other logits .* another batch .* model\.eval\(\)"):
        compute(Store(tmp_path), BatchNormed())


def test_rounding_between_batches_is_not_refused(tmp_path):
    class Rounding(FakeModel):
        def __call__(self, inputs):
            return super().__call__(inputs) * (1 + 1e-6 * len(inputs))

    assert compute(Store(tmp_path), Rounding()).exists()


def test_another_number_of_classes_is_refused(tmp_path):
    with pytest.raises(ClassCountError, match="fake gives 7 logits but the data names 4 classes"):
        compute(Store(tmp_path), FakeModel(n_classes=7))
    with pytest.raises(ClassCountError, match="fake gives 3 logits but the data has label 3"):
        compute(Store(tmp_path), FakeModel(n_classes=3), data=FakeData(class_names=None))


def test_images_out_of_range_are_refused_and_the_data_is_named(tmp_path):
    data = FakeData()
    data.all = data.all.astype(np.float32)
    with pytest.raises(OptionError, match=r"^fake data: images reach from .* outside \[0, 1\]"):
        compute(Store(tmp_path), FakeModel(), data=data)


def test_a_full_batch_is_not_copied():
    rows = np.zeros((4, 2), np.float32)
    assert pad(rows, 4) is rows
    assert pad(rows, None) is rows


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros(3), r"returned shape \(3,\) for 2 inputs; logits have shape \(2, classes\)."),
        (np.zeros((3, 5)), r"returned shape \(3, 5\) for 2 inputs"),
        (np.zeros((2, 5, 7, 7)), r"returned shape \(2, 5, 7, 7\) for 2 inputs"),
        (np.zeros((2, 5), np.int64), r"returned int64; logits are floats. Choose the output before argmax."),
    ],
)
def test_what_is_no_matrix_of_logits_is_refused(returned, message):
    with pytest.raises(ModelError, match=f"^{message}"):
        as_logits(returned, 2)


def test_a_convolutional_head_is_squeezed_and_all_floats_become_float32():
    logits = np.random.default_rng(0).random((2, 5))
    for dtype in (np.float16, np.float32, np.float64):
        found = as_logits(logits.astype(dtype).reshape(2, 5, 1, 1), 2)
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, logits.astype(dtype).astype(np.float32))


def test_a_last_row_alone_in_reverse_order_is_one_that_torch_takes():
    """Ten images in reverse: numpy calls the last of them contiguous whatever its stride, and torch refuses that."""

    def strict(inputs):
        assert all(stride >= 0 for stride in inputs.strides)
        return inputs.reshape(len(inputs), -1)

    model = CallableModel(strict, name="strict")
    images = np.random.default_rng(0).random((10, 3), dtype=np.float32)
    assert check_batch_independence(model, images).shape == (10, 3)
