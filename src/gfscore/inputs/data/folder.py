"""Images in a folder with one subfolder per class.

Classes are ordered by the name of their folder, as torchvision's ``ImageFolder`` orders them. A link is followed when
it leads to a file inside the folder, and refused otherwise.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gfscore.errors import FileError, OptionError
from gfscore.inputs.data.base import FilesDigest, checked_labels, class_order
from gfscore.inputs.data.encoded import EncodedData
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.raw import listed

ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".gif")
SPLITS = ("test", "train", "val", "valid", "validation")


@dataclass(frozen=True, kw_only=True, eq=False)
class FolderData(EncodedData):
    """Images in a folder with one subfolder per class."""

    root: Path
    paths: tuple[Path, ...]

    def encoded(self, rows: range) -> Sequence[tuple[str, Path | bytes]]:
        """The files of some rows."""
        return [(str(self.paths[row]), self.paths[row]) for row in rows]


def open_folder(
    root: Path,
    source: str,
    *,
    split: str | None,
    class_names: Sequence[str] | None,
    preprocessing: Preprocessing,
) -> FolderData:
    """List the images; ``split`` names a subfolder to look into.

    ``class_names`` that hold the name of every folder give the order of the classes (and may name absent ones); others
    only take the place of the folders' names.
    """
    if split is not None:
        root = root / split
        if not root.is_dir() or split not in SPLITS:
            raise OptionError(f"split is {split!r}, but there is no such folder. Name the folder of classes itself.")
    folders = sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and not entry.name.startswith("."))
    if not folders:
        raise FileError("holds no folders. Give an .npz file, or a folder with one subfolder of images per class.")
    if set(folders) <= set(SPLITS):
        raise FileError(f"holds the splits {listed(folders)}, not classes. Name one of them: --split {folders[0]}.")
    order, names = class_order(folders, class_names, "folder")
    found = [(path, order[folder]) for folder in folders for path in _images(root, root / folder)]
    if not found:
        raise FileError(f"holds no image in its {len(folders)} folders. Images end in {', '.join(ENDINGS)}.")
    paths = tuple(path for path, _ in found)
    labels = checked_labels(np.array([label for _, label in found]))
    return FolderData(
        source=source,
        labels=labels,
        layout="NHWC",
        digest=FilesDigest(paths, root, labels.tobytes()),
        class_names=names,
        sample_ids=tuple(path.relative_to(root).as_posix() for path in paths),
        preprocessing=preprocessing,
        root=root,
        paths=paths,
    )


def _images(root: Path, folder: Path) -> list[Path]:
    """Images in a class's folder and below, sorted."""
    found: list[Path] = []
    n_files = 0
    for parent, subfolders, files in os.walk(folder):
        for linked in (Path(parent), *(Path(parent, name) for name in subfolders)):
            if linked.is_symlink():
                raise FileError(f"{linked.relative_to(root)} is a link to a folder. Copy it.")
        n_files += len(files)
        found += [Path(parent, name) for name in files if name.lower().endswith(ENDINGS) and name[0] != "."]
    if n_files and not found:
        raise FileError(f"{folder.name!r} holds files but no image. Images end in {', '.join(ENDINGS)}.")
    for path in found:
        if path.is_symlink() and not path.resolve().is_relative_to(root.resolve()):
            raise FileError(f"{path.relative_to(root)} is a link that leads out of the folder. Copy the file.")
        if not path.is_file():
            raise FileError(f"{path.relative_to(root)} is no file. Remove it.")
    return sorted(found)
