"""``audit``: how evenly robustness is spread over the classes of models; from arrays, files, or models that are run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from gfscore.assemble import make_provenance, ranking_of
from gfscore.errors import OptionError
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import arrange, refuse_unread, with_name
from gfscore.jobs.calibrate import Outside, curve_of, with_calibration
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.common_words import (
    Accuracies,
    DataSpecs,
    Groups,
    LogitsFiles,
    ModelSpecs,
    Probabilities,
    Radii,
    Reference,
)
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.options import Options, RunOptions, Target
from gfscore.jobs.robustness import MeasuredRadii, begin_measures, measure_robustness, wanted_radii
from gfscore.jobs.sources import Source, find_sources, provenance_of, source_of, watch
from gfscore.jobs.stages import audit_scores, score_samples, with_curves
from gfscore.jobs.steps import Steps, score_steps, stream_steps
from gfscore.jobs.stream import audit_streams, sums_of
from gfscore.judge import judge_interval
from gfscore.results import Audit, Calibration, ModelAudit, Provenance, Verdict
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER, GREAT
from gfscore.scores import LocalScores
from gfscore.words import Panel, Word

Seen = Callable[[str, Samples, LocalScores], None]  # called with each model's name, samples and local scores


@Job
def audit(
    logits: LogitsFiles = None,
    labels: ArrayLike | None = None,
    *,
    stream: Annotated[
        bool,
        Word(
            expert=True,
            help="For data that do not fit into memory: read or run it piece by piece and keep sums only. A folder of "
            "logits files is one model.",
        ),
    ] = False,
    pieces: Annotated[
        bool, Word(expert=True, help="All LOGITS are pieces of one model, read one after the other as with --stream.")
    ] = False,
    model: ModelSpecs = None,
    data: DataSpecs = None,
    probabilities: Probabilities = False,
    options: Options,
    radii: Radii = None,
    target: Annotated[
        Target,
        Word(
            panel=Panel.STATISTICS,
            expert=True,
            help="What intervals are about: the population that the samples come from, or this finite data set.",
        ),
    ] = Target.POPULATION,
    calibrate: Annotated[
        str | None,
        Word(
            any_case=True,
            metavar="OBJECTIVE",
            panel=Panel.SCORE,
            help="Also find a temperature, and show all metrics at it: where scores follow clean accuracy best, over "
            "models or classes, follow --reference (given), or change order least (stability).  [default: none]",
        ),
    ] = None,
    reference: Reference = None,
    accuracies: Accuracies = None,
    groups: Groups = None,
    words: ReadingWords,
    run: RunOptions,
    sample_ids: Sequence[object] | None = None,
    class_sizes: ArrayLike | None = None,
    finite: bool = True,
    name: str | None = None,
    seen: Seen | None = None,
    face: Face = SILENT,
) -> Audit:
    r"""Audit how evenly a local score, by default the GREAT score, is spread over the classes of one model or several.

    .. math:: \Omega_k = \text{mean } g(x) \text{ in class } k, \qquad \mathrm{RDI} = \max_k \Omega_k - \min_k \Omega_k

    ``logits`` are arrays ``(N, K)`` with ``labels`` ``(N,)``, or :class:`~gfscore.Samples` (several by name), or files.
    Or a model and its data come instead, ``audit(net, loader)``: the model is a path or spec, a torch module, an
    onnxruntime session, a scikit-learn classifier or any function (several in a list or by name); the data are a spec,
    ``(images, labels)``, a loader or a data set. Then robust accuracy is measured too, at a ladder of ``eps``, from
    first-order radii of a random part of each class (``radii``).
    With ``groups``, one name per sample (or several attributes by name, which are intersected), the profile is over
    groups; the label stays what the margin is measured against. All intervals hold together with probability
    1 - ``delta``, those of robust accuracy by themselves. ``seen`` is called with the name, samples and local scores of
    each model.

    When arrays are a random part of each class of a fixed set, ``class_sizes`` (K,) are those of the set. Score and
    accuracy of the whole then weigh classes by them, and the intervals are about that very set; with ``finite`` False
    about the distributions behind its classes. Shah, Visavadiya and Padala, "GF-Score" (2026).

    >>> result = audit([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], class_names=["cat", "dog"])
    >>> result.wcr.class_, round(result.wcr.value, 3), round(result.rdi.value, 3)
    ('dog', 0.29, 0.755)
    """
    logits, labels, model, data = arrange(logits, labels, model, data)
    refuse_unread(words, logits)
    model, name = with_name(model, name)
    robust = wanted_radii(options, radii, model=model or data)
    arrays = {"labels": labels, "sample_ids": sample_ids, "class_sizes": class_sizes, "name": name}
    _refuse_array_words([word for word, value in arrays.items() if value is not None], logits, stream=stream or pieces)
    _ = run.names  # a file that cannot be read is refused before anything else is
    outside = Outside.read(calibrate, reference, accuracies, options)
    files = watch([] if stream or pieces else logits, groups, run.class_names, words.label_names)
    steps = _steps(options, robust, stream=stream, probabilities=probabilities)
    plan_run("audit", model, data, run, face, steps, beside=logits)
    if stream or pieces:
        needs = {"--groups": groups, "--per-sample": seen, "--calibrate": calibrate}
        _refuse_with_stream({**needs, "--target finite": target == Target.FINITE}, options)
        reading: dict[str, Any] = {"pieces": pieces, "probabilities": probabilities, "robust": robust}
        models, hashes = audit_streams(logits, model, data, options, run, face, words, **reading)
        return _result(models, outside, provenance_of(face, files, hashes))
    if labels is not None:
        about: dict[str, Any] = {"sample_ids": sample_ids, "probabilities": probabilities, "class_sizes": class_sizes}
        logits = Samples.of(logits, words.indices(np.asarray(labels), run.names), class_names=run.names, **about)
    logits = {name or "model": logits} if isinstance(logits, Samples) else logits

    def read(source: Source) -> Samples:
        samples = source.read(probabilities=probabilities, class_names=run.names, groups=groups, words=words)
        if target == Target.FINITE:
            _refuse_unknown_sizes(samples, source)
        return samples

    then = partial(begin_measures, read, options, robust, face)
    sources = find_sources(logits, model, data, run, face, probabilities=probabilities, then=then)
    about_the_set = target == Target.FINITE or (finite and class_sizes is not None)
    models, calibration = _audit_sources(sources, read, options, robust, outside, face, finite=about_the_set, seen=seen)
    return _result(models, outside, provenance_of(face, files), calibration)


def _steps(options: Options, robust: MeasuredRadii | None, *, stream: bool, probabilities: bool) -> Steps:
    """What is asked of each model."""
    if stream:
        return lambda run: stream_steps(run, options, sums_of(options, probabilities=probabilities), robust)
    return lambda run: score_steps(run, options, robust)


def _audit_sources(
    sources: Iterator[Source],
    read: Callable[[Source], Samples],
    options: Options,
    robust: MeasuredRadii | None,
    outside: Outside,
    face: Face,
    *,
    finite: bool,
    seen: Seen | None,
) -> tuple[list[ModelAudit], Calibration | None]:
    """The audit of each source, at the temperature that calibration finds too where an objective is given.

    Samples are read again for that: those of all models need not fit into memory together.
    """
    models, curves, kept = list[ModelAudit](), {}, []
    for source in sources:
        samples = read(source)
        with source.naming():
            local = source.score(samples, options, face)
            found = audit_scores(samples, local, options, name=source.name, origin=source.origin, finite=finite)
            if robust is not None and source.run is not None:
                found = measure_robustness(found, source.run, samples, robust, face, delta=options.delta)
            if outside.objective is None:
                found = with_curves(found, samples, options)
            else:
                kept.append(source)
                curves[source.name] = curve_of(samples, options)
        models.append(found)
        if seen is not None:
            seen(source.name, samples, local)
    if outside.objective is None:
        return models, None
    calibration = outside.calibrate(curves)
    pairs = zip(models, kept, strict=True)
    at = (options, calibration.temperature)
    return [with_calibration(each, read(it), curves[it.name], *at, finite=finite) for each, it in pairs], calibration


def _result(
    models: Sequence[ModelAudit], outside: Outside, provenance: Provenance, calibration: Calibration | None = None
) -> Audit:
    ranking = ranking_of(tuple(models), outside.reference_of([model.name for model in models]))
    return Audit(models=tuple(models), calibration=calibration, ranking=ranking, provenance=provenance)


def _refuse_array_words(said: Sequence[str], logits: Any, *, stream: bool) -> None:
    """Refuse what is said of arrays where there are none: it would be passed over."""
    if said and stream:
        raise OptionError(f"{said[0]} is about arrays, which need no stream. Leave stream out, or take StreamingAudit.")
    if said == ["name"] and not isinstance(logits, Samples):
        raise OptionError("files and models that are run have names of their own. Leave name out.")
    if said not in ([], ["name"]) and "labels" not in said:
        raise OptionError(f"{said[0]} is about arrays. Give labels beside logits, or leave it out.")


def _refuse_with_stream(given: Mapping[str, object], options: Options) -> None:
    """Refuse what needs all samples at once, or again."""
    needs = {**given, f"--score {options.score}": options.score not in (GREAT, FIRST_ORDER)}
    for name in (name for name, value in needs.items() if value):
        raise OptionError(f"{name} needs the samples, and a stream keeps only their sums. Leave --stream out.")


def _refuse_unknown_sizes(samples: Samples, source: Source) -> None:
    """Refuse the finite target where nobody can know that the samples are a random part."""
    if samples.class_sizes is None or samples.groups is not None:
        with source.naming():
            raise OptionError(
                "the target finite is for classes of a data set that is run here, whole or a random part of each class "
                "(--n-per-class). Use --target population."
            )


def audit_models(models: Mapping[str, Samples], options: Options | None = None) -> Audit:
    """Audit several models alike, each from its own :class:`~gfscore.Samples`.

    With three or more, ``ranking`` says how alike their scores and their clean accuracies order them.

    >>> samples = {"a": Samples.of([[1, 0], [0, 2]], [0, 1]), "b": Samples.of([[0, 0.1], [0, 2]], [0, 1])}
    >>> [(model.name, model.wcr.class_) for model in audit_models(samples).models]
    [('a', '0'), ('b', '0')]
    """
    if not models or not isinstance(models, Mapping):
        raise OptionError("there is no model to audit. Give at least one set of samples, by the name of its model.")
    options = options or Options()
    audited = []
    for name, given in models.items():
        samples = source_of(*given, run=RunOptions()).read() if isinstance(given, list | tuple) else given
        if not isinstance(samples, Samples):
            raise OptionError(f"{name} is {type(samples).__name__}. Give Samples, or (logits, labels).")
        scored = audit_scores(samples, score_samples(samples, options), options, name=name)
        audited.append(with_curves(scored, samples, options))
    return Audit(models=tuple(audited), ranking=ranking_of(tuple(audited)), provenance=make_provenance())


def sample_table(samples: Samples, local: LocalScores, *, name: str) -> dict[str, list[Any]]:
    """A row per sample, as columns: what was decided and how it scored."""
    names = np.asarray(samples.class_names, dtype=object)  # not text, which is as wide as the longest name for all
    table = {
        "model": [name] * samples.n_samples,
        "sample_id": list(samples.sample_ids or map(str, range(samples.n_samples))),
        "label": names[samples.labels].tolist(),
        "predicted": names[local.predicted].tolist(),
        "correct": local.correct(samples.labels).tolist(),
        "score": local.values.tolist(),
    }
    if local.abstained is not None:
        table["abstained"] = local.abstained.tolist()
    if local.errors is not None:
        table["standard_error"] = local.errors.tolist()
    if samples.groups is not None:
        table["group"] = np.asarray(samples.groups.names, dtype=object)[samples.groups.codes].tolist()
    return table


def verdicts(model: ModelAudit, threshold: float) -> tuple[Verdict, tuple[Verdict, ...]]:
    """Is no class below the threshold? Of the model, by its WCR, and of each class, by its interval.

    Of a class without a sample nothing is known, so that the model then does not pass.

    >>> model = audit([[9, 0], [8, 0], [0, 1], [1, 0]] * 50, [0, 0, 1, 1] * 50).model
    >>> overall, classes = verdicts(model, 0.6)
    >>> overall.value, [verdict.value for verdict in classes]
    ('FAIL', ['PASS', 'FAIL'])
    """
    overall = judge_interval(model.wcr.interval, threshold)
    if model.absent_classes and overall is Verdict.PASS:
        overall = Verdict.UNDECIDED
    return overall, tuple(judge_interval(entry.interval, threshold) for entry in model.classes)


def robust_verdicts(model: ModelAudit, threshold: float) -> tuple[Verdict, tuple[Verdict, ...]] | None:
    """Is no class's robust accuracy below the threshold, at the eps of the headline? None where it is unknown.

    Of the model by what all intervals leave of the lowest, and of each class by its own.
    """
    if model.robustness is None:
        return None
    rung = model.robustness.headline
    overall = judge_interval(rung.lowest.interval, threshold)
    if model.absent_classes and overall is Verdict.PASS:
        overall = Verdict.UNDECIDED
    return overall, tuple(judge_interval(entry.interval, threshold) for entry in rung.classes)
