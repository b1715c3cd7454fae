"""How many samples an audit needs, or how sure a number of them makes it: asked before any are run."""

import math
from collections.abc import Sequence

from gfscore.bounds import Pilot, Plan, plan_radius, plan_samples, rdi_radius
from gfscore.errors import OptionError
from gfscore.results import Audit, ModelAudit
from gfscore.scores import SCORE_MAX


def plan(
    *,
    radius: float | None = None,
    n: int | None = None,
    n_classes: int | None = None,
    pilot: ModelAudit | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> tuple[Plan, ...]:
    """Samples per class that a half-width ``radius`` needs, or the half-width that ``n`` buys, for each interval.

    ``pilot``, a first, small audit, gives the number of classes and the spread of their scores; without it the plan is
    for the worst case.

    >>> [(entry.method.value, entry.n) for entry in plan(radius=0.05, n_classes=10)][-1]
    ('hoeffding', 1995)
    """
    if (radius is None) == (n is None):
        raise OptionError("say what is known: --radius for the samples it needs, or --n for the radius they buy.")
    if pilot is None and n_classes is None:
        raise OptionError("say how many classes there are (--classes), or give a first audit (--pilot).")
    known, maximum = None, SCORE_MAX
    if pilot is not None:
        stds = [math.nan if entry.std is None else entry.std for entry in pilot.classes]
        known, maximum = Pilot.of([entry.score for entry in pilot.classes], stds), pilot.score.range[1]
    classes = n_classes or len(pilot.classes if pilot else ())
    if radius is not None:
        return plan_samples(radius, n_classes=classes, delta=delta, maximum=maximum, pilot=known, seed=seed)
    return plan_radius(n or 0, n_classes=classes, delta=delta, maximum=maximum, pilot=known, seed=seed)


def rdi_radii(
    n_classes: int, *, delta: float = 0.05, maximum: float = SCORE_MAX, counts: Sequence[int] = ()
) -> dict[str, tuple[tuple[int, float], ...]]:
    """The paper's bound of the RDI by samples per class: what the figure of it draws.

    From 10 to 100,000 of them, and as far as any of ``counts`` lies beyond.

    >>> n, radius = rdi_radii(10)["hoeffding"][20]
    >>> n, round(radius, 3)
    (1000, 0.137)
    """
    low, high = min([10, *counts]), max([100_000, *counts])
    steps = {round(10 ** (step / 10)) for step in range(math.ceil(10 * math.log10(high)))}
    sizes = sorted({low, high} | {size for size in steps if low <= size <= high})
    return {"hoeffding": tuple((n, rdi_radius(n, delta, n_classes=n_classes, maximum=maximum)) for n in sizes)}


def audit_radii(audit: Audit) -> dict[str, tuple[tuple[int, float], ...]]:
    """The radii for the widest model of an audit, at its level, over all numbers of samples that its models have."""
    model = audit.models[0]
    largest = max(len(each.classes) for each in audit.models)
    counts = [min(entry.n for entry in each.classes) for each in audit.models]
    return rdi_radii(largest, delta=model.interval.delta, maximum=model.score.range[1], counts=counts)
