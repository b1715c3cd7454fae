"""The first-order radius: how far to the decision boundary, were the logits as steep all the way as they are here."""

import numpy as np
from scipy.special import ndtr

from gfscore.arrays import BoolArray, FloatArray
from gfscore.errors import ModelError, OptionError
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores.margin_slopes import FirstOrder, strongest_rivals
from gfscore.scores.random_directions import ROUNDING
from gfscore.scores.sample_scores import LocalScores, RadiusNotes

PREMISE = (
    "The first-order radius is an estimate: the distance at which a rival would win if the logits went on as steeply "
    "as they do at the sample, or half-way there where it is refined. It bounds nothing, and a network that hides "
    "its gradients (masking) fools it."
)
RESOLUTION = float(np.finfo(np.float32).eps) / 2  # 6e-8, between neighbouring float32 numbers in [1/2, 1)
MISSING_SHARE = 0.01  # of the correct samples without a radius: then no share is lowered by more than a point
STEP_CHANGE = 0.1  # median relative change of radii by half the step, above which the step is flagged
AT_MAXIMUM_SHARE = 0.05  # of the radii at the maximum, above which the mean radius says too little


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


def first_order_scores(
    samples: Samples,
    norms: FloatArray,
    how: FirstOrder,
    *,
    gradients: bool,
    halved: FloatArray | None = None,
    fallback: str | None = None,
    piece: bool = False,
) -> LocalScores:
    """Radii, at most ``how.max_radius``, of checked samples from the norms (N, R) of their margins' gradients.

    ``gradients`` says whether the norms are those of gradients or forward-only estimates; ``halved`` (N, R) are
    estimates with half the step, NaN where none was made, perhaps with the number of directions that each sample took
    in one more column; rows of misclassified samples are never read.
    ``fallback`` says why there are no gradients although they were asked for. A correct sample whose slopes say
    nothing counts as radius 0, with a flag; many of them raise :class:`~gfscore.errors.ModelError`. A ``piece`` of a
    set is not judged so: it has notes, from which :func:`radius_flags` says the same of all pieces together.
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
    flat, steep = _without_radius(correct, samples.logits, norms, how.largest)
    radii = np.where(flat | steep, np.nan, first_order_radii(margins, norms))
    values = np.where(flat | steep, 0.0, np.minimum(radii, how.largest))
    tried, taken = np.zeros_like(correct), np.where(correct, float(how.count), 0.0)
    changes: FloatArray = np.zeros(0)
    if halved is not None:
        halved, column = halved[:, : margins.shape[1]], halved[:, margins.shape[1] :]
        taken = np.where(correct, column[:, 0], 0.0) if column.size else taken
        tried = correct & np.isfinite(halved).all(axis=1)
        changes = _step_changes(radii[tried], first_order_radii(margins[tried], halved[tried]))
    capped = int((values >= how.largest).sum())
    notes = RadiusNotes(int(correct.sum()), int(flat.sum()), int(steep.sum()), capped, changes)
    flags = () if piece else radius_flags(notes, samples.n_samples, how, fallback=fallback)
    errors, settings = None, how.measure(gradients=gradients)
    if not gradients:
        relative = how.relative_error * np.sqrt(how.count / np.maximum(taken, 1))
        errors = values * relative
        settings["forward_passes"] = samples.n_samples + int(taken.sum()) + how.count * int(tried.sum())
        if how.decide:
            settings["passes_saved"] = how.count * int(correct.sum()) - int(taken.sum())
        settings |= _standard_errors(values, relative, how)
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
        sides=how.decide if not gradients else (),
        flags=flags,
        notes=notes,
    )


def radius_flags(notes: RadiusNotes, n: int, how: FirstOrder, *, fallback: str | None = None) -> tuple[Flag, ...]:
    """The flags about first-order radii of ``n`` samples; an error when many of them have none."""
    missing = _missing_flags(notes.correct, notes.flat, notes.steep)
    why = f"{fallback} The radii are forward-only estimates, with the standard errors stated."
    without = [] if fallback is None else [Flag(code="no_gradients", message=why)]
    capped = _capped_flags(notes.capped / max(n, 1), how.largest)
    return (*without, *missing, *capped, *_step_flags(notes.changes, how.step))


def _standard_errors(values: FloatArray, relative: FloatArray, how: FirstOrder) -> dict[str, float]:
    r"""Standard errors that the random directions cause: of a radius, of the mean and of the share above eps.

    Each estimate is log-normal, about, with deviation s, the relative error; so a sample is counted with a probability
    :math:`p_i = \Phi(\ln(r_i / \epsilon) / s)`, and the share has the deviation
    :math:`\sqrt{\sum_i p_i (1 - p_i)} / N`.
    """
    n = len(values)
    found = {"relative_error": how.relative_error, "mean_error": float(np.linalg.norm(relative * values) / n)}
    if how.eps is not None:
        with np.errstate(divide="ignore"):
            counted = ndtr(np.log(values / how.eps) / relative) if how.eps else np.ones(n)
        found["share_error"] = float(np.sqrt((counted * (1 - counted)).sum()) / n)
    return found


def _without_radius(
    correct: BoolArray, logits: FloatArray, norms: FloatArray, largest: float
) -> tuple[BoolArray, BoolArray]:
    r"""Which correct samples have no slope towards some rival, and which of the others one beyond float32; (N,) each.

    A slope is lost when it changes no logit by more than rounding within the ``largest`` radius R that counts, and
    too steep when the smallest move of a bright pixel makes up for the whole spread of the logits:

    .. math:: R\,\|\nabla\| \le \mathrm{ROUNDING}\,\max_k |f_k|, \qquad
              \mathrm{RESOLUTION}\,\|\nabla\| > \max_k f_k - \min_k f_k

    Neither is a fact about the model, but one about its arithmetic.
    """
    high, low = (ends[:, None].astype(np.float64) for ends in (logits.max(axis=1), logits.min(axis=1)))
    lost = largest * norms <= ROUNDING * np.maximum(np.abs(high), np.abs(low))
    resolved = np.isfinite(norms) & (RESOLUTION * norms <= high - low)
    flat = correct & lost.any(axis=1)
    return flat, correct & ~flat & ~resolved.all(axis=1)


def _missing_flags(n_correct: int, n_flat: int, n_steep: int) -> list[Flag]:
    """How many count as 0 for want of a radius; an error when they are more than one, and more than 1 %."""
    if n_flat + n_steep > max(1, MISSING_SHARE * n_correct):
        raise ModelError(
            f"{n_flat + n_steep:,} of {n_correct:,} correct samples have no first-order radius: {n_flat:,} "
            f"have no slope towards a rival, {n_steep:,} one that is infinite or beyond float32. "
            "That is how masked gradients look: attack the model (gfscore check), or certify it (gfscore certify)."
        )
    kinds = (
        ("zero_gradient", n_flat, "no slope towards a rival"),
        ("broken_gradient", n_steep, "a slope that is infinite, not a number, or beyond what float32 resolves"),
    )
    message = "{:,} of {:,} correct samples have {}, and so no radius. They count as radius 0, which lowers the score."
    return [Flag(code=code, message=message.format(n, n_correct, why)) for code, n, why in kinds if n]


def _capped_flags(share: float, maximum: float) -> list[Flag]:
    """Whether too many radii are at the maximum."""
    if share <= AT_MAXIMUM_SHARE:
        return []
    message = (
        f"{100 * share:.2g} % of the samples have a radius of at least {maximum:.4g} and count as that: "
        "the mean radius says little about them. Raise --max-radius."
    )
    return [Flag(code="capped_radii", message=message)]


def _step_changes(radii: FloatArray, again: FloatArray) -> FloatArray:
    """How far half the step moves radii, relatively; NaN is no radius, which differs from any that is one."""
    return np.nan_to_num(np.abs(again / radii - 1)[~(np.isnan(radii) & np.isnan(again))], nan=np.inf)


def _step_flags(apart: FloatArray, step: float) -> list[Flag]:
    """Whether half the step finds other radii."""
    change = float(np.median(apart)) if len(apart) else 0.0
    if change <= STEP_CHANGE:
        return []
    by = f"by {100 * change:.0f} %" if change < 1 else "to twice as much or more"
    message = (
        f"with half the step, {step / 2:g}, the radii of {len(apart)} samples change {by} (median): the model is too "
        "rough, or too coarsely rounded, for its slopes to be measured so. Try another --step."
    )
    return [Flag(code="step_matters", message=message)]
