"""Refuting by gradients: the premise of the GREAT score, attacks for the nearest witness, attacks of a given size.

The attacks are foolbox's and pyautoattack's. Each takes the model as ``module``, as
:func:`~gfscore.inputs.models.gradients.differentiable` gives it; what it finds counts only if the model itself agrees.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from gfscore.arrays import BoolArray, FloatArray
from gfscore.attacks.witnesses import Targets, Witnesses, distance, verify
from gfscore.errors import ModelError, require
from gfscore.inputs.models.gradients import rounding_errors
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.preprocessing import Pixels
from gfscore.inputs.protocols import Layout, change_layout
from gfscore.scores import SCORE_MAX, Activation
from gfscore.scores.great import local_scores

EXTRA, PURPOSE = "attacks", "an attack"
PREMISE_STEP = 0.01  # at most, in [0, 1] pixels; shorter where the radius is, for the premise is about its inside
OVERSHOOT = 1.01  # minimal attacks stop on the boundary, where two runtimes may disagree: go one per cent further
FAB_STEPS = 50
CW_STEPS, CW_SEARCHES = 200, 5  # of the optimiser, and of the search for its constant
PIXEL_ROUNDING = 1e-6  # of float32 pixels: an attack goes to the very edge of its ball
LEAST_CLASSES = 4  # the targeted loss of AutoAttack compares four logits
TARGET_CLASSES = 9  # other classes that standard AutoAttack aims at
ATTACK_BATCH = 250  # images attacked together

Attack = Callable[[Any, Any], Any]  # adversarial images for images and labels, all torch tensors


def load_library(module: str) -> Any:
    """A module of foolbox or pyautoattack, imported in the one way that works."""
    torch_for(PURPOSE, extra=EXTRA)
    with no_deprecations():
        return require(module, extra=EXTRA, purpose=PURPOSE)


def premise_violations(targets: Targets, module: Any, *, activation: str, temperature: float) -> BoolArray:
    r"""Where the premise of the GREAT score fails at the sample itself, (n,) bool: the margin is steeper than allowed.

    .. math:: \|\nabla_x (p_y - \max_{j \ne y} p_j)\|_2 > \sqrt{2/\pi}

    The score is a radius only if the margin of confidences is :math:`\sqrt{2/\pi}`-Lipschitz around the sample, that
    is, if the score itself never changes by more than the distance moved. The gradient of ``module`` only says in which
    direction to look: what counts is how much the score of the model itself changes over a short step that way, up or
    down, for a step inside [0, 1] and well inside the radius.

    Near the boundary that step is so short that rounding of float32 logits alone could make up the change. So the
    change must exceed the distance by what rounding can do to it. The margin of softmax or sigmoid confidences moves
    by at most e / T if no logit moves by more than e: its derivatives add up, in absolute value, to
    :math:`s + d - d^2 - ds \le 1 - d^2` for softmax, with s the sum and d the difference of two confidences, and to at
    most 1/2 for sigmoid. How far each logit is off is measured in double precision, at both ends of the step.
    """

    def scores_at(pixels: Pixels) -> tuple[FloatArray, FloatArray]:
        """Scores of the model itself, and how far rounding of its logits may have moved them, (n,) each."""
        logits = targets.classify(pixels)
        scores = local_scores(logits, targets.labels, activation=activation, temperature=temperature)
        return scores, SCORE_MAX * rounding_errors(module, pixels, logits) / temperature

    gradients = confidence_gradients(targets, module, activation=activation, temperature=temperature)
    flat = gradients.reshape(len(gradients), -1).astype(np.float64)
    lengths = np.linalg.norm(flat, axis=1)
    steps = np.minimum(PREMISE_STEP, targets.radii / 2) / np.where(lengths > 0, lengths, 1)
    shifts = (flat * steps[:, None]).reshape(gradients.shape)
    here, rounded_here = scores_at(targets.pixels)
    steep = np.zeros(len(gradients), dtype=bool)
    for end in (targets.pixels + shifts, targets.pixels - shifts):
        inside = np.clip(end, 0, 1).astype(np.float32)
        there, rounded_there = scores_at(inside)
        steep |= np.abs(there - here) > distance(inside, targets.pixels, "l2") + rounded_here + rounded_there
    return steep


def confidence_gradients(targets: Targets, module: Any, *, activation: str, temperature: float) -> Pixels:
    """Gradient of the margin of confidences at each target, in the shape of its pixels."""
    torch = torch_for("the gradient of a margin", extra="gradients")
    images, labels = _tensors(targets, module)
    inputs = images.requires_grad_(requires_grad=True)
    logits = module(inputs) / temperature
    confidences = logits.softmax(dim=1) if activation == Activation.SOFTMAX else logits.sigmoid()
    labels = labels[:, None]
    rivals = confidences.scatter(1, labels, -1.0).amax(dim=1)  # below every confidence: no class is its own rival
    margins = confidences.gather(1, labels)[:, 0] - rivals
    return np.asarray(torch.autograd.grad(margins.sum(), inputs)[0].cpu().numpy())


def attack_minimally(targets: Targets, module: Any, *, seed: int = 0) -> Witnesses:
    """Witnesses from minimal-norm attacks, the quick ones first; a later one only sees what still stands.

    In L2: DeepFool, DDN, FAB and C&W; in Linf: DeepFool and FAB.

    Moosavi-Dezfooli et al., "DeepFool", CVPR 2016; Rony et al., "Decoupling direction and norm", CVPR 2019; Croce and
    Hein, "Fast adaptive boundary attack", ICML 2020; Carlini and Wagner, S&P 2017.
    """
    witnesses = Witnesses.none(targets)
    for attack in minimal_attacks(module, targets, seed):
        standing = np.flatnonzero(~witnesses.found)
        if len(standing) == 0:
            break
        some = targets.select(standing)
        with _torch_seed(seed):
            adversarial = attack(*_tensors(some, module)).detach().cpu().numpy()
        further = np.clip(some.pixels + OVERSHOOT * (adversarial - some.pixels), 0, 1)
        witnesses = witnesses.merge(standing, verify(some, further))
    return witnesses


def minimal_attacks(module: Any, targets: Targets, seed: int) -> Iterator[Attack]:
    """The attacks for the norm of the radii, each made when its turn comes."""
    attacks, model = load_library("foolbox.attacks"), _foolbox_model(module)

    def of_foolbox(made: Any) -> Attack:
        # with no epsilon they minimise: the second of three results is what they found, clipped to [0, 1]
        return lambda images, labels: made(model, images, labels, epsilons=None)[1]

    def fab(norm: str) -> Attack:
        # FAB drops what it finds beyond eps, 1 in L2 unless told: it must reach as far as the largest radius
        reach = OVERSHOOT * float(targets.radii.max())
        made = load_library("pyautoattack.fab_pt").FABAttack_PT(
            module, norm=norm, n_iter=FAB_STEPS, eps=reach, seed=seed, device=module.scale.device
        )
        return lambda images, labels: made.perturb(images, labels)

    if targets.norm == "linf":
        yield of_foolbox(attacks.LinfDeepFoolAttack())
        yield fab("Linf")
        return
    yield of_foolbox(attacks.L2DeepFoolAttack())
    yield of_foolbox(attacks.DDNAttack())
    yield fab("L2")
    yield of_foolbox(attacks.L2CarliniWagnerAttack(binary_search_steps=CW_SEARCHES, steps=CW_STEPS, stepsize=0.01))


def autoattack(
    targets: Targets, module: Any, layout: Layout, *, n_classes: int, seed: int = 0, part: int = 1
) -> tuple[Witnesses, tuple[str, ...]]:
    """Standard AutoAttack (APGD-CE, targeted APGD, targeted FAB, Square), and what it noticed on the way.

    The radii of the targets are all the one size of the attack, as RobustBench runs it; ``layout`` is that of the
    pixels. With ``part``, only one of so many steps of each of them is done: a trial, to see how long all would take.
    Croce and Hein, ICML 2020.
    """
    if n_classes < LEAST_CLASSES:
        raise ModelError(
            f"has {n_classes} classes; AutoAttack needs {LEAST_CLASSES}, for its targeted loss. Use --quick (PGD)."
        )
    library = load_library("pyautoattack")
    images, labels = _tensors(targets, module)
    if layout == "NHWC":
        images = images.permute(0, 3, 1, 2).contiguous()

    def predict(batch: Any) -> Any:
        return module(batch if layout == "NCHW" else batch.permute(0, 2, 3, 1))

    norm, eps = {"l2": "L2", "linf": "Linf"}[targets.norm], float(targets.radii[0])
    with _torch_seed(seed), _remarks() as remarks:
        attack = library.AutoAttack(predict, norm=norm, eps=eps, seed=seed, device=images.device)
        attack.apgd_targeted.n_target_classes = attack.fab.n_target_classes = min(TARGET_CLASSES, n_classes - 1)
        if part > 1:
            attack.square.n_queries //= part
            for each in (attack.apgd, attack.apgd_targeted, attack.fab):
                each.n_iter //= part
        found, _ = attack.run_standard_evaluation(images, labels, batch_size=ATTACK_BATCH)
    return _verify_at_edge(targets, change_layout(found.cpu().numpy(), "NCHW", layout)), tuple(dict.fromkeys(remarks))


def pgd(targets: Targets, module: Any, *, seed: int = 0) -> Witnesses:
    """Projected gradient descent with foolbox's settings: quick, and kinder. Madry et al., ICLR 2018."""
    attacks = load_library("foolbox.attacks")
    attack = attacks.LinfPGD() if targets.norm == "linf" else attacks.L2PGD()
    model, eps, found = _foolbox_model(module), float(targets.radii[0]), []
    with _torch_seed(seed):
        for images, labels in zip(*(tensor.split(ATTACK_BATCH) for tensor in _tensors(targets, module)), strict=True):
            found.append(attack(model, images, labels, epsilons=eps)[1].cpu().numpy())
    return _verify_at_edge(targets, np.concatenate(found))


def _verify_at_edge(targets: Targets, found: Any) -> Witnesses:
    """What holds when it is looked at again; the ball is closed here, and pixels are rounded."""
    return verify(replace(targets, radii=targets.radii + PIXEL_ROUNDING), found)


def _foolbox_model(module: Any) -> Any:
    return load_library("foolbox").PyTorchModel(module.eval(), bounds=(0, 1), device=module.scale.device)


def _tensors(targets: Targets, module: Any) -> tuple[Any, Any]:
    """Images and labels as tensors of their own, where the module is."""
    torch = torch_for(PURPOSE, extra=EXTRA)
    return tuple(torch.tensor(array, device=module.scale.device) for array in (targets.pixels, targets.labels))


@contextmanager
def _torch_seed(seed: int) -> Iterator[None]:
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

    logger, collector = logging.getLogger("auto-attack"), Collector(level=logging.WARNING)
    logger.addHandler(collector)
    propagate, logger.propagate = logger.propagate, False
    try:
        yield collected
    finally:
        logger.removeHandler(collector)
        logger.propagate = propagate
