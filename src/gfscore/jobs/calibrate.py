"""``calibrate``: the temperature of all models by an objective, and every metric at it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from gfscore.errors import OptionError, naming
from gfscore.inputs.small_files import for_models, read_reference
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import arrange, refuse_unread
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.common_words import Accuracies, DataSpecs, LogitsFiles, ModelSpecs, Probabilities, Reference
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.mistaken_inputs import mistakes_of
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.sources import find_sources
from gfscore.jobs.stages import audit_scores, band_of, score_samples
from gfscore.jobs.steps import logits_step
from gfscore.names import listing
from gfscore.paper.published_numbers import leaderboard
from gfscore.results import Calibrated, Calibration, Flag, ModelAudit
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER, title_of
from gfscore.temperature import (
    DEFAULT_RANGE,
    TemperatureCurve,
    check_request,
    check_temperature_range,
    stored_curves,
    temperature_curve,
)
from gfscore.temperature import calibrate as calibrate_curves
from gfscore.words import Panel, Word

ROBUSTBENCH = "robustbench:"
Numbers = Mapping[str, float] | str | Path | None  # by model, or where they can be read


@Job
def calibrate(
    logits: LogitsFiles = None,
    objective: Annotated[
        str | None,
        Word(
            any_case=True,
            metavar="OBJECTIVE",
            panel=Panel.SCORE,
            help="What to maximise: models, classes, stability or given.  [default: none, it must be said]",
        ),
    ] = None,
    *,
    model: ModelSpecs = None,
    data: DataSpecs = None,
    reference: Reference = None,
    accuracies: Accuracies = None,
    activation: Annotated[
        str, Word(any_case=True, panel=Panel.SCORE, help="How logits become confidences: softmax or sigmoid.")
    ] = "softmax",
    probabilities: Probabilities = False,
    words: ReadingWords,
    temperature_range: Annotated[
        str, Word(panel=Panel.SCORE, help="Temperatures that are searched: the lowest and the highest.")
    ] = "0.01,10",
    run: RunOptions,
    labels: Any = None,
    face: Face = SILENT,
) -> Calibration:
    r"""Find all temperatures that maximise an objective over models, without attacks.

    .. math:: T^* = \arg\max_T\; \rho_s\big(\{\Omega(f_m; T)\}_m,\; \{a_m\}_m\big) \qquad (\text{objective } models)

    ``logits`` are files, or :class:`~gfscore.Samples` by the names of their models; or models, which are run on
    ``data`` as :func:`~gfscore.audit` takes both, with the same words, such as ``mean``. ``objective`` is ``models``,
    ``classes``, ``stability`` or ``given``. ``accuracies`` are clean accuracies by model, by default from the samples;
    ``reference`` is what ``given`` agrees with, and something to compare the others with: both are mappings or files.
    What the objectives mean, and why a calibrated temperature must be read with care: :doc:`temperature`. Shah et al.
    (2026), Definition 6.

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
    if objective is None:
        raise OptionError("no objective is given. Say what to maximise: models, classes, stability or given.")
    options, span = Options(activation=activation), _span(temperature_range)
    outside = Outside.read(objective, reference, accuracies, options)
    names = run.names
    refuse_unread(words, logits)
    asked = arrange(logits, labels, model, data)
    logits, model, data = asked.checked(names, words, probabilities=probabilities)
    if run.range is not None and not (model or data):  # it had this name before
        raise OptionError("--range is about the values of images. Temperatures are searched in --temperature-range.")
    plan_run("calibrate", model, data, run, face, lambda each: [logits_step(each)], beside=logits)
    sources = find_sources(logits, model, data, run, face, probabilities=probabilities)
    curves, doubts = {}, list[Flag]()
    for source in sources:
        samples = source.read(probabilities=probabilities, class_names=names, words=words)
        with source.naming():
            curves[source.name] = curve_of(samples, options, span)
        doubts += mistakes_of(samples, options, source.run, name=source.name)
    found = outside.calibrate(curves)
    return found.model_copy(update={"flags": (*doubts, *found.flags)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Numbers per model that come from outside: what scores are ranked beside, and what a temperature is chosen by."""

    objective: str | None = None  # of a calibration, where one is asked for
    reference: Mapping[str, float] | None = None
    accuracies: Mapping[str, float] | None = None
    places: tuple[object, object] = (None, None)  # where they were read

    @classmethod
    def read(cls, objective: str | None, reference: Numbers, accuracies: Numbers, options: Options) -> "Outside":
        """What was given, read and checked before any model is run."""
        title = title_of(options.score)
        if objective is not None and not title.has_temperature:
            what = "a radius" if options.score == FIRST_ORDER else f"the {title.title}"
            raise OptionError(f"--calibrate finds a temperature, which {what} does not have. Leave out one of them.")
        if objective is not None:
            check_request(objective, reference=reference is not None, accuracies=accuracies is not None)
        elif accuracies is not None:
            raise OptionError("--accuracies is what a temperature is chosen by. Say --calibrate too, or leave it out.")
        return cls(
            objective=objective,
            reference=_read_numbers(reference),
            accuracies=_read_numbers(accuracies, "clean"),
            places=(reference, accuracies),
        )

    def reference_of(self, names: Any) -> Mapping[str, float] | None:
        """The reference of these models, if there is one."""
        return (
            None if self.reference is None else for_models(self.reference, names, _place(self.places[0], "reference"))
        )

    def calibrate(self, curves: Mapping[str, TemperatureCurve]) -> Calibration:
        """The calibration that follows from the curves of all models."""
        clean = (
            None
            if self.accuracies is None
            else for_models(self.accuracies, curves, _place(self.places[1], "accuracies"))
        )
        return calibrate_curves(curves, str(self.objective), accuracies=clean, reference=self.reference_of(curves))


def _read_numbers(given: Numbers, column: str = "autoattack") -> Mapping[str, float] | None:
    """Numbers as given, from a file, or from RobustBench: accuracies under AutoAttack or clean ones, in percent."""
    if given is None or isinstance(given, Mapping):
        return given
    if not str(given).startswith(ROBUSTBENCH):
        return read_reference(str(given))
    dataset, _, threat = str(given).removeprefix(ROBUSTBENCH).partition("/")
    entries = [entry for entry in leaderboard() if (entry.dataset, entry.threat) == (dataset, threat)]
    if not entries:
        known = sorted({f"{entry.dataset}/{entry.threat}" for entry in leaderboard()})
        raise OptionError(f"the RobustBench table has nothing about {given!r}. It has {listing(known)}.")
    chosen = {
        entry.model: entry.clean_accuracy if column == "clean" else entry.autoattack_accuracy for entry in entries
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _place(given: object, otherwise: str) -> str:
    return str(given) if isinstance(given, str | Path) else otherwise


def curve_of(
    samples: Samples, options: Options, temperature_range: tuple[float, float] = DEFAULT_RANGE
) -> TemperatureCurve:
    """Class scores over a range of temperatures."""
    title = title_of(options.score)
    if not title.has_temperature:
        raise OptionError(f"the {title.title} has no temperature to calibrate. Leave the score out: GREAT's has one.")
    return temperature_curve(samples, activation=options.softmax_or_sigmoid, temperature_range=temperature_range)


def with_calibration(
    audited: ModelAudit,
    samples: Samples,
    curve: TemperatureCurve,
    options: Options,
    temperature: float | None,
    *,
    finite: bool = False,
) -> ModelAudit:
    """The audit with its curves and, where there is a calibrated temperature, all metrics at it beside the others."""
    calibrated = None
    if temperature is not None:
        at = replace(options, temperature=temperature, permutations=0, expect_accuracy=None)
        local = score_samples(samples, at)
        band = band_of(samples, options, finite=finite)
        again = audit_scores(samples, local, at, name=audited.name, finite=finite, band=band)
        calibrated = Calibrated(
            temperature=temperature,
            **{name: getattr(again, name) for name in Calibrated.model_fields if name != "temperature"},
        )
    audited = audited.model_copy(update={"calibrated": calibrated})
    return audited.model_copy(update={"curves": stored_curves(curve, audited)})


def _span(text: str | tuple[float, float]) -> tuple[float, float]:
    if not isinstance(text, str):
        return check_temperature_range(text)
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise OptionError(
            f"--temperature-range {text!r} is not two numbers. Write the lowest and the highest, as 0.01,10."
        ) from None
    with naming("--temperature-range"):
        return check_temperature_range((low, high))
