"""ONNX models: networks that others trained, and small graphs with every peculiarity."""

import json
import os
import time

import numpy as np
import pytest
from scipy.stats import binomtest

from gfscore.errors import FileError, ModelError
from gfscore.inputs.models import load_model

onnx = pytest.importorskip("onnx")
import onnx_graphs  # noqa: E402

NETWORKS = (
    "cifar_cnn_a_adv", "cifar_cnn_a_mix", "cifar_conv_small_pgd", "cifar_sgd_8px", "cifar_base_kw", "cifar_wide_kw",
    "mnist_wk", "fmnist_wk", "mnist_colt_0.1", "cifar_resnet20", "cifar_resnet56",
)  # fmt: skip


def preprocessed(realdata, entry, rows=slice(None)):
    with np.load(realdata / entry["data"]) as file:
        images, labels = file["images"][rows], file["labels"][rows]
    images = images.reshape(*images.shape[:3], -1).transpose(0, 3, 1, 2).astype(np.float32) / 255
    mean, std = (np.array(entry[key], np.float32).reshape(-1, 1, 1) for key in ("mean", "std"))
    return (images - mean) / std, labels


def manifest_entry(realdata, name):
    entries = json.loads((realdata / "manifest.json").read_text())
    return next(entry for entry in entries if entry["file"] == f"models/{name}.onnx")


def correct_and_all(model, realdata, entry, rows=slice(None)):
    inputs, labels = preprocessed(realdata, entry, rows)
    size = model.fixed_batch or 250
    starts = range(0, len(inputs), size)
    correct = sum(int((model(inputs[i : i + size]).argmax(axis=1) == labels[i : i + size]).sum()) for i in starts)
    return correct, len(labels)


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_a_real_network_reaches_its_published_accuracy_to_within_one_image(name, realdata):
    entry = manifest_entry(realdata, name)
    correct, n = correct_and_all(load_model(str(realdata / entry["file"])), realdata, entry)
    assert abs(correct - entry["accuracy"] * n) <= 1


@pytest.mark.parametrize("name", NETWORKS)
def test_a_real_network_runs_quietly_and_as_accurately_as_published(name, realdata, capfd):
    entry = manifest_entry(realdata, name)
    model = load_model(str(realdata / entry["file"]))
    correct, n = correct_and_all(model, realdata, entry, slice(500))
    assert binomtest(correct, n, entry["accuracy"]).pvalue > 1e-3
    assert model.fixed_batch == (1 if entry["input_shape"][0] == 1 else None)
    assert (model.name, model.layout) == (name, "NCHW")
    assert capfd.readouterr() == ("", "")  # no warnings about unused initialisers


def test_a_batch_of_one_costs_little_more_than_the_bare_runtime(realdata):
    import onnxruntime

    entry = manifest_entry(realdata, "cifar_wide_kw")
    path = str(realdata / entry["file"])
    model, options = load_model(path, threads=1), onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs, _ = preprocessed(realdata, entry, slice(500))
    key = session.get_inputs()[0].name

    def seconds(run, image):
        start = time.perf_counter()
        run(image)
        return time.perf_counter() - start

    taken = [
        (seconds(lambda image: session.run(None, {key: image})[0], image), seconds(model, image))
        for image in np.concatenate([inputs] * 4)[:, None]
    ]  # in turns: what else the machine does slows down both
    bare, ours = np.median(taken, axis=0)
    assert ours < 1.3 * bare


@pytest.fixture
def images():
    return np.random.default_rng(1).random((7, 3, 2, 2), dtype=np.float32)


@pytest.fixture
def expected(images):
    return images.reshape(7, -1) @ onnx_graphs.weights()


def test_any_batch_size_and_any_memory_order(images, expected, tmp_path):
    model = load_model(str(onnx_graphs.linear(tmp_path / "m.onnx")))
    assert model.fixed_batch is None
    assert model(images).dtype == np.float32
    for rows in (1, 2, 7):
        np.testing.assert_allclose(model(images[:rows]), expected[:rows], rtol=1e-5)
    turned = np.asfortranarray(images)
    np.testing.assert_array_equal(model(turned), model(images))


def test_a_fixed_batch_takes_the_last_rows_too(images, expected, tmp_path):
    model = load_model(str(onnx_graphs.linear(tmp_path / "m.onnx", shape=(4, 3, 2, 2))))
    assert model.fixed_batch == 4
    for rows in (slice(0, 4), slice(4, 7)):
        np.testing.assert_allclose(model(images[rows]), expected[rows], rtol=1e-5)
    with pytest.raises(ModelError, match=r"^m: takes batches of 4 and was given 7 rows."):
        model(images)


@pytest.mark.parametrize(("kind", "tolerance"), [("HALF", 2e-2), ("DOUBLE", 1e-6)])
def test_other_floats_are_cast_both_ways(kind, tolerance, images, expected, tmp_path):
    model = load_model(str(onnx_graphs.linear(tmp_path / "m.onnx", kind=getattr(onnx_graphs, kind))))
    logits = model(images)
    assert logits.dtype == np.float32
    np.testing.assert_allclose(logits, expected, atol=tolerance)


def test_a_graph_for_bytes_is_refused(tmp_path):
    helper = onnx.helper
    path = onnx_graphs.write(
        tmp_path / "m.onnx",
        [helper.make_node("Cast", ["x"], ["y"], to=onnx.TensorProto.FLOAT)],
        [helper.make_tensor_value_info("x", onnx.TensorProto.UINT8, ["n", 5])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 5])],
        [],
    )
    with pytest.raises(ModelError, match=r"takes tensor\(uint8\) for input 'x'. Export it with a float input"):
        load_model(str(path))


def test_a_graph_with_several_inputs_is_refused(tmp_path):
    helper = onnx.helper
    path = onnx_graphs.write(
        tmp_path / "m.onnx",
        [helper.make_node("Add", ["a", "b"], ["y"])],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 5]) for name in "ab"],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 5])],
        [],
    )
    with pytest.raises(ModelError, match=r"m.onnx: has 2 inputs: 'a', 'b'. Export it with one, the images.$"):
        load_model(str(path))


def test_several_outputs_of_which_none_is_called_logits_are_listed(tmp_path):
    import onnx
    from onnx import helper

    path = onnx_graphs.write(
        tmp_path / "m.onnx",
        [helper.make_node(operator, ["x"], [operator]) for operator in ("Relu", "Neg")],
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 5])],
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 5]) for name in ("Relu", "Neg")],
        [],
    )
    with pytest.raises(ModelError) as caught:
        load_model(str(path))
    assert str(caught.value) == f"{path}: has 2 outputs: 'Relu', 'Neg'. Choose the logits with --output (output=...)."


def test_one_of_several_outputs_is_chosen_by_name_or_position(images, expected, tmp_path):
    path = str(onnx_graphs.linear(tmp_path / "m.onnx", head=("Relu", "ArgMax")))
    for output in (None, "logits", 0, "0"):  # what is called logits needs no choice
        np.testing.assert_allclose(load_model(path, output=output)(images), expected, rtol=1e-5)
    np.testing.assert_allclose(load_model(path, output="relu")(images), expected.clip(0), rtol=1e-5)
    for output in ("softmax", 3, "-1", -1):
        with pytest.raises(ModelError, match=r"has no output .*; it has 'logits', 'relu', 'argmax'. Give a name, or"):
            load_model(path, output=output)
    with pytest.raises(ModelError, match=r"gives tensor\(int64\) as output 'argmax'; logits are floats."):
        load_model(path, output="argmax")
    fingerprints = {load_model(path, output=output).fingerprint for output in ("logits", 0, "relu")}
    assert len(fingerprints) == 2


def test_nhwc_is_seen_in_the_declared_shape(tmp_path):
    def layout(*shape, **options):
        return load_model(str(onnx_graphs.linear(tmp_path / "m.onnx", shape=shape)), **options).layout

    assert layout("n", 2, 2, 3) == "NHWC"
    assert layout("n", "h", "w", 3) == "NHWC"
    assert layout("n", 3, 2, 2) == "NCHW"
    assert layout("n", 1, 4, 3) == "NCHW"  # either could be the channels: the default
    assert layout("n", 12) == "NCHW"
    assert layout("n", 3, 2, 2, layout="NHWC") == "NHWC"  # who says so knows


def test_inputs_that_do_not_fit_are_refused_in_one_line(tmp_path):
    model = load_model(str(onnx_graphs.linear(tmp_path / "m.onnx")))
    with pytest.raises(ModelError) as caught:
        model(np.zeros((2, 1, 2, 2), np.float32))
    message = str(caught.value)
    assert message.startswith("m: cannot run on inputs of shape (2, 1, 2, 2) (")
    assert message.endswith("Got: 1 Expected: 3 Please fix either the inputs/outputs or the model). "
                            "Check layout, size and channels of the images.")  # fmt: skip
    assert "\n" not in message


def test_a_damaged_graph_is_refused(tmp_path):
    path = onnx_graphs.linear(tmp_path / "m.onnx")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileError, match=r"m.onnx: is not an ONNX file, or is cut short. Export it again.$"):
        load_model(str(path))
    path.write_bytes(whole.replace(b"MatMul", b"NoSuch"))
    with pytest.raises(FileError, match=r"m.onnx: cannot be opened by onnxruntime \(.*NoSuch.*\). Export it again.$"):
        load_model(str(path))


def test_the_fingerprint_follows_the_weights(tmp_path):
    path = onnx_graphs.linear(tmp_path / "m.onnx")
    first = load_model(str(path)).fingerprint
    assert load_model(str(path), name="other").fingerprint == first
    content = bytearray(path.read_bytes())
    content[content.index(onnx_graphs.weights().tobytes())] ^= 1
    path.write_bytes(content)
    assert load_model(str(path)).fingerprint != first


class TestExternalWeights:
    def test_beside_the_graph_they_are_used_and_hashed(self, images, expected, tmp_path):
        (tmp_path / "sub").mkdir()
        data = tmp_path / "sub" / "weights.bin"
        data.write_bytes(onnx_graphs.weights().tobytes())
        path = str(onnx_graphs.with_external_weights(tmp_path / "m.onnx", "sub/weights.bin"))
        model = load_model(path)
        np.testing.assert_allclose(model(images), expected, rtol=1e-5)
        data.write_bytes((2 * onnx_graphs.weights()).tobytes())
        assert load_model(path).fingerprint != model.fingerprint

    @pytest.mark.parametrize("how", ["above", "absolute", "link", "memory"])
    def test_elsewhere_they_are_refused_before_anything_is_read(self, how, tmp_path):
        outside, folder = tmp_path / "weights.bin", tmp_path / "folder"
        outside.write_bytes(onnx_graphs.weights().tobytes())
        folder.mkdir()
        (folder / "link.bin").symlink_to(outside)
        places = {"above": "../weights.bin", "absolute": str(outside), "link": "link.bin",
                  "memory": "/../*/_ORT_MEM_ADDR_/*"}  # fmt: skip
        path = onnx_graphs.with_external_weights(folder / "m.onnx", places[how])
        with pytest.raises(FileError) as caught:
            load_model(str(path))
        assert str(caught.value) == (
            f"{path}: takes weights from {places[how]!r}, outside its folder. Put them beside it and export it again."
        )

    def test_whatever_the_bytes_are_they_are_read_or_refused(self, tmp_path):
        from gfscore.inputs.models.onnx_model import external_files

        (tmp_path / "weights.bin").touch()
        path = onnx_graphs.with_external_weights(tmp_path / "m.onnx", "weights.bin")
        whole, rng, outcomes = path.read_bytes(), np.random.default_rng(0), set()
        for _ in range(300):
            content = bytearray(whole)
            for position in rng.integers(len(whole), size=3):
                content[position] = rng.integers(256)
            path.write_bytes(content)
            try:
                outcomes.add(len(external_files(path)))
            except FileError:
                outcomes.add("refused")
        assert outcomes == {0, 1, "refused"}

    def test_missing_ones_are_named(self, tmp_path):
        path = onnx_graphs.with_external_weights(tmp_path / "m.onnx", "weights.bin")
        with pytest.raises(FileError, match=r"takes weights from 'weights.bin', which does not exist."):
            load_model(str(path))

    def test_a_download_cache_may_link_both_files_elsewhere(self, images, expected, tmp_path):
        blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "main"
        blobs.mkdir()
        snapshot.mkdir(parents=True)
        (blobs / "b").write_bytes(onnx_graphs.weights().tobytes())
        onnx_graphs.with_external_weights(blobs / "a", "weights.bin")
        for link, blob in (("m.onnx", "a"), ("weights.bin", "b")):
            (snapshot / link).symlink_to(os.path.relpath(blobs / blob, snapshot))
        np.testing.assert_allclose(load_model(str(snapshot / "m.onnx"))(images), expected, rtol=1e-5)

    def test_they_are_found_in_attributes_and_inner_graphs(self, tmp_path):
        from gfscore.inputs.models.onnx_model import external_files

        helper = onnx.helper

        def tensor(location):
            made = onnx.numpy_helper.from_array(np.zeros(3, np.float32), location)
            onnx.external_data_helper.set_external_data(made, location=location)
            return made

        value = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [3])
        inner = helper.make_graph(
            [helper.make_node("Constant", [], ["y"], value=tensor("a.bin"))], "inner", [], [value]
        )
        other = helper.make_graph(
            [helper.make_node("Identity", ["b.bin"], ["y"])], "other", [], [value], [tensor("b.bin")]
        )
        node = helper.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=other)
        condition = helper.make_tensor_value_info("x", onnx.TensorProto.BOOL, [])
        path = onnx_graphs.write(tmp_path / "m.onnx", [node], [condition], [value], [tensor("c.bin")])
        for name in "abc":
            (tmp_path / f"{name}.bin").write_bytes(b"x")
        assert [file.name for file in external_files(path)] == ["a.bin", "b.bin", "c.bin"]
