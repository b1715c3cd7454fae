"""Images from ``.npz``: arrays ``images`` (or ``x``) and ``labels`` (or ``y``).

``x`` and ``y`` are what StudioGAN writes for generated images (uint8, NCHW). What ``numpy.savez`` wrote is mapped, so
that the file may be larger than memory; compressed arrays are read whole.
"""

from collections.abc import Sequence
from pathlib import Path

from gfscore.errors import FileError
from gfscore.inputs.data.base import (
    ArrayData,
    FilesDigest,
    checked_class_names,
    checked_labels,
    unique_ids,
)
from gfscore.inputs.npz import array_names, map_member, name_strings, open_npz, read_member
from gfscore.inputs.protocols import Layout, with_channels
from gfscore.inputs.raw import listed
from gfscore.storage import redact, refuse_unreadable

IMAGES, LABELS = ("images", "x"), ("labels", "y")
UNCOMPRESSED = "Save it with numpy.savez, not savez_compressed: then it is read in pieces."


def open_images(path: Path, *, layout: Layout | None) -> ArrayData:
    """Map or read the images; optional ``class_names`` and ``sample_ids`` are taken along."""
    refuse_unreadable(path)
    digest = FilesDigest([path])  # before it is read
    with open_npz(path) as archive:
        names = array_names(archive)
        key = _key(names, IMAGES, "the array of images (N, H, W, C)")
        mapped = map_member(archive, key, path)
        pixels = read_member(archive, key, advice=UNCOMPRESSED) if mapped is None else mapped
        if pixels.dtype.kind not in "uifb":
            raise FileError(f"array {key!r} has type {pixels.dtype}. Save images as uint8 or float32.")
        labels = checked_labels(read_member(archive, _key(names, LABELS, "the true classes")), len(pixels))
        class_names = name_strings(read_member(archive, "class_names")) if "class_names" in names else None
        sample_ids = read_member(archive, "sample_ids").tolist() if "sample_ids" in names else ()
    pixels, layout = with_channels(pixels, layout)
    return ArrayData(
        source=redact(path),
        labels=labels,
        layout=layout,
        digest=digest,
        class_names=None if class_names is None else checked_class_names(class_names, labels),
        sample_ids=unique_ids(sample_ids, len(labels)),
        pixels=pixels,
    )


def _key(names: Sequence[str], wanted: tuple[str, str], what: str) -> str:
    for key in wanted:
        if key in names:
            return key
    raise FileError(f"has no {wanted[0]!r} (or {wanted[1]!r}); it holds {listed(names)}. Name {what} {wanted[0]!r}.")
