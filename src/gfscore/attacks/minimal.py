"""Refuting a radius by attacks that look for the nearest adversarial example: foolbox's, and FAB of pyautoattack."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.attacks.libraries import foolbox_model, load, seeded, tensors
from gfscore.attacks.witnesses import Targets, Witnesses, verified
from gfscore.inputs.preprocessing import Pixels

OVERSHOOT = 1.01  # such attacks stop on the boundary, where two runtimes may disagree: go one per cent further
FAB_STEPS = 50
CW_STEPS, CW_SEARCHES = 200, 5  # of the optimiser, and of the search for its constant

Attack = Callable[[Any, Any], Any]  # adversarial images for images and labels, all torch tensors


def attack(targets: Targets, module: Any, *, seed: int = 0) -> Witnesses:
    """Witnesses from minimal-norm attacks, the quick ones first; a later one only sees what still stands.

    In L2: DeepFool, DDN, FAB and C&W; in Linf: DeepFool and FAB. ``module`` is the model as
    :func:`~gfscore.inputs.models.gradients.differentiable` gives it; what an attack finds on it counts only if the
    model itself agrees.

    Moosavi-Dezfooli et al., "DeepFool", CVPR 2016; Rony et al., "Decoupling direction and norm", CVPR 2019; Croce and
    Hein, "Fast adaptive boundary attack", ICML 2020; Carlini and Wagner, S&P 2017.
    """
    witnesses = Witnesses.none(targets)
    for found_by in _attacks(module, targets, seed):
        standing = np.flatnonzero(~witnesses.found)
        if len(standing) == 0:
            break
        some = targets.only(standing)
        with seeded(seed):
            adversarial = found_by(*tensors(some, module)).detach().cpu().numpy()
        witnesses = witnesses.updated(standing, verified(some, _further(some.pixels, adversarial)))
    return witnesses


def _attacks(module: Any, targets: Targets, seed: int) -> Iterator[Attack]:
    """The attacks for the norm of the radii, each made when its turn comes."""
    attacks = load("foolbox.attacks")
    model = foolbox_model(module)

    def of_foolbox(made: Any) -> Attack:
        # with no epsilon they minimise: the second of three results is what they found, clipped to [0, 1]
        return lambda images, labels: made(model, images, labels, epsilons=None)[1]

    largest = float(targets.radii.max())
    if targets.norm == "linf":
        yield of_foolbox(attacks.LinfDeepFoolAttack())
        yield _fab(module, "Linf", largest, seed)
        return
    yield of_foolbox(attacks.L2DeepFoolAttack())
    yield of_foolbox(attacks.DDNAttack())
    yield _fab(module, "L2", largest, seed)
    yield of_foolbox(attacks.L2CarliniWagnerAttack(binary_search_steps=CW_SEARCHES, steps=CW_STEPS, stepsize=0.01))


def _fab(module: Any, norm: str, radius: float, seed: int) -> Attack:
    """FAB drops what it finds beyond ``eps``, 1 in L2 unless told: it must reach as far as the largest radius."""
    fab = load("pyautoattack.fab_pt").FABAttack_PT(
        module, norm=norm, n_iter=FAB_STEPS, eps=OVERSHOOT * radius, seed=seed, device=module.scale.device
    )
    return lambda images, labels: fab.perturb(images, labels)


def _further(pixels: Pixels, adversarial: Pixels) -> FloatArray:
    """Slightly beyond what was found, seen from the image."""
    return np.clip(pixels + OVERSHOOT * (adversarial - pixels), 0, 1)
