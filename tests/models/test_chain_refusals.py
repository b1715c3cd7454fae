"""Networks that are more than the layers they show: refused by name, and by their own logits where nothing is seen."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx_graphs import FLOAT, chain_graph

from gfscore.errors import ModelError
from gfscore.inputs import chains
from gfscore.inputs.chains import chain_bound, linear
from gfscore.inputs.models import CallableModel, wrap_module

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
nn = torch.nn
SHAPE = (3, 9, 9)
IMAGES = np.random.default_rng(0).random((2, *SHAPE), dtype=np.float32)
SO = ", so no Lipschitz constant is computed. "
GIVE = f"{SO}Give a proven one with --lipschitz."
OR_GIVE = ", or give a proven one with --lipschitz."
UNKNOWN = f"is not one of those whose norm is known{GIVE}"
HOOK = f"{SO}Remove it (weight_norm and spectral_norm of torch.nn.utils.parametrizations need none){OR_GIVE}"


def refusal(model):
    with pytest.raises(ModelError) as caught:
        chain_bound(model, IMAGES)
    return str(caught.value)


# torch


class Residual(nn.Sequential):
    def forward(self, images):
        return images + super().forward(images)


class Called(nn.Sequential):
    def __call__(self, images):
        return 100 * super().__call__(images)


class Doubled(nn.ReLU):
    def forward(self, images):
        return 2 * super().forward(images)


class Pretending(nn.Linear):
    parametrizations = {"forward": "as if torch had put it there"}  # noqa: RUF012

    def forward(self, images):
        return 100 * super().forward(images)


class Module(nn.Module):
    def forward(self, images):
        return images + torch.relu(images)


class Named(nn.Sequential):
    """A chain with a constructor of its own, as most libraries have them."""

    def __init__(self):
        super().__init__(nn.Conv2d(3, 2, 3), nn.ReLU(inplace=True))


def amplified(layer, how="register_forward_hook"):
    """A layer whose output or input is made a hundred times larger by a hook."""
    getattr(layer, how)(
        {
            "register_forward_hook": lambda module, given, made: 100 * made,
            "register_forward_pre_hook": lambda module, given: tuple(100 * each for each in given),
        }[how]
    )
    return layer


def replaced(layer, name, function):
    setattr(layer, name, function)
    return layer


TORCH = [
    (Residual(nn.ReLU()), f"layer 0 (Residual) is a Sequential with code of its own (forward){GIVE}"),
    (nn.Sequential(Residual()), f"layer 0.0 (Residual) is a Sequential with code of its own (forward){GIVE}"),
    (Called(), f"layer 0 (Called) is a Sequential with code of its own (__call__){GIVE}"),
    (Doubled(), f"layer 0 (Doubled) is a ReLU with code of its own (forward){GIVE}"),
    (
        Pretending(9, 9),
        f"layer 0 (Pretending) is a Linear with code of its own (forward, parametrizations){GIVE}",
    ),
    (Module(), f"layer 0 (Module) {UNKNOWN}"),
    (nn.Softmax(dim=1), f"layer 0 (Softmax) {UNKNOWN}"),
    (nn.GELU(), f"layer 0 (GELU) {UNKNOWN}"),
    (nn.PReLU(), f"layer 0 (PReLU) {UNKNOWN}"),
    (nn.ConvTranspose2d(3, 3, 3, output_padding=0), f"layer 0 (ConvTranspose2d) {UNKNOWN}"),
    (amplified(nn.ReLU()), f"layer 0 (ReLU) has a forward hook{HOOK}"),
    (amplified(nn.ReLU(), "register_forward_pre_hook"), f"layer 0 (ReLU) has a forward hook{HOOK}"),
    (amplified(nn.Sequential(nn.ReLU())), f"layer 0 (Sequential) has a forward hook{HOOK}"),
    (nn.utils.spectral_norm(nn.Conv2d(3, 3, 3)), f"layer 0 (Conv2d) has a forward hook{HOOK}"),
    (
        replaced(nn.ReLU(), "forward", lambda images: 100 * images),
        f"layer 0 (ReLU) has its forward replaced{SO}Leave it as it was{OR_GIVE}",
    ),
    (
        replaced(nn.Conv2d(3, 3, 3), "_conv_forward", lambda *given: 100 * given[0]),
        f"layer 0 (Conv2d) has its _conv_forward replaced{SO}Leave it as it was{OR_GIVE}",
    ),
    (
        replaced(nn.ReLU(), "_compiled_call_impl", lambda images: 100 * images),
        f"layer 0 (ReLU) is compiled, and what runs is not what it shows{SO}Give it as it was before{OR_GIVE}",
    ),
    (
        nn.Conv2d(3, 3, 3, padding=1, padding_mode="circular"),
        f"layer 0 (Conv2d) pads with 'circular'{GIVE}",
    ),
    (
        nn.AvgPool2d(3, padding=1, count_include_pad=False),
        f"layer 0 (AvgPool2d) has ceil_mode, divisor_override or uncounted padding{GIVE}",
    ),
    (
        nn.AvgPool2d(3, divisor_override=1),
        f"layer 0 (AvgPool2d) has ceil_mode, divisor_override or uncounted padding{GIVE}",
    ),
    (nn.MaxPool2d(2, dilation=2), f"layer 0 (MaxPool2d) has a dilation, ceil_mode or return_indices{GIVE}"),
    (nn.MaxPool2d(2, ceil_mode=True), f"layer 0 (MaxPool2d) has a dilation, ceil_mode or return_indices{GIVE}"),
    (
        nn.BatchNorm2d(3, track_running_stats=False),
        f"layer 0 (BatchNorm2d) has no running mean and variance, and uses those of the batch{GIVE}",
    ),
]


@pytest.mark.parametrize(("layer", "message"), TORCH, ids=[message.split(", so")[0] for _, message in TORCH])
def test_what_a_torch_network_does_beside_its_layers_is_named(layer, message):
    module = nn.Sequential(layer, nn.Flatten()).eval()
    assert refusal(wrap_module(module, name="net")) == f"net: {message}"


def test_the_network_itself_is_looked_at_as_its_layers_are():
    hooked = amplified(nn.Sequential(nn.Flatten()))
    assert refusal(wrap_module(hooked, name="net")) == f"net: the network (Sequential) has a forward hook{HOOK}"
    called = Called(nn.Flatten())
    assert "the network (Called) is a Sequential with code of its own (__call__)" in refusal(
        wrap_module(called, name="n")
    )
    assert refusal(wrap_module(Module(), name="net")) == (
        f"net: Module is no torch.nn.Sequential, and what its forward does is not known{GIVE}"
    )
    assert refusal(CallableModel(lambda images: images, name="f")) == f"f: CallableModel shows no layers{GIVE}"


def test_hooks_of_all_modules_are_seen():
    hook = nn.modules.module.register_module_forward_hook(lambda module, given, made: 100 * made)
    try:
        told = refusal(wrap_module(nn.Sequential(nn.Flatten()), name="net"))
    finally:
        hook.remove()
    assert told == f"net: torch runs a global forward hook in every module{SO}Remove it{OR_GIVE}"


@pytest.mark.parametrize(
    "layer", [nn.BatchNorm2d(3), nn.Dropout(0.5), nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 3, 3))]
)
def test_training_mode_is_refused(layer):
    told = refusal(wrap_module(nn.Sequential(layer, nn.Flatten()).train(), name="net"))
    kind = type(layer).__name__
    assert told == f"net: layer 0 ({kind}) is in training mode{SO}Call model.eval(){OR_GIVE}"


def test_layers_that_join_images_or_round_too_much_are_refused():
    joined = nn.Sequential(nn.Flatten(0), nn.Unflatten(0, (-1, 243)))
    assert refusal(wrap_module(joined, name="net")) == f"net: layer 0 (Flatten) joins the images of a batch{GIVE}"
    half = nn.Sequential(nn.Flatten(), nn.Linear(243, 4).half())
    assert refusal(wrap_module(half, name="net")) == f"net: it computes in float16, which rounds too much{GIVE}"


def test_layers_that_are_only_made_in_another_way_are_taken():
    """Constructors of their own, the same layer twice, weights made by a parametrisation, writing in place."""
    torch.manual_seed(0)
    twice = nn.Conv2d(2, 2, 3, padding=1)
    orthogonal = nn.utils.parametrizations.orthogonal(nn.Linear(98, 98))
    module = nn.Sequential(Named(), twice, twice, nn.Flatten(), orthogonal, nn.Linear(98, 4)).eval()
    plain = nn.Linear(98, 98)
    plain.weight.data, plain.bias.data = orthogonal.weight.detach().clone(), orthogonal.bias.data
    same = nn.Sequential(*module[0], twice, twice, nn.Flatten(), plain, module[-1]).eval()
    bound = chain_bound(wrap_module(module, name="net"), IMAGES)
    assert bound == chain_bound(wrap_module(same, name="net"), IMAGES)
    once = nn.Sequential(*module[0], twice, nn.Flatten(), plain, module[-1]).eval()
    assert bound > chain_bound(wrap_module(once, name="net"), IMAGES) * 0.1
    assert bound != chain_bound(wrap_module(once, name="net"), IMAGES)


# ONNX

NODE = helper.make_node
FLAT = NODE("Flatten", ["y"], ["flat"])


def constant(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.asarray(value, dtype=dtype), name)


def tensor(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


WEIGHTS = [
    constant("one", [1.0]),
    constant("hundred", [100.0]),
    constant("wide", np.zeros((1, 3, 2, 2))),
    constant("each", np.zeros((2, 3, 9, 9))),
    constant("true", np.array(True), bool),
    constant("three", 3, np.int64),
    constant("whole", [1, -1], np.int64),
    constant("pads", [0, 0, 1, 1, 0, 0, 1, 1], np.int64),
]
HUNDREDFOLD = helper.make_graph([NODE("Mul", ["x", "hundred"], ["in"])], "inner", [], [tensor("in")])
BODY = helper.make_graph(
    [NODE("Identity", ["go"], ["still"]), NODE("Mul", ["x", "hundred"], ["next"])],
    "body",
    [tensor("i", TensorProto.INT64, []), tensor("go", TensorProto.BOOL, []), tensor("before")],
    [tensor("still", TensorProto.BOOL, []), tensor("next")],
)
EACH = helper.make_graph([NODE("Mul", ["row", "hundred"], ["made"])], "each", [tensor("row")], [tensor("made")])
GRAPHS = [
    (
        [NODE("If", ["true"], ["b"], then_branch=HUNDREDFOLD, else_branch=HUNDREDFOLD), NODE("Add", ["x", "b"], ["y"])],
        f"operator If (b) runs a graph of its own, which may use any tensor{GIVE}",
    ),
    (
        [NODE("Loop", ["three", "true", "wide"], ["b"], body=BODY), NODE("Add", ["x", "b"], ["y"])],
        f"operator Loop (b) runs a graph of its own, which may use any tensor{GIVE}",
    ),
    (
        [NODE("Scan", ["x"], ["y"], name="rows", body=EACH, num_scan_inputs=1)],
        f"operator Scan (rows) runs a graph of its own, which may use any tensor{GIVE}",
    ),
    (
        [NODE("Relu", ["x"], ["a"]), NODE("Add", ["x", "a"], ["y"], name="skip")],
        f"operator Add (skip) joins 2 branches{GIVE}",
    ),
    ([NODE("Mul", ["x", "x"], ["y"])], f"operator Mul (y) joins 2 branches{GIVE}"),
    ([NODE("Exp", ["x"], ["y"])], f"operator Exp (y) {UNKNOWN}"),
    ([NODE("Softmax", ["x"], ["y"])], f"operator Softmax (y) {UNKNOWN}"),
    ([NODE("Cast", ["x"], ["h"], to=10), NODE("Cast", ["h"], ["y"], to=1)], f"operator Cast (h) {UNKNOWN}"),
    ([NODE("Div", ["one", "x"], ["y"])], f"operator Div (y) takes the pixels where weights belong{GIVE}"),
    (
        [NODE("Neg", ["one"], ["w"]), NODE("Mul", ["x", "w"], ["y"])],
        f"operator Mul (y) has weights that are computed{GIVE}",
    ),
    (
        [NODE("RandomNormal", [], ["r"], shape=[1, 3, 9, 9]), NODE("Add", ["x", "r"], ["y"])],
        f"operator Add (y) has weights that are computed{GIVE}",
    ),
    (
        [NODE("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1])],
        f"operator AveragePool (y) leaves its padding out of the average{GIVE}",
    ),
    (
        [NODE("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)],
        f"operator MaxPool (y) has ceil_mode 1{GIVE}",
    ),
    ([NODE("Pad", ["x", "pads"], ["y"], mode="reflect")], f"operator Pad (y) has mode b'reflect'{GIVE}"),
    (
        [NODE("Dropout", ["x", "", "true"], ["y"])],
        f"operator Dropout (y) is in training mode{SO}Export it in evaluation mode{OR_GIVE}",
    ),
    (
        [NODE("GlobalAveragePool", ["x"], ["p"]), NODE("Add", ["p", "wide"], ["y"])],
        f"operator Add (y) repeats its input, or differs from image to image{GIVE}",
    ),
    ([NODE("Add", ["x", "each"], ["y"])], f"operator Add (y) repeats its input, or differs from image to image{GIVE}"),
    ([NODE("Reshape", ["x", "whole"], ["y"])], f"operator Reshape (y) joins the images of a batch{GIVE}"),
    (
        [NODE("Transpose", ["x"], ["y"], perm=[1, 0, 2, 3])],
        f"operator Transpose (y) moves the axis of the images{GIVE}",
    ),
    (
        [NODE("Dropout", ["x"], ["y", "mask"])],
        f"operator Dropout (y) has more than one output{GIVE}",
    ),
]


@pytest.mark.parametrize(("nodes", "message"), GRAPHS, ids=[message.split(", so")[0] for _, message in GRAPHS])
def test_what_a_graph_does_beside_its_layers_is_named(tmp_path, nodes, message):
    used = {name for node in nodes for name in node.input} | {"hundred"}
    model = chain_graph(tmp_path / "net.onnx", [*nodes, FLAT], [each for each in WEIGHTS if each.name in used])
    assert refusal(model) == f"net: {message}"


def test_functions_and_operators_of_others_are_no_relus(tmp_path):
    """A function called Relu in a domain of its own, which multiplies by a hundred."""
    own = [helper.make_opsetid("", 17), helper.make_opsetid("evil", 1)]
    factor = NODE("Constant", [], ["c"], value=constant("c", 100.0))
    function = helper.make_function("evil", "Relu", ["a"], ["b"], [factor, NODE("Mul", ["a", "c"], ["b"])], own[:1])
    nodes = [NODE("Relu", ["x"], ["y"], domain="evil"), FLAT]
    model = chain_graph(tmp_path / "net.onnx", nodes, functions=[function], opset_imports=own)
    assert refusal(model) == (
        f"net: the graph has functions of its own (evil.Relu){SO}"
        f"Inline them (onnx.inliner.inline_local_functions){OR_GIVE}"
    )
    own[1] = helper.make_opsetid("com.microsoft", 1)
    nodes = [NODE("Gelu", ["x"], ["y"], domain="com.microsoft"), FLAT]
    model = chain_graph(tmp_path / "net.onnx", nodes, opset_imports=own)
    assert refusal(model) == f"net: operator Gelu (y) is of domain 'com.microsoft', not one of ONNX itself{GIVE}"


def test_weights_that_are_not_plain_constants_are_refused(tmp_path):
    nodes = [NODE("Mul", ["x", "w"], ["y"]), FLAT]
    model = chain_graph(tmp_path / "net.onnx", nodes, [constant("w", [2.0])], inputs=[tensor("w", FLOAT, [1])])
    assert refusal(model) == (
        f"net: weights (w) are inputs, which a caller may change{SO}Export it with weights that are constants{OR_GIVE}"
    )
    old = chain_graph(  # before version 4 of the format every weight had to be listed as an input, and was a constant
        tmp_path / "old.onnx", nodes, [constant("w", [2.0])], inputs=[tensor("w", FLOAT, [1])], ir_version=3
    )
    assert chain_bound(old, IMAGES) == pytest.approx(2.0)
    sparse = helper.make_sparse_tensor(constant("w", [2.0]), constant("", [0], np.int64), [1])
    model = chain_graph(tmp_path / "net.onnx", nodes, [constant("w", [2.0])])
    graph = onnx.load(model.path)
    del graph.graph.initializer[:]
    graph.graph.sparse_initializer.append(sparse)
    model.path.write_bytes(graph.SerializeToString())
    assert refusal(model) == f"net: the graph has sparse weights{SO}Export it with dense ones{OR_GIVE}"


def test_opsets_that_nobody_looked_at_are_refused(tmp_path):
    old = chain_graph(
        tmp_path / "net.onnx",
        [NODE("Relu", ["x"], ["y"]), FLAT],
        opset_imports=[helper.make_opsetid("", 6)],
        ir_version=3,
    )
    assert refusal(old) == (
        f"net: its operators are those of opset 6, and known are 7 to 28{SO}"
        f"Convert it (onnx.version_converter){OR_GIVE}"
    )


def test_logits_that_ignore_the_image_have_no_radius():
    module = nn.Sequential(nn.Flatten(), nn.Linear(243, 4))
    nn.init.zeros_(module[1].weight)
    assert refusal(wrap_module(module.eval(), name="net")) == (
        "net: has logits that do not depend on the image: every image has the same class."
    )


# The belt: whatever was not seen shows in the logits


def linear_network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(243, 4)).eval()


def test_a_chain_that_is_not_the_network_is_refused(monkeypatch):
    """Layers as they would be understood if a hundredth of what the network does were overlooked."""
    module = linear_network()
    weight, bias = (each.detach().double().numpy() for each in (module[1].weight, module[1].bias))
    flat = chains._layers(wrap_module(module, name="net"), SHAPE)[0]
    monkeypatch.setattr(chains, "_layers", lambda *_: (flat, linear("wrong", 0.99 * weight, bias)))
    told = refusal(wrap_module(module, name="net"))
    assert told.startswith("net: run layer by layer its logits are off by ")
    assert told.endswith(f" of the largest: it does more than it shows{GIVE}")
    monkeypatch.setattr(chains, "_layers", lambda *_: (flat, linear("right", weight, bias)))
    assert chain_bound(wrap_module(module, name="net"), IMAGES) == pytest.approx(np.linalg.norm(weight, 2), rel=1e-8)


def test_torch_itself_changed_under_a_network_is_refused(monkeypatch):
    """Nothing in the module shows it."""
    monkeypatch.setattr(nn.Linear, "forward", lambda self, given: 3 * nn.functional.linear(given, self.weight))
    assert "run layer by layer its logits are off by" in refusal(wrap_module(linear_network(), name="net"))
