"""Slopes: norms of gradients of the margins at each sample, or forward-only estimates; and the steepest place found."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import MissingExtraError, ModelError, OptionError
from gfscore.inputs.preprocessing import Pixels
from gfscore.measures.run import RowMeasure, RowsDone, Run, rows_together
from gfscore.measures.sending import pack, unpack
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, forward_only_norms, is_leading, strongest_rivals
from gfscore.scores.midpoints import MIDPOINT_RIVALS, refined_norms

SHARD_ROWS = 256  # about; a sample costs a hundred times what its logits do, so that fewer are at risk
PLACES = 4  # images around which the slope is measured, at most
DIRECTIONS = 16  # random ones in each round, around each of them
ROUNDS = 3
STEP = 0.05  # in L2: short enough to see a slope, long enough for it not to drown in rounding
ROUNDING = 1e-5  # of the longest vector of logits: those of float32 networks are off by some 1e-7 to 1e-6


class Gradients(StrEnum):
    """Whether gradients are used."""

    NO = "no"  # forward passes alone, which every model has
    AUTO = "auto"  # where the model has them; forward passes otherwise, with a flag that says why
    YES = "yes"  # or an error

    @classmethod
    def named(cls, name: str) -> "Gradients":
        """The choice of that name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"gradients {name!r} is not a choice. Choose no, auto or yes.") from None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slopes(RowMeasure):
    """Norms of the gradients of the margins to the strongest rivals, (n, R); NaN for misclassified samples.

    Without ``gradients`` they are estimated from forward passes, with those of half the step and the number of
    directions beside them: (n, 2R + 1).
    Where only some rows are asked for, the others are NaN too.
    """

    name = "gradient_norms"
    samples: Samples  # the model's logits on the data
    how: FirstOrder
    gradients: bool = False  # of the differentiable model; otherwise forward passes alone
    only: IntArray | None = None  # the rows to measure, ascending; None: all
    first: int = 0  # row of the data that the samples begin with
    whole: int | None = None  # rows of the data, where the samples are a part of them
    rivals: IntArray = field(init=False)

    def __post_init__(self) -> None:
        rivals = strongest_rivals(self.samples.logits, self.samples.labels, self.how.rivals)
        object.__setattr__(self, "rivals", rivals)

    @property
    def settings(self) -> Mapping[str, Any]:
        """The norm, and how slopes are found."""
        rows = {} if self.only is None else {"rows": hashlib.sha256(self.only.astype("<i8").tobytes()).hexdigest()}
        return {"norm": str(self.how.kind), **self.how.measure(gradients=self.gradients), **rows}

    def rows_per_shard(self, run: Run) -> int:
        """Whole batches, unless images are large."""
        return rows_together(run.data, run.batch_size * max(1, round(SHARD_ROWS / run.batch_size)))

    def columns(self, run: Run) -> int:
        """One for each rival; where they are estimated twice that, and the number of directions."""
        del run
        n_rivals = int(self.rivals.shape[1])
        return n_rivals if self.gradients else 2 * n_rivals + 1

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> FloatArray:
        """Norms for some rows."""
        asked = np.arange(rows.start, rows.stop) if self.only is None else _within(self.only, rows)
        norms = np.full((rows.stop - rows.start, self.columns(run)), np.nan)
        some = self.measured_rows(asked)
        if len(some):
            norms[some - rows.start] = (self._differentiate if self.gradients else self._estimate)(run, some)
        done(rows.stop - rows.start)
        with np.errstate(over="ignore"):  # infinite, then: a slope that is beyond float32 is no slope
            return norms.astype(np.float32)

    def measured_rows(self, asked: IntArray) -> IntArray:
        """Those of the rows that are asked for that have slopes: of a misclassified sample nobody needs them."""
        at = asked - self.first
        return asked[is_leading(self.samples.logits[at], self.samples.labels[at], self.rivals[at])]

    def _estimate(self, run: Run, rows: IntArray) -> FloatArray:
        at, pixels = rows - self.first, run.pixels(rows)
        norms = forward_only_norms(
            run.logits_of, pixels, self.samples, self.rivals, self.how, rows=at, whole=self.whole
        )
        return np.concatenate(norms, axis=1)

    def _differentiate(self, run: Run, rows: IntArray) -> FloatArray:
        labels, rivals = self.samples.labels[rows - self.first], self.rivals[rows - self.first]
        return exact_norms(run, run.differentiable(), run.pixels(rows), labels, rivals, self.how, rows)

    def sent(self) -> dict[str, Any]:
        """How slopes are found; what the samples are goes with each shard."""
        return {"how": asdict(self.how), "gradients": self.gradients, "whole": self.samples.n_samples}

    def payload(self, rows: slice) -> bytes:
        """Logits and labels of some rows, their ids, and which of them are asked for."""
        samples = self.samples
        ids = samples.sample_ids[rows] if samples.sample_ids is not None else map(str, range(rows.start, rows.stop))
        asked = np.arange(rows.start, rows.stop) if self.only is None else _within(self.only, rows)
        return pack({"logits": samples.logits[rows], "labels": samples.labels[rows], "asked": asked}, list(ids))

    @classmethod
    def received(cls, said: Mapping[str, Any], run: Run, rows: slice, payload: bytes) -> "Slopes":
        """The slopes of these rows, from the very logits that the sender had."""
        del run
        arrays, ids = unpack(payload)
        samples = Samples(logits=arrays["logits"], labels=arrays["labels"], class_names=(), sample_ids=tuple(ids))
        how, others = FirstOrder(**said["how"]), {name: said[name] for name in ("gradients", "whole")}
        return cls(samples=samples, how=how, only=arrays["asked"], first=rows.start, **others)


def exact_norms(
    run: Run, module: Any, pixels: Pixels, labels: IntArray, rivals: IntArray, how: FirstOrder, rows: IntArray
) -> FloatArray:
    """Norms of the gradients of the margins to rivals (n, R), by a differentiable ``module`` of the run.

    With ``how.refine`` they are those of :func:`~gfscore.scores.midpoints.refined_norms`: what the radius of a sample
    was refined to is kept in them.
    """
    from gfscore.inputs.models.gradients import margins_and_gradients

    def norms_of(batch: slice) -> FloatArray:
        def look(moved: FloatArray) -> tuple[FloatArray, FloatArray]:
            return margins_and_gradients(module, moved, labels[batch], MIDPOINT_RIVALS)

        found = margins_and_gradients(module, pixels[batch], labels[batch], rivals[batch])
        return refined_norms(look, pixels[batch], *found, how)

    return run.in_batches(norms_of, len(rows), rows)


def _within(ascending: IntArray, rows: slice) -> IntArray:
    """Those of some ascending row numbers that lie in a slice."""
    first, last = np.searchsorted(ascending, [rows.start, rows.stop])
    return ascending[first:last]


def choose_slopes(
    run: Run,
    samples: Samples,
    how: FirstOrder,
    gradients: Gradients | str = Gradients.NO,
    *,
    only: IntArray | None = None,
) -> tuple[Slopes, str | None]:
    """The slopes of a run, from gradients if that was asked for; and why not from gradients, where they were wanted."""
    choice = Gradients.named(gradients)
    if choice is Gradients.NO:
        return Slopes(samples=samples, how=how, only=only), None
    try:
        run.differentiable()  # or an error that says why not
        return Slopes(samples=samples, how=how, gradients=True, only=only), None
    except (ModelError, MissingExtraError) as error:
        if choice is Gradients.YES:
            raise
        return Slopes(samples=samples, how=how, only=only), str(error)


def measured_slope(classify: Callable[[Pixels], FloatArray], pixels: Pixels) -> float:
    r"""A slope that the logits are seen to have around images ``pixels`` (n, ...) in [0, 1]: a bound from below.

    .. math:: \max_{u, v} \frac{\|f(u) - f(v)\|_2 - \rho}{\|u - v\|_2} \le L

    over pairs of images, and around each image along directions: to other images, random ones, then the one in which
    all of these together are steepest, with fresh ones. ``rho`` is more than the logits are rounded by. It takes some
    two hundred forward passes and no gradient; every point lies in [0, 1].

    >>> images = np.random.default_rng(0).random((3, 1, 2, 2), dtype=np.float32)
    >>> round(measured_slope(lambda pixels: 5 * pixels.reshape(len(pixels), -1)[:, :2], images), 2)
    5.0
    """
    rng = np.random.default_rng(0)

    def logits_at(points: FloatArray) -> FloatArray:
        return classify(points.reshape(-1, *pixels.shape[1:])).astype(np.float64)

    images = pixels[:PLACES].reshape(len(pixels[:PLACES]), -1).astype(np.float32)
    ends = np.concatenate([images, rng.random(images.shape, dtype=np.float32)])
    logits = logits_at(ends)
    steepest = max(_slope_from(row, ends, logits) for row in range(len(ends)))
    for image in images:
        place = STEP + (1 - 2 * STEP) * image  # so far from black and white that no direction leads out
        directions: FloatArray = ends - place
        for _ in range(ROUNDS):
            fresh = rng.normal(size=(DIRECTIONS, len(place)))
            basis = np.linalg.qr(np.concatenate([directions, fresh]).T)[0].T
            points = np.concatenate([place[None], place + STEP * basis]).astype(np.float32)
            logits = logits_at(points)
            steepest = max(steepest, _slope_from(0, points, logits))
            along = np.linalg.svd(logits[1:] - logits[0], full_matrices=False)[0][:, 0]  # were the network linear here
            directions = (along @ basis)[None]
    return steepest


def _slope_from(row: int, points: FloatArray, logits: FloatArray) -> float:
    """The steepest way from one point to the others."""
    moved = np.linalg.norm(logits - logits[row], axis=1)
    apart = np.linalg.norm(points.astype(np.float64) - points[row], axis=1)
    rounding = ROUNDING * np.linalg.norm(logits, axis=1).max()
    return float(np.max((moved - rounding) / np.where(apart > 0, apart, np.inf)))
