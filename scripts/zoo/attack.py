"""Projected gradient ascent in an L2 ball: the inner step of adversarial training, and the attack that measures it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Objective = Callable[[Tensor], Tensor]  # logits (n, K) to one value per image (n,), to be made large

INSIDE = 1 - 1e-6  # project a hair inside the ball, so that rounding to float32 does not leave it


def pgd(network: nn.Module, images: Tensor, objective: Objective, *, radius: float, steps: int) -> Tensor:
    """The images after ``steps`` normalised gradient steps from a random start, in the L2 ball and in [0, 1].

    Normalised gradients make the result independent of the scale of the logits. Madry et al., ICLR 2018.
    """
    step = 2.5 * radius / steps
    direction = torch.randn_like(images)
    length = radius * torch.rand(len(images), 1, 1, 1)
    moved = project(images + length * unit(direction), images, radius)
    for _ in range(steps):
        moved.requires_grad_(True)
        (gradient,) = torch.autograd.grad(objective(network(moved)).sum(), moved)
        moved = project(moved.detach() + step * unit(gradient), images, radius)
    return moved


def project(moved: Tensor, images: Tensor, radius: float) -> Tensor:
    """Nearest point in the ball, then in the box: as the image is in the box, clipping leaves no ball around it."""
    offset = moved - images
    shrink = (INSIDE * radius / norms(offset).clamp_min(1e-12)).clamp_max(1.0)
    return (images + shrink * offset).clamp(0.0, 1.0)


def unit(direction: Tensor) -> Tensor:
    """Each image's direction at length 1; a zero direction stays zero."""
    return direction / norms(direction).clamp_min(1e-30)


def norms(offset: Tensor) -> Tensor:
    """L2 norm of each image, ``(n, 1, 1, 1)``."""
    return offset.flatten(1).norm(dim=1)[:, None, None, None]


def cross_entropy(labels: Tensor) -> Objective:
    """What adversarial training makes large."""
    return lambda logits: nn.functional.cross_entropy(logits, labels, reduction="none")


def wrong_margin(labels: Tensor) -> Objective:
    """Largest other logit minus the true one: positive exactly when the image is misclassified.

    Unlike the cross-entropy it does not saturate when logits are large, so scaled logits cannot hide behind it.
    """
    own = nn.functional.one_hot(labels).bool()

    def margin(logits: Tensor) -> Tensor:
        return logits.masked_fill(own, -torch.inf).amax(dim=1) - logits[own]

    return margin
