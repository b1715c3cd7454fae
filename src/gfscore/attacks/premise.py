r"""Refuting the premise of the GREAT score: how steep the margin of confidences is where it should be flat.

The score is a radius only if the margin is :math:`\sqrt{2/\pi}`-Lipschitz around the sample, that is, if the score
itself never changes by more than the distance moved.
"""

from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.attacks.libraries import tensors
from gfscore.attacks.witnesses import BoolArray, Targets, distance
from gfscore.inputs.models.gradients import rounding_errors
from gfscore.inputs.models.shims import torch_for
from gfscore.inputs.preprocessing import Pixels
from gfscore.scores.great import SCORE_MAX, local_scores
from gfscore.scores.local import Activation

STEP = 0.01  # at most, in [0, 1] pixels; shorter where the radius is, for the premise is about its inside


def violated(targets: Targets, module: Any, *, activation: Activation | str, temperature: float) -> BoolArray:
    r"""Where the premise fails at the sample itself, (n,) bool: the gradient of the margin is longer than allowed.

    .. math:: \|\nabla_x (p_y - \max_{j \ne y} p_j)\|_2 > \sqrt{2/\pi}

    ``module`` is the model as :func:`~gfscore.inputs.models.gradients.differentiable` gives it. Its gradient only
    says in which direction to look: what counts is how much the score of the model itself changes over a short step
    that way, up or down, for a step inside [0, 1] and well inside the radius.

    Near the boundary that step is so short that rounding of float32 logits alone could make up the change. So the
    change must exceed the distance by what rounding can do to it. The margin of softmax or sigmoid confidences moves
    by at most e / T if no logit moves by more than e: its derivatives add up, in absolute value, to
    :math:`s + d - d^2 - ds \le 1 - d^2` for softmax, with s the sum and d the difference of two confidences, and to at
    most 1/2 for sigmoid. How far each logit is off is measured in double precision, at both ends of the step.
    """
    gradients = margin_gradients(targets, module, activation=activation, temperature=temperature)
    flat = gradients.reshape(len(gradients), -1).astype(np.float64)
    lengths = np.linalg.norm(flat, axis=1)
    steps = np.minimum(STEP, targets.radii / 2) / np.where(lengths > 0, lengths, 1)
    shifts = (flat * steps[:, None]).reshape(gradients.shape)
    here, rounded_here = _scores(targets, targets.pixels, module, activation, temperature)
    steep = np.zeros(len(gradients), dtype=bool)
    for moved in (targets.pixels + shifts, targets.pixels - shifts):
        inside = np.clip(moved, 0, 1).astype(np.float32)
        there, rounded_there = _scores(targets, inside, module, activation, temperature)
        steep |= np.abs(there - here) > distance(inside, targets.pixels, "l2") + rounded_here + rounded_there
    return steep


def margin_gradients(targets: Targets, module: Any, *, activation: Activation | str, temperature: float) -> Pixels:
    """Gradient of the margin of confidences at each target, in the shape of its pixels."""
    torch = torch_for("the gradient of a margin", extra="gradients")
    images, labels = tensors(targets, module)
    inputs = images.requires_grad_(requires_grad=True)
    logits = module(inputs) / temperature
    confidences = logits.softmax(dim=1) if activation == Activation.SOFTMAX else logits.sigmoid()
    labels = labels[:, None]
    rivals = confidences.scatter(1, labels, -1.0).amax(dim=1)  # below every confidence: no class is its own rival
    margins = confidences.gather(1, labels)[:, 0] - rivals
    return np.asarray(torch.autograd.grad(margins.sum(), inputs)[0].cpu().numpy())


def _scores(
    targets: Targets, pixels: Pixels, module: Any, activation: Activation | str, temperature: float
) -> tuple[FloatArray, FloatArray]:
    """Scores of the model itself, and how far rounding of its logits may have moved them, (n,) each."""
    logits = targets.classify(pixels)
    scores = local_scores(logits, targets.labels, activation=activation, temperature=temperature)
    return scores, SCORE_MAX * rounding_errors(module, pixels, logits) / temperature
