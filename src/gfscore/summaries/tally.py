"""Where summaries are added up."""

from collections.abc import Callable, Iterable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import OptionError
from gfscore.probabilities import RowSums
from gfscore.summaries.bins import N_CELLS
from gfscore.summaries.summary import COLUMNS, ScoreKind, Summary, merge_error, shown

BUFFERED = 1 << 20  # confusions that wait to be sorted in

Look = Callable[["Tally"], None]  # what somebody does with a sum that is still growing


def merged(summaries: Iterable[Summary]) -> Summary:
    """All of them as one, whatever their order; one at a time is held.

    >>> from gfscore.samples import Samples
    >>> from gfscore.scores import great_scores
    >>> pieces = [Samples.of([[3, 0], [0, 4]], [0, 1]), Samples.of([[0, 1], [5, 0]], [0, 0])]
    >>> merged(Summary.of(piece, great_scores(piece)) for piece in pieces).counts
    array([3, 1])
    """
    tally = Tally()
    for summary in summaries:
        tally.add(summary)
    return tally.summary()


class Tally:
    """Adds summaries up in place: for each a few additions per sample in it, and memory for one.

    Groups are told by their names, and new ones may come with any piece; classes must be the same in all. So must the
    seed of their deal: intervals would hold with several, but the result could not say which one makes it again.
    """

    def __init__(self) -> None:
        self.n_samples = 0
        self._kind: ScoreKind | None = None
        self._partition = "class"
        self._class_names: tuple[str, ...] = ()
        self._index: dict[str, int] = {}  # of each part by name, in the order they came
        self._names: tuple[str, ...] = ()  # of the summary added last, and where its parts stand here
        self._places: IntArray = np.zeros(0, dtype=np.int64)
        self._seed = 0
        self._cells = np.zeros((0, N_CELLS), dtype=np.int64)
        self._sums = np.zeros((0, len(COLUMNS)), dtype=np.int64)
        self._confusions: list[tuple[IntArray, IntArray]] = []
        self._waiting = 0
        self._range = (np.inf, -np.inf)
        self._row_sums: RowSums | None = RowSums()
        self._halved_batches = 0

    def add(self, summary: Summary) -> Self:
        """Take in one summary."""
        self._check(summary)
        if summary.names != self._names:
            self._place(summary.names)
        places = self._places
        self.n_samples += summary.n_samples
        self._cells.reshape(-1)[_moved(summary.cells, N_CELLS, places)] += summary.cell_counts  # no cell comes twice
        self._sums[places] += summary.sums
        keys = _moved(summary.confusions, len(self._class_names), places)
        self._confusions.append((keys, summary.confusion_counts))
        self._waiting += len(keys)
        if self._waiting > BUFFERED:
            self._confusions, self._waiting = [_added(self._confusions)], 0
        low, high = summary.value_range
        self._range = (min(self._range[0], low), max(self._range[1], high))
        pair = self._row_sums, summary.row_sums
        self._row_sums = None if pair[0] is None or pair[1] is None else pair[0].and_also(pair[1])
        self._halved_batches += summary.halved_batches
        return self

    def summary(self) -> Summary:
        """Everything so far, as one summary."""
        if self._kind is None:
            raise OptionError("there is nothing to merge. Add at least one summary.")
        names = tuple(self._index)
        if self._partition == "group":
            names = tuple(sorted(names))  # not the order in which they came
        order = np.array([self._index[name] for name in names], dtype=np.int64)
        cells = self._cells[order].reshape(-1)
        used = np.flatnonzero(cells)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        self._confusions, self._waiting = [_added(self._confusions)], 0
        keys, counts = self._confusions[0]
        moved = _moved(keys, len(self._class_names), back)
        by_key = np.argsort(moved)
        return Summary(
            kind=self._kind,
            partition=self._partition,
            names=names,
            class_names=self._class_names,
            cells=used,
            cell_counts=cells[used],
            sums=self._sums[order],
            confusions=moved[by_key],
            confusion_counts=counts[by_key],
            value_range=self._range,
            row_sums=self._row_sums,
            seed=self._seed,
            halved_batches=self._halved_batches,
        )

    def _check(self, summary: Summary) -> None:
        if self._kind is None:
            self._kind, self._partition, self._class_names = summary.kind, summary.partition, summary.class_names
            self._seed = summary.seed
        if summary.kind != self._kind:
            raise merge_error("their score", self._kind, summary.kind)
        if summary.partition != self._partition:
            raise merge_error("what they are over", self._partition, summary.partition)
        if summary.class_names != self._class_names:
            raise merge_error("their classes", shown(self._class_names), shown(summary.class_names))
        if summary.seed != self._seed:
            raise merge_error("the seed that dealt their samples", self._seed, summary.seed)

    def _place(self, names: tuple[str, ...]) -> None:
        """Find each part's place, making room for those that are new."""
        self._names = names
        self._places = np.array([self._index.setdefault(name, len(self._index)) for name in names], dtype=np.int64)
        new = len(self._index) - len(self._sums)
        if new:
            self._cells = np.pad(self._cells, ((0, new), (0, 0)))
            self._sums = np.pad(self._sums, ((0, new), (0, 0)))


def _moved(keys: IntArray, width: int, places: IntArray) -> IntArray:
    """Keys ``part * width + entry`` with each part at its new place."""
    parts = keys // width
    return np.asarray(keys + (places[parts] - parts) * width)


def _added(pieces: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Sorted keys, each once, and the sum of its counts."""
    keys, counts = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    order = np.argsort(keys)
    keys, counts = keys[order], counts[order]
    first: NDArray[np.bool_] = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(first)
    return keys[starts], np.add.reduceat(counts, starts) if len(starts) else counts
