"""The first-order radius: how far to the decision boundary, were the logits as steep all the way as they are here."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gfscore.arrays import FloatArray, IntArray, row_chunks
from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores.directions import Logits, Norm, estimated_norms, is_drawn, relative_error
from gfscore.scores.first_order_flags import Missing, capped_flag, fallback_flag, step_flag
from gfscore.scores.local import LocalScores

PREMISE = (
    "The first-order radius is an estimate: the distance at which a rival would win if the logits went on as steeply "
    "as they do at the sample. It bounds nothing, and a network that hides its gradients (masking) fools it."
)
DIRECTIONS = {Norm.L2: 32, Norm.LINF: 64}  # relative standard error of a radius: 12.5 and 19.6 %
MAX_RADIUS = {Norm.L2: 2.0, Norm.LINF: 32 / 255}  # four times the radius that RobustBench attacks CIFAR-10 with
STEP_CHECKS = 64  # samples, about, over the whole set, whose radius is found a second time with half the step


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOrder:
    """How a first-order radius is found; checked when made."""

    norm: Norm | str | None = None  # must be given: a radius without a norm means nothing
    eps: float | None = None  # the share of radii above it estimates robust accuracy at it
    rivals: int = 3  # the classes with the largest other logits, which the minimum is taken over
    max_radius: float | None = None  # larger radii count as this; None: MAX_RADIUS of the norm
    directions: int | None = None  # of the forward-only estimate; None: DIRECTIONS of the norm
    step: float = 0.01  # of the same: L2 length of a step in [0, 1] pixel units
    seed: int = 0  # of the directions

    def __post_init__(self) -> None:
        if self.rivals < 1 or self.count < 1:
            raise OptionError("rivals and directions are counted from 1. The defaults are 3, and 32 (l2) or 64 (linf).")
        if not 0 < self.step < 1:
            raise OptionError(f"step {self.step} is not between 0 and 1, the range of a pixel. The default is 0.01.")
        if self.seed < 0:
            raise OptionError(f"seed {self.seed} is negative. Give 0 or more.")
        if not 0 < self.largest < math.inf:
            raise OptionError(f"max_radius {self.largest} is not a positive number. Radii are in [0, 1] pixels.")
        if self.eps is not None and not 0 <= self.eps < self.largest:
            raise OptionError(
                f"eps {self.eps:g} is not between 0 and the largest radius, {self.largest:g}. "
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
        """The largest radius, as given or by the norm."""
        return MAX_RADIUS[self.kind] if self.max_radius is None else self.max_radius

    def measure(self, *, gradients: bool) -> dict[str, Any]:
        """What decides the gradient norms, apart from model and data: neither eps nor the largest radius."""
        how = {} if gradients else {"directions": self.count, "step": self.step, "seed": self.seed}
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


def gradient_norms(gradients: FloatArray, norm: Norm) -> FloatArray:
    """Dual norm of gradients (..., D): L2 for L2, L1 for Linf, in float64.

    >>> [float(gradient_norms(np.array([3.0, -4.0]), norm)) for norm in Norm]
    [5.0, 7.0]
    """
    wide = np.asarray(gradients, dtype=np.float64)
    return np.asarray(np.linalg.norm(wide, axis=-1) if norm is Norm.L2 else np.abs(wide).sum(axis=-1))


def first_order_radii(margins: FloatArray, norms: FloatArray) -> FloatArray:
    r"""First-order radius of each sample, (n,): 0 where a rival leads, NaN where a slope is 0 or not a finite number.

    .. math:: r(x) = \min_j \frac{f_y(x) - f_j(x)}{\|\nabla_x (f_y - f_j)\|_q}, \qquad
              q = 2 \text{ for } L_2,\; q = 1 \text{ for } L_\infty

    ``margins`` and ``norms`` are (n, R), over the strongest rivals j. Exact for a linear classifier with no more
    rivals than that. Without a slope the ratio says nothing about where the boundary is: there is no radius then.

    >>> first_order_radii(np.array([[1.0, 2.0], [-1.0, 3.0], [1.0, 1.0]]), np.array([[4.0, 2.0], [1, 1], [1, 0]]))
    array([0.25, 0.  ,  nan])
    """
    usable = np.isfinite(norms) & (norms > 0)
    with np.errstate(over="ignore"):
        ratios = np.divide(margins, norms, out=np.full(margins.shape, np.nan), where=usable)
    return np.asarray(np.where((margins > 0).all(axis=1), ratios.min(axis=1), 0.0))


def is_leading(logits: FloatArray, labels: IntArray, rivals: IntArray) -> NDArray[np.bool_]:
    """Whether the true class leads the strongest rival, (n,): elsewhere the radius is 0, whatever the gradient."""
    own, rival = (np.take_along_axis(logits, classes[:, None], axis=1)[:, 0] for classes in (labels, rivals[:, 0]))
    return np.asarray(own > rival)


def forward_only_norms(
    model: Logits, pixels: FloatArray, samples: Samples, rivals: IntArray, how: FirstOrder, *, first: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Estimated gradient norms (n, R) of the n samples from row ``first`` on, and those with half the step.

    NaN where nothing was estimated: samples that are misclassified, and for half the step all but some 64 of the set.
    """
    rows = slice(first, first + len(pixels))
    labels, few = samples.labels[rows], rivals[rows]
    correct = is_leading(samples.logits[rows], labels, few)
    ids = np.asarray(samples.sample_ids or range(samples.n_samples), dtype=object)[rows]
    again = correct & [is_drawn(sample_id, STEP_CHECKS / samples.n_samples) for sample_id in ids]
    norms, halved = (np.full(few.shape, np.nan) for _ in range(2))
    for found, chosen, step in ((norms, correct, how.step), (halved, again, how.step / 2)):
        found[chosen] = estimated_norms(
            model,
            pixels[chosen],
            labels[chosen],
            few[chosen],
            ids[chosen],
            norm=how.kind,
            directions=how.count,
            step=step,
            seed=how.seed,
        )
    return norms, halved


def first_order_scores(
    samples: Samples,
    norms: FloatArray,
    how: FirstOrder,
    *,
    gradients: bool,
    halved: FloatArray | None = None,
    fallback: str | None = None,
) -> LocalScores:
    """Radii, at most ``how.max_radius``, of checked samples from the norms (N, R) of their margins' gradients.

    ``gradients`` says whether the norms are those of gradients or forward-only estimates; ``halved`` (N, R) are
    estimates with half the step, NaN where none was made; rows of misclassified samples are never read.
    ``fallback`` says why there are no gradients although they were asked for. A correct sample whose slopes say
    nothing counts as radius 0, with a flag; many of them raise :class:`~gfscore.errors.ModelError`.
    """
    if samples.probabilities:
        raise OptionError("the first-order radius is a ratio of logits. Give a model that returns logits.")
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    own, others = (
        np.take_along_axis(samples.logits, classes, axis=1).astype(np.float64)
        for classes in (samples.labels[:, None], rivals)
    )
    margins = own - others  # the strongest rival comes first
    correct = margins[:, 0] > 0
    missing = Missing.of(correct, samples.logits, norms, how.largest)
    radii = np.where(missing.rows, np.nan, first_order_radii(margins, norms))
    values = np.where(missing.rows, 0.0, np.minimum(radii, how.largest))
    tried = np.zeros_like(correct) if halved is None else correct & np.isfinite(halved).all(axis=1)
    again = None if halved is None else first_order_radii(margins[tried], halved[tried])
    found = (
        fallback_flag(fallback),
        *missing.flags(),
        capped_flag(values >= how.largest, how.largest),
        None if again is None else step_flag(radii[tried], again, how.step),
    )
    errors, settings = None, how.measure(gradients=gradients)
    if not gradients:
        errors = values * relative_error(how.kind, how.count)
        settings["forward_passes"] = samples.n_samples + 2 * how.count * int(correct.sum() + tried.sum())
        settings |= _errors(values, how)
    tied = np.where(margins[:, 0] == 0, np.minimum(samples.labels, rivals[:, 0]), rivals[:, 0])  # as argmax has it
    return LocalScores(
        name=FIRST_ORDER,
        values=values,
        errors=errors,
        maximum=how.largest,
        predicted=np.where(correct, samples.labels, tied),
        premise=PREMISE,
        own_logits=own[:, 0],
        rival_logits=others[:, 0],
        norm=str(how.kind),
        eps=how.eps,
        settings=settings,
        flags=tuple(flag for flag in found if flag is not None),
    )


def share_error(radii: FloatArray, eps: float, relative: float) -> float:
    r"""Standard error of the share of radii above ``eps`` that the random directions cause.

    Each estimate is log-normal, about, with deviation ``relative``; so a sample is counted with a probability
    :math:`p_i = \Phi(\ln(r_i / \epsilon) / s)`, and the share has the deviation
    :math:`\sqrt{\sum_i p_i (1 - p_i)} / N`.

    >>> round(share_error(np.array([0.1, 0.2, 5.0]), 0.1, 0.2), 3)
    0.167
    """
    if eps == 0:
        return 0.0
    with np.errstate(divide="ignore"):
        counted = ndtr(np.log(radii / eps) / relative)
    return float(np.sqrt((counted * (1 - counted)).sum()) / len(radii))


def _errors(values: FloatArray, how: FirstOrder) -> dict[str, float]:
    """Standard errors that the random directions cause: of a radius, of the mean and of the share above eps."""
    relative = relative_error(how.kind, how.count)
    found = {"relative_error": relative, "mean_error": float(np.linalg.norm(relative * values) / len(values))}
    return found if how.eps is None else found | {"share_error": share_error(values, how.eps, relative)}
