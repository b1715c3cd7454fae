"""``gfscore audit``: logits files in, a table and ``audit.json`` out."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from gfscore import auditing
from gfscore.errors import OptionError, naming
from gfscore.inputs.logits_files import read_class_names, read_samples, sha256
from gfscore.outputs import terminal
from gfscore.outputs.per_sample import check_suffix, write_per_sample
from gfscore.results import Audit

DEFAULTS = auditing.Options()
RESULT = "audit.json"


def audit_command(
    logits: Annotated[
        list[Path], typer.Argument(help="Logits files: .npz, .safetensors, .parquet or .csv; a model each.")
    ],
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
    groups: Annotated[
        Path | None, typer.Option(help="Profile over these groups: a name per line, or a CSV with a column each.")
    ] = None,
    class_names: Annotated[
        Path | None, typer.Option(help="Names of the classes: one per line, or a JSON list.")
    ] = None,
    min_n: Annotated[int, typer.Option(help="Flag classes with fewer samples.")] = DEFAULTS.min_n,
    per_sample: Annotated[Path | None, typer.Option(help="Also write a row per sample, to .csv or .parquet.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.json.  [default: gfscore-audit]")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print audit.json instead of tables; write it only with --out.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")] = False,
) -> None:
    """Audit how evenly robustness is spread over the classes, from logits.

    Prints the class profile and its disparity (RDI, NRGC, WCR, FP-GREAT), and writes audit.json.
    """
    options = auditing.Options(
        activation=activation,
        temperature=temperature,
        fairness_weight=fairness_weight,
        delta=delta,
        min_n=min_n,
    )
    if per_sample is not None:
        check_suffix(per_sample)
    names = None if class_names is None else read_class_names(class_names)
    models, tables = [], []
    for model_name, path in _model_names(logits).items():
        samples = read_samples(path, probabilities=probabilities, class_names=names, groups=groups)
        with naming(path):
            local = auditing.score_samples(samples, options)
            models.append(auditing.audit_scores(samples, local, options, name=model_name, source=path.name))
        if per_sample is not None:
            tables.append(auditing.sample_table(samples, local, name=model_name))
    audit = Audit(models=tuple(models), provenance=_provenance(logits))
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


def _model_names(paths: list[Path]) -> dict[str, Path]:
    """A name per file: its stem, with as many folders before it as it takes to tell it from the others."""
    resolved = [path.resolve() for path in paths]
    for index, path in enumerate(resolved):
        if path in resolved[:index]:
            raise OptionError(f"{paths[index]} is given twice. Name each file once.")
    parts = [(*path.parts[:-1], path.stem) for path in resolved]
    names = ["/".join(part[-1:]) for part in parts]
    depth = 1
    while len(set(names)) < len(names) and depth < max(map(len, parts)):
        depth += 1
        names = [
            "/".join(part[-depth:]) if names.count(name) > 1 else name for part, name in zip(parts, names, strict=True)
        ]
    if len(set(names)) < len(names):  # same folder, same stem: only the ending differs
        names = [path.name if names.count(name) > 1 else name for path, name in zip(paths, names, strict=True)]
    return dict(zip(names, paths, strict=True))


def _provenance(paths: list[Path]) -> Any:
    command = shlex.join(["gfscore", *sys.argv[1:]])
    return auditing.make_provenance(command=command, inputs={path.name: sha256(path) for path in paths})
