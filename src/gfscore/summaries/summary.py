"""A summary: what is kept of scored samples, so that an audit needs no array of all of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import SamplesError
from gfscore.names import checked_class_names
from gfscore.probabilities import RowSums
from gfscore.samples import Samples
from gfscore.scores.local import LocalScores
from gfscore.summaries.bins import CEILINGS, FLOORS, N_CELLS, Cells, bins_of
from gfscore.summaries.dealing import dealt
from gfscore.summaries.exact import high_and_low, ratios

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summary:
    """Scored samples as counts and exact sums, per part of a partition (classes or groups).

    Everything here is a whole number that adds up, so the order in which pieces are merged changes nothing, not even
    the last bit: :func:`~gfscore.summaries.merged`. A part's scores are kept as counts on the grid of
    :mod:`~gfscore.summaries.bins`, for each block they were dealt to; only cells that hold a sample are stored.

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
    cells: IntArray  # sorted: the keys of every cell that holds a sample (bins.Cells)
    cell_counts: IntArray
    sums: IntArray  # (P, columns)
    confusions: IntArray  # sorted: part * K + predicted class of every mistake that was made
    confusion_counts: IntArray
    value_range: tuple[float, float]  # smallest and largest logit
    row_sums: RowSums | None  # what tells whether the rows are probabilities; None where they cannot be
    seed: int  # of the deal of samples to blocks and halves
    halved_batches: int = 0  # of the model, that did not fit into memory

    @classmethod
    def of(cls, samples: Samples, local: LocalScores, *, first_row: int = 0, seed: int = 0) -> Self:
        """Summarise one piece; ``first_row`` is the number of its first sample in the whole.

        Which block and which half of its class a sample is counted in follows from its number and ``seed`` and nothing
        else (:mod:`~gfscore.summaries.dealing`), so that any cutting into pieces gives the same ones. Pieces that are
        all numbered from 0 give intervals that hold as well, and are wider the shorter the pieces.
        """
        codes, n_parts = samples.partition
        scores = np.minimum(local.values / local.maximum, 1.0)  # as PartScores has it
        if not (scores >= 0).all():
            raise SamplesError("a score is negative or no number. Give scores in [0, maximum].")
        bins = bins_of(scores)
        high, low = high_and_low(scores)
        blocks, half = dealt(first_row + np.arange(samples.n_samples), seed)
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
    def means(self) -> FloatArray:
        """Mean score of each part in [0, 1], ``(P,)``; 0 where there is no sample."""
        return self.mean_of("x")

    @property
    def variances(self) -> FloatArray:
        """Variance of the scores in [0, 1] of each part with n - 1 in the denominator, ``(P,)``; 0 where n < 2."""
        counts = self.counts
        return np.asarray(np.maximum(self.mean_of("xx") - self.means**2, 0.0) * counts / np.maximum(counts - 1, 1))

    def named(self, class_names: Sequence[str] | None) -> Self:
        """The same with other names of the classes, or with their numbers."""
        names = checked_class_names(class_names, len(self.class_names))
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


def merge_error(what: str, one: object, other: object) -> SamplesError:
    """The refusal to merge what does not belong together."""
    return SamplesError(f"pieces differ in {what}: {one} and {other}. Merge pieces of one model's audit only.")


def shown(names: Sequence[str], most: int = 3) -> str:
    """A few names for a message."""
    return f"{len(names)} names ({', '.join(names[:most])}{', …' if len(names) > most else ''})"
