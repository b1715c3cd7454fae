"""``plan``: how many samples an audit needs, or how sure a number of them makes it; asked before any are run."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from gfscore.bounds import Pilot, Plan, plan_radius, plan_samples, rdi_radius
from gfscore.errors import OptionError
from gfscore.jobs.calling import Job
from gfscore.results import Audit
from gfscore.scores import SCORE_MAX
from gfscore.words import Panel, Word


@Job
def plan(
    *,
    half_width: Annotated[
        float | None,
        Word(was="radius", help="Say how many samples give class intervals of this half-width, on average."),
    ] = None,
    n: Annotated[int | None, Word(help="Say what half-width this many samples per class give.")] = None,
    classes: Annotated[int | None, Word(least=1, help="Number of classes.  [default: those of --pilot]")] = None,
    delta: Annotated[
        float, Word(panel=Panel.STATISTICS, help="All intervals hold together with probability 1 - delta.")
    ] = 0.05,
    pilot: Annotated[
        Any, Word(kind=Path | None, help="An audit.json of a first, small audit: its means and deviations are used.")
    ] = None,
    seed: Annotated[
        int, Word(least=0, panel=Panel.STATISTICS, help="Seed of the simulation for betting intervals.")
    ] = 0,
) -> tuple[Plan, ...]:
    """Samples per class that a half-width ``half_width`` needs, or the half-width that ``n`` buys, for each interval.

    ``pilot``, a first, small audit or its file, gives the number of classes and the spread of their scores; without it
    the plan is for the worst case.

    >>> [(entry.method.value, entry.n) for entry in plan(half_width=0.05, classes=10)][-1]
    ('hoeffding', 1995)
    """
    first = Audit.load(pilot).model if isinstance(pilot, Path) else pilot
    first = first.model if isinstance(first, Audit) else first
    if (half_width is None) == (n is None):
        raise OptionError(
            "say what is known: --half-width for the samples it needs, or --n for the half-width they buy."
        )
    if first is None and classes is None:
        raise OptionError("say how many classes there are (--classes), or give a first audit (--pilot).")
    known, maximum = None, SCORE_MAX
    if first is not None:
        stds = [math.nan if entry.std is None else entry.std for entry in first.classes]
        known, maximum = Pilot.of([entry.score for entry in first.classes], stds), first.score.range[1]
    if half_width is not None and half_width > maximum / 2:
        raise OptionError(
            f"a half-width of {half_width:g} is more than that of the whole scale, {maximum / 2:.4g}, which holds "
            "without a sample. Give a smaller one, such as 0.05."
        )
    count = classes or len(first.classes if first else ())
    if half_width is not None:
        return plan_samples(half_width, n_classes=count, delta=delta, maximum=maximum, pilot=known, seed=seed)
    return plan_radius(n or 0, n_classes=count, delta=delta, maximum=maximum, pilot=known, seed=seed)


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
