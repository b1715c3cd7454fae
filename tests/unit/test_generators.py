"""Generators: the same image for the same seed, class and place, however it is asked for."""

import hashlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from gfscore.errors import InvalidInputError, OptionError
from gfscore.inputs.data import load_data
from gfscore.inputs.preprocessing import Preprocessing

EVERYTHING = slice(None)


def save_generator(path, *, inputs=("z", "label"), batch="n", latent=("d",), label_shape=None, scale=1.0):
    """images = tanh(z W) * scale + label, as (n, 1, 4, 4): the class can be read from every pixel."""
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper, numpy_helper

    z, label = inputs
    weights = np.random.default_rng(0).normal(0, 0.3, (8, 16)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", [z, "weights"], ["flat"]),
        helper.make_node("Tanh", ["flat"], ["bounded"]),
        helper.make_node("Mul", ["bounded", "scale"], ["scaled"]),
        helper.make_node("Reshape", ["scaled", "shape"], ["image"]),
        helper.make_node("Cast", [label], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["float", "column"], ["classes"]),
        helper.make_node("Add", ["image", "classes"], ["images"]),
    ]
    latent_axes = [8 if axis == "d" else axis for axis in latent]
    graph = helper.make_graph(
        nodes,
        "generator",
        [
            helper.make_tensor_value_info(z, TensorProto.FLOAT, [batch, *latent_axes]),
            helper.make_tensor_value_info(label, TensorProto.INT64, label_shape or [batch]),
        ],
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [batch, 1, 4, 4])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.float32(scale), "scale"),
            numpy_helper.from_array(np.array([-1, 1, 4, 4]), "shape"),
            numpy_helper.from_array(np.array([-1, 1, 1, 1]), "column"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def expected_images(seed, label, n, block=50):
    """The definition: blocks of 50, block b of class k drawn from default_rng([seed, k, b])."""
    weights = np.random.default_rng(0).normal(0, 0.3, (8, 16)).astype(np.float32)
    blocks = [
        np.random.default_rng([seed, label, number]).standard_normal((block, 8), dtype=np.float32)
        for number in range(-(-n // block))
    ]
    latents = np.concatenate(blocks)[:n]
    return (np.tanh(latents.astype(float) @ weights) + label).reshape(n, 1, 4, 4)


@pytest.fixture(scope="module")
def spec(tmp_path_factory):
    return f"generator:{save_generator(tmp_path_factory.mktemp('onnx') / 'generator.onnx')}"


def generated(spec, n=70, seed=0, **options):
    return load_data(spec, n_per_class=n, seed=seed, **({"n_classes": 3} | options))


def test_images_are_what_the_definition_says(spec):
    data = generated(spec, n=70, seed=5)
    assert data.labels.tolist() == [0] * 70 + [1] * 70 + [2] * 70
    assert (data.layout, data.seed, data.class_names, data.sample_ids) == ("NCHW", 5, None, None)
    assert data.source == f"{spec} (70 per class, seed 5)"
    expected = np.concatenate([expected_images(5, label, 70) for label in range(3)])
    np.testing.assert_allclose(data.images(EVERYTHING), expected, rtol=0, atol=1e-5)


def test_the_bytes_depend_on_neither_slices_nor_n_nor_order(spec):
    whole = generated(spec, n=70).images(EVERYTHING)
    data = generated(spec, n=70)
    for size in (1, 7, 64, 210):
        pieces = [data.images(slice(start, start + size)) for start in range(0, 210, size)]
        np.testing.assert_array_equal(np.concatenate(pieces), whole)
    np.testing.assert_array_equal(data.images(slice(200, 205)), whole[200:205])
    np.testing.assert_array_equal(data.images(slice(3, 5)), whole[3:5])
    fewer = generated(spec, n=11).images(EVERYTHING)
    more = generated(spec, n=120).images(EVERYTHING)
    for label in range(3):
        np.testing.assert_array_equal(fewer[11 * label : 11 * label + 11], whole[70 * label : 70 * label + 11])
        np.testing.assert_array_equal(more[120 * label : 120 * label + 70], whole[70 * label : 70 * label + 70])


def test_latents_are_standard_normal_and_differ_between_classes(spec):
    images = generated(spec, n=500).images(EVERYTHING).reshape(3, 500, 16)
    assert not np.array_equal(images[0], images[1] - 1)
    weights = np.random.default_rng(0).normal(0, 0.3, (8, 16)).astype(np.float32)
    latents = np.linalg.lstsq(weights.T, np.arctanh(images[0].astype(float)).T, rcond=None)[0]
    assert stats.kstest(latents.ravel(), "norm").pvalue > 1e-3


def test_the_fingerprint_covers_generator_seed_and_number(spec, tmp_path):
    other = f"generator:{save_generator(tmp_path / 'other.onnx', scale=0.5)}"
    fingerprints = [
        generated(spec).fingerprint,
        generated(spec, seed=1).fingerprint,
        generated(spec, n=71).fingerprint,
        generated(spec, n_classes=4).fingerprint,
        generated(other).fingerprint,
    ]
    assert len(set(fingerprints)) == 5
    assert generated(spec).fingerprint == fingerprints[0]


def save_with_weights_beside(path, location="weights.bin"):
    """The generator with its matrix in a file of its own."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(save_generator(path))
    matrix = model.graph.initializer[0]
    if location == "weights.bin":
        (path.parent / location).write_bytes(matrix.raw_data)
    onnx.external_data_helper.set_external_data(matrix, location=location)
    matrix.ClearField("raw_data")
    matrix.data_location = onnx.TensorProto.EXTERNAL
    path.write_bytes(model.SerializeToString())
    return path


def test_the_fingerprint_covers_weights_beside_the_graph(spec, tmp_path):
    path = save_with_weights_beside(tmp_path / "generator.onnx")
    before = generated(f"generator:{path}")
    np.testing.assert_array_equal(before.images(EVERYTHING), generated(spec).images(EVERYTHING))
    weights = tmp_path / "weights.bin"
    weights.write_bytes(weights.read_bytes()[:-4] + np.float32(7).tobytes())
    after = generated(f"generator:{path}")
    assert after.generator.fingerprint != before.generator.fingerprint
    assert after.fingerprint != before.fingerprint


def test_a_graph_alone_is_known_by_its_hash(spec):
    path = Path(spec.removeprefix("generator:"))
    assert generated(spec).generator.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_generator_takes_no_weights_from_elsewhere(tmp_path):
    (tmp_path / "folder").mkdir()
    path = save_with_weights_beside(tmp_path / "folder" / "generator.onnx", "../weights.bin")
    with pytest.raises(InvalidInputError, match=r"takes weights from '../weights.bin', outside its folder"):
        generated(f"generator:{path}")


def test_a_fixed_batch_gives_the_same_images(spec, tmp_path):
    whole = generated(spec).images(EVERYTHING)
    for batch in (1, 16):
        fixed = f"generator:{save_generator(tmp_path / f'{batch}.onnx', batch=batch)}"
        np.testing.assert_allclose(generated(fixed).images(EVERYTHING), whole, rtol=0, atol=1e-6)


def test_inputs_by_other_names_are_told_by_their_type(spec, tmp_path):
    other = f"generator:{save_generator(tmp_path / 'names.onnx', inputs=('noise', 'class'))}"
    np.testing.assert_array_equal(generated(other).images(EVERYTHING), generated(spec).images(EVERYTHING))


def test_class_names_give_the_number_of_classes(spec):
    data = load_data(spec, class_names=["ant", "bee"])
    assert data.class_names == ("ant", "bee")
    assert np.bincount(data.labels).tolist() == [100, 100]


def test_the_range_of_the_images_must_be_said(spec):
    first = generated(spec).images(slice(0, 50))
    with pytest.raises(OptionError, match=r"If pixels were scaled to \[-1, 1\], as generators do, give --range -1,1"):
        Preprocessing().check_range(first)
    preprocessing = Preprocessing(value_range=(-1, 1))
    preprocessing.check_range(first)
    np.testing.assert_allclose(preprocessing.to_unit(first), (first + 1) / 2, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (
            {},
            {"n_classes": None},
            "does not say how many classes it has. Give --classes (n_classes=) or --class-names.",
        ),
        (
            {},
            {"class_names": ["a", "b"]},
            "has 3 classes or 2: the number given, the class names and the generator must",
        ),
        (
            {"latent": ("length",)},
            {},
            "input 'z' has shape ['n', 'length']. Fix all its axes but the first when exporting.",
        ),
        (
            {"label_shape": ["n", 3]},
            {},
            "input 'label' has shape ['n', 3]; it must take one class per image, shape (n,).",
        ),
    ],
)
def test_refusals(tmp_path, graph, options, message):
    path = save_generator(tmp_path / "generator.onnx", **graph)
    with pytest.raises(InvalidInputError) as refused:
        generated(f"generator:{path}", **options)
    assert str(refused.value).startswith(f"generator:{path}: {message}")


def test_a_classifier_is_no_generator(realdata):
    with pytest.raises(InvalidInputError, match="has no input of classes"):
        generated(f"generator:{realdata / 'models' / 'cifar_resnet20.onnx'}")


def test_what_is_no_onnx_file_is_refused(tmp_path):
    (tmp_path / "no.onnx").write_bytes(b"nothing of the kind")
    with pytest.raises(InvalidInputError, match="is not an ONNX file, or is cut short"):
        generated(f"generator:{tmp_path / 'no.onnx'}")
    with pytest.raises(InvalidInputError, match="does not exist"):
        generated(f"generator:{tmp_path / 'missing.onnx'}")


class TestTorch:
    @pytest.fixture
    def module(self, monkeypatch):
        torch = pytest.importorskip("torch")

        class Network(torch.nn.Module):
            latent_dim, n_classes = 6, 3

            def __init__(self, seed=0):
                super().__init__()
                generator = torch.Generator().manual_seed(seed)
                self.weight = torch.nn.Parameter(torch.randn(6, 16, generator=generator))
                self.drop = torch.nn.Dropout(0.5)

            def forward(self, z, labels):
                images = torch.sigmoid(self.drop(z @ self.weight)).reshape(-1, 1, 4, 4)
                return images / (1 + labels.reshape(-1, 1, 1, 1))

        module = types.ModuleType("my_generators")
        module.network, module.other = Network, lambda: Network(seed=1)
        module.silent = lambda: lambda z, labels: z
        monkeypatch.setitem(sys.modules, "my_generators", module)
        return module

    def test_a_network_is_run_in_evaluation_mode(self, module):
        data = load_data("generator:torch:my_generators:network", n_per_class=60)
        whole = data.images(EVERYTHING)
        assert whole.shape == (180, 1, 4, 4)
        np.testing.assert_array_equal(data.images(slice(100, 130)), whole[100:130])
        again = load_data("generator:torch:my_generators:network", n_per_class=60)
        np.testing.assert_array_equal(again.images(EVERYTHING), whole)
        assert again.fingerprint == data.fingerprint
        assert load_data("generator:torch:my_generators:other", n_per_class=60).fingerprint != data.fingerprint

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            ("my_generators:nothing", "cannot be made (module 'my_generators' has no attribute 'nothing')."),
            ("no_such_module:network", "cannot be made (No module named 'no_such_module')."),
            ("my_generators", "cannot be made ("),
            (
                "my_generators:silent",
                "does not say how long z is. Give what the factory returns an attribute latent_dim.",
            ),
        ],
    )
    def test_refusals(self, module, target, message):
        with pytest.raises(InvalidInputError) as refused:
            load_data(f"generator:torch:{target}")
        assert str(refused.value).startswith(f"generator:torch:{target}: {message}")


class TestZoo:
    @pytest.fixture(autouse=True)
    def zoo(self):
        return pytest.importorskip("gfscore.zoo", reason="no zoo in this tree")

    def test_digits(self, zoo):
        data = load_data("zoo:digits")
        np.testing.assert_array_equal(data.images(slice(3, 9)), zoo.test_set().images[3:9])
        assert data.labels.tolist() == zoo.test_set().labels.tolist()
        assert (data.source, data.layout, data.seed) == ("zoo:digits", "NCHW", None)
        assert data.class_names == tuple(zoo.test_set().class_names)
        assert data.fingerprint == load_data("zoo:digits").fingerprint
        Preprocessing().check_range(data.images(slice(0, 64)))

    def test_generator(self):
        data = load_data("generator:zoo", n_per_class=20, seed=1)
        assert np.bincount(data.labels).tolist() == [20] * 10
        assert data.images(EVERYTHING).shape == (200, 1, 8, 8)
        assert len(data.class_names) == 10
        Preprocessing().check_range(data.images(EVERYTHING))
