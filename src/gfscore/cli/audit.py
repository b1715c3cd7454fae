"""``gfscore audit``: logits files, or models and data, in; a table and ``audit.json`` out."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gfscore import auditing, calibrating
from gfscore.assembling import ranking_of
from gfscore.cli import options as shared
from gfscore.cli.delivery import deliver, provenance
from gfscore.cli.grouping import expand
from gfscore.cli.sources import Source, audit_source, local_scores, logits_sources
from gfscore.cli.stream import stream_all
from gfscore.errors import OptionError, naming
from gfscore.inputs.small_files import for_models, read_reference
from gfscore.outputs.tables import check_per_sample
from gfscore.results import Audit, ModelAudit
from gfscore.samples import Samples
from gfscore.score_titles import GREAT, title_of
from gfscore.storage import Watched


class Target(StrEnum):
    """What the intervals are about."""

    POPULATION = "population"
    FINITE = "finite"


@expand
def audit_command(
    *,
    logits: Annotated[
        list[Path] | None, typer.Argument(help="Logits files: .npz, .safetensors, .parquet or .csv; a model each.")
    ] = None,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream", help="Read, or run, piece by piece and keep sums only; a folder is a model in shards."
        ),
    ] = False,
    pieces: Annotated[
        bool, typer.Option("--pieces", help="All LOGITS are pieces of one model, read as a stream.")
    ] = False,
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
    probabilities: shared.Probabilities = False,
    local_score: shared.ScoreOptions,
    scoring: shared.AuditOptions,
    target: Annotated[
        Target, typer.Option(help="What intervals are about: the world the samples come from, or the fixed data set.")
    ] = Target.POPULATION,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="OBJECTIVE",
            help="Also find a temperature by models, classes, stability or given, and show all metrics at it.",
        ),
    ] = None,
    reference: shared.Reference = None,
    accuracies: shared.Accuracies = None,
    groups: shared.Groups = None,
    per_sample: shared.PerSample = None,
    run: shared.RunOptions,
    out: shared.Out = None,
    as_json: shared.AsJson = False,
) -> None:
    """Audit how evenly robustness is spread over the classes: of logits files, or of models that are run on data.

    Prints the class profile and its disparity (RDI, NRGC, WCR, FP-GREAT), and writes audit.json.
    """
    radius, names = local_score.first_order(), run.names
    options = scoring.checked(local_score.name)
    if radius is not None:
        run.refuse_ray("a first-order radius")
    if calibrate is not None and not title_of(local_score.score).has_temperature:
        what = "a radius" if radius is not None else f"the {title_of(local_score.score).title}"
        raise OptionError(f"--calibrate finds a temperature, which {what} does not have. Leave out one of them.")
    if calibrate is not None:
        calibrating.check_request(calibrate, reference=reference is not None, accuracies=accuracies is not None)
    elif accuracies is not None:
        raise OptionError("--accuracies is what a temperature is chosen by. Say --calibrate too, or leave it out.")
    if per_sample is not None:
        check_per_sample(per_sample)
    run = replace(run, quiet=run.quiet or as_json)  # nothing may stand beside the JSON
    whole_files = [] if stream or pieces else logits or []
    files = Watched(path for path in (*whole_files, groups, run.class_names) if path is not None)  # before any is read
    outside = None if reference is None else read_reference(reference)
    clean = None if accuracies is None else read_reference(accuracies, column="clean")

    def read(source: Source) -> Samples:
        return source.read(probabilities=probabilities, class_names=names, groups=groups)

    hashes, models = dict[Path, str](), list[ModelAudit]()
    if stream or pieces:
        whole = {
            "--groups": groups,
            "--per-sample": per_sample,
            "--calibrate": calibrate,
            f"--score {local_score.score}": local_score.score != GREAT,
        }
        _refuse_with_stream([name for name, value in whole.items() if value], target)
        models, hashes = stream_all(
            logits or [], model or [], data or [], options, run, pieces=pieces, probabilities=probabilities
        )
    tables, sources, curves = [], {}, {}
    for name, source in [] if models else logits_sources(logits or [], model or [], data or [], run):
        samples, finite, sizes = read(source), target is Target.FINITE, source.class_sizes
        with naming(source.path if source.run is None else name):
            if finite:
                _refuse_unknown_sizes(source, groups)
            local = local_scores(source, samples, options, local_score, run)
            models.append(audit_source(name, source, samples, local, options, finite=finite))
            if calibrate is None:
                models[-1] = auditing.with_curves(models[-1], samples, options, class_sizes=sizes)
            else:
                sources[name] = source
                curves[name] = calibrating.curve_of(samples, options, class_sizes=sizes)
        if per_sample is not None:
            tables.append(auditing.sample_table(samples, local, name=name))
    outside = None if outside is None else for_models(outside, [entry.name for entry in models], str(reference))
    calibration = None
    if calibrate is not None:
        clean = None if clean is None else for_models(clean, curves, str(accuracies))
        calibration = calibrating.calibration_of(curves, calibrate, accuracies=clean, reference=outside)
        models = [
            calibrating.with_calibration(
                entry,
                read(source),
                curves[entry.name],
                calibration.temperature,
                options,
                class_sizes=source.class_sizes,
                finite=target is Target.FINITE,
            )
            for entry, source in zip(models, sources.values(), strict=True)
        ]
    audit = Audit(
        models=tuple(models),
        calibration=calibration,
        ranking=ranking_of(tuple(models), outside),
        provenance=provenance(files, hashes),
    )
    deliver(audit, out=out, as_json=as_json, quiet=run.quiet, per_sample=per_sample, tables=tables)


def _refuse_with_stream(given: Sequence[str], target: Target) -> None:
    """Options that need all samples at once, or again."""
    unusable = [*given, *(["--target finite"] if target is Target.FINITE else [])]
    if unusable:
        raise OptionError(f"{unusable[0]} needs the samples, and a stream keeps only their sums. Leave --stream out.")


def _refuse_unknown_sizes(source: Source, groups: Path | None) -> None:
    """Refuse the finite target where nobody can know that the samples are a random part."""
    if source.class_sizes is None or groups is not None:
        raise OptionError(
            "the target finite is for classes of a data set that is run here, whole or a random part of each class "
            "(--n-per-class). Use --target population."
        )
