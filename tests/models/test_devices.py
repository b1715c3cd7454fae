"""Where models run: on the device that was asked for, with what goes there and back, or refused."""

from dataclasses import replace
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import onnx_graphs
import pytest

import gfscore
from gfscore.engines.loading import Loader, Loading
from gfscore.errors import ModelError, OptionError
from gfscore.inputs.data import load_data
from gfscore.inputs.models import CallableModel, devices, gradients, load_model, onnx_model, wrap_module
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.models.transfers import computing, to_device
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Run

torch = pytest.importorskip("torch")
standin_device = pytest.importorskip("standin_device")

WITH_GRADIENTS = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")
PLAIN = Preprocessing()


def network(channels=3, size=8):
    torch.manual_seed(0)
    return torch.nn.Sequential(
        *(torch.nn.Conv2d(channels, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU()),
        *(torch.nn.Flatten(), torch.nn.Linear(4 * size * size, 10)),
    ).eval()


@pytest.fixture
def standin(monkeypatch):
    """A device beside the processor, which is the best there is."""
    standin_device.register()
    there = {"standin": (lambda _: True, "Make one"), **devices.TORCH_DEVICES}
    monkeypatch.setattr(devices, "TORCH_DEVICES", there)
    standin_device.moved.clear()
    standin_device.most_rows.clear()
    return standin_device


@pytest.fixture
def images():
    return np.random.default_rng(0).random((6, 3, 8, 8), dtype=np.float32)


def test_logits_are_computed_on_the_device_and_on_no_other(standin, images):
    expected = wrap_module(network(), name="net")(images)
    model = devices.place(wrap_module(network(), name="net"))
    standin.moved.clear()
    with standin.no_work_elsewhere():
        found = forward_batches(model, images, 4).values
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    batches = [("in", (4, 3, 8, 8)), ("out", (4, 10)), ("in", (2, 3, 8, 8)), ("out", (2, 10))]
    assert standin.moved == batches  # images once each, and nothing but logits back


def test_work_on_the_processor_is_seen(standin, images):
    """What the tests here rest on: a model that was left behind, or images that were, are noticed."""
    left = wrap_module(network(), name="net")
    with standin.no_work_elsewhere(), pytest.raises(ModelError, match="computed on the processor, unseen"):
        left(images)
    moved = devices.place(wrap_module(network(), name="net")).module
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        moved(torch.from_numpy(images))


def test_a_model_that_makes_tensors_elsewhere_is_told_what_to_do(standin, images):
    class Careless(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network()

        def forward(self, inputs):
            return self.inner(inputs - torch.full((1, 3, 1, 1), 0.5))

    assert wrap_module(Careless().eval(), name="net")(images).shape == (6, 10)
    with pytest.raises(ModelError) as refused:
        devices.place(wrap_module(Careless().eval(), name="net"))(images)
    assert str(refused.value).startswith("net: makes tensors that are not where it runs (Expected all tensors to be on")
    assert str(refused.value).endswith("Register them as buffers, or say --device cpu.")


def test_gradients_are_computed_on_the_device(standin, images):
    labels, rivals = np.arange(6), (np.arange(6)[:, None] + [1, 2]) % 10
    here = gradients.differentiable(wrap_module(network(), name="net"), PLAIN, images)
    expected = gradients.margin_gradients(here, images, labels, rivals)
    model = devices.place(wrap_module(network(), name="net"), "standin")
    with standin.no_work_elsewhere():
        module = gradients.differentiable(model, PLAIN, images)
        found = gradients.margin_gradients(module, images, labels, rivals)
    assert module.scale.device.type == "standin"
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@WITH_GRADIENTS
@pytest.mark.parametrize(("word", "where"), [("auto", "standin"), ("cpu", "cpu")])
def test_a_converted_graph_goes_to_the_device_too(standin, tmp_path, word, where):
    pixels = np.random.default_rng(1).random((5, 3, 2, 2), dtype=np.float32)
    model = devices.place(load_model(onnx_graphs.linear(tmp_path / "net.onnx")), word)
    assert devices.device_of(model) == "cpu"  # onnxruntime has no other here
    with torch.autograd.set_multithreading_enabled(False):
        module = gradients.differentiable(model, PLAIN, pixels)
        found = gradients.margin_gradients(module, pixels, np.zeros(5, int), np.ones((5, 1), int))
    assert module.scale.device.type == where
    matrix = onnx_graphs.weights()
    np.testing.assert_allclose(found[:, 0], np.tile(matrix[:, 0] - matrix[:, 1], (5, 1)), rtol=1e-5)


@pytest.fixture(scope="module")
def digits():
    """A network of one layer that knows the digits."""
    data = load_data("zoo:digits")
    pixels = Run(model=load_model("zoo:trades"), data=data).pixels(slice(0, len(data.labels)))
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
    steps = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(60):
        steps.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.from_numpy(pixels)), torch.from_numpy(data.labels)).backward()
        steps.step()
    return net.eval().requires_grad_(False)


@pytest.mark.skipif(find_spec("foolbox") is None, reason="needs gfscore[attacks]")
def test_an_attack_runs_on_the_device(standin, digits):
    how = {"autoattack": True, "quick": True, "eps": 0.1, "n_per_class": 2}
    here = gfscore.check(digits, "zoo:digits", device="cpu", **how)
    with standin.no_work_elsewhere():
        there = gfscore.check(digits, "zoo:digits", device="standin", **how)
    assert there.models[0].run.device == "standin"
    assert there.models[0].cross_check.accuracy == here.models[0].cross_check.accuracy
    assert 0 < here.models[0].cross_check.accuracy.value < 1


def test_radii_are_found_on_the_device(standin, digits):
    how = {"score": "first-order", "norm": "linf", "gradients": "yes", "n_per_class": 2}
    here = gfscore.audit(digits, "zoo:digits", device="cpu", **how)
    with standin.no_work_elsewhere():
        there = gfscore.audit(digits, "zoo:digits", device="standin", **how)
    assert there.models[0].aggregate == pytest.approx(here.models[0].aggregate, rel=1e-5)


def test_a_batch_that_does_not_fit_is_halved_there(standin, images):
    expected = wrap_module(network(), name="net")(images)
    model = devices.place(wrap_module(network(), name="net"))
    standin.most_rows.append(2)
    with standin.no_work_elsewhere():
        done = forward_batches(model, images, 6)
    np.testing.assert_allclose(done.values, expected, rtol=1e-5)
    assert done.halved == 1


def test_an_audit_says_where_its_model_ran(standin, tmp_path, capsys):
    from rich.console import Console

    from gfscore.outputs import terminal

    module = network(1)
    with standin.no_work_elsewhere():
        audit = gfscore.audit(module, "zoo:digits", device="standin", n_per_class=3, radii="none")
    assert audit.models[0].run.device == "standin"
    assert next(module.parameters()).device.type == "cpu"  # the user's own is left as it is
    terminal.show_audit(audit, Console(width=80))
    assert "model ran on standin." in capsys.readouterr().out
    second = audit.models[0].model_copy(update={"name": "other"})
    terminal.show_audit(audit.model_copy(update={"models": (audit.models[0], second)}), Console(width=80))
    assert "model, other ran on standin." in capsys.readouterr().out
    here = gfscore.audit(module, "zoo:digits", n_per_class=3, radii="none")
    assert here.models[0].run.device is None  # a module that is held runs where it is, unless said
    assert here.models[0].aggregate == pytest.approx(audit.models[0].aggregate, abs=1e-6)


def test_a_module_that_was_put_somewhere_stays_there(standin):
    model = wrap_module(network().to("standin"), name="net")
    assert devices.place(model).module is model.module
    assert devices.place(model, held=True).module is model.module
    back = devices.place(model, "cpu", held=True)
    assert (back.device.type, model.device.type) == ("cpu", "standin")
    assert next(model.module.parameters()).device.type == "standin"  # the copy was moved


def test_the_store_tells_devices_and_precisions_apart(standin):
    data = load_data("zoo:digits")
    model = wrap_module(network(1), name="net", fingerprint="0a1b")
    on = {word: Run(model=devices.place(model, word, held=True), data=data) for word in ("cpu", "standin")}
    on["half"] = Run(model=devices.in_precision(model, "bfloat16"), data=data)
    on["ray"] = Run(model=model, data=data, gpu=True)
    assert {name: run.parts()["model"] for name, run in on.items()} == {
        "cpu": "0a1b",
        "standin": "0a1b on a GPU (standin)",
        "half": "0a1b in bfloat16",
        "ray": "0a1b on a GPU",
    }


@WITH_GRADIENTS
def test_the_store_tells_apart_where_gradients_of_a_graph_were_computed(standin):
    from gfscore.measures.logits import Logits

    data, recipes = load_data("zoo:digits"), []
    for word in ("cpu", "standin"):
        run = Run(model=replace(load_model("zoo:trades"), gradients_on=word), data=data)
        with torch.autograd.set_multithreading_enabled(False):
            recipes.append(run._elsewhere(SimpleNamespace(gradients=True)))
        assert run._elsewhere(Logits()) == {}
    assert recipes == [{}, {"gradients_on": "standin"}]


def test_only_what_goes_to_cuda_is_pinned():
    noted = []

    class Tensor:
        def pin_memory(self):
            noted.append("pinned")
            return self

        def to(self, device, **how):
            noted.append((device.type, how))
            return self

    fake = SimpleNamespace(from_numpy=lambda _: Tensor())
    for kind in ("cuda", "mps", "cpu"):
        to_device(fake, np.zeros(2), SimpleNamespace(type=kind))
    assert noted == ["pinned", ("cuda", {"non_blocking": True}), ("mps", {}), ("cpu", {})]


def test_float32_is_float32_on_cuda_and_the_setting_is_put_back():
    before = torch.backends.cudnn.allow_tf32
    assert before  # torch's own choice, which this is about
    with computing(torch, torch.device("cuda")):
        assert not torch.backends.cudnn.allow_tf32
    assert torch.backends.cudnn.allow_tf32 == before
    with computing(torch, torch.device("cpu")):
        assert torch.backends.cudnn.allow_tf32 == before


@pytest.mark.parametrize(
    ("cuda", "mps", "best"), [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu"), (True, False, "cuda")]
)
def test_auto_is_the_best_that_torch_finds(monkeypatch, cuda, mps, best):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert str(devices.torch_device(torch, "auto")) == best


def test_words_that_are_no_device_are_refused():
    for word in ("tpu", "cuda:x", "cpu:0", ""):
        with pytest.raises(OptionError) as refused:
            Loading(device=word)
        assert str(refused.value) == (
            f"device {word!r} is not one. Choose auto, cpu, cuda, mps, directml, or one of several GPUs: cuda:1."
        )
    assert Loading(device="CUDA:1").device == "cuda:1"
    with pytest.raises(OptionError, match=r"precision 'half' is not known. Choose float32, float16 or bfloat16\."):
        Loading(precision="half")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "cuda",
            "net: cannot run on cuda: torch has cpu here. Install torch with CUDA and a driver, or say --device cpu.",
        ),
        ("mps", "net: cannot run on mps: torch has cpu here. Use a Mac with Apple silicon, or say --device cpu."),
        ("directml", "net: cannot run on directml: torch has cpu here. Export the model to ONNX, or say --device cpu."),
    ],
)
def test_a_device_that_torch_does_not_have_is_an_error(monkeypatch, word, message):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ModelError) as refused:
        devices.place(wrap_module(network(), name="net"), word)
    assert str(refused.value) == message


def test_a_gpu_with_a_number_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(ModelError) as refused:
        devices.place(wrap_module(network(), name="net"), "cuda:2")
    assert str(refused.value) == (
        "net: cannot run on cuda:2: torch finds 2 CUDA devices here, numbered from 0. Choose another."
    )


def test_a_function_runs_where_it_likes():
    model = CallableModel(lambda inputs: inputs, name="f")
    assert devices.place(model) is devices.place(model, "cpu") is model
    with pytest.raises(ModelError) as refused:
        devices.place(model, "cuda")
    assert str(refused.value) == "f: runs where it likes: it cannot be put on cuda. Say --device cpu."


class Provided:
    """Builds of onnxruntime that are not installed here."""

    def __init__(self, monkeypatch, *available, starts=True):
        self.opened = []
        names = [*available, "CPUExecutionProvider"]
        monkeypatch.setattr(onnx_model.onnxruntime, "get_available_providers", lambda: names)

        def open_session(path, threads=None, *, provider=None):
            self.opened.append((provider, threads))
            return SimpleNamespace(get_providers=lambda: [provider[0]] if starts else ["CPUExecutionProvider"])

        monkeypatch.setattr(onnx_model, "open_session", open_session)


CUDA = ("CUDAExecutionProvider", {"use_tf32": "0"})
COREML = ("CoreMLExecutionProvider", {"ModelFormat": "MLProgram", "MLComputeUnits": "CPUAndGPU"})


@pytest.mark.parametrize(
    ("has", "word", "opened", "device"),
    [
        ([CUDA[0]], "auto", CUDA, "cuda"),
        ([CUDA[0]], "cuda:1", (CUDA[0], {"use_tf32": "0", "device_id": "1"}), "cuda:1"),
        ([CUDA[0]], "cpu", None, "cpu"),
        (["DmlExecutionProvider"], "auto", ("DmlExecutionProvider", {}), "directml"),
        ([COREML[0]], "auto", None, "cpu"),  # in every build for a Mac: only where it is asked for
        ([COREML[0]], "mps", COREML, "mps"),
        ([], "auto", None, "cpu"),
    ],
)
def test_the_provider_of_a_graph_is_chosen_from_those_there_are(monkeypatch, tmp_path, has, word, opened, device):
    model = load_model(onnx_graphs.linear(tmp_path / "net.onnx"))
    provided = Provided(monkeypatch, *has)
    placed = devices.place(model, word, threads=3)
    assert provided.opened == ([] if opened is None else [(opened, 3)])
    assert (placed.device, placed.gradients_on) == (device, word)


@pytest.mark.parametrize(
    ("has", "word", "message"),
    [
        (
            [],
            "cuda",
            "net: cannot run on cuda: onnxruntime has cpu here. Install onnxruntime-gpu, or say --device cpu.",
        ),
        (
            [CUDA[0]],
            "mps",
            "net: cannot run on mps: onnxruntime has cuda and cpu here. Use a Mac, or say --device cpu.",
        ),
        (
            [],
            "directml",
            "net: cannot run on directml: onnxruntime has cpu here. Install onnxruntime-directml, or say --device cpu.",
        ),
    ],
)
def test_a_provider_that_is_not_there_is_an_error(monkeypatch, tmp_path, has, word, message):
    model = load_model(onnx_graphs.linear(tmp_path / "net.onnx"))
    Provided(monkeypatch, *has)
    with pytest.raises(ModelError) as refused:
        devices.place(model, word)
    assert str(refused.value) == message


def test_a_provider_that_does_not_start_is_passed_over_only_where_nobody_asked(monkeypatch, tmp_path):
    model = load_model(onnx_graphs.linear(tmp_path / "net.onnx"))
    Provided(monkeypatch, CUDA[0], starts=False)
    assert devices.place(model).session is model.session
    with pytest.raises(ModelError) as refused:
        devices.place(model, "cuda")
    assert str(refused.value) == (
        "net: cannot run on cuda: onnxruntime has CUDAExecutionProvider but could not start it. Check driver and "
        "libraries, or say --device cpu."
    )


def test_a_session_that_python_holds_runs_where_it_was_opened(tmp_path):
    path = onnx_graphs.linear(tmp_path / "net.onnx")
    session = onnx_model.onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    opened = devices.place(replace(load_model(path), session=session), held=True)
    assert opened.session is session
    with pytest.raises(ModelError) as refused:
        devices.place(opened, "cuda", held=True)
    assert str(refused.value) == "net: is a session that runs on cpu. Open it for cuda yourself, or leave device out."


@WITH_GRADIENTS
def test_gradients_are_not_computed_elsewhere_unseen(monkeypatch, tmp_path):
    """With onnxruntime on a GPU and a torch that has none."""
    model = replace(load_model(onnx_graphs.linear(tmp_path / "net.onnx")), device="cuda", gradients_on="cuda")
    with pytest.raises(ModelError, match="net: cannot run on cuda: torch has cpu here"):
        gradients.differentiable(model, PLAIN, np.zeros((2, 3, 2, 2), np.float32))


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_another_precision_is_flagged_with_what_it_changes(precision):
    module = network(1)
    audit = gfscore.audit(module, "zoo:digits", precision=precision, n_per_class=5, radii="none")
    plain = gfscore.audit(module, "zoo:digits", n_per_class=5, radii="none")
    assert audit.models[0].run.precision == precision
    assert plain.models[0].run.precision is None
    message = next(flag.message for flag in audit.models[0].flags if flag.code == "precision")
    assert message.startswith(
        f"forward passes are in {precision}, as was asked for: on the first 50 images logits differ"
    )
    data = load_data("zoo:digits", n_per_class=5, seed=0)
    run = Run(model=wrap_module(module, name="net"), data=data)
    inputs = run.inputs(slice(0, 50))
    exact, rough = run.forward(inputs), replace(run, model=devices.in_precision(run.model, precision)).forward(inputs)
    assert f"by up to {np.abs(rough - exact).max() / np.abs(exact).max():.2g} of the largest" in message
    assert f"and {(rough.argmax(1) != exact.argmax(1)).sum()} predictions are others" in message
    assert not [flag for flag in plain.models[0].flags if flag.code == "precision"]


def test_a_precision_is_for_torch_models_of_float32():
    with pytest.raises(ModelError) as refused:
        Loader(Loading(precision="float16")).open_model("zoo:trades")
    assert str(refused.value) == (
        "trades: is no torch model, and --precision float16 is for those alone. Leave it out, or export the model in "
        "that precision."
    )
    with pytest.raises(ModelError) as refused:
        devices.in_precision(wrap_module(network().half(), name="net"), "bfloat16")
    assert str(refused.value) == "net: has weights in float16, and runs in that. Leave --precision out."


def test_gradients_stay_in_float32(images):
    model = devices.in_precision(wrap_module(network(), name="net"), "bfloat16")
    module = gradients.differentiable(model, PLAIN, images)
    assert module(torch.from_numpy(images)).dtype == torch.float32
    exact = wrap_module(network(), name="net")(images)
    np.testing.assert_allclose(module(torch.from_numpy(images)).detach().numpy(), exact, rtol=1e-5)
