"""A model as a differentiable torch module of [0, 1] pixels, the unit of every radius, or the reason why not.

An ONNX graph becomes one through onnx2torch: :mod:`~gfscore.inputs.models.graph_conversion`.
"""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray, IntArray, map_chunks, row_chunks
from gfscore.errors import ModelError, first_line, naming
from gfscore.inputs.models.devices import torch_device
from gfscore.inputs.models.forward_passes import forward_batches
from gfscore.inputs.models.graph_conversion import EXTRA, WITHOUT, convert_graph
from gfscore.inputs.models.onnx_model import OnnxModel
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.torch_model import TorchModel, pick_output
from gfscore.inputs.models.transfers import computing, to_device
from gfscore.inputs.preprocessing import Pixels, Preprocessing
from gfscore.inputs.protocols import Model, along_channels

PURPOSE = "the gradient of a model"
TOLERANCE = 1e-4  # of the largest logit: runtimes that sum in another order differ by about 1e-6
COMPARED = 16  # images, at most
PIECE_PIXELS = 1 << 16  # about so many values of images are differentiated together on a core: 21 images of CIFAR-10
MOST_IMAGES = 128  # however small they are


def differentiable(model: Model, preprocessing: Preprocessing, pixels: Pixels) -> Any:
    """A ``torch.nn.Module`` from [0, 1] pixels in the model's layout to logits, checked on ``pixels`` (n, ...) first.

    Torch models are used as they are, ONNX graphs are converted. The module must give the logits that the model itself
    gives on the first images, within ``TOLERANCE`` of the largest: another network has other gradients. It runs on the
    model's device, in the precision of the weights even where forward passes are in another. A model that has none
    raises :class:`~gfscore.errors.ModelError`, a missing package :class:`~gfscore.errors.MissingExtraError`.
    """
    torch = torch_for(PURPOSE, extra=EXTRA)
    few = np.array(pixels[:COMPARED], order="C")  # a copy: torch warns of arrays that nobody may write to
    exact = replace(model, precision=None) if isinstance(model, TorchModel) else model  # gradients are in float32
    expected = forward_batches(exact, preprocessing.normalise(few, model.layout), len(few)).values
    told = ""
    for inner in _torch_models(model, torch):
        for fixed_batch in dict.fromkeys(
            (None, inner.fixed_batch)
        ):  # any batch first: a converted graph often takes it
            module = _pixel_module(torch, preprocessing, inner, fixed_batch)
            try:
                off = _deviation(torch, module, few, expected)
            except Exception as error:  # a forward pass may raise anything
                told = told or first_line(error)
                continue
            if off <= TOLERANCE:
                return module
            told = f"as a torch module its logits are off by {off:.1e} of the largest"
    raise ModelError(f"has no gradients to rely on ({told}). Go without them: {WITHOUT}").found_in(model.name)


def _deviation(torch: Any, module: Any, few: Pixels, expected: FloatArray) -> float:
    """How far the logits of a module, which must have gradients, are from those expected: a share of the largest."""
    inputs = to_device(torch, few, module.scale.device).requires_grad_(requires_grad=True)
    logits = module(inputs)
    torch.autograd.grad(logits.sum(), inputs)
    largest = max(np.abs(expected).max(), np.finfo(np.float32).tiny)  # zeros everywhere are matched by zeros
    return float(np.abs(logits.detach().cpu().numpy() - expected).max() / largest)


def rounding_errors(module: Any, pixels: Pixels, logits: FloatArray) -> FloatArray:
    """How far logits of a model, (n, K), are from those of the same network in double precision: the largest, (n,).

    ``module`` is what :func:`differentiable` gave for the model, and is left as it is. A network that does not run in
    double precision has errors of at most ``TOLERANCE`` of its largest logit, which was checked.
    """
    torch = torch_for(PURPOSE, extra=EXTRA)
    exact = np.full(logits.shape, np.nan)
    try:
        wide = copy.deepcopy(module).double()
        with torch.no_grad():
            for rows in row_chunks(len(pixels), pixels[0].size, values=PIECE_PIXELS):
                images = to_device(torch, pixels[rows].astype(np.float64), wide.scale.device)
                exact[rows] = wide(images).cpu().numpy()
    except Exception:  # a layer may insist on its precision, a device may not have this one
        exact[:] = np.nan
    errors = np.abs(logits - exact).max(axis=1)
    unknown = TOLERANCE * np.abs(logits).max()
    return np.asarray(np.where(np.isfinite(errors), errors, unknown), dtype=np.float64)


def margin_gradients(module: Any, pixels: Pixels, labels: IntArray, rivals: IntArray) -> FloatArray:
    """Gradients of ``f_y - f_j`` with respect to the pixels, (n, R, D), for the rivals j (n, R) of each of n images."""
    return margins_and_gradients(module, pixels, labels, rivals)[1]


def margins_and_gradients(
    module: Any, pixels: Pixels, labels: IntArray, rivals: IntArray | int
) -> tuple[FloatArray, FloatArray]:
    """Margins ``f_y - f_j``, (n, R), and their gradients, (n, R, D), for rivals j: given ones, or so many strongest.

    The images of a batch must not depend on each other, as in eval mode they do not: on a processor each core takes a
    few at a time, whose activations stay in its cache, and no core waits for another within an operation.
    """
    torch = torch_for(PURPOSE, extra=EXTRA)
    device = module.scale.device

    def few(rows: slice) -> tuple[FloatArray, FloatArray]:
        inputs = to_device(torch, np.ascontiguousarray(pixels[rows]), device).requires_grad_(requires_grad=True)
        logits = module(inputs)
        own_class = to_device(torch, np.array(labels[rows, None]), device)
        if isinstance(rivals, int):
            others = logits.detach().scatter(1, own_class, -torch.inf)
            chosen = others.topk(min(rivals, others.shape[1] - 1), dim=1).indices
        else:
            chosen = to_device(torch, np.array(rivals[rows]), device)
        margins = logits.gather(1, own_class) - logits.gather(1, chosen)
        sums = margins.sum(dim=0)
        gradients = [torch.autograd.grad(one, inputs, retain_graph=True)[0].flatten(1) for one in sums]
        stacked = torch.stack(gradients, dim=1)
        return tuple(found.detach().cpu().numpy() for found in (margins, stacked))

    if device.type != "cpu":
        with computing(torch, device):  # the backward pass too: it takes the precision of its moment
            return few(slice(None))
    columns = max(pixels[0].size, PIECE_PIXELS // MOST_IMAGES)
    pieces = list(row_chunks(len(pixels), columns, values=PIECE_PIXELS, shared=True))
    with _one_thread_each(torch):
        found = list(map_chunks(few, pieces))
    margins, gradients = (np.concatenate(each) for each in zip(*found, strict=True))
    return margins, gradients


@contextmanager
def _one_thread_each(torch: Any) -> Iterator[None]:
    """Let every thread of ours run torch by itself."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # threads started from now on have one, too
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _torch_models(model: Model, torch: Any) -> Iterator[TorchModel]:
    """The model itself, or what its graph can be converted to, the likeliest first."""
    if isinstance(model, TorchModel):
        yield model
        return
    if not isinstance(model, OnnxModel):
        raise ModelError(
            f"has no gradients: it is a function that nobody can look into. Go without them: {WITHOUT}"
        ).found_in(model.name)
    with naming(model.name):
        device = torch_device(torch, model.gradients_on)
        for module in convert_graph(model):
            yield TorchModel(
                module=module.to(device),
                name=model.name,
                fingerprint=model.fingerprint,
                device=device,
                dtype=torch.from_numpy(np.empty(0, model.dtype)).dtype,
                layout=model.layout,
                fixed_batch=model.fixed_batch,
            )


def _pixel_module(torch: Any, preprocessing: Preprocessing, inner: TorchModel, fixed_batch: int | None) -> Any:
    """Mean and std in front of a module; ``fixed_batch`` images at a time, where it takes no other number."""
    mean, std = np.asarray(preprocessing.mean), np.asarray(preprocessing.std)

    class PixelModule(torch.nn.Module):  # type: ignore[misc]  # torch is an extra, so its classes are Any here
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner.module
            self.register_buffer("scale", torch.from_numpy(along_channels(1 / std, inner.layout)).to(inner.device))
            self.register_buffer("offset", torch.from_numpy(along_channels(-mean / std, inner.layout)).to(inner.device))

        def forward(self, pixels: Any) -> Any:
            exact = pixels.dtype == torch.float64  # then weights are, too: rounding_errors has seen to it
            inputs = (pixels * self.scale + self.offset).to(pixels.dtype if exact else inner.dtype)
            pieces = inputs.split(fixed_batch or len(inputs))
            return torch.cat([self.logits(piece) for piece in pieces]).to(pixels.dtype)

        def logits(self, piece: Any) -> Any:
            filled = piece
            if fixed_batch is not None:  # copies of the last row, as forward_passes.pad has it
                filled = torch.cat([piece, piece[-1:].expand(fixed_batch - len(piece), *piece.shape[1:])])
            with no_deprecations(), computing(torch, filled.device):
                returned = pick_output(self.inner(filled), inner.output, torch.Tensor)
            return returned.flatten(1)[: len(piece)]  # (n, K, 1, 1) from a convolutional head becomes (n, K)

    return PixelModule()
