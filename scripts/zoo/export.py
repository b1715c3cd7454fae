"""Files that hold the networks and nothing else: no path, no time, no name of a tool."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

OPSET = 17  # onnx2torch reads little beyond it
ENLARGED, GAP = 5, 1  # of the sample sheet: size of a pixel, pixels around an image


def export_onnx(network: nn.Module, inputs: Mapping[str, Tensor], output: str, path: Path) -> None:
    """Write ``network`` with named inputs, any number of rows, and one named output."""
    buffer = io.BytesIO()
    torch.onnx.export(
        network,
        tuple(inputs.values()),
        buffer,
        input_names=list(inputs),
        output_names=[output],
        dynamic_axes={name: {0: "n"} for name in (*inputs, output)},
        opset_version=OPSET,
        dynamo=False,  # the newer exporter starts at opset 18
    )
    model = onnx.load_from_string(buffer.getvalue())
    model.producer_name = model.producer_version = ""
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def sha256(path: Path) -> str:
    """Digest of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def sample_sheet(real: NDArray[np.float32], generated: NDArray[np.float32], path: Path) -> None:
    """A picture with a row for each class: some real digits, then generated ones.

    Both are ``(K, columns, 8, 8)`` in [0, 1].
    """
    framed = [np.pad(part, ((0, 0), (0, 0), (GAP, GAP), (GAP, GAP)), constant_values=1.0) for part in (real, generated)]
    rows = [part.transpose(0, 2, 1, 3).reshape(part.shape[0] * part.shape[2], -1) for part in framed]
    pixels = (255 * np.concatenate(rows, axis=1)).round().astype(np.uint8)
    Image.fromarray(pixels.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)).save(path, optimize=True)
