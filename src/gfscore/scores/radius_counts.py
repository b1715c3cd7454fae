"""First-order radii as whole numbers that add up: counts above a ladder of eps, and what flags about them rest on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import SamplesError
from gfscore.results import Setting
from gfscore.scores.sample_scores import LocalScores, RadiusNotes

DOUBT_BITS = 40  # after the point of a sum of squared errors, which is kept as a whole number
DOUBTS = ("mean_error", "share_error")  # standard errors of a piece, whose squares add up
PASSES = ("forward_passes", "passes_saved")  # of a piece, which add up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RadiusCounts:
    r"""How many radii of each class lie above each eps of a ladder, with all that is said about radii beside scores.

    .. math:: c_k(\epsilon) = \sum_{i \in S_k} \mathbf 1[r_i > \epsilon]

    Everything is a whole number, or a list that is sorted, so pieces are merged in any order.

    >>> local = LocalScores(name="first-order", values=np.array([0.1, 0.3, 0.0]), maximum=1.0, premise="", norm="l2",
    ...                     predicted=np.array([0, 1, 0]), notes=RadiusNotes(2, 0, 0, 0, np.zeros(0)), settings={})
    >>> counts = RadiusCounts.of(local, np.array([0, 1, 1]), 2, ladder=(0.05, 0.2), rows=3)
    >>> counts.above.tolist(), counts.and_also(counts).above.tolist(), counts.and_also(counts).rows
    ([[1, 0], [1, 1]], [[2, 0], [2, 2]], 6)
    """

    norm: str
    eps: float | None  # of the headline
    ladder: tuple[float, ...]  # (E,) ascending
    settings: Mapping[str, Setting]  # how radii were found, the same for all pieces
    rows: int  # of the data, that were looked at: radii may be of some of them alone
    above: IntArray  # (K, E)
    totals: Mapping[str, int]  # samples, and what notes, passes and squared errors add up to
    changes: FloatArray  # sorted

    @classmethod
    def of(cls, local: LocalScores, labels: IntArray, n_classes: int, *, ladder: tuple[float, ...], rows: int) -> Self:
        """The counts of a piece: ``local`` are radii of samples with ``labels`` (n,), out of ``rows`` rows."""
        if local.notes is None or local.norm is None:
            raise SamplesError(f"the score {local.name!r} is no first-order radius. Count radii alone.")
        above = np.zeros((n_classes, len(ladder)), dtype=np.int64)
        np.add.at(above, labels, (local.values[:, None] > np.asarray(ladder)).astype(np.int64))
        n, said = len(labels), dict(local.settings or {})
        correct, flat, steep, capped, changes = local.notes
        totals = {"samples": n, "correct": correct, "flat": flat, "steep": steep, "capped": capped}
        totals |= {name: int(said.pop(name) or 0) for name in PASSES if name in said}
        for name in DOUBTS:
            if name in said:
                totals[name] = round((float(said.pop(name) or 0.0) * n) ** 2 * 2**DOUBT_BITS)
        return cls(
            norm=local.norm,
            eps=local.eps,
            ladder=ladder,
            settings=said,
            rows=rows,
            above=above,
            totals=totals,
            changes=np.sort(changes),
        )

    @classmethod
    def none(cls, norm: str, eps: float | None, n_classes: int, *, ladder: tuple[float, ...], rows: int) -> Self:
        """The counts of rows of which no radius is asked for."""
        above = np.zeros((n_classes, len(ladder)), dtype=np.int64)
        about: dict[str, Any] = {"settings": {}, "totals": {"samples": 0}, "changes": np.zeros(0)}
        return cls(norm=norm, eps=eps, ladder=ladder, rows=rows, above=above, **about)

    @property
    def kind(self) -> tuple[Any, ...]:
        """What pieces must share to be merged."""
        return self.norm, self.eps, self.ladder, dict(self.settings)

    def and_also(self, other: Self) -> Self:
        """Both as one; one without a radius says nothing of how they were found."""
        for one, more in ((self, other), (other, self)):
            if one.n_samples == 0 and one.above.shape == more.above.shape:
                return replace(more, rows=one.rows + more.rows)
        if self.kind != other.kind or self.totals.keys() != other.totals.keys():
            raise SamplesError("pieces differ in how their radii were found. Merge pieces of one model's audit only.")
        return replace(
            self,
            rows=self.rows + other.rows,
            above=self.above + other.above,
            totals={name: value + other.totals[name] for name, value in self.totals.items()},
            changes=np.sort(np.concatenate([self.changes, other.changes])),
        )

    @property
    def notes(self) -> RadiusNotes:
        """What the flags of all pieces together rest on."""
        correct, flat, steep, capped = (self.totals[name] for name in ("correct", "flat", "steep", "capped"))
        return RadiusNotes(correct, flat, steep, capped, self.changes)

    @property
    def n_samples(self) -> int:
        """How many radii there are."""
        return self.totals["samples"]

    def all_settings(self) -> dict[str, Setting]:
        """How radii were found, with the passes and standard errors of all of them."""
        found, n = dict(self.settings), max(self.n_samples, 1)
        found |= {name: self.totals[name] for name in PASSES if name in self.totals}
        errors = {name: math.sqrt(self.totals[name] / 2**DOUBT_BITS) / n for name in DOUBTS if name in self.totals}
        return {**found, **errors}
