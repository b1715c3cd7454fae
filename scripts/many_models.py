"""Audits of any number of models and classes, with robust accuracies, made in a moment: for pages and pictures.

Nobody trained these models: their logits are random numbers, and their robust accuracies fall by a formula.
"""

from functools import cache

import numpy as np

from gfscore import Options, Samples, audit_models
from gfscore.results import Audit, CrossCheck, Metric, ModelAudit, Robustness, RobustPart, Rung

EPS = tuple(step / 255 for step in (0.5, 1, 2, 3, 4, 6, 8))
ASKED = 2 / 255
NAMES = ("plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def class_names(k: int) -> list[str]:
    """Ten of CIFAR-10's, else names of the length that ImageNet's have."""
    return list(NAMES[:k]) if k <= len(NAMES) else [f"spotted animal {place}, of the woods" for place in range(k)]


@cache
def many_models(
    m: int, k: int, per_class: int = 30, *, robust: bool = True, weakest: float = 0.5, permutations: int = 20
) -> Audit:
    """``m`` models on ``k`` classes; more than three are copies with other robust accuracies.

    Logits of the true class are larger than the others by ``weakest`` to 6 on average, by class.
    """
    samples = {}
    for place in range(min(m, 3)):
        rng, labels = np.random.default_rng(place), np.repeat(np.arange(k), per_class)
        strength = rng.uniform(weakest, 6, k)[labels, None] * np.eye(k)[labels]
        samples[f"net {place}"] = Samples.of(
            rng.normal(0, 1, (len(labels), k)) + strength, labels, class_names=class_names(k)
        )
    made = audit_models(samples, Options(permutations=permutations))
    models = [
        made.models[place % len(made.models)].model_copy(update={"name": f"a network of some length, {place}"})
        for place in range(m)
    ]
    if robust:
        models = [with_robustness(model, place) for place, model in enumerate(models)]
    return made.model_copy(update={"models": tuple(models)})


def with_robustness(model: ModelAudit, seed: int = 0) -> ModelAudit:
    """The model with robust accuracies that fall with eps from its clean accuracies."""
    rng = np.random.default_rng(seed)
    clean = np.array([entry.accuracy for entry in model.classes])
    rate = rng.uniform(0.5, 3.0) * rng.uniform(0.6, 1.4, len(clean))
    n = np.array([entry.n for entry in model.classes])
    rungs = []
    for eps in EPS:
        share = clean * np.exp(-rate * eps * 60)
        ends = [(max(0.0, each - 0.11), min(1.0, each + 0.12)) for each in share]
        lowest = min(high for _, high in ends)
        names = [entry.name for entry in model.classes]
        whole = float(share @ n / n.sum())
        rungs.append(
            Rung(
                eps=eps,
                value=whole,
                interval=(max(0.0, whole - 0.03), min(1.0, whole + 0.03)),
                worst=names[int(share.argmin())],
                worst_set=tuple(name for name, (low, _) in zip(names, ends, strict=True) if low <= lowest),
                classes=tuple(Metric(value=float(each), interval=end) for each, end in zip(share, ends, strict=True)),
            )
        )
    found = Robustness(
        kind="estimated",
        norm="linf",
        eps=ASKED,
        n=model.samples.n,
        settings={"gradients": True, "refine": 6},
        delta=0.05,
        classes=tuple(RobustPart(name=entry.name, n=entry.n, size=entry.n) for entry in model.classes),
        rungs=tuple(rungs),
    )
    head = found.headline
    classes = tuple(
        entry.model_copy(update={"robust_accuracy": metric})
        for entry, metric in zip(model.classes, head.classes, strict=True)
    )
    return model.model_copy(update={"robustness": found, "robust_accuracy": head.whole, "classes": classes})


def with_attack(model: ModelAudit) -> ModelAudit:
    """The model attacked at the eps of its robust accuracies: a tenth less is left than they say."""
    robust = model.robustness
    if robust is None:
        return model
    shares = [part.value or 0.0 for part in robust.headline.classes]
    left = [Metric(value=0.9 * share, interval=(0.8 * share, share)) for share in shares]
    check = CrossCheck(
        attack="autoattack",
        norm=robust.norm,
        eps=robust.eps,
        n=robust.n,
        accuracy=Metric(value=0.9 * robust.headline.value, interval=(0.0, 1.0)),
        delta=0.05,
        seconds={},
        scores={},
        agreement={},
    )
    pairs = zip(model.classes, left, strict=True)
    classes = tuple(entry.model_copy(update={"attacked": share}) for entry, share in pairs)
    return model.model_copy(update={"cross_check": check, "classes": classes})
