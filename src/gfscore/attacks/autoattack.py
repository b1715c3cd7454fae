"""Which samples an attack of a given size breaks: AutoAttack as RobustBench runs it, or PGD for a quick look."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gfscore.attacks.libraries import foolbox_model, load, seeded, tensors
from gfscore.attacks.witnesses import Targets, Witnesses, verified
from gfscore.errors import ModelError
from gfscore.inputs.protocols import Layout, change_layout

ROUNDING = 1e-6  # of float32 pixels: an attack goes to the very edge of its ball
LEAST_CLASSES = 4  # the targeted loss of AutoAttack compares four logits
TARGETS = 9  # other classes that standard AutoAttack aims at
BATCH = 250  # images attacked together
NORMS = {"l2": "L2", "linf": "Linf"}


def autoattack(
    targets: Targets, module: Any, layout: Layout, *, n_classes: int, seed: int = 0
) -> tuple[Witnesses, tuple[str, ...]]:
    """Standard AutoAttack (APGD-CE, targeted APGD, targeted FAB, Square), and what it noticed on the way.

    The radii of the targets are all the one size of the attack. ``module`` is the model as
    :func:`~gfscore.inputs.models.gradients.differentiable` gives it, ``layout`` that of its pixels; a sample counts as
    broken only if the model itself is wrong about what was found. Croce and Hein, ICML 2020.
    """
    if n_classes < LEAST_CLASSES:
        raise ModelError(
            f"has {n_classes} classes; AutoAttack needs {LEAST_CLASSES}, for its targeted loss. Use --quick (PGD)."
        )
    library = load("pyautoattack")
    images, labels = tensors(targets, module)
    if layout == "NHWC":
        images = images.permute(0, 3, 1, 2).contiguous()
    with seeded(seed), _remarks() as remarks:

        def predict(batch: Any) -> Any:
            return module(batch if layout == "NCHW" else batch.permute(0, 2, 3, 1))

        attack = library.AutoAttack(
            predict, norm=NORMS[targets.norm], eps=float(targets.radii[0]), seed=seed, device=images.device
        )
        attack.apgd_targeted.n_target_classes = attack.fab.n_target_classes = min(TARGETS, n_classes - 1)
        found, _ = attack.run_standard_evaluation(images, labels, batch_size=BATCH)
    return _broken(targets, change_layout(found.cpu().numpy(), "NCHW", layout)), tuple(dict.fromkeys(remarks))


def pgd(targets: Targets, module: Any, *, seed: int = 0) -> Witnesses:
    """Projected gradient descent with foolbox's settings: quick, and kinder. Madry et al., ICLR 2018."""
    attacks = load("foolbox.attacks")
    attack = attacks.LinfPGD() if targets.norm == "linf" else attacks.L2PGD()
    model, eps, found = foolbox_model(module), float(targets.radii[0]), []
    with seeded(seed):
        for images, labels in zip(*(tensor.split(BATCH) for tensor in tensors(targets, module)), strict=True):
            found.append(attack(model, images, labels, epsilons=eps)[1].cpu().numpy())
    return _broken(targets, np.concatenate(found))


def _broken(targets: Targets, found: Any) -> Witnesses:
    """What holds when it is looked at again; the ball is closed here, and pixels are rounded."""
    closed = Targets(
        classify=targets.classify,
        pixels=targets.pixels,
        labels=targets.labels,
        radii=targets.radii + ROUNDING,
        norm=targets.norm,
    )
    return verified(closed, found)


@contextmanager
def _remarks() -> Iterator[list[str]]:
    """What AutoAttack's own checks say inside the block, such as signs of masked gradients, a line each."""
    collected: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            collected.append(" ".join(record.getMessage().split()))

    logger, collector = logging.getLogger("auto-attack"), Collector(level=logging.WARNING)
    logger.addHandler(collector)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield collected
    finally:
        logger.removeHandler(collector)
        logger.propagate = propagate
