"""The files of one stream: found, read one by one, and held against each other, so that no sample counts twice."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import FileError, naming
from gfscore.inputs.columns import refuse_unnamed
from gfscore.inputs.logits_files import SUFFIXES, read_samples
from gfscore.names import shortened
from gfscore.samples import Samples
from gfscore.storage import redact


def find_shards(path: Path) -> list[Path]:
    """The logits files in a folder, sorted, or the file itself; hidden ones are what killed runs and desktops leave."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and file.name[0] != ".")
    if not found:
        raise FileError(f"holds no logits file ({', '.join(SUFFIXES)}). Name another folder.").found_in(path)
    return found


def refuse_two_formats(paths: Sequence[Path]) -> None:
    """Refuse a file beside itself in another format."""
    first = dict[Path, Path]()
    for path in paths:
        other = first.setdefault(path.with_suffix(""), path)
        if other is not path:
            raise FileError(
                f"has the name of {redact(other)} and another format: the same samples would count twice. "
                "Leave one out, or rename it."
            ).found_in(redact(path))


class Shards:
    """Reads the files of one stream, and refuses those that contradict the ones before."""

    def __init__(self, *, probabilities: bool = False, class_names: Sequence[str] | None = None) -> None:
        self._probabilities, self._class_names = probabilities, class_names
        self._paths: list[Path] = []
        self._seen: list[_Run] = []  # hashes of the ids so far, each run more than twice as long as the next
        self._labels_are: tuple[str, Path] | None = None
        self._unnamed, self._present = dict[str, Path](), set[str]()

    def read(self, path: Path) -> Samples:
        """The samples in the next file."""
        samples = self._samples(path)
        with naming(redact(path)):
            self._check_labels(path, samples)
            if samples.sample_ids is not None:
                self._check_ids(path, samples.sample_ids)
        return samples

    def finish(self) -> None:
        """Refuse class columns of tables that no label of any file names."""
        nowhere = {name: path for name, path in self._unnamed.items() if name not in self._present}
        if nowhere:
            with naming(redact(next(iter(nowhere.values())))):
                refuse_unnamed(tuple(nowhere))

    def _samples(self, path: Path) -> Samples:
        return read_samples(path, probabilities=self._probabilities, class_names=self._class_names, piece=True)

    def _check_labels(self, path: Path, samples: Samples) -> None:
        read_as = samples.table.labels_are
        if read_as is not None:
            before, other = self._labels_are = self._labels_are or (read_as, path)
            if before != read_as:
                raise FileError(
                    f"has labels that can only be {read_as} of columns, {redact(other)} has {before}. Use one of them "
                    "throughout."
                )
        for name in samples.table.unnamed:
            self._unnamed.setdefault(name, path)
        self._present.update(samples.class_names[label] for label in np.unique(samples.labels).tolist())

    def _check_ids(self, path: Path, ids: tuple[str, ...]) -> None:
        number = len(self._paths)
        self._paths.append(path)
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        for run in self._seen:
            for row, file in run.hits(hashes):
                other = self._paths[file]
                if ids[row] in (self._samples(other).sample_ids or ()):  # and not another of the same hash
                    raise FileError(
                        f"holds the sample {shortened(ids[row])}, and so does {redact(other)}: it would count twice. "
                        "Keep it in one of them."
                    )
        self._seen.append(_Run.of(hashes, np.full(len(ids), number, np.uint32)))
        while len(self._seen) > 1 and len(self._seen[-2].hashes) <= 2 * len(self._seen[-1].hashes):
            self._seen.append(self._seen.pop().merged(self._seen.pop()))


class _Run(NamedTuple):
    """Sorted hashes of ids, and the number of the file that each stands in: 12 bytes a sample."""

    hashes: IntArray
    files: NDArray[np.uint32]

    @classmethod
    def of(cls, hashes: IntArray, files: NDArray[np.uint32]) -> Self:
        order = np.argsort(hashes)
        return cls(hashes[order], files[order])

    def merged(self, other: Self) -> Self:
        return self.of(np.concatenate([self.hashes, other.hashes]), np.concatenate([self.files, other.files]))

    def hits(self, hashes: IntArray) -> list[tuple[int, int]]:
        """Rows whose hash stands here, and the number of its file."""
        places = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        rows = np.flatnonzero(self.hashes[places] == hashes)
        return [(int(row), int(self.files[places[row]])) for row in rows]
