"""Puts the stages of a calibration in order: curves of all models, the temperature, and every metric at it."""

from collections.abc import Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from gfscore.auditing import Options, audit_scores, score_samples
from gfscore.errors import OptionError
from gfscore.results import Calibrated, Calibration, ModelAudit
from gfscore.samples import Samples
from gfscore.score_titles import title_of
from gfscore.scores import Activation
from gfscore.temperature import DEFAULT_RANGE, Objective, TemperatureCurve, stored_curves, temperature_curve
from gfscore.temperature import calibrate as calibrate_curves
from gfscore.temperature import check_request as check_request  # before any model is run
from gfscore.temperature import check_temperature_range as check_temperature_range


def calibrate(
    models: Mapping[str, Samples],
    objective: Objective | str,
    *,
    activation: Activation | str = Activation.SOFTMAX,
    accuracies: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
    temperature_range: tuple[float, float] = DEFAULT_RANGE,
) -> Calibration:
    r"""Find all temperatures that maximise an objective over models, without attacks.

    .. math:: T^* = \arg\max_T\; \rho_s\big(\{\Omega(f_m; T)\}_m,\; \{a_m\}_m\big) \qquad (\text{objective } models)

    ``objective`` is ``models``, ``classes``, ``stability`` or ``given``. ``accuracies`` are clean accuracies by model,
    from the samples unless given; ``reference`` is what ``given`` agrees with, and something to compare the others
    with. What the objectives mean, and why a calibrated temperature must be read with care: :doc:`temperature`.
    Shah et al. (2026), Definition 6.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.arange(60) % 3
    >>> models = {
    ...     name: Samples.of(rng.normal(0, 1, (60, 3)) + gap * np.eye(3)[labels], labels)
    ...     for name, gap in {"weak": 0.5, "middling": 1.5, "strong": 3.0}.items()
    ... }
    >>> found = calibrate(models, "models")
    >>> found.value, found.baselines.at_one
    (1.0, 1.0)
    """
    options = Options(activation=activation)
    check_request(objective, reference=reference is not None, accuracies=accuracies is not None)
    curves = {name: curve_of(samples, options, temperature_range) for name, samples in models.items()}
    return calibration_of(curves, objective, accuracies=accuracies, reference=reference)


def curve_of(
    samples: Samples,
    options: Options,
    temperature_range: tuple[float, float] = DEFAULT_RANGE,
    *,
    class_sizes: ArrayLike | None = None,
) -> TemperatureCurve:
    """Class scores over a range of temperatures."""
    title = title_of(options.score)
    if not title.has_temperature:
        raise OptionError(f"the {title.title} has no temperature to calibrate. Leave the score out: GREAT's has one.")
    return temperature_curve(
        samples, activation=options.activation, temperature_range=temperature_range, class_sizes=class_sizes
    )


def calibration_of(
    curves: Mapping[str, TemperatureCurve],
    objective: Objective | str,
    *,
    accuracies: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
) -> Calibration:
    """The calibration that follows from the curves of all models."""
    return calibrate_curves(curves, objective, accuracies=accuracies, reference=reference)


def with_calibration(
    audited: ModelAudit,
    samples: Samples,
    curve: TemperatureCurve,
    temperature: float | None,
    options: Options,
    *,
    class_sizes: ArrayLike | None = None,
    finite: bool = True,
) -> ModelAudit:
    """The audit with its curves and, where there is a calibrated temperature, all metrics at it beside the others."""
    calibrated = None
    if temperature is not None:
        at = replace(options, temperature=temperature, permutations=0, expect_accuracy=None)
        local = score_samples(samples, at)
        again = audit_scores(samples, local, at, name=audited.name, class_sizes=class_sizes, finite=finite)
        calibrated = Calibrated(
            temperature=temperature,
            **{name: getattr(again, name) for name in Calibrated.model_fields if name != "temperature"},
        )
    audited = audited.model_copy(update={"calibrated": calibrated})
    return audited.model_copy(update={"curves": stored_curves(curve, audited)})
