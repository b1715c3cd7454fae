r"""How steep the margins to the strongest rivals are: from gradients, or from forward passes alone.

Differences give the slope of every logit along a direction v at once. Along a Gaussian v the slope of a
function with gradient g is normal with deviation :math:`\|g\|_2`; along a Cauchy v, which is 1-stable, it is Cauchy
with scale :math:`\|g\|_1`, the median of its size (Indyk, "Stable distributions, pseudorandom generators, embeddings,
and data stream computation", J. ACM 53(3), 2006).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import BoolArray, FloatArray, IntArray, row_chunks
from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.scores.certain_sides import LOOK_EVERY, certain_sides
from gfscore.scores.random_directions import Forward, draw_units, generator_of, hash_part, slopes_ahead

CHUNK_PIXELS = 2**23  # that are moved at a time: all directions of a few images make one call
STEP_CHECKS = 64  # samples, about, over the whole set, whose radius is found a second time with half the step

SampleIds = Sequence[object] | NDArray[np.object_]


class Norm(StrEnum):
    """How far pixels are moved."""

    L2 = "l2"  # the length of the change; slopes are bounded by the L2 norm of the gradient
    LINF = "linf"  # the largest change of a pixel; slopes are bounded by the L1 norm of the gradient

    @classmethod
    def named(cls, name: str | None) -> "Norm":
        """The norm of that name, or an error that lists them."""
        try:
            return cls(name)  # type: ignore[arg-type]  # None is refused like any other
        except ValueError:
            given = "no norm is given" if name is None else f"norm {name!r} is not known"
            raise OptionError(f"{given}. Say in which norm a radius is measured: --norm l2 or --norm linf.") from None


DIRECTIONS = {Norm.L2: 32, Norm.LINF: 64}  # relative standard error of a radius: 12.5 and 19.6 %
MEDIANS = {Norm.L2: 0.6744897501960817, Norm.LINF: 1.0}  # of the sizes of normal and of Cauchy variables
MAX_RADIUS = {Norm.L2: 2.0, Norm.LINF: 32 / 255}  # four times the radius that RobustBench attacks CIFAR-10 with
REFINE, MOST_MIDPOINTS = 6, 8  # by default, and at all: a forward and a backward pass each

MOST_EPS = {Norm.L2: 32.0, Norm.LINF: 1.0}  # above, it is likely not in [0, 1] pixels: --max-radius allows more


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOrder:
    """How a first-order radius is found; checked when made."""

    norm: Norm | str | None = None  # must be given: a radius without a norm means nothing
    eps: float | None = None  # the share of radii above it estimates robust accuracy at it
    rivals: int = 3  # the classes with the largest other logits, which the minimum is taken over
    max_radius: float | None = None  # larger radii count as this; None: MAX_RADIUS of the norm, or twice eps
    directions: int | None = None  # of the forward-only estimate; None: DIRECTIONS of the norm
    step: float = 0.01  # of the same: L2 length of a step in [0, 1] pixel units
    seed: int = 0  # of the directions
    decide: tuple[float, ...] = ()  # eps whose side is all that is asked: directions end once it is certain
    refine: int = REFINE  # midpoints that a radius by gradients is found again from; one without is first-order

    def __post_init__(self) -> None:
        if self.rivals < 1 or self.count < 1:
            raise OptionError("rivals and directions are counted from 1. The defaults are 3, and 32 (l2) or 64 (linf).")
        if not 0 < self.step < 1:
            raise OptionError(f"step {self.step} is not between 0 and 1, the range of a pixel. The default is 0.01.")
        if self.seed < 0:
            raise OptionError(f"seed {self.seed} is negative. Give 0 or more.")
        if not all(0 < size < self.largest for size in self.decide):
            raise OptionError(
                f"decide {self.decide} has sizes that are not between 0 and {self.largest:g}. Leave them out."
            )
        if not 0 <= self.refine <= MOST_MIDPOINTS:
            raise OptionError(
                f"refine {self.refine} is not a number of midpoints from 0 to {MOST_MIDPOINTS}. "
                f"The default is {REFINE}, and 0 leaves radii first-order."
            )
        if not 0 < self.largest < math.inf:
            raise OptionError(f"max_radius {self.largest} is not a positive number. Radii are in [0, 1] pixels.")
        most = MOST_EPS[self.kind] if self.max_radius is None else self.max_radius
        if self.eps is not None and not 0 <= self.eps < most:
            what = "" if self.max_radius is None else " the largest radius,"
            raise OptionError(
                f"eps {self.eps:g} is not between 0 and{what} {most:g}. "
                "Give it in [0, 1] pixels, such as 0.00784 for 2/255, or raise --max-radius."
            )

    @property
    def kind(self) -> Norm:
        """The norm, checked."""
        return Norm.named(self.norm)

    @property
    def count(self) -> int:
        """Directions, as given or by the norm."""
        return DIRECTIONS[self.kind] if self.directions is None else self.directions

    @property
    def largest(self) -> float:
        """The largest radius, as given; else by the norm, or twice the eps that is asked about.

        >>> FirstOrder(norm="linf", eps=0.25).largest, FirstOrder(norm="l2", eps=0.25).largest
        (0.5, 2.0)
        """
        if self.max_radius is not None:
            return self.max_radius
        return max(MAX_RADIUS[self.kind], 2 * (self.eps or 0.0))

    def reaching(self, sizes: Sequence[float]) -> Self:
        """These settings with radii that tell all of these eps apart too, where no largest radius was given."""
        for eps in sizes:
            replace(self, eps=eps)  # refuses one that no radius reaches
        widest = max([self.largest, *(2 * eps for eps in sizes)])
        return self if self.max_radius is not None or widest == self.largest else replace(self, max_radius=widest)

    @property
    def relative_error(self) -> float:
        r"""Relative standard error of an estimated norm, and so of a radius.

        It is :math:`1/\sqrt{2m}` for L2 and :math:`\pi/(2\sqrt m)` for Linf: the median of m sizes of Cauchy variables,
        whose density there is :math:`1/\pi` of their scale.

        >>> [round(FirstOrder(norm=norm).relative_error, 3) for norm in Norm]
        [0.125, 0.196]
        """
        return 1 / math.sqrt(2 * self.count) if self.kind is Norm.L2 else math.pi / (2 * math.sqrt(self.count))

    def passes(self, *, gradients: bool) -> int:
        """Forward and backward passes that a correct sample takes, at most."""
        return 1 + (self.rivals + 2 * self.refine if gradients else self.count)

    def measure(self, *, gradients: bool) -> dict[str, Any]:
        """What decides the gradient norms, apart from model and data: neither eps nor the largest radius."""
        how: dict[str, Any] = {"refine": self.refine} if self.refine else {}
        if not gradients:
            how = {"directions": self.count, "step": self.step, "seed": self.seed, "differences": "forward"}
            how |= {"decide": " ".join(map(repr, sorted(set(self.decide))))} if self.decide else {}
        return {"rivals": self.rivals, "gradients": gradients, **how}


def strongest_rivals(logits: FloatArray, labels: IntArray, count: int) -> IntArray:
    """The ``count`` classes with the largest logits apart from the true one, (n, count), strongest first.

    >>> strongest_rivals(np.array([[3.0, 1.0, 2.0, 0.0]]), np.array([0]), 2)
    array([[2, 1]])
    """
    count = min(count, logits.shape[1] - 1)
    found = np.empty((len(labels), count), dtype=np.int64)
    for rows in row_chunks(*logits.shape):
        others = np.negative(logits[rows], dtype=np.float64)
        others[np.arange(len(others)), labels[rows]] = np.inf  # the true class is not its own rival
        found[rows] = np.argsort(others, axis=1, kind="stable")[:, :count]
    return found


def is_leading(logits: FloatArray, labels: IntArray, rivals: IntArray) -> BoolArray:
    """Whether the true class leads the strongest rival, (n,): elsewhere the radius is 0, whatever the gradient."""
    own, rival = (np.take_along_axis(logits, classes[:, None], axis=1)[:, 0] for classes in (labels, rivals[:, 0]))
    return np.asarray(own > rival)


def gradient_norms(gradients: FloatArray, norm: Norm) -> FloatArray:
    """Dual norm of gradients (..., D): L2 for L2, L1 for Linf, in float64.

    >>> [float(gradient_norms(np.array([3.0, -4.0]), norm)) for norm in Norm]
    [5.0, 7.0]
    """
    wide = np.asarray(gradients, dtype=np.float64)
    return np.asarray(np.linalg.norm(wide, axis=-1) if norm is Norm.L2 else np.abs(wide).sum(axis=-1))


def forward_only_norms(
    model: Forward,
    pixels: FloatArray,
    samples: Samples,
    rivals: IntArray,
    how: FirstOrder,
    *,
    rows: IntArray | slice = slice(None),
    whole: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Estimated gradient norms (n, R) of some ``rows`` of the samples, by default all; and (n, R + 1) beside them.

    Those beside are the norms with half the step, then the directions that each sample took. NaN where nothing was
    estimated: samples that are misclassified, and for half the step all but some 64 of the set, which has ``whole``
    samples where these are a part of it.
    """
    labels, few, here = samples.labels[rows], rivals[rows], samples.logits[rows]
    correct = is_leading(here, labels, few)
    ids = np.asarray(samples.sample_ids or range(samples.n_samples), dtype=object)[rows]
    again = correct & [is_drawn(sample_id, STEP_CHECKS / (whole or samples.n_samples)) for sample_id in ids]
    norms, beside = np.full(few.shape, np.nan), np.full((len(few), few.shape[1] + 1), np.nan)
    halved = replace(how, step=how.step / 2, decide=())
    for some, with_step in ((correct, how), (again, halved)):
        arguments = (pixels[some], labels[some], few[some], ids[some], with_step)
        found, taken = slopes_along(model, *arguments, here=here[some])
        if with_step is how:
            norms[some], beside[some, -1] = found, taken
        else:
            beside[some, :-1] = found
    return norms, beside


def estimated_norms(
    model: Forward, pixels: FloatArray, labels: IntArray, rivals: IntArray, sample_ids: SampleIds, how: FirstOrder
) -> FloatArray:
    r"""Dual norms of the gradients of ``f_y - f_j`` for the rivals j of each image, (n, R), from forward passes.

    .. math:: \|\nabla\|_2 \approx \sqrt{\textstyle\frac1m \sum_i s_i^2}, \qquad
              \|\nabla\|_1 \approx \mathrm{median}_i |s_i|, \qquad
              s_i = \|v_i\|\, \frac{f(x + h u_i) - f(x)}{h}, \quad u_i = v_i / \|v_i\|

    ``pixels`` is (n, ...) in [0, 1], ``rivals`` (n, R). Every step has the same length h, however long the direction
    was drawn. Takes m forward passes an image, and the one at the image itself. A logit that does not move by more than
    rounding does not move. With ``how.decide`` an image takes no more directions once they are certain of its sides.

    With 10,000 directions the relative error is 0.7 % for the L2 norm (5 here) and 1.6 % for the L1 norm (7):

    >>> slope = np.array([3.0, 4.0])
    >>> def logits(pixels):
    ...     return np.stack([pixels @ slope, 0 * pixels[:, 0]], axis=1)
    >>> image, label, rival = np.zeros((1, 2)), np.array([0]), np.array([[1]])
    >>> hows = [FirstOrder(norm=norm, directions=10_000) for norm in Norm]
    >>> [estimated_norms(logits, image, label, rival, ["0"], how).round(1).item() for how in hows]
    [5.0, 6.8]
    """
    return slopes_along(model, pixels, labels, rivals, sample_ids, how, here=model(pixels))[0]


def slopes_along(
    model: Forward,
    pixels: FloatArray,
    labels: IntArray,
    rivals: IntArray,
    sample_ids: SampleIds,
    how: FirstOrder,
    *,
    here: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """The norms of :func:`estimated_norms`, and how many directions each image took, (n,); ``here`` are its logits."""
    found, taken = np.empty(rivals.shape), np.zeros(len(rivals), dtype=np.int64)
    block = LOOK_EVERY if how.decide else how.count
    chunk = max(1, CHUNK_PIXELS // (block * math.prod(pixels.shape[1:])))
    for start in range(0, len(pixels), chunk):
        rows = np.arange(start, min(start + chunk, len(pixels)))
        draws = [generator_of(how.seed, sample_ids[row]) for row in rows.tolist()]
        seen = np.empty((len(rows), how.count, rivals.shape[1]))
        margins = _margins(here[rows], labels[rows], rivals[rows])
        going = np.arange(len(rows))  # places among the rows
        for first in range(0, how.count, block):
            last, at = min(first + block, how.count), rows[going]
            units = [draws[place] for place in going]
            cauchy = how.kind is Norm.LINF
            slopes = slopes_ahead(model, pixels[at], here[at], units, step=how.step, count=last - first, cauchy=cauchy)
            own = np.take_along_axis(slopes, labels[at, None, None], axis=2)
            seen[going, first:last] = own - np.take_along_axis(slopes, rivals[at, None, :], axis=2)
            taken[at] = last
            if how.decide:
                so_far = seen[going, :last]
                going = going[~certain_sides(so_far, margins[going], how.decide, MEDIANS[how.kind])]
                if len(going) == 0:
                    break
        for place, row in enumerate(rows):
            sizes = np.abs(seen[place, : taken[row]])
            found[row] = np.sqrt((sizes**2).mean(axis=0)) if how.kind is Norm.L2 else np.median(sizes, axis=0)
    return found, taken


def _margins(logits: FloatArray, labels: IntArray, rivals: IntArray) -> FloatArray:
    own, others = (np.take_along_axis(logits, classes, axis=1) for classes in (labels[:, None], rivals))
    return np.asarray(own.astype(np.float64) - others)


def unit_directions(how: FirstOrder, sample_id: object, dimensions: int) -> tuple[FloatArray, FloatArray]:
    """Directions (m, dimensions) of length 1, and the lengths (m,) they were drawn with.

    Drawn from the seed and the sample's own id: directions that images share would multiply the error of a share
    of them by four, and with its own ones a sample's radius depends on no other sample.

    >>> units, lengths = unit_directions(FirstOrder(norm="l2", directions=2), "cat.png", 10_000)
    >>> np.linalg.norm(units, axis=1).round(4), lengths.round()
    (array([1., 1.], dtype=float32), array([ 99., 100.]))
    """
    return draw_units(generator_of(how.seed, sample_id), how.count, dimensions, cauchy=how.kind is Norm.LINF)


def is_drawn(sample_id: object, share: float) -> bool:
    """Whether a sample is one of a random ``share`` of all: by its id, and so whatever its class, place or company.

    >>> sum(is_drawn(row, 0.1) for row in range(1000))
    112
    """
    return hash_part(sample_id, slice(8, 16)) < share * 2**64  # other bytes than the directions are drawn from
