"""Whether the rows of a matrix are probabilities, also when they were rounded, or written in percent.

What is noted of the rows adds up over pieces: a stream is judged as the one matrix it is, wherever its files end.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import ProbabilitiesError

SUM_TOLERANCE = 0.01  # share of the whole by which bfloat16 moves the sum of a row
MOST_MOVED = 0.25  # of the whole, by rounding: a score divided by such a sum would be a third too large
MOST_DECIMALS = {2: 2, 4: 5, 8: 6}  # by bytes of the type: with more, its own steps are decimals too
FULL = 7  # stands for more decimals than these
ROOM = 1.05  # what is rounded to decimals is rounded again to float16
PERCENT = 100

Floats = NDArray[np.floating[Any]]


class Reading(NamedTuple):
    """What rows that are probabilities look like."""

    whole: int  # that every row sums to: 1, or 100
    decimals: int | None  # that all of them have; None where they were not rounded
    excess: float  # how far the furthest row is from the whole, as a share of it
    near: float  # share of the rows that rounding has not moved much


@dataclass(frozen=True, slots=True)
class Fit:
    """How far the rows are from summing to a whole."""

    near: int = 0  # rows within MOST_MOVED of it
    excess: float = 0.0  # of the furthest row, as a share of the whole
    unit: float = 0.0  # the last decimal place that would explain the furthest row by rounding

    def possible(self, whole: int) -> bool:
        """Whether some number of decimals may explain the rows: whole percentages, or shares with one."""
        return self.excess <= SUM_TOLERANCE or self.unit <= ROOM * (1 if whole == PERCENT else 0.1)

    def and_also(self, other: Self) -> Self:
        """Of the rows of both."""
        return type(self)(self.near + other.near, max(self.excess, other.excess), max(self.unit, other.unit))


@dataclass(frozen=True, slots=True)
class RowSums:
    """What is to be known of rows in [0, 100] to tell whether they are probabilities."""

    rows: int = 0
    zeros: int = 0  # values that are exactly 0
    decimals: int = 0  # the most that a value has
    one: Fit | None = Fit()  # None once a value lies above 1
    hundred: Fit = Fit()

    def and_also(self, other: Self) -> Self:
        """Of the rows of both."""
        return type(self)(
            rows=self.rows + other.rows,
            zeros=self.zeros + other.zeros,
            decimals=max(self.decimals, other.decimals),
            one=None if self.one is None or other.one is None else self.one.and_also(other.one),
            hundred=self.hundred.and_also(other.hundred),
        )

    def counted_before(self) -> Self:
        """Of a part of the rows, where all were counted with another part."""
        one = None if self.one is None else replace(self.one, near=0)
        return replace(self, rows=0, zeros=0, one=one, hundred=replace(self.hundred, near=0))

    def reading(self, whole: int | None = None) -> Reading | None:
        """What the rows are if rounding explains how far each is from 1 (or 100, where one lies above 1)."""
        if whole is None:
            whole = PERCENT if self.one is None else 1
        fit = self.one if whole == 1 else self.hundred
        if fit is None or self.rows == 0:
            return None
        rounded = self.may_be_rounded(whole) and fit.unit <= ROOM * 10.0**-self.decimals
        if fit.excess > SUM_TOLERANCE and not rounded:
            return None
        return Reading(whole, self.decimals if self.decimals < FULL else None, fit.excess, fit.near / self.rows)

    def may_be_rounded(self, whole: int) -> bool:
        """Whether rounding may have moved the sums. To no decimals it explains nearly any row of zeros and ones."""
        return (0 if whole == PERCENT else 1) <= self.decimals < FULL

    @classmethod
    def restore(cls, saved: dict[str, Any]) -> Self:
        """From what ``dataclasses.asdict`` made of one."""
        fits = {name: None if saved[name] is None else Fit(**saved[name]) for name in ("one", "hundred")}
        return cls(**(saved | fits))


def _row_totals(values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Of each row its sum, and how many values are not 0."""
    return np.asarray(values.sum(axis=1, dtype=np.float64)), np.count_nonzero(values, axis=1)


def _misses(totals: Floats, filled: NDArray[np.intp], n_classes: int, whole: int) -> tuple[Floats, Floats]:
    """How far each row is from the whole, as a share of it, and the unit of rounding that would explain it.

    Rounding moves a value by at most half a unit. Above the whole, that can be every value but the zeros, which were
    not rounded up; below it, every one.
    """
    missing = np.abs(totals - whole)
    return missing / whole, 2.0 * missing / np.where(totals > whole, filled, n_classes)


def add_rows(
    sums: RowSums | None, chunk: Floats, low: float, high: float, *, announced: bool = False
) -> RowSums | None:
    """The sums with those of more rows, whose range is given.

    None once the rows cannot be probabilities; if these are ``announced``, the range alone decides, so that what is
    wrong can be told.
    """
    if sums is None or low < 0 or high > PERCENT:
        return None
    totals, filled = _row_totals(chunk)

    def fit(whole: int) -> Fit:
        excess, units = _misses(totals, filled, chunk.shape[1], whole)
        return Fit(int((excess <= MOST_MOVED).sum()), float(excess.max()), float(units.max()))

    one, hundred = None if sums.one is None or high > 1 else fit(1), fit(PERCENT)
    if not announced and not (one is not None and one.possible(1)) and not hundred.possible(PERCENT):
        return None
    return sums.and_also(
        RowSums(
            rows=len(chunk),
            zeros=int(chunk.size - filled.sum()),
            decimals=_decimals(chunk, sums.decimals),
            one=one,
            hundred=hundred,
        )
    )


def _decimals(chunk: Floats, least: int) -> int:
    """The fewest decimals, of ``least`` or more, that write every value in its own type; FULL where none do.

    What was rounded in float32 and then widened is in float32 still: 0.009999999776 is 0.01.
    """
    if chunk.dtype.itemsize > 4 and (chunk.astype(np.float32) == chunk).all():
        chunk = chunk.astype(np.float32)
    steps = float(np.finfo(chunk.dtype).eps) + 2 * float(np.finfo(np.float64).eps)  # of the type, and of multiplying
    for decimals in range(least, MOST_DECIMALS[chunk.dtype.itemsize] + 1):
        scaled = chunk * np.float64(10**decimals)
        distance = np.rint(scaled)
        distance -= scaled
        np.abs(distance, out=distance)
        scaled *= steps
        if (distance <= scaled).all():
            return decimals
    return FULL


def refuse_resembling(sums: RowSums | None) -> None:
    """Refuse logits whose rows all look like probabilities."""
    found = None if sums is None else sums.reading()
    if found is None or found.near < 0.5:  # of many classes a few rows may have lost much, but not most
        return
    look = "look like probabilities: all lie in [0, 1] and every row sums to 1"
    if found.whole == PERCENT:
        look = "look like percentages: all lie in [0, 100] and every row sums to 100"
    elif found.decimals is not None and found.excess > 1e-6:  # more than adding up does
        look = f"look like probabilities rounded to {places(found.decimals)}: all lie in [0, 1] and rows sum to about 1"
    raise ProbabilitiesError(
        f"logits {look}. Give logits (before softmax), or say --probabilities (probabilities=True)."
    )


def refuse_others(sums: RowSums | None, values: Floats | None = None, *, piece: bool = False) -> None:
    """Refuse values that were announced as probabilities and are none; ``values`` tell in which row.

    A ``piece`` is refused when no stream could hold it: the decimals of other pieces only leave less to rounding.
    """
    readings = [] if sums is None else [sums.reading(whole) for whole in ((1, PERCENT) if piece else (None,))]
    if any(found is not None and found.excess <= MOST_MOVED for found in readings):
        return
    if values is not None:
        _refuse_value(values, sums)
    if values is not None and sums is not None:
        _refuse_row(values, sums)
    raise ProbabilitiesError(
        "probabilities of the pieces together do not sum to 1, nor to 100, as far as their decimals tell. "
        "Give pieces that were all written in the same way."
    )


def _refuse_value(values: Floats, sums: RowSums | None) -> None:
    """Name the first value that is no probability, unless these are percentages."""
    if sums is not None and (sums.one is not None or 2 * sums.hundred.near >= sums.rows):
        return
    row, column = (int(index) for index in np.argwhere((values < 0) | (values > 1))[0])
    raise ProbabilitiesError(
        f"probability {float(values[row, column]):.6g} at row {row}, column {column} is outside [0, 1]. "
        "If these are logits, leave --probabilities (probabilities=True) out."
    )


def _refuse_row(values: Floats, sums: RowSums) -> NoReturn:
    """Name the first row that is no distribution."""
    whole = PERCENT if sums.one is None else 1
    totals, filled = _row_totals(values)
    excess, units = _misses(totals, filled, values.shape[1], whole)
    rounded = sums.may_be_rounded(whole) & (units <= ROOM * 10.0**-sums.decimals)
    strange = (excess > SUM_TOLERANCE) & ~rounded
    row = int(np.argmax(strange if strange.any() else excess > MOST_MOVED))
    if strange.any():
        raise ProbabilitiesError(
            f"probabilities in row {row} sum to {totals[row]:.6g}, not {whole}. "
            "Sigmoid outputs are no distribution over classes: give the logits instead."
        )
    raise ProbabilitiesError(
        f"probabilities in row {row} sum to {totals[row]:.6g}: {places(sums.decimals)} lose too much of "
        f"{values.shape[1]:,} classes. Save more decimals, or the logits."
    )


def places(decimals: int | None) -> str:
    """A number of decimals, in words."""
    return f"{decimals} decimal{'' if decimals == 1 else 's'}"
