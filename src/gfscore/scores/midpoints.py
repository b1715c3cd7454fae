r"""Radii from slopes half-way to the boundary: what a network that is not linear makes of the way there.

The first-order radius takes the slope at the sample for the slope all the way. Half-way to the boundary that it
predicts the slope is nearer to the mean of the way, and the steepest direction is another: so the radius is found again
from there, and again (the midpoint rule, for a path that turns), in a direction that keeps what the last two agree on.
"""

import math
from collections.abc import Callable

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.samples import Samples
from gfscore.scores.margin_slopes import FirstOrder, Norm, gradient_norms, strongest_rivals
from gfscore.scores.random_directions import Forward

MIDPOINT_RIVALS = 1  # the strongest at the midpoint: with three the errors were the same (docs/scores.md)

GivenGradients = Callable[[FloatArray, IntArray, IntArray], FloatArray]  # of images, labels and rivals: (n, R, D)
Look = Callable[[FloatArray], tuple[FloatArray, FloatArray]]  # pixels (n, ...) to margins (n, R), gradients (n, R, D)


def midpoint_radii(
    look: Look, pixels: FloatArray, margins: FloatArray, gradients: FloatArray, norm: Norm, steps: int
) -> FloatArray:
    r"""Refined radius of each sample, (n,): the smallest of those that ``steps`` midpoints in turn lead to.

    From a radius r and a direction s, at first the first-order radius at the sample x and the way of its steepest
    descent (the sign of the gradient for Linf, the unit gradient for L2):

    .. math:: x_m = \mathrm{clip}(x - \tfrac r2 s, 0, 1), \qquad
              r \leftarrow \begin{cases} \tfrac r2 + q(x_m) & m(x_m) > 0 \\
              \tfrac r2 \, \frac{m(x)}{m(x) - m(x_m)} & \text{otherwise} \end{cases}

    where m is the smallest margin and q the first-order radius there. The direction there is joined to s: for Linf s
    becomes clip(s + sign, -1, 1), so that a pixel on which two looks disagree is left where it is for one step, for L2
    the unit vector along the sum. ``pixels`` (n, ...) in [0, 1] are classified correctly, ``margins`` (n, R) and
    ``gradients`` (n, R, D) are theirs, and ``look`` gives both for any other pixels, with the rivals that are strongest
    there. A midpoint without a slope changes nothing. Exact for a linear classifier of two classes, as far as the way
    there stays in [0, 1].

    The margin 1 - x^2 at x = 0.5 is 3/4, and its slope 1: the first-order radius is 0.75, the boundary is 0.5 away.

    >>> def look(pixels):
    ...     return 1 - pixels**2, -2 * pixels[..., None]
    >>> image = np.array([[0.5]])
    >>> [midpoint_radii(look, image, *look(image), Norm.L2, steps).round(3).item() for steps in (0, 1, 2, 4)]
    [0.75, 0.509, 0.509, 0.509]
    """
    return midpoint_ends(look, pixels, margins, gradients, norm, steps)[0]


def midpoint_ends(
    look: Look, pixels: FloatArray, margins: FloatArray, gradients: FloatArray, norm: Norm, steps: int
) -> tuple[FloatArray, FloatArray]:
    """The radii of :func:`midpoint_radii`, and where the way of each would meet the boundary, (n, D): not clipped."""
    flat = pixels.reshape(len(pixels), -1).astype(np.float64)
    widest = 1.0 if norm is Norm.LINF else math.sqrt(flat.shape[1])  # no two images are further apart
    here = margins.min(axis=1)
    radii, directions = _nearest(margins, gradients, norm)
    usable, found, ends = (
        np.isfinite(radii) & (radii > 0),
        radii.copy(),
        flat - np.nan_to_num(radii)[:, None] * directions,
    )
    for step in range(steps):
        half = np.where(usable, np.minimum(radii, widest) / 2, 0.0)
        moved = np.clip(flat - half[:, None] * directions, 0, 1)
        margins, gradients = look(moved.astype(pixels.dtype).reshape(pixels.shape))
        there = margins.min(axis=1)
        rest, turned = _nearest(margins, gradients, norm)
        with np.errstate(divide="ignore", invalid="ignore"):
            again = np.where(there > 0, half + rest, half * here / (here - there))
            met = np.where((there > 0)[:, None], moved - rest[:, None] * turned, flat - again[:, None] * directions)
        told = usable & np.isfinite(again)
        nearer = told & ((again < found) | (step == 0))
        found, ends = np.where(nearer, again, found), np.where(nearer[:, None], met, ends)
        radii = np.where(told, again, radii)
        directions = np.where(told[:, None], _joined(directions, turned, norm), directions)
    return found, ends


def refined_norms(
    look: Look, pixels: FloatArray, margins: FloatArray, gradients: FloatArray, how: FirstOrder
) -> FloatArray:
    """Norms (n, R) of gradients, each sample's multiplied so that its radius is the midpoint radius.

    They are what the slopes would have to be at the sample for the first-order radius to be as small: their mean along
    the way, about. A sample without a radius, or that is misclassified, keeps the norms of its gradients.
    """
    norms = gradient_norms(gradients, how.kind)
    if how.refine == 0:
        return norms
    usable = ((margins > 0) & (norms > 0) & np.isfinite(norms)).all(axis=1)
    if not usable.any():
        return norms
    first, _ = _nearest(margins, gradients, how.kind)
    refined = midpoint_radii(look, pixels, margins, gradients, how.kind, how.refine)
    factors = np.divide(first, refined, out=np.ones(len(first)), where=usable & (refined > 0))
    return np.asarray(norms * factors[:, None])


def margins_to(logits: FloatArray, labels: IntArray, rivals: IntArray) -> FloatArray:
    """Margins of the true class to some rivals, (n, R), in float64.

    >>> margins_to(np.array([[3.0, 1.0, 2.0]]), np.array([0]), np.array([[2, 1]]))
    array([[1., 2.]])
    """
    own, others = (
        np.take_along_axis(logits, classes, axis=1).astype(np.float64) for classes in (labels[:, None], rivals)
    )
    return np.asarray(own - others)


def given_norms(
    logits: Forward, gradients: GivenGradients, images: FloatArray, samples: Samples, rivals: IntArray, how: FirstOrder
) -> FloatArray:
    """Norms of the gradients that a function gives, refined at midpoints."""
    labels = samples.labels

    def look(moved: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = logits(moved)
        chosen = strongest_rivals(found, labels, MIDPOINT_RIVALS)
        return margins_to(found, labels, chosen), gradients(moved, labels, chosen)

    return refined_norms(
        look, images, margins_to(samples.logits, labels, rivals), gradients(images, labels, rivals), how
    )


def _joined(before: FloatArray, now: FloatArray, norm: Norm) -> FloatArray:
    """Two directions as one, (n, D): what both want in full, where they differ neither."""
    both = before + now
    if norm is Norm.LINF:
        return np.clip(both, -1, 1)
    lengths = np.linalg.norm(both, axis=1, keepdims=True)
    return np.asarray(np.divide(both, lengths, out=now.copy(), where=lengths > 0))


def _nearest(margins: FloatArray, gradients: FloatArray, norm: Norm) -> tuple[FloatArray, FloatArray]:
    """First-order radius (n,), NaN without a slope, and the direction (n, D) in which the margin behind it falls."""
    norms = gradient_norms(gradients, norm)
    sloped = np.isfinite(norms) & (norms > 0)
    ratios = np.divide(margins, norms, out=np.full(norms.shape, np.inf), where=sloped)
    rows, nearest = np.arange(len(ratios)), ratios.argmin(axis=1)
    steepest = gradients[rows, nearest].astype(np.float64)
    if norm is Norm.L2:
        directions = steepest / np.where(sloped[rows, nearest], norms[rows, nearest], 1.0)[:, None]
    else:
        directions = np.sign(steepest)
    radii = np.where(sloped.all(axis=1), ratios[rows, nearest], np.nan)
    return radii, np.nan_to_num(directions, posinf=0.0, neginf=0.0)
