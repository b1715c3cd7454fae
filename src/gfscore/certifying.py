"""Audits of true certificates: the same profile, metrics and intervals, over radii that are proven.

Each function here is for arrays in memory; ``gfscore certify`` does the same for files, models and data. What each
certificate is about, and what it is not: :doc:`certificates`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.assembling import make_provenance
from gfscore.auditing import Options, audit_scores
from gfscore.engines.local import measured
from gfscore.errors import ModelError, OptionError
from gfscore.inputs.chains import chain_bound
from gfscore.measures import Run, Votes
from gfscore.measures.steepness import PLACES, measured_slope
from gfscore.measures.votes import Classify, noise_votes
from gfscore.results import Audit
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.scores.given import check_cap, given_scores
from gfscore.scores.lipschitz import check_constant, constant_in_pixels, lipschitz_scores
from gfscore.scores.smoothing import DEFAULT_ALPHA, Noise, largest_radius, smoothing_scores

__all__ = [
    "DEFAULT_ALPHA",
    "LocalScores",
    "Noise",
    "certify_given",
    "certify_lipschitz",
    "certify_smoothing",
    "check_cap",
    "given_scores",
    "largest_radius",
    "lipschitz_scores",
    "pixel_constant",
    "smoothed_scores",
]


def certify_smoothing(
    classify: Classify,
    images: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise | None = None,
    alpha: float = DEFAULT_ALPHA,
    class_names: Sequence[str] | None = None,
    sample_ids: Sequence[object] | NDArray[Any] | None = None,
    options: Options | None = None,
    name: str = "model",
) -> Audit:
    """Audit the certified L2 radii of a classifier that is smoothed by Gaussian noise.

    ``classify`` takes [0, 1] pixels (m, ...) as float32 and gives logits (m, K); ``images`` is (N, ...) in [0, 1].

    >>> rng = np.random.default_rng(0)
    >>> images, labels = rng.random((40, 1, 4, 4)), np.arange(40) % 2
    >>> images[labels == 1] += 1.0
    >>> middle = lambda x: np.stack([1 - x.mean(axis=(1, 2, 3)), x.mean(axis=(1, 2, 3)) - 1], axis=1)
    >>> certify_smoothing(middle, images, labels, noise=Noise(n=200)).wcr.interval[0] > 0.2
    True
    """
    noise = noise or Noise()
    largest_radius(noise, alpha)  # refused before anything is run
    pixels = np.asarray(images, dtype=np.float32)
    samples = Samples.of(classify(pixels), labels, class_names=class_names, sample_ids=sample_ids)
    votes = noise_votes(classify, pixels, samples.sample_ids or tuple(map(str, range(len(pixels)))), noise)
    return _audit(samples, smoothing_scores(samples, votes, noise=noise, alpha=alpha), options, name)


def certify_lipschitz(
    logits: ArrayLike,
    labels: ArrayLike,
    lipschitz: float,
    *,
    cap: float | None = None,
    class_names: Sequence[str] | None = None,
    options: Options | None = None,
    name: str = "model",
) -> Audit:
    """Audit the radii that a proven L2 Lipschitz constant of the logits in [0, 1] pixels gives.

    >>> certify_lipschitz([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], 10.0).wcr.class_
    '1'
    """
    samples = Samples.of(logits, labels, class_names=class_names)
    return _audit(samples, lipschitz_scores(samples, lipschitz, cap=cap), options, name)


def certify_given(
    logits: ArrayLike,
    labels: ArrayLike,
    radii: ArrayLike,
    *,
    norm: str = "l2",
    cap: float | None = None,
    class_names: Sequence[str] | None = None,
    options: Options | None = None,
    name: str = "model",
) -> Audit:
    """Audit radii ``(N,)`` that were proven elsewhere, in [0, 1] pixels.

    >>> certify_given([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], [0.2, 0.1, 0.1, 0.0]).wcr.value
    0.05
    """
    samples = Samples.of(logits, labels, class_names=class_names)
    return _audit(samples, given_scores(samples, radii, norm=norm, cap=cap), options, name)


def smoothed_scores(
    run: Run,
    samples: Samples,
    *,
    noise: Noise,
    alpha: float,
    progress: Callable[[int, int], None],
) -> LocalScores:
    """Radii of the smoothed model of a run, with the votes kept in its store."""
    largest_radius(noise, alpha)  # refused before anything is run
    votes, halved = measured(run, Votes.of(run, noise), progress).rows()
    local = smoothing_scores(samples, votes.astype(np.int64), noise=noise, alpha=alpha)
    return replace(local, halved_batches=halved)


def pixel_constant(run: Run, given: float | None, *, of_inputs: bool) -> tuple[float, str]:
    """A Lipschitz constant in [0, 1] pixels, and where it comes from: given, or the product of spectral norms.

    Refused when the model is seen to be steeper: then it is none, wherever it comes from.
    """
    rows = np.unique(np.linspace(0, run.n_samples - 1, PLACES).astype(np.int64))
    pixels = run.pixels(rows)
    constant, how = given or 0.0, "given"
    if given is None:
        inputs = run.preprocessing.normalise(pixels, run.model.layout)
        constant, how = chain_bound(run.model, inputs), "product of spectral norms"
    elif of_inputs:
        how = "given for inputs"
    if given is None or of_inputs:
        constant, how = constant_in_pixels(constant, run.preprocessing.std), f"{how}, divided by the smallest std"
    _refuse_refuted(check_constant(constant), measured_slope(run.logits_of, pixels), given=given is not None)
    return constant, how


def _refuse_refuted(constant: float, slope: float, *, given: bool) -> None:
    """Refuse a constant below a slope that was measured between two images."""
    if slope <= constant:
        return
    seen = f"two images were found whose logits differ by {slope:.3g} times their distance"
    if given:
        raise OptionError(f"Lipschitz constant {constant:.4g} is none: {seen}. Give a proven upper bound.")
    raise ModelError(
        f"has {constant:.4g} as the product of its spectral norms, but {seen}: one of the two cannot be, so nothing is "
        "certified. Look for what it does beside its layers, or give a proven constant with --lipschitz."
    )


def _audit(samples: Samples, local: LocalScores, options: Options | None, name: str) -> Audit:
    audited = audit_scores(samples, local, options or Options(), name=name)
    return Audit(models=(audited,), provenance=make_provenance())
