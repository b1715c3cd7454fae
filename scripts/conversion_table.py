"""Print which exported graphs have gradients, and how right they are: ``python scripts/conversion_table.py``.

With ``--write FOLDER`` graphs of torch's newer exporter are written for the tests, which have no onnxscript.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import exported_graphs
from exported_graphs import BY_HAND, NETWORKS, NEWER, OLDER, SIZE
from gfscore.arrays import FloatArray
from gfscore.errors import ModelError, require
from gfscore.inputs.models import gradients, load_model
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.models.graph_conversion import fold_graph, open_batch
from gfscore.inputs.models.older_opset import in_older_words
from gfscore.inputs.models.onnx_model import OnnxModel
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.preprocessing import Preprocessing

IMAGES, DIRECTIONS = 8, 4
STEP = 0.003  # along a direction of unit length (L2): short enough for few kinks, long enough for float32
OFF = ("logits_off", "slopes_off")
KEPT = {18: tuple(NETWORKS), 23: ("GELU", "group normalisation", "transformer", "residual Add", "Pad by reflection")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What became of a graph; None where it has no gradients."""

    logits_off: float | None = None  # of the largest logit
    slopes_off: float | None = None  # of their length, from differences of the session's logits; the median
    why: str = ""


def look_at(model: OnnxModel) -> Look:
    """The converted module against the session: logits, and slopes along random directions by central differences."""
    torch = torch_for("a table")
    rng = np.random.default_rng(0)
    shape = (3, SIZE, SIZE) if model.layout == "NCHW" else (SIZE, SIZE, 3)
    pixels = rng.uniform(0.2, 0.8, (IMAGES, *shape)).astype(np.float32)
    try:
        module = gradients.differentiable(model, Preprocessing(), pixels)
    except ModelError as error:
        return Look(why=str(error))
    logits = forward_batches(model, pixels, IMAGES).values
    off = np.abs(module(torch.from_numpy(pixels)).numpy() - logits).max() / np.abs(logits).max()
    slopes = _slopes(torch, module, pixels)
    found, expected = [], []
    for _ in range(DIRECTIONS):
        way = rng.normal(size=pixels.shape)
        way /= np.linalg.norm(way.reshape(IMAGES, -1), axis=1).reshape(-1, 1, 1, 1)
        ends = [(pixels + sign * STEP * way).astype(np.float32) for sign in (1, -1)]
        above, below = (forward_batches(model, end, IMAGES).values.astype(np.float64) for end in ends)
        expected.append((above - below) / (2 * STEP))
        found.append((slopes * way[:, None]).reshape(*slopes.shape[:2], -1).sum(axis=2))
    wrong = np.linalg.norm(np.subtract(found, expected), axis=2) / np.linalg.norm(expected, axis=2)
    return Look(logits_off=float(off), slopes_off=float(np.median(wrong)))  # the median: kinks are crossed by few


def _slopes(torch: Any, module: Any, pixels: FloatArray) -> FloatArray:
    """Gradients of each logit, (n, K, ...)."""
    inputs = torch.from_numpy(pixels).requires_grad_(requires_grad=True)
    sums = module(inputs).sum(dim=0)
    return np.stack([torch.autograd.grad(one, inputs, retain_graph=True)[0].numpy() for one in sums], axis=1)


def orders(model: OnnxModel) -> tuple[bool, bool]:
    """Whether onnx2torch converts the graph as it is, and once it is folded."""
    onnx, done = require("onnx", extra="gradients", purpose="a table"), []
    with no_deprecations():
        onnx2torch = require("onnx2torch", extra="gradients", purpose="a table")
        for folded in (False, True):
            graph = open_batch(onnx.load(model.path), model)
            try:
                onnx2torch.convert(in_older_words(fold_graph(graph, onnx), onnx) if folded else graph)
            except Exception:  # it raises anything
                done.append(False)
            else:
                done.append(True)
    return done[0], done[1]


def graphs(which: str) -> Iterator[tuple[str, int, bytes]]:
    """Name, opset and bytes of every graph: those of an exporter, or those made by hand."""
    if which == "by hand":
        for name, (make, opsets) in BY_HAND.items():
            yield from ((name, opset, make(opset)) for opset in opsets)
        return
    newer = which == "newer"
    for name in NETWORKS:
        for opset in NEWER if newer else OLDER:
            yield name, opset, exported_graphs.export(name, opset, newer=newer)


def look_at_all(which: str, folder: Path) -> dict[str, dict[int, Look]]:
    """What became of each graph, by its name and opset; how many convert in either way is printed."""
    found: dict[str, dict[int, Look]] = {}
    counted = Counter[tuple[bool, bool]]()
    for name, opset, content in graphs(which):
        path = folder / "net.onnx"
        path.write_bytes(content)
        model = load_model(path)
        assert isinstance(model, OnnxModel)
        found.setdefault(name, {})[opset] = look_at(model)
        counted[orders(model)] += 1
    as_is, folded = (sum(n for done, n in counted.items() if done[place]) for place in (0, 1))
    print(f"{which}: of {counted.total()} graphs onnx2torch converts {as_is} as they are, {folded} once folded.")
    return found


def print_table(found: Mapping[str, Mapping[str, Mapping[int, Look]]]) -> None:
    """A row for each network: at how many opsets of each exporter it has gradients, and the largest deviations."""
    opsets = {
        which: sorted({opset for looks in by_name.values() for opset in looks}) for which, by_name in found.items()
    }
    heads = [f"{which}, opsets {of[0]} to {of[-1]}" for which, of in opsets.items()]
    print(f"\n| in the graph | {' | '.join(heads)} | logits off by | slopes off by |\n|---|{'--:|' * (len(heads) + 2)}")
    for name in next(iter(found.values())):
        looks = [by_name[name] for by_name in found.values()]
        right = [[look for look in each.values() if look.logits_off is not None] for each in looks]
        counts = [f"{len(fine)} of {len(each)}" for fine, each in zip(right, looks, strict=True)]
        off = [max((getattr(look, each) for fine in right for look in fine), default=float("nan")) for each in OFF]
        print(f"| {name} | {' | '.join(counts)} | {off[0]:.0e} | {off[1]:.0e} |")
        for opset, look in (item for each in looks for item in each.items()):
            if look.why:
                print(f"<!-- opset {opset}: {look.why} -->")
    print()


def write(folder: Path) -> None:
    """Graphs of the newer exporter, for tests: all networks at its lowest opset, some at its highest."""
    folder.mkdir(parents=True, exist_ok=True)
    for opset, names in KEPT.items():
        for name in names:
            content = exported_graphs.export(name, opset, newer=True)
            (folder / f"{file_name(name)}-{opset}.onnx").write_bytes(content)


def file_name(network: str) -> str:
    """The name of a network as one of a file."""
    return "_".join("".join(sign if sign.isalnum() else " " for sign in network.lower()).split())


def main() -> None:
    """All graphs that can be made here."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="folder for graphs of the newer exporter")
    asked = parser.parse_args()
    if asked.write is not None:
        write(asked.write)
        return
    exporters = ("older", *(["newer"] if find_spec("onnxscript") else []))
    with tempfile.TemporaryDirectory() as folder:
        for table in (exporters, ("by hand",)):
            print_table({which: look_at_all(which, Path(folder)) for which in table})


if __name__ == "__main__":
    main()
