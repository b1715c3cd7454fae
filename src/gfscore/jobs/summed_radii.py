"""First-order radii of a stream: summed and counted shard by shard, as the score itself or beside another."""

from dataclasses import replace

from gfscore.engines.local import summed
from gfscore.errors import MissingExtraError, ModelError, OptionError, first_line
from gfscore.jobs.calling import Face
from gfscore.jobs.common_words import RADII
from gfscore.jobs.radius_trust import trust_flags_of_sums
from gfscore.jobs.robustness import MeasuredRadii, has_gradients, not_measured, of_part, too_many_classes
from gfscore.judge.robust_accuracy import eps_ladder, summed_robustness, with_robustness
from gfscore.measures import RadiusSums, Run
from gfscore.measures.slopes import Gradients
from gfscore.results import Flag, ModelAudit
from gfscore.scores import FirstOrder, radius_flags
from gfscore.summaries import Summary


def radius_sums(
    run: Run, how: FirstOrder, choice: Gradients, *, also: tuple[float, ...] = ()
) -> tuple[RadiusSums, str]:
    """The measure that sums radii of all samples, and why it uses no gradients where they were wanted, or nothing."""
    why, by_gradients = "", choice is not Gradients.NO
    if by_gradients:
        try:
            run.differentiable()
        except (ModelError, MissingExtraError) as error:
            if choice is Gradients.YES:
                raise
            why, by_gradients = str(error), False
    ladder = () if how.eps is None else tuple(eps_ladder(how.kind, how.eps, how.largest, also))
    return RadiusSums(how=how, ladder=ladder, gradients=by_gradients, seed=how.seed), why


def flags_of_sums(summary: Summary, how: FirstOrder, why: str) -> tuple[Flag, ...]:
    """What is to be said about summed radii; ``why`` they use no gradients where these were wanted, or nothing."""
    radii = summary.radii
    if radii is None:
        raise ModelError("has no radii in its sums. Clear them: gfscore store clear.")
    return radius_flags(radii.notes, radii.n_samples, how, fallback=why or None)


def sum_robustness(
    model: ModelAudit, run: Run, radii: MeasuredRadii, face: Face, *, delta: float, probabilities: bool
) -> ModelAudit:
    """What :func:`~gfscore.jobs.robustness.measure_robustness` does, from sums: no radius and no logits are kept."""
    try:
        if probabilities:
            raise OptionError("the first-order radius is a ratio of logits. Give a model that returns logits.")
        n_classes, choice = run.check().n_classes, radii.gradients
        count = radii.of_class(n_classes, by_gradients=has_gradients(run, choice))
        if count == 0:
            return with_robustness(model, None, (too_many_classes(n_classes),))
        measure, why = part_sums(run, radii, count)
        progress = of_part(face.bar(run.name, RADII), measure.drawn(run))
        found = summed(run, measure, progress)
        flags = flags_of_sums(found, measure.how, why)
        doubts = trust_flags_of_sums(run, measure)
    except (ModelError, OptionError) as error:
        if radii.is_asked:
            raise
        return with_robustness(model, None, (not_measured(first_line(error)),))
    counted = None if found.radii is None else summed_robustness(found.radii, found.counts, model, delta=delta)
    return with_robustness(model, counted, (*radii.beside(flags), *doubts))


def part_sums(run: Run, radii: MeasuredRadii, count: int | None) -> tuple[RadiusSums, str]:
    """The measure that sums radii of ``count`` samples of each class, or all; and why it uses no gradients."""
    measure, why = radius_sums(run, radii.how, radii.gradients, also=radii.also)
    return replace(measure, per_class=count), why
