"""Logits files, whatever their format; and those of one stream, held against each other, so that nothing counts twice.

Formats: :mod:`~gfscore.inputs.array_files` and :mod:`~gfscore.inputs.table_files`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import FileError, OptionError, naming
from gfscore.inputs.array_files import RawSamples, read_npz, read_safetensors
from gfscore.inputs.small_files import read_groups, refuse_moved
from gfscore.inputs.stray_columns import refuse_unnamed
from gfscore.inputs.table_columns import SAMPLE_ID, Reading, ReadingWords
from gfscore.inputs.table_files import read_csv, read_parquet
from gfscore.names import name_texts, shorten
from gfscore.samples import Samples
from gfscore.storage import redact, refuse_unreadable, to_read

# A format is a line here; the order is that of messages.
READERS: dict[str, Callable[[Path, Reading], RawSamples]] = {
    ".npz": lambda path, how: read_npz(path, probabilities=how.probabilities),
    ".safetensors": lambda path, how: read_safetensors(path, probabilities=how.probabilities),
    ".parquet": lambda path, how: read_parquet(path, how),
    ".csv": lambda path, how: read_csv(path, how),
    ".tsv": lambda path, how: read_csv(path, how),
}
ARRAYS = (".npz", ".safetensors")  # formats without columns
SUFFIXES = tuple(READERS)


def read_samples(
    path: str | Path,
    *,
    probabilities: bool = False,
    class_names: Sequence[str] | None = None,
    groups: Path | None = None,
    piece: bool = False,
    label_column: str | None = None,
    ignore_columns: Sequence[str] | None = None,
    labels_from: int | None = None,
    label_names: Sequence[str] | Path | None = None,
) -> Samples:
    """Read and check a logits file, here or at an address: ``.npz``, ``.safetensors``, ``.parquet`` or ``.csv``.

    ``class_names`` take the place of the names in the file, or say which columns of a table are its classes; in both
    cases names that the file has stay in its order. ``groups`` is a file with one group per sample, or with a
    column ``sample_id`` to join on. A ``piece`` is one of several files, as in :meth:`~gfscore.Samples.of`. Of a table,
    ``label_column`` holds the labels and ``ignore_columns`` are no classes; ``labels_from`` is the number that labels
    have for the first class, ``label_names`` what they number, where their order is not that of the classes.
    No pickle is ever loaded. Formats: :doc:`files`.
    """
    path = to_read(path)
    words = ReadingWords(
        label_column=label_column, ignore_columns=ignore_columns, labels_from=labels_from, label_names=label_names
    )
    with naming(redact(path)):
        given = None if class_names is None else name_texts(class_names)
        raw = _read(path, Reading(probabilities=probabilities, class_names=given, piece=piece, words=words))
        if given is not None and raw.class_names is not None:
            refuse_moved(given, raw.class_names)
        return Samples.of(
            raw.logits,
            _indices(raw, words, raw.class_names if given is None else given),
            class_names=raw.class_names if given is None else given,
            groups=raw.groups if groups is None else read_groups(groups, raw.sample_ids, raw.labels.size),
            sample_ids=raw.sample_ids,
            probabilities=probabilities,
            piece=piece,
            halved_batches=raw.halved_batches,
            class_sizes=raw.class_sizes,
            data=raw.data,
            table=raw.table,
        )


def _indices(raw: RawSamples, words: ReadingWords, class_names: Sequence[str] | None) -> NDArray[Any]:
    """Labels as indices of the classes; those of a table are counted from 0 already."""
    if raw.table is None:
        return words.indices(raw.labels, class_names)
    if raw.table.named and words.label_names is not None:
        raise OptionError("has labels that are names, and --label-names is about numbers. Leave it out.")
    return replace(words, labels_from=None).indices(raw.labels, class_names)


def _read(path: Path, how: Reading) -> RawSamples:
    refuse_unreadable(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        *most, last = SUFFIXES
        raise FileError(f"has the ending {path.suffix!r}. Logits files are {', '.join(most)} or {last}.")
    if path.suffix.lower() in ARRAYS:
        how.words.refuse(f"{path.suffix} files have no columns")
    try:
        return reader(path, how)
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror or error}). Check the file and its permissions.") from error


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

    def __init__(self, *, probabilities: bool = False, class_names: Sequence[str] | None = None, **words: Any) -> None:
        self._probabilities, self._class_names, self._words = probabilities, class_names, words
        self._paths: list[Path] = []
        # Runs of sorted hashes of ids, with the number of the file of each, 12 bytes a sample: each run is more than
        # twice as long as the next.
        self._seen: list[tuple[IntArray, NDArray[np.uint32]]] = []
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
        how = {"probabilities": self._probabilities, "class_names": self._class_names, **self._words}
        return read_samples(path, piece=True, **how)

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
        hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
        for known, files in self._seen:
            places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
            for row in np.flatnonzero(known[places] == hashes).tolist():
                other = self._paths[files[places[row]]]
                if ids[row] in (self._samples(other).sample_ids or ()):  # and not another of the same hash
                    raise FileError(
                        f"holds the sample {shorten(ids[row])}, and so does {redact(other)}: it would count twice. "
                        "Keep it in one of them; or, if each file numbers its rows anew, leave the ids out"
                        f"{_ids_out(path)}."
                    )
        self._seen.append(_sorted_run(hashes, np.full(len(ids), len(self._paths), np.uint32)))
        self._paths.append(path)
        while len(self._seen) > 1 and len(self._seen[-2][0]) <= 2 * len(self._seen[-1][0]):
            (hashes, files), (others, of_others) = self._seen.pop(), self._seen.pop()
            self._seen.append(_sorted_run(np.concatenate([hashes, others]), np.concatenate([files, of_others])))


def _ids_out(path: Path) -> str:
    """How the ids of a file are left out."""
    return "" if path.suffix.lower() in ARRAYS else f" with --ignore-columns {SAMPLE_ID}"


def _sorted_run(hashes: IntArray, files: NDArray[np.uint32]) -> tuple[IntArray, NDArray[np.uint32]]:
    order = np.argsort(hashes)
    return hashes[order], files[order]
