r"""How steep the margins to the strongest rivals are: from gradients, or from forward passes alone.

Central differences give the slope of every logit along a direction v at once. Along a Gaussian v the slope of a
function with gradient g is normal with deviation :math:`\|g\|_2`; along a Cauchy v, which is 1-stable, it is Cauchy
with scale :math:`\|g\|_1`, the median of its size (Indyk, "Stable distributions, pseudorandom generators, embeddings,
and data stream computation", J. ACM 53(3), 2006).
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import BoolArray, FloatArray, IntArray, row_chunks
from gfscore.errors import OptionError
from gfscore.samples import Samples

CHUNK_PIXELS = 2**23  # that are moved at a time: all directions of a few images make one call
ROUNDING = 4 * float(np.finfo(np.float32).eps)  # of the largest logit: a difference within it is none
STEP_CHECKS = 64  # samples, about, over the whole set, whose radius is found a second time with half the step

Forward = Callable[[FloatArray], FloatArray]  # [0, 1] pixels (n, ...) to logits (n, K)
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
    refine: int = REFINE  # midpoints that a radius by gradients is found again from; one without is first-order

    def __post_init__(self) -> None:
        if self.rivals < 1 or self.count < 1:
            raise OptionError("rivals and directions are counted from 1. The defaults are 3, and 32 (l2) or 64 (linf).")
        if not 0 < self.step < 1:
            raise OptionError(f"step {self.step} is not between 0 and 1, the range of a pixel. The default is 0.01.")
        if self.seed < 0:
            raise OptionError(f"seed {self.seed} is negative. Give 0 or more.")
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

    def measure(self, *, gradients: bool) -> dict[str, Any]:
        """What decides the gradient norms, apart from model and data: neither eps nor the largest radius."""
        how: dict[str, Any] = {"refine": self.refine} if self.refine else {}
        if not gradients:
            how = {"directions": self.count, "step": self.step, "seed": self.seed}
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
    """Estimated gradient norms (n, R) of some ``rows`` of the samples, by default all, and those with half the step.

    NaN where nothing was estimated: samples that are misclassified, and for half the step all but some 64 of the set,
    which has ``whole`` samples where these are a part of it.
    """
    labels, few = samples.labels[rows], rivals[rows]
    correct = is_leading(samples.logits[rows], labels, few)
    ids = np.asarray(samples.sample_ids or range(samples.n_samples), dtype=object)[rows]
    again = correct & [is_drawn(sample_id, STEP_CHECKS / (whole or samples.n_samples)) for sample_id in ids]
    norms, halved = (np.full(few.shape, np.nan) for _ in range(2))
    for found, some, step in ((norms, correct, how.step), (halved, again, how.step / 2)):
        with_step = replace(how, step=step)
        found[some] = estimated_norms(model, pixels[some], labels[some], few[some], ids[some], with_step)
    return norms, halved


def estimated_norms(
    model: Forward, pixels: FloatArray, labels: IntArray, rivals: IntArray, sample_ids: SampleIds, how: FirstOrder
) -> FloatArray:
    r"""Dual norms of the gradients of ``f_y - f_j`` for the rivals j of each image, (n, R), from forward passes.

    .. math:: \|\nabla\|_2 \approx \sqrt{\textstyle\frac1m \sum_i s_i^2}, \qquad
              \|\nabla\|_1 \approx \mathrm{median}_i |s_i|, \qquad
              s_i = \|v_i\|\, \frac{f(x + h u_i) - f(x - h u_i)}{2h}, \quad u_i = v_i / \|v_i\|

    ``pixels`` is (n, ...) in [0, 1], ``rivals`` (n, R). Every step has the same length h, however long the direction
    was drawn. Takes 2 m forward passes an image. A logit that does not move by more than rounding does not move.

    With 10,000 directions the relative error is 0.7 % for the L2 norm (5 here) and 1.6 % for the L1 norm (7):

    >>> slope = np.array([3.0, 4.0])
    >>> def logits(pixels):
    ...     return np.stack([pixels @ slope, 0 * pixels[:, 0]], axis=1)
    >>> image, label, rival = np.zeros((1, 2)), np.array([0]), np.array([[1]])
    >>> hows = [FirstOrder(norm=norm, directions=10_000) for norm in Norm]
    >>> [estimated_norms(logits, image, label, rival, ["0"], how).round(1).item() for how in hows]
    [5.0, 6.8]
    """
    found = np.empty(rivals.shape)
    chunk = max(1, CHUNK_PIXELS // (2 * how.count * math.prod(pixels.shape[1:])))
    for start in range(0, len(pixels), chunk):
        rows = slice(start, start + chunk)
        slopes = _slopes(model, pixels[rows], sample_ids[rows], how)
        own = np.take_along_axis(slopes, labels[rows, None, None], axis=2)
        sizes = np.abs(own - np.take_along_axis(slopes, rivals[rows, None, :], axis=2))  # (n, m, R)
        found[rows] = np.sqrt((sizes**2).mean(axis=1)) if how.kind is Norm.L2 else np.median(sizes, axis=1)
    return found


def _slopes(model: Forward, pixels: FloatArray, ids: SampleIds, how: FirstOrder) -> FloatArray:
    """Slope of each logit of each image along each of its directions, (n, m, K)."""
    shape, dimensions = pixels.shape, math.prod(pixels.shape[1:])
    moved = np.empty((len(pixels), 2, how.count, dimensions), dtype=np.float32)
    lengths = np.empty((len(pixels), how.count))
    for row, sample_id in enumerate(ids):
        units, lengths[row] = unit_directions(how, sample_id, dimensions)
        units *= how.step
        image = pixels[row].reshape(dimensions)
        np.add(image, units, out=moved[row, 0], casting="same_kind")
        np.subtract(image, units, out=moved[row, 1], casting="same_kind")
    returned = model(moved.reshape(-1, *shape[1:])).astype(np.float64)
    ends = returned.reshape(len(pixels), 2, how.count, -1)
    differences = ends[:, 0] - ends[:, 1]
    differences[np.abs(differences) <= ROUNDING * np.abs(ends).max(axis=(1, 2, 3))[:, None, None]] = 0.0
    return differences * (lengths / (2 * how.step))[..., None]


def unit_directions(how: FirstOrder, sample_id: object, dimensions: int) -> tuple[FloatArray, FloatArray]:
    """Directions (m, dimensions) of length 1, and the lengths (m,) they were drawn with.

    Drawn from the seed and the sample's own id: directions that images share would multiply the error of a share
    of them by four, and with its own ones a sample's radius depends on no other sample.

    >>> units, lengths = unit_directions(FirstOrder(norm="l2", directions=2), "cat.png", 10_000)
    >>> np.linalg.norm(units, axis=1).round(4), lengths.round()
    (array([1., 1.], dtype=float32), array([ 99., 100.]))
    """
    rng = np.random.default_rng([how.seed, _hash_part(sample_id, slice(0, 8))])
    drawn = (rng.standard_normal if how.kind is Norm.L2 else rng.standard_cauchy)((how.count, dimensions))
    lengths = np.linalg.norm(drawn, axis=1)
    return (drawn / lengths[:, None]).astype(np.float32), lengths


def is_drawn(sample_id: object, share: float) -> bool:
    """Whether a sample is one of a random ``share`` of all: by its id, and so whatever its class, place or company.

    >>> sum(is_drawn(row, 0.1) for row in range(1000))
    112
    """
    return _hash_part(sample_id, slice(8, 16)) < share * 2**64  # other bytes than the directions are drawn from


def _hash_part(sample_id: object, part: slice) -> int:
    """Some bytes of the hash of an id, as a number."""
    return int.from_bytes(hashlib.sha256(str(sample_id).encode()).digest()[part], "little")
