"""What a piece of the data adds to an audit: small, exact, and merged in any order. An audit needs no more of it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import OptionError, SamplesError
from gfscore.names import check_class_names
from gfscore.probabilities import RowSums
from gfscore.samples import Samples
from gfscore.score_grid import CEILINGS, FLOORS, N_CELLS, Cells, bins_of, deal, high_and_low, ratios
from gfscore.scores import LocalScores, RadiusCounts

CONFUSIONS_WAITING = 1 << 20  # at most, before they are sorted in

Look = Callable[["Tally"], None]  # what somebody does with a sum that is still growing

# What is added up for each part. "high" and "low" are the halves of exact sums; x is the score in [0, 1].
COLUMNS = (
    "correct", "x_high", "x_low", "xx_high", "xx_low",
    "below_high", "below_low", "above_high", "above_low",  # squared distance to the floor and to the ceiling of the bin
    "half_count", "half_high", "half_low",  # of one random half: what ranks classes must not estimate them
    "tied", "saturated", "centred_high", "centred_low",  # for the flags
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreKind:
    """Which local score was summed: scores of different kinds cannot be merged."""

    name: str
    maximum: float
    premise: str  # what must hold for the score to be a radius
    activation: str | None = None
    temperature: float | None = None
    probabilities: bool = False
    norm: str | None = None  # of a radius


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summary:
    """Scored samples as counts and exact sums, per part of a partition (classes or groups).

    Everything here is a whole number that adds up, so the order in which pieces are merged changes nothing, not even
    the last bit: :func:`merge_summaries`. A part's scores are kept as counts on the grid of
    :mod:`~gfscore.score_grid`, for each block they were dealt to; only cells that hold a sample are stored.

    >>> from gfscore.scores import great_scores
    >>> samples = Samples.of([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> summary = Summary.of(samples, great_scores(samples))
    >>> summary.counts, summary.column("correct"), summary.means.round(3)
    (array([2, 2]), array([2, 1]), array([0.833, 0.231]))
    """

    kind: ScoreKind
    partition: str  # "class" or "group"
    names: tuple[str, ...]  # (P,) of the parts
    class_names: tuple[str, ...]  # (K,) of the model
    cells: IntArray  # sorted: the keys of every cell that holds a sample (score_grid.Cells)
    cell_counts: IntArray
    sums: IntArray  # (P, columns)
    confusions: IntArray  # sorted: part * K + predicted class of every mistake that was made
    confusion_counts: IntArray
    value_range: tuple[float, float]  # smallest and largest logit
    row_sums: RowSums | None  # what tells whether the rows are probabilities; None where they cannot be
    seed: int  # of the deal of samples to blocks and halves
    halved_batches: int = 0  # of the model, that did not fit into memory
    radii: RadiusCounts | None = None  # of scores that are first-order radii

    @classmethod
    def of(
        cls, samples: Samples, local: LocalScores, *, first_row: int = 0, rows: IntArray | None = None, seed: int = 0
    ) -> Self:
        """Summarise one piece; ``first_row`` is the number of its first sample in the whole.

        Where samples do not stand one after the other there, ``rows`` (n,) are their numbers.

        Which block and which half of its class a sample is counted in follows from its number and ``seed`` and nothing
        else (:mod:`~gfscore.score_grid`), however the data are cut into pieces. Pieces that are all numbered from 0
        give intervals that hold as well, and are wider the shorter the pieces.
        """
        codes, n_parts = samples.partition
        scores = np.minimum(local.values / local.maximum, 1.0)  # as PartScores has it
        if not (scores >= 0).all():
            raise SamplesError("a score is negative or no number. Give scores in [0, maximum].")
        bins = bins_of(scores)
        high, low = high_and_low(scores)
        blocks, half = deal(first_row + np.arange(samples.n_samples) if rows is None else rows, seed)
        wrong = local.predicted != samples.labels
        per_sample = (
            ~wrong, high, low, *high_and_low(scores**2),
            *high_and_low((scores - FLOORS[bins]) ** 2), *high_and_low((CEILINGS[bins] - scores) ** 2),
            half, high * half, low * half,
            local.tied & ~wrong, local.saturated, *high_and_low(local.centred / local.maximum),
        )  # fmt: skip
        sums = np.zeros((n_parts, len(COLUMNS)), dtype=np.int64)
        for column, values in enumerate(per_sample):
            np.add.at(sums[:, column], codes, values.astype(np.int64))
        cells, cell_counts = np.unique(Cells(codes, blocks, bins).keys, return_counts=True)
        confusions, confusion_counts = np.unique(
            codes[wrong] * samples.n_classes + local.predicted[wrong], return_counts=True
        )
        groups = samples.groups
        return cls(
            kind=ScoreKind(
                name=local.name,
                maximum=local.maximum,
                premise=local.premise,
                activation=local.activation,
                temperature=local.temperature,
                probabilities=samples.probabilities,
                norm=local.norm,
            ),
            partition="class" if groups is None else "group",
            names=samples.class_names if groups is None else groups.names,
            class_names=samples.class_names,
            cells=cells,
            cell_counts=cell_counts.astype(np.int64),
            sums=sums,
            confusions=confusions,
            confusion_counts=confusion_counts.astype(np.int64),
            value_range=samples.value_range,
            row_sums=samples.row_sums,
            seed=seed,
            halved_batches=samples.halved_batches + local.halved_batches,
        )

    @classmethod
    def none(cls, kind: ScoreKind, class_names: tuple[str, ...], seed: int = 0) -> Self:
        """The summary of no sample, for rows of which none is asked for."""
        nothing = np.zeros(0, dtype=np.int64)
        sums = np.zeros((len(class_names), len(COLUMNS)), dtype=np.int64)
        empty: dict[str, Any] = dict.fromkeys(("cells", "cell_counts", "confusions", "confusion_counts"), nothing)
        names: dict[str, Any] = {"partition": "class", "names": class_names, "class_names": class_names}
        beyond = (np.inf, -np.inf)
        return cls(kind=kind, **names, **empty, sums=sums, value_range=beyond, row_sums=RowSums(), seed=seed)

    @property
    def counts(self) -> IntArray:
        """Samples of each part, ``(P,)``."""
        counts = np.zeros(len(self.names), dtype=np.int64)
        np.add.at(counts, self.cells // N_CELLS, self.cell_counts)
        return counts

    @property
    def n_samples(self) -> int:
        """N."""
        return int(self.cell_counts.sum())

    @property
    def n_rows(self) -> int:
        """Rows of the data that it is of: more than there are samples, where only some were asked for."""
        return self.n_samples if self.radii is None else self.radii.rows

    @property
    def means(self) -> FloatArray:
        """Mean score of each part in [0, 1], ``(P,)``; 0 where there is no sample."""
        return self.mean_of("x")

    @property
    def variances(self) -> FloatArray:
        """Variance of the scores in [0, 1] of each part with n - 1 in the denominator, ``(P,)``; 0 where n < 2."""
        counts = self.counts
        return np.asarray(np.maximum(self.mean_of("xx") - self.means**2, 0.0) * counts / np.maximum(counts - 1, 1))

    def named(self, class_names: Sequence[str] | None) -> Self:
        """A summary with other names of the classes, or with their numbers."""
        names = check_class_names(class_names, len(self.class_names))
        return replace(self, class_names=names, names=names if self.partition == "class" else self.names)

    def column(self, name: str) -> IntArray:
        """One of the sums, ``(P,)``."""
        return self.sums[:, COLUMNS.index(name)]

    def mean_of(self, name: str) -> FloatArray:
        """Mean of an exact sum over the samples of each part, ``(P,)``: "x", "xx", "below" or "above"."""
        return ratios(self.column(f"{name}_high"), self.column(f"{name}_low"), self.counts)

    def total(self, name: str) -> float:
        """Sum over all samples of an exact column, in [0, 1] units: "x" or "centred"."""
        high, low = (self.column(f"{name}_{half}").sum(keepdims=True) for half in ("high", "low"))
        return float(ratios(high, low, np.ones(1, dtype=np.int64))[0])


def merge_summaries(summaries: Iterable[Summary]) -> Summary:
    """All of them as one, whatever their order; one at a time is held.

    >>> from gfscore.scores import great_scores
    >>> pieces = [Samples.of([[3, 0], [0, 4]], [0, 1]), Samples.of([[0, 1], [5, 0]], [0, 0])]
    >>> merge_summaries(Summary.of(piece, great_scores(piece)) for piece in pieces).counts
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
        self._first: Summary | None = None  # all others must be of its kind
        self._index: dict[str, int] = {}  # of each part by name, in the order they came
        self._names: tuple[str, ...] = ()  # of the summary added last, and where its parts stand here
        self._places: IntArray = np.zeros(0, dtype=np.int64)
        self._cells = np.zeros((0, N_CELLS), dtype=np.int64)
        self._sums = np.zeros((0, len(COLUMNS)), dtype=np.int64)
        self._confusions: list[tuple[IntArray, IntArray]] = []
        self._waiting = 0
        self._range = (np.inf, -np.inf)
        self._row_sums: RowSums | None = RowSums()
        self._halved_batches = 0
        self._radii: RadiusCounts | None = None

    def add(self, summary: Summary) -> Self:
        """Take in one summary."""
        if self._first is None:
            self._first = summary
        _check_alike(self._first, summary)
        if summary.names != self._names:
            self._place(summary.names)
        places = self._places
        self.n_samples += summary.n_samples
        self._cells.reshape(-1)[_move(summary.cells, N_CELLS, places)] += summary.cell_counts  # no cell comes twice
        self._sums[places] += summary.sums
        keys = _move(summary.confusions, len(summary.class_names), places)
        self._confusions.append((keys, summary.confusion_counts))
        self._waiting += len(keys)
        if self._waiting > CONFUSIONS_WAITING:
            self._confusions, self._waiting = [_add_up(self._confusions)], 0
        low, high = summary.value_range
        self._range = (min(self._range[0], low), max(self._range[1], high))
        pair = self._row_sums, summary.row_sums
        self._row_sums = None if pair[0] is None or pair[1] is None else pair[0].and_also(pair[1])
        self._halved_batches += summary.halved_batches
        radii = summary.radii
        self._radii = radii if self._radii is None or radii is None else self._radii.and_also(radii)
        return self

    def summary(self) -> Summary:
        """Everything so far, as one summary."""
        if self._first is None:
            raise OptionError("there is nothing to merge. Add at least one summary.")
        names = tuple(self._index)
        if self._first.partition == "group":
            names = tuple(sorted(names))  # not the order in which they came
        order = np.array([self._index[name] for name in names], dtype=np.int64)
        cells = self._cells[order].reshape(-1)
        used = np.flatnonzero(cells)
        self._confusions, self._waiting = [_add_up(self._confusions)], 0
        keys, counts = self._confusions[0]
        moved = _move(keys, len(self._first.class_names), np.argsort(order))
        by_key = np.argsort(moved)
        return replace(
            self._first,
            names=names,
            cells=used,
            cell_counts=cells[used],
            sums=self._sums[order],
            confusions=moved[by_key],
            confusion_counts=counts[by_key],
            value_range=self._range,
            row_sums=self._row_sums,
            halved_batches=self._halved_batches,
            radii=self._radii,
        )

    def _place(self, names: tuple[str, ...]) -> None:
        """Find each part's place, making room for those that are new."""
        self._names = names
        self._places = np.array([self._index.setdefault(name, len(self._index)) for name in names], dtype=np.int64)
        new = len(self._index) - len(self._sums)
        if new:
            self._cells = np.pad(self._cells, ((0, new), (0, 0)))
            self._sums = np.pad(self._sums, ((0, new), (0, 0)))


def _check_alike(one: Summary, other: Summary) -> None:
    for what, first, second in (
        ("their score", one.kind, other.kind),
        ("what they are over", one.partition, other.partition),
        ("their classes", one.class_names, other.class_names),
        ("the seed that dealt their samples", one.seed, other.seed),
        ("whether radii are counted", one.radii is not None, other.radii is not None),
    ):
        if first != second:
            both = " and ".join(_few_names(each) if isinstance(each, tuple) else str(each) for each in (first, second))
            raise SamplesError(f"pieces differ in {what}: {both}. Merge pieces of one model's audit only.")


def _few_names(names: tuple[str, ...], most: int = 3) -> str:
    return f"{len(names)} names ({', '.join(names[:most])}{', …' if len(names) > most else ''})"


def _move(keys: IntArray, width: int, places: IntArray) -> IntArray:
    """Keys ``part * width + entry`` with each part at its new place."""
    parts = keys // width
    return np.asarray(keys + (places[parts] - parts) * width)


def _add_up(pieces: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """Sorted keys, each once, and the sum of its counts."""
    keys, counts = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
    order = np.argsort(keys)
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))  # no key is negative
    return keys[starts], np.add.reduceat(counts, starts) if len(starts) else counts
