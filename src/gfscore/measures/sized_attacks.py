"""Attacks of a given size: AutoAttack and a quick one, by pyautoattack, and the torch side that attacks share.

Each takes the model as ``module``, as :func:`~gfscore.inputs.models.gradients.differentiable` gives it; what an attack
finds counts only if the model itself agrees (:func:`~gfscore.measures.targets.verify`).
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gfscore.errors import ModelError, require
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.protocols import Layout, change_layout
from gfscore.measures.targets import Targets, Witnesses, verify

EXTRA, PURPOSE = "attacks", "an attack"
PIXEL_ROUNDING = 1e-6  # of float32 pixels: an attack goes to the very edge of its ball
STANDARD = ("apgd-ce", "apgd-t", "fab-t", "square")  # the attacks of standard AutoAttack, one after the other
LEAST_CLASSES = 4  # the targeted loss of AutoAttack compares four logits
TARGET_CLASSES = 9  # other classes that standard AutoAttack aims at
ATTACK_BATCH = 250  # images attacked together
QUICK = (("dlr", 10), ("ce", 10))  # losses of the quick attack, one after the other, and the steps on each
LOG = logging.getLogger("auto-attack")  # of the library


def load_library(module: str) -> Any:
    """A module of foolbox or pyautoattack, imported in the one way that works."""
    torch_for(PURPOSE, extra=EXTRA)
    with no_deprecations():
        return require(module, extra=EXTRA, purpose=PURPOSE)


def autoattack(
    targets: Targets,
    module: Any,
    layout: Layout,
    *,
    n_classes: int,
    seed: int = 0,
    parts: Sequence[str] = STANDARD,
    share: int = 1,
) -> tuple[Witnesses, tuple[str, ...]]:
    """Standard AutoAttack (APGD-CE, targeted APGD, targeted FAB, Square), and what it noticed on the way.

    With ``parts`` only some of the four. The radii of the targets are all the one size of the attack, as RobustBench
    runs it; ``layout`` is that of the pixels. With ``share`` only one of so many steps of each is done: a trial, to see
    how long all would take. Croce and Hein, ICML 2020.
    """
    if n_classes < LEAST_CLASSES:
        raise ModelError(
            f"has {n_classes} classes; AutoAttack needs {LEAST_CLASSES}, for its targeted loss. Use --quick."
        )
    library = load_library("pyautoattack")
    images, labels = as_tensors(targets, module)
    if layout == "NHWC":
        images = images.permute(0, 3, 1, 2).contiguous()

    def predict(batch: Any) -> Any:
        return module(batch if layout == "NCHW" else batch.permute(0, 2, 3, 1))

    norm, eps = {"l2": "L2", "linf": "Linf"}[targets.norm], float(targets.radii[0])
    with torch_seed(seed), _remarks() as remarks:
        attack = library.AutoAttack(predict, norm=norm, eps=eps, seed=seed, device=images.device)
        attack.attacks_to_run = list(parts)
        attack.apgd_targeted.n_target_classes = attack.fab.n_target_classes = min(TARGET_CLASSES, n_classes - 1)
        if share > 1:
            attack.square.n_queries //= share
            for each in (attack.apgd, attack.apgd_targeted, attack.fab):
                each.n_iter //= share
        found, _ = attack.run_standard_evaluation(images, labels, batch_size=ATTACK_BATCH)
    return _verify_at_edge(targets, change_layout(found.cpu().numpy(), "NCHW", layout)), tuple(dict.fromkeys(remarks))


def quick_attack(targets: Targets, module: Any, *, seed: int = 0) -> Witnesses:
    """Auto-PGD for ten steps on the DLR loss, then for ten on the cross-entropy, on what the first left.

    Nearly all that AutoAttack finds is found (docs/refuters.md). The DLR loss, a difference of logits over another one,
    does not vanish where confidences are saturated. It takes three logits; of two classes the difference alone is the
    loss, which has the same gradient but for its length, and no step depends on that. Croce and Hein, ICML 2020.
    """
    library, eps, found = load_library("pyautoattack.autopgd_base"), float(targets.radii[0]), []
    norm = {"l2": "L2", "linf": "Linf"}[targets.norm]
    with torch_seed(seed), _remarks():
        for images, labels in zip(*(tensor.split(ATTACK_BATCH) for tensor in as_tensors(targets, module)), strict=True):
            moved = images.clone()
            for loss, steps in QUICK:
                attack = library.APGDAttack(
                    module, n_iter=steps, norm=norm, eps=eps, seed=seed, loss=loss, device=images.device, logger=LOG
                )
                attack.dlr_loss = partial(_quick_loss, attack.dlr_loss)
                left = (module(moved).argmax(dim=1) == labels).nonzero()[:, 0]
                if len(left):
                    moved[left] = attack.perturb(images[left], labels[left]).detach()
            found.append(moved.cpu().numpy())
    return _verify_at_edge(targets, np.concatenate(found))


def _quick_loss(dlr: Callable[[Any, Any], Any], logits: Any, labels: Any) -> Any:
    """The DLR loss of each image, or, of two classes, the other logit minus its own."""
    if logits.shape[1] > 2:
        return dlr(logits, labels)
    return logits.sum(dim=1) - 2 * logits.gather(1, labels[:, None])[:, 0]


def _verify_at_edge(targets: Targets, found: Any) -> Witnesses:
    """What holds when it is looked at again; the ball is closed here, and pixels are rounded."""
    return verify(replace(targets, radii=targets.radii + PIXEL_ROUNDING), found)


def foolbox_model(module: Any) -> Any:
    """The module as foolbox wants it."""
    return load_library("foolbox").PyTorchModel(module.eval(), bounds=(0, 1), device=module.scale.device)


def as_tensors(targets: Targets, module: Any) -> tuple[Any, Any]:
    """Images and labels as tensors of their own, where the module is."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    return tuple(torch.tensor(array, device=module.scale.device) for array in (targets.pixels, targets.labels))


@contextmanager
def torch_seed(seed: int) -> Iterator[None]:
    """Torch's random numbers start at ``seed`` inside the block and go on afterwards as if nothing had been."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    with torch.random.fork_rng(), no_deprecations():
        torch.manual_seed(seed)
        yield


@contextmanager
def _remarks() -> Iterator[list[str]]:
    """What AutoAttack's own checks say inside the block, such as signs of masked gradients, a line each."""
    collected: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            collected.append(" ".join(record.getMessage().split()))

    collector = Collector(level=logging.WARNING)
    LOG.addHandler(collector)
    propagate, LOG.propagate = LOG.propagate, False
    try:
        yield collected
    finally:
        LOG.removeHandler(collector)
        LOG.propagate = propagate
