"""``gfscore audit``: logits files, or models and data, in; a table and ``audit.json`` out."""

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gfscore import auditing, calibrating
from gfscore.cli import options as shared
from gfscore.cli.running import RunOptions
from gfscore.cli.sources import Source, logits_sources
from gfscore.cli.stream import files_of, stream_models
from gfscore.engines.local import DEFAULT_BATCH
from gfscore.errors import OptionError, naming
from gfscore.inputs.logits_files import read_class_names, read_samples, sha256
from gfscore.inputs.references import for_models, read_reference
from gfscore.outputs import terminal
from gfscore.outputs.per_sample import check_suffix, write_per_sample
from gfscore.results import Audit, Provenance
from gfscore.samples import IntArray, Samples

DEFAULTS = auditing.Options()
RESULT = "audit.json"


class Target(StrEnum):
    """What the intervals are about."""

    POPULATION = "population"
    FINITE = "finite"


def audit_command(
    logits: Annotated[
        list[Path] | None, typer.Argument(help="Logits files: .npz, .safetensors, .parquet or .csv; a model each.")
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Read piece by piece and keep sums only; a folder is a model in shards.")
    ] = False,
    pieces: Annotated[
        bool, typer.Option("--pieces", help="All LOGITS are pieces of one model, read as a stream.")
    ] = False,
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
    activation: Annotated[
        str, typer.Option(help="How logits become confidences: softmax or sigmoid.")
    ] = DEFAULTS.activation,
    temperature: Annotated[float, typer.Option(help="Divides the logits first.")] = DEFAULTS.temperature,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="The files hold probabilities: softmax is not applied again.")
    ] = False,
    fairness_weight: Annotated[
        float, typer.Option(help="Lambda of FP-GREAT = class mean - lambda * RDI.")
    ] = DEFAULTS.fairness_weight,
    delta: Annotated[
        float, typer.Option(help="All intervals of a model hold together with probability 1 - delta.")
    ] = DEFAULTS.delta,
    interval: Annotated[
        str, typer.Option(help="How intervals are found: betting, kl, bernstein or hoeffding.")
    ] = DEFAULTS.interval,
    target: Annotated[
        Target, typer.Option(help="What intervals are about: the world the samples come from, or the fixed data set.")
    ] = Target.POPULATION,
    permutations: Annotated[
        int, typer.Option(help="Shuffles of the noise floor; 0 leaves it out.")
    ] = DEFAULTS.permutations,
    calibrate: Annotated[
        str | None,
        typer.Option(
            metavar="OBJECTIVE",
            help="Also find a temperature by models, classes, stability or given, and show all metrics at it.",
        ),
    ] = None,
    reference: shared.Reference = None,
    groups: Annotated[
        Path | None, typer.Option(help="Profile over these groups: a name per line, or a CSV with a column each.")
    ] = None,
    class_names: Annotated[
        Path | None, typer.Option(help="Names of the classes: one per line, or a JSON list.")
    ] = None,
    min_n: Annotated[int, typer.Option(help="Flag classes with fewer samples.")] = DEFAULTS.min_n,
    expect_accuracy: Annotated[
        float | None, typer.Option(help="Stop when the clean accuracy is off by more than sampling explains.")
    ] = None,
    per_sample: Annotated[Path | None, typer.Option(help="Also write a row per sample, to .csv or .parquet.")] = None,
    trust_model: shared.TrustModel = False,
    form: shared.ModelFormat = None,
    output: shared.Output = None,
    model_dir: shared.ModelDir = None,
    preset: shared.Preset = None,
    mean: shared.Mean = None,
    std: shared.Std = None,
    layout: shared.Layout = None,
    resize: shared.Resize = None,
    crop: shared.Crop = None,
    interpolation: shared.Interpolation = None,
    grey: shared.Grey = False,
    value_range: shared.ValueRange = None,
    batch_size: shared.BatchSize = DEFAULT_BATCH,
    split: shared.Split = None,
    n_per_class: shared.PerClass = None,
    classes: shared.Classes = None,
    seed: shared.Seed = 0,
    store: shared.StoreFolder = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.json.  [default: gfscore-audit]")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print audit.json instead of tables; write it only with --out.")
    ] = False,
    quiet: shared.Quiet = False,
) -> None:
    """Audit how evenly robustness is spread over the classes: of logits files, or of models that are run on data.

    Prints the class profile and its disparity (RDI, NRGC, WCR, FP-GREAT), and writes audit.json.
    """
    options = auditing.Options(
        activation=activation,
        temperature=temperature,
        fairness_weight=fairness_weight,
        delta=delta,
        interval=interval,
        permutations=permutations,
        seed=seed,
        min_n=min_n,
        expect_accuracy=expect_accuracy,
    )
    if per_sample is not None:
        check_suffix(per_sample)
    names = None if class_names is None else read_class_names(class_names)
    run_options = RunOptions(
        preprocessing={
            "preset": preset, "mean": mean, "std": std, "layout": layout, "resize": resize, "crop": crop,
            "interpolation": interpolation, "grey": grey, "value_range": value_range,
        },
        trust=trust_model,
        form=form,
        output=output,
        model_dir=model_dir,
        batch_size=batch_size,
        split=split,
        n_per_class=n_per_class,
        n_classes=classes,
        class_names=names,
        seed=seed,
        store=store,
        quiet=quiet or as_json,
    )  # fmt: skip
    outside = None if reference is None else read_reference(reference)

    def read(source: Source) -> Samples:
        return read_samples(source.path, probabilities=probabilities, class_names=names, groups=groups)

    files: dict[str, list[Path]] = {}
    if stream or pieces:
        whole = {"--model": model, "--groups": groups, "--per-sample": per_sample, "--calibrate": calibrate}
        _refuse_with_stream([name for name, value in whole.items() if value], target)
        files = files_of(logits or [], pieces=pieces)
    models = stream_models(files, options, names, probabilities=probabilities, quiet=quiet or as_json)
    tables, sources, curves = [], {}, {}
    for name, source in [] if files else logits_sources(logits or [], model or [], data or [], run_options):
        samples, sizes = read(source), None
        with naming(source.path if source.about is None else name):
            sizes = _sizes(source, target, groups)
            local = auditing.score_samples(samples, options)
            models.append(
                auditing.audit_scores(
                    samples,
                    local,
                    options,
                    name=name,
                    source=source.source,
                    data_seed=source.seed,
                    run=source.about,
                    class_sizes=sizes,
                )
            )
            if calibrate is not None:
                sources[name], curves[name] = (source, sizes), calibrating.curve_of(samples, options)
        if per_sample is not None:
            tables.append(auditing.sample_table(samples, local, name=name))
    outside = None if outside is None else for_models(outside, [entry.name for entry in models], str(reference))
    calibration = None
    if calibrate is not None:
        calibration = calibrating.calibration_of(curves, calibrate, reference=outside)
        models = [
            calibrating.with_calibration(
                entry, read(source), curves[entry.name], calibration.temperature, options, class_sizes=sizes
            )
            for entry, (source, sizes) in zip(models, sources.values(), strict=True)
        ]
    given = [path for paths in files.values() for path in paths] or logits or []
    inputs = [path for path in (*given, groups, class_names) if path is not None]
    audit = Audit(
        models=tuple(models),
        calibration=calibration,
        ranking=calibrating.ranking_of(tuple(models), outside),
        provenance=_provenance(inputs),
    )
    written: list[Path] = []
    if per_sample is not None:
        write_per_sample(per_sample, tables)
        written.append(per_sample)
    if out is not None or not as_json:
        result = (out or Path("gfscore-audit")) / RESULT
        audit.save(result)
        written.append(result)
    if as_json:
        sys.stdout.write(audit.to_json())
    elif not quiet:
        console = Console()
        terminal.show(audit, console)
        for path in written:
            console.print(f"Written: {path}", markup=False, highlight=False, soft_wrap=True)


def _refuse_with_stream(given: Sequence[str], target: Target) -> None:
    """Options that need all samples at once, or again."""
    unusable = [*given, *(["--target finite"] if target is Target.FINITE else [])]
    if unusable:
        raise OptionError(f"{unusable[0]} needs the samples, and a stream keeps only their sums. Leave --stream away.")


def _sizes(source: Source, target: Target, groups: Path | None) -> IntArray | None:
    """Class sizes for the finite target; refused where nobody can know that the samples are a random part."""
    if target is Target.POPULATION:
        return None
    if source.class_sizes is None or groups is not None:
        raise OptionError(
            "the target finite is for classes of a data set that is run here, whole or a random part of each class "
            "(--n-per-class). Use --target population."
        )
    return source.class_sizes


def _provenance(paths: Sequence[Path]) -> Provenance:
    command = shlex.join(["gfscore", *sys.argv[1:]])
    return auditing.make_provenance(command=command, inputs={str(path): sha256(path) for path in paths})
