"""The published numbers as an audit, so that whatever shows an audit shows the paper."""

import numpy as np

from gfscore import results
from gfscore.arrays import FloatArray
from gfscore.assembling import make_provenance, metric_block
from gfscore.bounds import box, hoeffding_intervals
from gfscore.metrics import ClassScores, all_metrics
from gfscore.paper.facts import DELTA
from gfscore.paper.published_numbers import Dataset, Published, PublishedModel, published
from gfscore.score_titles import GREAT
from gfscore.scores import SCORE_MAX
from gfscore.scores.great import PREMISE

SOURCE = "published with Shah, Visavadiya, Padala (2026), arXiv 2604.12757"


def published_audit(dataset: Dataset) -> results.Audit:
    """An audit of the paper's models at T = 1, from the numbers published with it.

    Intervals are Hoeffding's, the paper's own bound: means and counts are all it needs. Those of the metrics are what
    the class intervals allow. What takes the samples themselves (the noise floor, confusions) is None.

    >>> audit = published_audit("cifar10")
    >>> model = audit["Rebuffi_extra"]
    >>> len(audit.models), model.wcr.class_, round(model.rdi.value, 3)
    (17, 'cat', 0.333)
    """
    numbers = published(dataset)
    words = numbers.readable_names  # of some WordNet ids
    names = tuple(f"{name} {words[name]}" if name in words else name for name in numbers.class_names)
    return results.Audit(
        models=tuple(_model(model, names, numbers.activation) for model in numbers.models),
        calibration=_calibration(numbers),
        provenance=make_provenance(),
    )


def _model(model: PublishedModel, names: tuple[str, ...], activation: str) -> results.ModelAudit:
    scores, counts = model.scores, model.counts
    lower, upper = hoeffding_intervals(scores, counts, DELTA)
    shares: FloatArray = counts / counts.sum()
    profile = ClassScores(scores=scores, weights=shares)
    return results.ModelAudit(
        name=model.short_name,
        score=results.ScoreInfo(name=GREAT, range=(0.0, SCORE_MAX), activation=activation, temperature=1.0),
        samples=results.SamplesInfo(source=SOURCE, n=int(counts.sum())),
        interval=results.IntervalInfo(method="hoeffding", delta=DELTA, target="population"),
        accuracy=model.accuracy,
        classes=tuple(
            results.ClassResult(
                name=name,
                n=int(counts[k]),
                score=float(scores[k]),
                std=float(model.stds[k]),
                accuracy=float(model.accuracies[k]),
                interval=(float(lower[k]), float(upper[k])),
                confused_with=None,
            )
            for k, name in enumerate(names)
        ),
        absent_classes=(),
        worst_set=tuple(names[k] for k in np.flatnonzero(lower <= upper.min())),
        **metric_block(profile, names, _intervals(profile, lower, upper)),
        flags=(),
        claim=results.Claim(premise=PREMISE),
    )


def _intervals(profile: ClassScores, lower: FloatArray, upper: FloatArray) -> dict[str, results.Interval | None]:
    """What the class intervals leave of each metric."""
    found = {key: metric.between(profile, lower, upper) for key, metric in all_metrics().items()}
    found["rdi"] = box.rdi_range(lower, upper)
    found["fp_great"] = box.fp_great_range(lower, upper, profile.fairness_weight)
    found["nrgc"] = box.nrgc_range(lower, upper)
    found["theil"] = box.theil_range(lower, upper)
    found["atkinson"] = box.atkinson_range(lower, upper)
    return found


def _calibration(numbers: Published) -> results.Calibration:
    """The published search for a temperature, as it was sampled; what it does not say is absent."""
    temperatures, values = numbers.trace.points
    order = np.argsort(temperatures, kind="stable")
    starts = temperatures[order].tolist()
    return results.Calibration(
        objective="classes",  # our name of what the paper searched
        models=tuple(model.short_name for model in numbers.models),
        temperature=numbers.models[0].temperature,
        value=float(values.max()),
        intervals=(),
        temperature_range=(starts[0], starts[-1]),
        curve=results.ObjectiveSteps(edges=(*starts, starts[-1]), values=tuple(values[order].tolist())),
        baselines=results.Baselines(),
    )
