"""Compare a GPU with the processor, and print a table to paste: ``python scripts/gpu_check.py [--device cuda:1]``.

Needs ``gfscore[torch,gradients,attacks]``. Takes about a minute, downloads nothing, and names no file of yours. Without
a GPU it compares the processor with itself, and says so. Ends with 1 if something is off.
"""

import argparse
import copy
import platform
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import gfscore
from gfscore.errors import GFScoreError, first_line
from gfscore.inputs.data import load_data
from gfscore.inputs.models import TorchModel, devices, gradients, load_model, onnx_model, wrap_module
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.models.graph_conversion import convert_graph
from gfscore.inputs.models.shims import torch_for
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.measures import Run

NETWORK, DATA = "zoo:trades", "zoo:digits"
IMAGES, SIZE, CLASSES = 256, 32, 10
OFF = 1e-4  # of the largest: two devices that sum in another order differ by about 1e-6
SLOPES_OFF = 1e-3  # of the norm of a gradient: on CUDA the backward pass may multiply in TensorFloat-32
ATTACK_OFF = 0.03  # of the accuracy under the quick attack: random starts are others on another device
PER_CLASS = 10
ATTACK_SIZE = 0.1  # in [0, 1] pixels: at which some digits stand and some fall
TIMED = 5  # repeats


class Row(NamedTuple):
    """A line of the table."""

    what: str
    found: str
    limit: str = ""
    fine: bool | None = None  # None: nothing to judge


def network(torch: Any) -> Any:
    """A convolutional network with residual blocks and random weights, always the same."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                *(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()),
                *(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)),
            )

        def forward(self, images: Any) -> Any:
            return torch.relu(images + self.inner(images))

    with torch.random.fork_rng():
        torch.manual_seed(0)
        head = (nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, CLASSES))
        return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), Block(32), nn.MaxPool2d(2), Block(32), *head).eval()


class Comparison:
    """The same work on the processor and on a device."""

    def __init__(self, word: str) -> None:
        self.torch = torch_for("the comparison of devices", extra="gradients")
        self.device = devices.torch_device(self.torch, word)
        self.word = str(self.device)
        self.images = np.random.default_rng(0).random((IMAGES, 3, SIZE, SIZE), dtype=np.float32)
        self.here = wrap_module(network(self.torch), name="network")
        there = devices.place(self.here, self.word, held=True)
        assert isinstance(there, TorchModel)
        self.there = there

    def digits(self) -> Any:
        """A network of the zoo as a torch module, which knows the digits."""
        model = load_model(NETWORK)
        assert isinstance(model, onnx_model.OnnxModel)
        return next(iter(convert_graph(model)))

    def logits(self) -> Row:
        """Logits of a batch."""
        off = _off(*(forward_batches(model, self.images, 64).values for model in (self.here, self.there)))
        return Row("torch: logits", f"{off:.1e} of the largest", f"{OFF:g}", off <= OFF)

    def gradients(self) -> Row:
        """Norms of gradients of margins."""
        few = self.images[:32]
        labels = np.arange(len(few)) % CLASSES
        rivals = (labels[:, None] + [1, 2]) % CLASSES
        found = []
        for model in (self.here, self.there):
            module = gradients.differentiable(model, Preprocessing(), few)
            found.append(gradients.margin_gradients(module, few, labels, rivals))
        wrong = np.linalg.norm(found[0] - found[1], axis=2) / np.linalg.norm(found[0], axis=2)
        off = float(np.median(wrong))
        return Row("torch: gradients", f"{off:.1e} of their norm (median)", f"{SLOPES_OFF:g}", off <= SLOPES_OFF)

    def radii(self) -> Row:
        """First-order radii of an audit, from gradients."""
        how: dict[str, Any] = {"score": "first-order", "norm": "linf", "gradients": "yes", "n_per_class": PER_CLASS}
        module = self.digits()
        here, there = (gfscore.audit(module, DATA, device=word, **how).models[0] for word in ("cpu", self.word))
        wrong = [abs(a.score - b.score) / a.score for a, b in zip(here.classes, there.classes, strict=True) if a.score]
        return Row(
            "audit: first-order radii", f"{max(wrong):.1e} of a class", f"{SLOPES_OFF:g}", max(wrong) <= SLOPES_OFF
        )

    def attack(self) -> Row:
        """Accuracy under the quick attack."""
        how: dict[str, Any] = {"autoattack": True, "quick": True, "eps": ATTACK_SIZE, "n_per_class": PER_CLASS}
        module, found = self.digits(), []
        for word in ("cpu", self.word):
            checked = gfscore.check(module, DATA, device=word, **how).models[0].cross_check
            assert checked is not None
            found.append(checked.accuracy.value)
        off = abs(found[0] - found[1])
        text = f"{100 * found[0]:.1f} % and {100 * found[1]:.1f} % stand"
        return Row("check: accuracy under the quick attack", text, f"{100 * ATTACK_OFF:g} points", off <= ATTACK_OFF)

    def halving(self) -> Row:
        """A batch that does not fit: on CUDA one that takes half as much again as there is, elsewhere a made-up one."""
        torch, real = self.torch, self.device.type == "cuda"
        per_image = 0
        if real:
            torch.cuda.empty_cache()
            per_image = int(1.5 * torch.cuda.mem_get_info(self.device)[0] / (4 * IMAGES))

        class Hungry(torch.nn.Module):  # type: ignore[misc,name-defined]
            def __init__(self, inner: Any) -> None:
                super().__init__()
                self.inner = inner

            def forward(self, images: Any) -> Any:
                if not real and len(images) > IMAGES // 3:
                    raise torch.OutOfMemoryError("made up")
                taken = torch.zeros(len(images), per_image, device=images.device) if real else None
                logits = self.inner(images)
                return logits if taken is None else logits + taken[:, :1]

        hungry = TorchModel(
            module=Hungry(copy.deepcopy(self.there.module)), name="hungry", fingerprint=None, device=self.there.device,
            dtype=self.there.dtype,
        )  # fmt: skip
        done = forward_batches(hungry, self.images, IMAGES)
        off = _off(forward_batches(self.there, self.images, IMAGES).values, done.values)
        kind = "memory that ran out" if real else "made-up lack of memory"
        return Row(
            f"a batch that does not fit ({kind})",
            f"{done.halved} halved, logits {off:.1e} off",
            f"{OFF:g}",
            done.halved > 0 and off <= OFF,
        )

    def graph(self) -> Row:
        """Logits of a graph by onnxruntime."""
        what = "onnxruntime: logits"
        run = Run(model=load_model(NETWORK), data=load_data(DATA))
        try:
            placed = devices.place(run.model, self.word)
        except GFScoreError as error:
            return Row(what, str(error), "", None)
        pixels = run.pixels(slice(0, run.n_samples))
        off = _off(run.model(pixels), placed(pixels))
        providers = getattr(placed, "session").get_providers()[0]  # noqa: B009 (of a graph alone)
        return Row(f"{what} ({providers})", f"{off:.1e} of the largest", f"{OFF:g}", off <= OFF)

    def precisions(self) -> Iterator[Row]:
        """How far other precisions are off: nothing to judge, and only where asked for."""
        exact = forward_batches(self.there, self.images, 64).values
        for precision in devices.PRECISIONS:
            rough = forward_batches(devices.in_precision(self.there, precision), self.images, 64).values
            changed = int((rough.argmax(axis=1) != exact.argmax(axis=1)).sum())
            text = f"{_off(exact, rough):.1e} of the largest, {changed} of {IMAGES} predictions change"
            yield Row(f"torch: --precision {precision}", text)

    def keys(self) -> Row:
        """Whether the store tells the two apart."""
        one, other = (Run(model=model, data=load_data(DATA)).parts()["model"] for model in (self.here, self.there))
        apart = one != other
        return Row("store: keys of the two", "apart" if apart else "the same", "", apart == (self.word != "cpu"))

    def speed(self) -> Row:
        """Images a second."""
        rates = []
        for model in (self.here, self.there):
            forward_batches(model, self.images, 64)  # kernels are chosen and memory is taken
            start = time.perf_counter()
            for _ in range(TIMED):
                forward_batches(model, self.images, 64)
            rates.append(TIMED * IMAGES / (time.perf_counter() - start))
        return Row("torch: images a second", f"{rates[0]:,.0f} and {rates[1]:,.0f}")


def _off(one: Any, other: Any) -> float:
    return float(np.abs(np.asarray(one) - np.asarray(other)).max() / np.abs(np.asarray(one)).max())


def compare(comparison: Comparison) -> Iterator[Row]:
    """Every line of the table; what fails is one, too."""
    checks: list[tuple[str, Callable[[], Any]]] = [
        *((name, getattr(comparison, name)) for name in ("logits", "gradients", "radii", "attack", "halving", "graph")),
        *((name, getattr(comparison, name)) for name in ("precisions", "keys", "speed")),
    ]
    for name, check in checks:
        try:
            found = check()
            yield from [found] if isinstance(found, Row) else found
        except Exception as error:  # whatever happens on a device that nobody here has seen
            yield Row(name, f"failed: {type(error).__name__}: {first_line(error)}", "", fine=False)


def about(comparison: Comparison) -> Iterator[str]:
    """What was compared, by version."""
    torch, device = comparison.torch, comparison.device
    yield f"gfscore {gfscore.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield f"torch {torch.__version__}, CUDA {torch.version.cuda or 'none'}"
    runtime = onnx_model.onnxruntime
    yield f"onnxruntime {runtime.__version__}: {', '.join(runtime.get_available_providers())}"
    if device.type == "cuda":
        yield f"{comparison.word}: {torch.cuda.get_device_name(device)}, {torch.cuda.get_device_capability(device)}"
    if comparison.word == "cpu":
        yield "There is no other device here: the CPU was compared with itself."


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if something is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto", help="auto, cuda, cuda:1 or mps")
    asked = parser.parse_args(arguments)
    try:
        comparison = Comparison(devices.check_device(asked.device))
    except GFScoreError as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return 2
    for line in about(comparison):
        print(f"- {line}")
    print(f"\n| cpu against {comparison.word} | found | at most | |\n|---|---|---|---|")
    judged = []
    for row in compare(comparison):
        judged.append(row.fine)
        print(f"| {row.what} | {row.found} | {row.limit} | {VERDICTS[row.fine]} |", flush=True)
    wrong = judged.count(False)
    print(f"\n{judged.count(True)} fine, {wrong} off.{' Please paste this into an issue.' if wrong else ''}")
    return 1 if wrong else 0


VERDICTS = {True: "fine", False: "**off**", None: ""}

if __name__ == "__main__":
    sys.exit(main())
