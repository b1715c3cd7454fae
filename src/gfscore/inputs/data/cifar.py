"""CIFAR-10 and CIFAR-100 from a directory, in their Python or their binary version.

The Python version is pickled. It is read without running anything: the only names it may call are those that rebuild a
NumPy array, and even these are stood in for by objects that keep what they are given.
"""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, naming
from gfscore.inputs.array_files import refuse_too_large
from gfscore.inputs.data.base import (
    Data,
    FilesDigest,
    check_labels,
    names_for_labels,
    test_or_train,
    unique_ids,
)

SHAPE = (3, 32, 32)
N_PIXELS = 3 * 32 * 32


class _Version(NamedTuple):
    """Where one of the four distributions keeps what."""

    folder: str
    test: tuple[str, ...]
    train: tuple[str, ...]
    names: str  # file of the class names
    label: str  # key of the labels in a pickled batch, of the names (label + "_names") in the pickled names
    label_bytes: int = 0  # before each image in a binary file; the last of them is the class. 0: pickled


TRAIN_10 = tuple(f"data_batch_{number}" for number in range(1, 6))
BINARY_10 = tuple(f"{name}.bin" for name in TRAIN_10)
VERSIONS = (
    _Version("cifar-10-batches-py", ("test_batch",), TRAIN_10, "batches.meta", "label"),
    _Version("cifar-100-python", ("test",), ("train",), "meta", "fine_label"),
    _Version("cifar-10-batches-bin", ("test_batch.bin",), BINARY_10, "batches.meta.txt", "label", 1),
    _Version("cifar-100-binary", ("test.bin",), ("train.bin",), "fine_label_names.txt", "fine_label", 2),
)


def find_cifar(path: Path) -> tuple[Path, _Version] | None:
    """The folder at or below ``path`` that holds a version of CIFAR, if any does."""
    for version in VERSIONS:
        for folder in (path, path / version.folder):
            batches = [folder / name for name in version.test + version.train]
            if (folder / version.names).is_file() and any(path.is_file() for path in batches):
                return folder, version
    return None


def open_cifar(found: tuple[Path, _Version], source: str, *, split: str | None) -> Data:
    """Images (N, 3, 32, 32) and labels of one split; ``test`` unless ``train`` is asked for. CIFAR-100: fine labels."""
    folder, version = found
    names = version.test if test_or_train(split) == "test" else version.train
    paths = [folder / name for name in names]
    for path in paths:
        if not path.is_file():
            raise FileError(f"has no {path.name}. Unpack the whole archive.")
    digest = FilesDigest(paths)  # before they are read
    read = _read_binary if version.label_bytes else _read_pickled
    batches = [read(path, version) for path in paths]
    labels = check_labels(np.concatenate([batch.labels for batch in batches]))
    pixels = batches[0].pixels if len(batches) == 1 else np.concatenate([batch.pixels for batch in batches])
    return Data(
        source=source,
        labels=labels,
        layout="NCHW",
        digest=digest,
        class_names=names_for_labels(_class_names(folder / version.names, version), labels),
        sample_ids=unique_ids([name for batch in batches for name in batch.ids], len(labels)),
        read=lambda rows: pixels[rows],
    )


class _Batch(NamedTuple):
    pixels: NDArray[np.uint8]
    labels: NDArray[Any]
    ids: tuple[str, ...]


def _read_binary(path: Path, version: _Version) -> _Batch:
    with naming(path):
        record = version.label_bytes + N_PIXELS
        size = path.stat().st_size
        if size == 0 or size % record:
            raise FileError(f"has {size:,} bytes, no multiple of {record:,} (labels and an image). Download it again.")
        rows = np.memmap(path, dtype=np.uint8, mode="r", shape=(size // record, record))
        labels = rows[:, version.label_bytes - 1].astype(np.int64)
        return _Batch(rows[:, version.label_bytes :].reshape(-1, *SHAPE), labels, ids=())


def _read_pickled(path: Path, version: _Version) -> _Batch:
    with naming(path):
        batch = _unpickled(path)
        pixels, labels = batch.get("data"), batch.get(f"{version.label}s")
        if not isinstance(pixels, _PickledArray) or not isinstance(labels, list):
            raise FileError(f"is no CIFAR batch: it lacks 'data' or '{version.label}s'. Download it again.")
        values = pixels.values()
        if len(labels) != len(values) or not all(type(label) is int for label in labels):
            raise FileError(f"has {len(values)} images but no such list of class indices. Download it again.")
        ids = tuple(_text(name) for name in batch.get("filenames", ()))
        return _Batch(values, np.array(labels, dtype=np.int64), ids)


def _class_names(path: Path, version: _Version) -> list[str]:
    with naming(path):
        if version.label_bytes:
            return path.read_text(encoding="utf-8").split()
        names = _unpickled(path).get(f"{version.label}_names")
        if not isinstance(names, list):
            raise FileError(f"has no list '{version.label}_names'. Download it again.")
        return [_text(name) for name in names]


class _PickledArray:
    """Stands for an array while a batch is unpickled: keeps its state, and makes an array of it only once checked."""

    def __init__(self, *_: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: object) -> None:
        self.state = state

    def values(self) -> NDArray[np.uint8]:
        """Images (N, 3, 32, 32)."""
        match self.state:
            case (int(), (int(rows), int(columns)), _PickledType(name="u1" | b"u1" | "|u1"), False, bytes(raw)):
                if columns == N_PIXELS and len(raw) == rows * columns:
                    return np.frombuffer(raw, dtype=np.uint8).reshape(rows, *SHAPE)
        raise FileError(f"'data' is no array of bytes of shape (N, {N_PIXELS}). Download it again.")


class _PickledType:
    """Stands for the type of an array."""

    def __init__(self, name: object = None, *_: object) -> None:
        self.name = name

    def __setstate__(self, state: object) -> None:
        """Byte order and the like, of which a byte has none."""


class _NoArrayType:
    """Stands for ``numpy.ndarray``, which is only ever named."""


STAND_INS = {
    ("numpy.core.multiarray", "_reconstruct"): _PickledArray,
    ("numpy._core.multiarray", "_reconstruct"): _PickledArray,  # its name since NumPy 2
    ("numpy", "ndarray"): _NoArrayType,
    ("numpy", "dtype"): _PickledType,
}


LOADERS: dict[int, Callable[..., None]] = pickle._Unpickler.dispatch
HASHING = (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET)  # ways to hash that no CIFAR file has


# Where the keys of a dictionary stand among what is being built, for each way to fill one.
KEYS = {
    pickle.DICT[0]: slice(None, None, 2),
    pickle.SETITEM[0]: slice(-2, -1),
    pickle.SETITEMS[0]: slice(None, None, 2),
}


def _checking_keys(code: int, where: slice) -> Callable[..., None]:
    def load(unpickler: "_ArraysOnly") -> None:
        if not all(type(key) in (str, bytes, int) for key in unpickler.stack[where]):
            raise FileError("holds a dictionary with keys that are no text. Download it again.")
        LOADERS[code](unpickler)

    return load


class _ArraysOnly(pickle._Unpickler):
    """An unpickler that knows the four names by which an array is written, and no other.

    It is the one written in Python: that in C reserves memory up to any memo index a file names. Sets, and keys that
    are no plain text or numbers, are refused: the hash of tuples nested in themselves takes for ever.
    """

    stack: list[Any]  # of what is being built: since the last mark
    dispatch: ClassVar[dict[int, Callable[..., None]]] = {
        code: load for code, load in LOADERS.items() if bytes([code]) not in HASHING
    }

    dispatch |= {code: _checking_keys(code, where) for code, where in KEYS.items()}

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in of a name, or a refusal: any other name may run code."""
        try:
            return STAND_INS[module, name]
        except KeyError:
            raise FileError(
                f"calls {module}.{name} when it is unpickled, which no CIFAR file does and which could run code. "
                "It was not run. Download the file again from its source."
            ) from None


def _unpickled(path: Path) -> dict[str, Any]:
    refuse_too_large(2 * path.stat().st_size, "a batch", "Download it again.")
    try:
        content = _ArraysOnly(io.BytesIO(path.read_bytes()), encoding="bytes").load()
    except FileError:
        raise
    except Exception as error:  # a hostile or damaged pickle raises almost anything
        raise FileError(f"is no CIFAR file, or is damaged ({type(error).__name__}). Download it again.") from error
    if not isinstance(content, dict):
        raise FileError(f"holds a {type(content).__name__}, not a dictionary. Download it again.")
    return {_text(key): value for key, value in content.items()}


def _text(value: object) -> str:
    if type(value) not in (str, bytes, int):  # what is nested in itself has no end when it is written out
        raise FileError(f"holds a {type(value).__name__} where a name belongs. Download it again.")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
