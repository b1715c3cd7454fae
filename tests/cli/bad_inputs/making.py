"""How bad inputs are made and registered."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

LOGITS = np.array([[3.0, 0.0, 1.0], [0.5, 2.0, -1.0], [0.0, 1.0, 4.0], [2.0, 0.0, 5.0]])
LABELS = np.array([0, 1, 2, 0])
PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])


Build = Callable[[Path], list[str]]
CASES: dict[str, tuple[Build, str]] = {}


def case(message: str) -> Callable[[Build], Build]:
    """Register a bad input with the message it must give.

    {folder} stands for the folder it is written to, {theirs} for what another library says, which may change.
    """

    def register(build: Build) -> Build:
        assert build.__name__ not in CASES, f"{build.__name__} would take the place of another case"
        CASES[build.__name__] = (build, message)
        return build

    return register


def npz(folder: Path, *options: str, **arrays: object) -> list[str]:
    arrays = {"logits": LOGITS, "labels": LABELS} | arrays
    np.savez(folder / "m.npz", **{name: array for name, array in arrays.items() if array is not None})
    return ["audit", str(folder / "m.npz"), *options]


def csv(folder: Path, text: str | bytes, *options: str) -> list[str]:
    path = folder / "m.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return ["audit", str(path), *options]


def changed(row: int, column: int, value: float) -> np.ndarray:
    logits = LOGITS.copy()
    logits[row, column] = value
    return logits


def npy_bytes(array: np.ndarray, shape: tuple[int, ...] | None = None) -> bytes:
    """An npy file, whose header may declare another shape."""
    buffer = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(array)
    if shape is not None:
        header["shape"] = shape
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + array.tobytes()


def text_file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)
