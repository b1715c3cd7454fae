"""Samples: what a classifier said about data with known labels, checked once, then frozen."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray, IntArray, frozen, row_chunks
from gfscore.errors import (
    LabelRangeError,
    NotFiniteError,
    SamplesError,
    TooFewClassesError,
)
from gfscore.names import as_array, check_class_names, check_ids, names_per_sample
from gfscore.probabilities import RowSums, add_rows, refuse_others, refuse_resembling


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)  # arrays have no single truth value
class Groups:
    """A partition of the samples other than by class: a camera, a sensitive attribute, an intersection."""

    names: tuple[str, ...]
    codes: IntArray  # (N,), an index into names for each sample

    @classmethod
    def of(cls, values: ArrayLike | Mapping[str, ArrayLike], n_samples: int, *, piece: bool = False) -> Self:
        """One array of group names, or several by attribute name, which are intersected; a ``piece`` may have one."""
        if isinstance(values, Mapping):
            if not values:
                raise SamplesError("groups name no attribute. Give at least one array of group names.")
            columns = {name: names_per_sample(column, n_samples, f"groups {name!r}") for name, column in values.items()}
            if not piece:
                for name, column in columns.items():
                    refuse_groups_of_one(len(set(column)), n_samples, f"groups {name!r}")
            parts = [[f"{name}={value}" for value in column] for name, column in columns.items()]
            per_sample = [", ".join(row) for row in zip(*parts, strict=True)]
            if len(set(per_sample)) < len(set(zip(*columns.values(), strict=True))):
                raise SamplesError("two different groups get the same name. Leave ', ' and '=' out of their values.")
        else:
            per_sample = names_per_sample(values, n_samples, "groups")
            if not piece:
                refuse_groups_of_one(len(set(per_sample)), n_samples)
        names = tuple(sorted(set(per_sample)))
        if len(names) < 2 and not piece:
            raise TooFewClassesError(names, kind="group")
        code_of = {name: code for code, name in enumerate(names)}
        return cls(names=names, codes=frozen(np.array([code_of[name] for name in per_sample], dtype=np.int64)))


def refuse_groups_of_one(n_groups: int, n_samples: int, what: str = "groups") -> None:
    """Refuse an attribute that no two samples share: an id, and no group."""
    if n_groups == n_samples > 2:
        raise SamplesError(
            f"{what} have {n_groups:,} values for {n_samples:,} samples: an id, and no group. Give an attribute that "
            "samples share."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNotes:
    """How the columns of a table were read, where that could be doubted."""

    left_out: tuple[str, ...] = ()  # columns that were taken for no class
    named: frozenset[str] = frozenset()  # class columns that a label names
    unnamed: tuple[str, ...] = ()  # those that none does, where labels are names
    decimal_comma: bool = False  # numbers were written as 1,5
    labels_are: str | None = None  # "names" or "indices", where columns are called by numbers that are not their places


NO_TABLE = TableNotes()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """Logits and labels of N samples over K classes; :meth:`of` is the door where they are checked.

    >>> samples = Samples.of([[2.0, 0.5], [0.1, 0.3]], [0, 1], class_names=["cat", "dog"])
    >>> samples.n_samples, samples.n_classes, samples.class_names
    (2, 2, ('cat', 'dog'))
    """

    logits: FloatArray  # (N, K) as given: float16, float32 or float64; possibly a memory map
    labels: IntArray  # (N,), 0 to K - 1
    class_names: tuple[str, ...]
    groups: Groups | None = None
    sample_ids: tuple[str, ...] | None = None
    probabilities: bool = False  # the rows are probabilities, not logits
    value_range: tuple[float, float] = (-np.inf, np.inf)  # smallest and largest entry of logits
    row_sums: RowSums | None = None  # what tells whether the rows are probabilities; None where they cannot be
    halved_batches: int = 0  # of the model that made the logits, that did not fit into memory
    table: TableNotes = NO_TABLE
    class_sizes: IntArray | None = None  # of the fixed set that these, or a random part of each class, are; by label
    data: str | None = None  # fingerprint of the data they are of, row by row, where that is known

    @classmethod
    def of(
        cls,
        logits: ArrayLike,
        labels: ArrayLike,
        *,
        class_names: Sequence[str] | None = None,
        groups: ArrayLike | Mapping[str, ArrayLike] | None = None,
        sample_ids: Sequence[object] | NDArray[Any] | None = None,
        probabilities: bool = False,
        piece: bool = False,
        halved_batches: int = 0,
        table: TableNotes | None = None,
        class_sizes: ArrayLike | None = None,
        data: str | None = None,
    ) -> Self:
        """Check everything that can be wrong with the arrays, and say in one line what it is.

        Logits that all look like probabilities, rounded ones and percentages too, are refused, and so is a single
        group. A ``piece`` of a stream may be so small that it has them by chance: there it is noted, and judged once
        the whole was seen.
        """
        values = _checked_logits(logits, labels)
        n_samples, n_classes = values.shape
        value_range, row_sums = _checked_values(values, probabilities=probabilities)
        if probabilities:
            refuse_others(row_sums, values, piece=piece)
        elif not piece:
            refuse_resembling(row_sums)
        return cls(
            logits=frozen(values),
            labels=frozen(_checked_labels(labels, n_samples, n_classes)),
            class_names=check_class_names(class_names, n_classes),
            groups=None if groups is None else Groups.of(groups, n_samples, piece=piece),
            sample_ids=None if sample_ids is None else check_ids(sample_ids, n_samples),
            probabilities=probabilities,
            value_range=value_range,
            row_sums=row_sums,
            halved_batches=halved_batches,
            table=table or NO_TABLE,
            class_sizes=None if class_sizes is None else np.asarray(class_sizes),
            data=data,
        )

    @property
    def n_samples(self) -> int:
        """N."""
        return int(self.logits.shape[0])

    @property
    def n_classes(self) -> int:
        """K, absent classes included."""
        return int(self.logits.shape[1])

    def rows(self, rows: slice | IntArray) -> Self:
        """Some of the samples; their logits are not looked at again."""
        groups = None if self.groups is None else replace(self.groups, codes=self.groups.codes[rows])
        ids, later = self.sample_ids, isinstance(rows, slice) and bool(rows.start)
        if ids is not None:
            ids = ids[rows] if isinstance(rows, slice) else tuple(ids[row] for row in rows.tolist())
        sums = self.row_sums.counted_before() if later and self.row_sums is not None else self.row_sums
        return replace(
            self,
            logits=self.logits[rows],
            labels=self.labels[rows],
            groups=groups,
            sample_ids=ids,
            row_sums=sums,  # of all pieces together, counted once
            halved_batches=0 if later else self.halved_batches,
        )

    def named(self, class_names: Sequence[str] | None) -> Self:
        """The same with other names of the classes, or with their numbers."""
        return replace(self, class_names=check_class_names(class_names, self.n_classes))

    @property
    def partition(self) -> tuple[IntArray, int]:
        """What the profile is over: the group of each sample, or else its class, ``(N,)``, and how many there are."""
        if self.groups is None:
            return self.labels, self.n_classes
        return self.groups.codes, len(self.groups.names)


def refuse_other_rows(logits: ArrayLike, labels: ArrayLike) -> None:
    """Refuse a data frame and a series whose indices differ: by place, labels would go to other rows than by name."""
    indices: list[Any] = [getattr(part, "index", None) for part in (logits, labels)]
    if all(hasattr(index, "equals") for index in indices) and not indices[0].equals(indices[1]):
        raise SamplesError(
            "logits and labels have different indices, so it is open which belongs to which. Give "
            "labels.loc[logits.index], or labels.to_numpy() if they are in the order of the rows."
        )


def _checked_logits(logits: ArrayLike, labels: ArrayLike) -> FloatArray:
    refuse_other_rows(logits, labels)
    values = as_array(logits, "logits")
    if values.ndim != 2:
        raise SamplesError(f"logits have shape {values.shape}; they must be (samples, classes). Reshape them.")
    n_samples, n_classes = values.shape
    if n_samples == 0:
        raise SamplesError("logits have no rows. Give at least one sample of each of two classes.")
    if n_classes < 2:
        raise SamplesError(
            f"logits have {n_classes} column(s); at least 2 classes are needed. "
            "A binary model with one output z has the logits (0, z)."
        )
    n_labels = len(labels) if isinstance(labels, Sized) and getattr(labels, "ndim", 1) > 0 else n_samples
    if n_labels != n_samples:
        turned = " They look transposed: give logits.T." if n_labels == n_classes else " Each row needs one label."
        raise SamplesError(f"logits have {n_samples} rows but there are {n_labels} labels.{turned}")
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    if values.dtype.kind != "f":
        raise SamplesError(f"logits have type {values.dtype}; they must be numbers (float16, float32 or float64).")
    return values.astype(np.float64) if values.dtype.itemsize > 8 else values


def _checked_values(values: FloatArray, *, probabilities: bool) -> tuple[tuple[float, float], RowSums | None]:
    """One pass over the logits: finite everywhere. Their range, and what tells whether they are probabilities."""
    lowest, highest = np.inf, -np.inf
    row_sums: RowSums | None = RowSums()
    for rows in row_chunks(*values.shape):
        chunk = np.asarray(values[rows])
        low, high = float(chunk.min()), float(chunk.max())
        if not np.isfinite((low, high)).all():
            row, column = (int(index) for index in np.argwhere(~np.isfinite(chunk))[0])
            raise NotFiniteError(rows.start + row, column, float(chunk[row, column]))
        lowest, highest = min(lowest, low), max(highest, high)
        row_sums = add_rows(row_sums, chunk, low, high, announced=probabilities)
    return (lowest, highest), row_sums


def _checked_labels(labels: ArrayLike, n_samples: int, n_classes: int) -> IntArray:
    values = as_array(labels, "labels")
    if values.ndim != 1:
        one_hot = " If they are one-hot, give labels.argmax(axis=1)." if values.shape == (n_samples, n_classes) else ""
        raise SamplesError(f"labels have shape {values.shape}; they must be one class index per sample.{one_hot}")
    if values.dtype.kind == "f":
        broken = ~np.isfinite(values) | (values != np.floor(values))
        if broken.any():
            row = int(np.argmax(broken))
            raise SamplesError(f"label {values[row]} in row {row} is not a whole number. Labels are class indices.")
    elif values.dtype.kind not in "iu":
        raise SamplesError(f"labels have type {values.dtype}; they must be class indices, 0 to {n_classes - 1}.")
    outside = (values < 0) | (values >= n_classes)
    if outside.any():
        row = int(np.argmax(outside))
        from_one = bool(values.min() >= 1 and values.max() == n_classes)
        raise LabelRangeError(row, int(values[row]), n_classes, from_one=from_one)
    return values.astype(np.int64)
