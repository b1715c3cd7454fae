"""First-order radii of a model that is two functions: its logits and, perhaps, their gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gfscore.assemble import make_provenance
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores
from gfscore.results import Audit
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, first_order_scores, forward_only_norms, strongest_rivals
from gfscore.scores.midpoints import GivenGradients, given_norms
from gfscore.scores.random_directions import Forward


def audit_first_order(
    logits: Forward,
    pixels: ArrayLike,
    labels: ArrayLike,
    *,
    norm: str,
    eps: float | None = None,
    gradients: GivenGradients | None = None,
    class_names: Sequence[str] | None = None,
    sample_ids: Sequence[object] | None = None,
    name: str = "model",
    options: Options | None = None,
    **settings: Any,
) -> Audit:
    r"""Audit how evenly the first-order radius of one model is spread over its classes.

    ``logits`` is a function from pixels (n, ...) in [0, 1] to logits (n, K), ``pixels`` are the images and ``labels``
    (N,) their classes; all of it is held in memory. ``gradients``, if there is such a function, gives the gradients
    (n, R, D) of :math:`f_y - f_j` with respect to the pixels for images, labels (n,) and rivals j (n, R); without it
    the radii are forward-only estimates. ``settings`` are the other fields of :class:`FirstOrder`, such as ``refine``:
    both functions are also asked about midpoints on the way to the boundary. With ``eps``, ``robust_accuracy`` is the
    share of radii above it.

    >>> weights, images = 4 * np.eye(2), np.array([[0.8, 0.2], [0.6, 0.5], [0.1, 0.9], [0.5, 0.4]])
    >>> found = audit_first_order(lambda x: x @ weights, images, [0, 0, 1, 1], norm="linf", max_radius=1, eps=0.2,
    ...                           gradients=lambda x, y, rivals: weights[y][:, None] - weights[rivals])
    >>> [(entry.name, round(entry.score, 3), entry.robust_accuracy.value) for entry in found.classes]
    [('0', 0.175, 0.5), ('1', 0.2, 0.5)]
    """
    how, images = FirstOrder(norm=norm, eps=eps, **settings), np.asarray(pixels)
    samples = Samples.of(logits(images), labels, class_names=class_names, sample_ids=sample_ids)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    halved = None
    if gradients is not None:
        norms = given_norms(logits, gradients, images, samples, rivals, how)
    else:
        norms, halved = forward_only_norms(logits, images, samples, rivals, how)
    local = first_order_scores(samples, norms, how, gradients=gradients is not None, halved=halved)
    audited = audit_scores(samples, local, options or Options(), name=name)
    return Audit(models=(audited,), provenance=make_provenance())
