"""Labelled images, whatever they are stored in, behind one door."""

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gfscore.errors import FileError, MissingFileError, OptionError, naming
from gfscore.inputs.data.base import (
    Data,
    arrays_digest,
    draw_per_class,
    names_for_labels,
    random_rows,
    refuse_split,
    reshape_images,
    take,
    thumbnails,
)
from gfscore.inputs.data.cifar import find_cifar, open_cifar
from gfscore.inputs.data.image_arrays import find_idx, from_torch_dataset, open_idx, open_npz_images
from gfscore.inputs.data.image_files import open_folder
from gfscore.inputs.data.parquet_images import find_parquet, open_parquet
from gfscore.inputs.generators import GENERATOR, open_generator
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset
from gfscore.inputs.small_files import refuse_moved
from gfscore.storage import to_read

__all__ = [
    "Data",
    "arrays_digest",
    "draw_per_class",
    "from_torch_dataset",
    "load_data",
    "random_rows",
    "take",
    "thumbnails",
]

ZOO_DIGITS, PARQUET = "zoo:digits", ".parquet"
FORMS = "an .npz or .parquet file, a folder of images, a CIFAR or MNIST directory, generator:..., or zoo:digits"


def load_data(
    spec: str | Path,
    *,
    preprocessing: Preprocessing | None = None,
    split: str | None = None,
    n_per_class: int | None = None,
    seed: int = 0,
    class_names: Sequence[str] | None = None,
    n_classes: int | None = None,
) -> Dataset:
    """Open the data that ``spec`` names: a file, a directory, ``generator:...`` or ``zoo:digits``. Forms: :doc:`data`.

    A file or directory may stand at an address such as ``s3://bucket/images``.

    ``preprocessing`` gives the layout where the shape does not tell, and the shape of the images. ``split`` is for
    directories with several; ``n_per_class`` and ``seed`` draw from a generator, or a random part of each class of what
    exists; ``n_classes`` is for generators.
    """
    spec = str(spec)
    preprocessing = Preprocessing() if preprocessing is None else preprocessing
    if n_per_class is not None and n_per_class < 1:
        raise OptionError(f"the number of images per class is {n_per_class}; it must be at least 1.")
    if seed < 0:
        raise OptionError(f"seed is {seed}; it must be 0 or more.")
    with naming(spec):
        if spec.startswith(GENERATOR):
            refuse_split(split, spec)
            drawn = open_generator(
                spec,
                n_per_class=n_per_class,
                seed=seed,
                n_classes=n_classes,
                class_names=class_names,
                layout=preprocessing.layout,
            )
            return reshape_images(drawn, preprocessing)
        if n_classes is not None:
            raise OptionError("the number of classes is given, but only generators need it. Leave it out.")
        data = _open(spec, preprocessing, split, class_names)
        return data if n_per_class is None else draw_per_class(data, n_per_class, seed)


def _open(spec: str, preprocessing: Preprocessing, split: str | None, class_names: Sequence[str] | None) -> Dataset:
    path = to_read(spec, folder=True)
    found_cifar, found_idx = find_cifar(path), find_idx(path)
    tables = find_parquet(path) if path.is_dir() else [path] if path.suffix.lower() == PARQUET else []
    if tables and not (found_cifar or found_idx):
        if not path.is_dir():
            refuse_split(split, spec)
        return open_parquet(tables, spec, preprocessing, split=split, class_names=class_names)
    if path.is_dir() and not (found_cifar or found_idx):
        return open_folder(path, spec, preprocessing, split=split, class_names=class_names)
    if found_cifar:
        data: Data = open_cifar(found_cifar, spec, split=split)
    elif found_idx:
        data = open_idx(found_idx, spec, split=split)
    else:
        refuse_split(split, spec)
        data = _open_file(path, spec, preprocessing)
    if class_names is not None:
        if data.class_names is not None:
            refuse_moved(class_names, data.class_names)
        data = replace(data, class_names=names_for_labels(class_names, data.labels))
    return reshape_images(data, preprocessing)  # encoded images are shaped as they are decoded


def _open_file(path: Path, spec: str, preprocessing: Preprocessing) -> Data:
    if spec == ZOO_DIGITS:
        images, labels, names = importlib.import_module("gfscore.zoo").test_set()
        digest = arrays_digest(lambda: (images, labels))
        return Data(
            source=spec, labels=labels, layout="NCHW", read=images.__getitem__, digest=digest, class_names=tuple(names)
        )
    if path.suffix.lower() == ".npz":
        return open_npz_images(path, layout=preprocessing.layout)
    if not path.exists():
        raise MissingFileError(f"does not exist. Check the path; data are {FORMS}.")
    raise FileError(f"has the ending {path.suffix!r}. Data are {FORMS}.")
