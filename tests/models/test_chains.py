"""Lipschitz constants of networks: never below what the network does."""

import math

import numpy as np
import pytest
from onnx import helper, numpy_helper
from onnx_graphs import chain_graph

from gfscore import Samples
from gfscore.inputs.chains import chain_bound
from gfscore.inputs.models import wrap_module
from gfscore.measures.slopes import measured_slope
from gfscore.scores import lipschitz_scores

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
SHAPE = (3, 9, 9)
IMAGES = np.random.default_rng(0).random((2, *SHAPE), dtype=np.float32)


def layers(seed=0):
    """A chain with one of everything that is known, in evaluation mode."""
    torch.manual_seed(seed)
    norm = torch.nn.BatchNorm2d(6)
    norm.running_var.uniform_(0.5, 2.0)
    norm.weight.data.uniform_(-2.0, 2.0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.Sequential(torch.nn.Conv2d(4, 6, 3, padding="same", groups=2), norm, torch.nn.Tanh()),
        torch.nn.MaxPool2d(3, stride=1),
        torch.nn.AvgPool2d(2, stride=1),
        torch.nn.Dropout(0.5),
        torch.nn.Flatten(),
        torch.nn.Linear(6 * 2 * 2, 5),
    ).eval()


def as_onnx(path, module):
    """The same layers as a graph, written by hand: exporters need packages of their own."""
    initialisers, nodes = [], []

    def add(operator, *weights, **attributes):
        names = [f"{operator}{len(nodes)}_{index}" for index in range(len(weights))]
        for name, weight in zip(names, weights, strict=True):
            initialisers.append(numpy_helper.from_array(weight.detach().numpy(), name))
        before = nodes[-1].output[0] if nodes else "x"
        nodes.append(helper.make_node(operator, [before, *names], [f"t{len(nodes)}"], **attributes))

    first, _, (second, norm, _), *_, last = module
    add("Conv", first.weight, first.bias, strides=[2, 2], pads=[1, 1, 1, 1])
    add("Relu")
    add("Conv", second.weight, second.bias, group=2, auto_pad="SAME_UPPER")
    add("BatchNormalization", norm.weight, norm.bias, norm.running_mean, norm.running_var)
    add("Tanh")
    add("MaxPool", kernel_shape=[3, 3])
    add("AveragePool", kernel_shape=[2, 2])
    add("Flatten")
    add("Gemm", last.weight, last.bias, transB=1)
    return chain_graph(path, nodes, initialisers)


def test_a_graph_and_a_sequential_have_the_same_bound(tmp_path):
    module = layers()
    graph, wrapped = as_onnx(tmp_path / "net.onnx", module), wrap_module(module, name="net")
    images = np.random.default_rng(0).random((4, *SHAPE), dtype=np.float32)
    np.testing.assert_allclose(graph(images), wrapped(images), atol=1e-5)  # they are the same network
    assert chain_bound(graph, IMAGES) == pytest.approx(chain_bound(wrapped, IMAGES), rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_no_jacobian_is_larger(seed):
    module = layers(seed)
    bound = chain_bound(wrap_module(module, name="net"), IMAGES)
    rng = np.random.default_rng(seed)
    for scale in (0.1, 1.0, 10.0):
        image = torch.from_numpy(rng.normal(size=(1, *SHAPE)) * scale).float()
        jacobian = torch.autograd.functional.jacobian(module, image).reshape(5, -1)
        assert float(torch.linalg.matrix_norm(jacobian, 2)) <= bound


def test_a_linear_chain_is_bounded_exactly():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(243, 243)))[0]
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(243, 243), torch.nn.Linear(243, 4))
    module[1].weight.data = torch.from_numpy(rotation).float()
    module[2].weight.data = 3.0 * torch.eye(4, 243)
    assert chain_bound(wrap_module(module.eval(), name="net"), IMAGES) == pytest.approx(3.0, rel=1e-5)


NODE = helper.make_node
WEIGHTS = np.random.default_rng(0).normal(size=(243, 4)).astype(np.float32)


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value, dtype=np.float32), name)


def test_sizes_that_are_computed_in_the_graph_are_no_layers(tmp_path):
    """As exporters write a flattening: the shape is taken apart and put together again."""
    nodes = [
        NODE("Mul", ["x", "two"], ["m"]),
        NODE("Shape", ["m"], ["s"]),
        NODE("Gather", ["s", "zero"], ["n"], axis=0),
        NODE("Concat", ["n", "rest"], ["target"], axis=0),
        NODE("Reshape", ["m", "target"], ["flat"]),
        NODE("MatMul", ["flat", "w"], ["product"]),
        NODE("Sub", ["product", "bias"], ["y"]),
    ]
    whole = [numpy_helper.from_array(np.array([value]), name) for name, value in (("zero", 0), ("rest", -1))]
    weights = [constant("two", 2.0), constant("w", WEIGHTS), constant("bias", np.ones(4)), *whole]
    assert chain_bound(chain_graph(tmp_path / "net.onnx", nodes, weights), IMAGES) == pytest.approx(
        2 * np.linalg.norm(WEIGHTS, 2), rel=1e-6
    )


@pytest.fixture
def one_thread():
    """Matrices this small are slower on several."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def orthogonal_network(depth=2, width=64, classes=5):
    """Rotations with ReLU between them: no difference grows, so the logits are 1-Lipschitz."""
    rng = np.random.default_rng(0)
    module = torch.nn.Sequential(torch.nn.Flatten())
    for _ in range(depth):
        layer = torch.nn.Linear(width, width)
        layer.weight.data = torch.from_numpy(np.linalg.qr(rng.normal(size=(width, width)))[0]).float()
        module.extend([layer, torch.nn.ReLU()])
    head = torch.nn.Linear(width, classes)
    head.weight.data = torch.from_numpy(np.linalg.qr(rng.normal(size=(width, classes)))[0].T.copy()).float()
    return module.append(head).eval()


def attacked(module, images, labels, radii, steps=60, restarts=2):
    """Projected gradient descent on the margin in L2 balls; whether each sample was misclassified on the way."""
    generator = torch.Generator().manual_seed(0)
    rows, broken = torch.arange(len(labels)), torch.zeros(len(labels), dtype=torch.bool)
    for _ in range(restarts):
        moved = torch.randn(images.shape, generator=generator)
        moved = moved / moved.flatten(1).norm(dim=1).view(-1, 1, 1, 1) * radii.view(-1, 1, 1, 1)
        for step in range(steps):
            moved.requires_grad_(True)
            logits = module(images + moved)
            rivals = logits.clone()
            rivals[rows, labels] = -torch.inf
            margin = logits[rows, labels] - rivals.max(dim=1).values
            broken |= margin.detach() < 0
            (gradient,) = torch.autograd.grad(margin.sum(), moved)
            with torch.no_grad():
                direction = gradient / gradient.flatten(1).norm(dim=1).clamp_min(1e-12).view(-1, 1, 1, 1)
                moved = moved - (1 - step / steps) * 0.3 * radii.view(-1, 1, 1, 1) * direction
                length = moved.flatten(1).norm(dim=1).clamp_min(1e-12)
                moved = moved * torch.clamp(radii / length, max=1.0).view(-1, 1, 1, 1)
    return broken.numpy()


def test_no_attack_enters_a_lipschitz_radius(one_thread):
    module = orthogonal_network()
    bound = chain_bound(wrap_module(module, name="net"), np.zeros((1, 1, 8, 8)))
    assert 1.0 <= bound < 1.00001
    images = torch.rand((100, 1, 8, 8), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        logits = module(images).double().numpy()
    labels = logits.argmax(axis=1)  # its own answers, so that every sample has a radius
    local = lipschitz_scores(Samples.of(logits, labels), bound)
    assert (local.values > 0).all()
    radii = torch.from_numpy(local.values).float() * (1 - 1e-4)  # the network itself rounds to float32
    assert not attacked(module, images, torch.from_numpy(labels), radii).any()
    further = attacked(module, images, torch.from_numpy(labels), radii * 4)
    assert further.mean() > 0.5  # the attack finds what there is: a ReLU shrinks differences, so some radii are larger
    np.testing.assert_allclose(
        local.values, np.diff(np.sort(logits, axis=1)[:, -2:], axis=1)[:, 0] / math.sqrt(2) / bound
    )


def test_a_too_small_constant_is_refuted_by_the_same_attack(one_thread):
    """The attack is strong enough to show a wrong constant: a quarter of the true one does not survive it."""
    module = orthogonal_network()
    images = torch.rand((100, 1, 8, 8), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        logits = module(images).double().numpy()
    labels = logits.argmax(axis=1)
    wrong = lipschitz_scores(Samples.of(logits, labels), 0.25)
    assert attacked(module, images, torch.from_numpy(labels), torch.from_numpy(wrong.values).float()).any()


def random_network(seed):
    """A small chain of random layers of every kind, with random sizes."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    channels, module = 1, torch.nn.Sequential().eval()
    for _ in range(rng.integers(1, 4)):
        groups, wider = int(rng.integers(1, 3)) if channels > 1 else 1, int(2 * rng.integers(1, 4))
        stride, padding, dilation = (int(rng.integers(low, low + 2)) for low in (1, 0, 1))
        module.append(torch.nn.Conv2d(channels, wider, 2, stride, padding, dilation, groups))
        torch.nn.init.kaiming_normal_(module[-1].weight, mode="fan_out")
        channels = wider
        norm = torch.nn.BatchNorm2d(channels).eval()
        norm.running_var.uniform_(0.3, 3.0)
        norm.running_mean.normal_(0.0, 0.1)
        pools = [torch.nn.MaxPool2d(2, 1), torch.nn.AvgPool2d(2, 1, 1), torch.nn.Identity()]
        module.extend([norm, [torch.nn.ReLU(), torch.nn.Tanh(), torch.nn.Hardtanh(-0.5, 2.0)][rng.integers(3)]])
        module.append(pools[rng.integers(3)])
        if module(torch.zeros(1, 1, 8, 8)).shape[-1] < 5:
            break
    module.append(torch.nn.Flatten())
    features = module(torch.zeros(1, 1, 8, 8)).shape[1]
    return module.append(torch.nn.Linear(features, 4)).eval()


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5, 6])  # behind the last ReLU of 3 nothing is left
def test_nothing_that_is_accepted_can_be_refuted(one_thread, seed):
    """No slope is above the bound, and no walk along gradients finds another label within a certified radius."""
    with torch.no_grad():
        module = random_network(seed)
    images = torch.rand((40, 1, 8, 8), generator=torch.Generator().manual_seed(seed))
    wrapped = wrap_module(module, name="net")
    bound = chain_bound(wrapped, images.numpy())
    assert 0 < measured_slope(wrapped, images.numpy()) <= bound
    for image in images[:5]:
        jacobian = torch.autograd.functional.jacobian(module, image[None]).reshape(4, -1)
        assert float(torch.linalg.matrix_norm(jacobian, 2)) <= bound
    with torch.no_grad():
        logits = module(images).double().numpy()
    local = lipschitz_scores(Samples.of(logits, logits.argmax(axis=1)), bound)
    radii = torch.from_numpy(local.values).float() * (1 - 1e-4)  # the network itself rounds to float32
    assert not attacked(module, images, torch.from_numpy(logits.argmax(axis=1)), radii, steps=30, restarts=1).any()
