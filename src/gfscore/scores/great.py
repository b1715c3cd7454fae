"""The GREAT local score: the margin of the true class's confidence, scaled."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from gfscore.arrays import FloatArray, IntArray, Scratch, map_chunks, row_chunks
from gfscore.errors import OptionError
from gfscore.samples import Samples
from gfscore.score_titles import GREAT
from gfscore.scores.sample_scores import Activation, LocalScores

PREMISE = (
    "The GREAT score bounds the distance to the nearest adversarial example only where the margin of confidences is "
    "sqrt(2/pi)-Lipschitz around the sample. Nothing here checks that; and T changes the score, but no decision."
)
SCORE_MAX = math.sqrt(math.pi / 2)

Kernel = Callable[[FloatArray, FloatArray, FloatArray, float, Scratch], FloatArray]


def local_scores(
    logits: ArrayLike,
    labels: ArrayLike,
    *,
    activation: Activation | str = Activation.SOFTMAX,
    temperature: float = 1.0,
    probabilities: bool = False,
) -> FloatArray:
    r"""GREAT local score of each sample for its true class.

    .. math:: g(x) = \sqrt{\pi/2}\,\max\{p_y(x) - \max_{j \ne y} p_j(x),\, 0\},
              \qquad p = \mathrm{softmax}(f/T) \text{ or } \mathrm{sigmoid}(f/T)

    ``logits`` is ``(N, K)``, ``labels`` is ``(N,)`` with the true class; the result is ``(N,)`` float64 in
    :math:`[0, \sqrt{\pi/2}]`. A misclassified sample scores 0, and so does a tie. With ``probabilities`` the rows
    are probabilities already: each is divided by its sum, which rounding may have moved from 1, and a temperature
    other than 1 acts on their logarithm.

    Li, Chen and Ho, "GREAT Score", NeurIPS 2024. It is a margin of confidences, not a certified radius: see
    :doc:`claims`.

    >>> local_scores([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [0, 0]).round(3)
    array([0.853, 0.   ])
    """
    samples = Samples.of(logits, labels, probabilities=probabilities)
    return great_scores(samples, activation=activation, temperature=temperature).values


def great_scores(
    samples: Samples,
    *,
    activation: Activation | str = Activation.SOFTMAX,
    temperature: float = 1.0,
    threads: int | None = None,
) -> LocalScores:
    """GREAT local scores of checked samples, chunk by chunk on all cores (or ``threads``); each row by itself."""
    activation, temperature = check_activation(activation, samples), check_temperature(temperature)
    kernel: Kernel = _softmax_margin if activation is Activation.SOFTMAX else sigmoid_margin
    own, rival, values = (np.empty(samples.n_samples) for _ in range(3))
    predicted, scratch = np.empty(samples.n_samples, dtype=np.int64), Scratch()

    def score(rows: slice) -> None:
        chunk = writable_logits(samples, rows, scratch)
        own[rows], rival[rows], predicted[rows] = own_and_rival(chunk, samples.labels[rows])
        correct = own[rows] > rival[rows]  # the sign of the margin is decided here: it does not depend on T
        margin = np.zeros(len(chunk))
        others = scratch.rows("others", chunk, correct)
        margin[correct] = kernel(others, own[rows][correct], rival[rows][correct], temperature, scratch)
        values[rows] = SCORE_MAX * margin

    for _ in map_chunks(score, list(row_chunks(*samples.logits.shape, shared=True)), threads):
        pass  # each chunk wrote into its own rows
    return LocalScores(
        name=GREAT,
        values=values,
        maximum=SCORE_MAX,
        predicted=predicted,
        premise=PREMISE,
        own_logits=own,
        rival_logits=rival,
        activation=activation,
        temperature=temperature,
    )


def decisions(samples: Samples) -> tuple[FloatArray, FloatArray, IntArray]:
    """Logit of the true class, largest other logit, and prediction of each sample, ``(N,)`` each: without activation.

    >>> own, rival, predicted = decisions(Samples.of([[2.0, 0.5], [0.0, 1.0]], [0, 0]))
    >>> own, rival, predicted
    (array([2., 0.]), array([0.5, 1. ]), array([0, 1]))
    """
    own, rival = np.empty(samples.n_samples), np.empty(samples.n_samples)
    predicted = np.empty(samples.n_samples, dtype=np.int64)
    scratch = Scratch()
    for rows in row_chunks(*samples.logits.shape):
        chunk = writable_logits(samples, rows, scratch)
        own[rows], rival[rows], predicted[rows] = own_and_rival(chunk, samples.labels[rows])
    return own, rival, predicted


def writable_logits(samples: Samples, rows: slice, scratch: Scratch) -> FloatArray:
    """A copy of some rows, in which the true class can be masked; logarithms where the rows are probabilities."""
    chosen = samples.logits[rows]
    wide = np.float64 if samples.probabilities else np.promote_types(chosen.dtype, np.float32)
    chunk = scratch.array("logits", chosen.shape, wide)
    np.copyto(chunk, chosen)
    if samples.probabilities:
        with np.errstate(divide="ignore"):
            np.log(chunk, out=chunk)  # softmax(log p) = p: nothing is applied twice
    return chunk


def own_and_rival(chunk: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Logit of the true class, largest other logit, and prediction; masks the true class in ``chunk``."""
    rows = np.arange(len(labels))
    own = chunk[rows, labels]
    chunk[rows, labels] = -np.inf  # the true class is not its own rival
    rivals = chunk.argmax(axis=1)
    rival = chunk[rows, rivals]
    tied = np.minimum(labels, rivals)  # as argmax has it: the first of equals
    predicted = np.where(own > rival, labels, np.where(own < rival, rivals, tied))
    return own.astype(np.float64), rival.astype(np.float64), predicted


def _softmax_margin(
    others: FloatArray, own: FloatArray, rival: FloatArray, temperature: float, scratch: Scratch
) -> FloatArray:
    r"""Margin of softmax confidences, for rows whose true class leads.

    With :math:`d_j = f_y - f_j > 0` it is :math:`(1 - e^{-d_{\min}/T}) / (1 + \sum_j e^{-d_j/T})`: no exponent is
    positive, so nothing overflows, and no two numbers near 1 are subtracted.
    """
    with np.errstate(over="ignore"):  # huge gaps or a tiny T send an exponent to -inf, which is right
        exponents = scratch.array("exponents", others.shape)
        np.copyto(exponents, others)
        exponents -= own[:, None]  # -inf where masked: its exp is 0
        if temperature != 1:
            exponents /= temperature
        leading = -np.expm1((rival - own) / temperature)
    return np.asarray(leading / (1.0 + np.exp(exponents, out=exponents).sum(axis=1)))


def sigmoid_margin(
    _others: FloatArray, own: FloatArray, rival: FloatArray, temperature: float | FloatArray, _scratch: Scratch
) -> FloatArray:
    r"""Margin of sigmoid confidences, for rows whose true class leads.

    :math:`\sigma(a) - \sigma(b) = \sigma(a)\,\sigma(-b)\,(1 - e^{-(a-b)})` keeps the digits that the plain
    difference loses: in float64 ``sigmoid(50) - sigmoid(40)`` is 0.
    """
    with np.errstate(over="ignore"):
        leading = -np.expm1((rival - own) / temperature)
        return np.asarray(expit(own / temperature) * expit(-rival / temperature) * leading)


def check_activation(activation: Activation | str, samples: Samples | None = None) -> Activation:
    """The activation of that name, if there is one and these samples can be scored with it."""
    try:
        known = Activation(activation)
    except ValueError:
        choices = " or ".join(repr(str(choice)) for choice in Activation)
        raise OptionError(f"activation {activation!r} is not known. Choose {choices}.") from None
    if samples is not None and samples.probabilities and known is Activation.SIGMOID:
        raise OptionError(
            "sigmoid needs logits: the common shift it depends on cannot be told from probabilities. Use softmax."
        )
    return known


def check_temperature(temperature: float) -> float:
    """The temperature, if it is one."""
    if not (math.isfinite(temperature) and temperature > 0):
        raise OptionError(f"temperature {temperature} is not a positive number. 1 leaves the logits as they are.")
    return float(temperature)
