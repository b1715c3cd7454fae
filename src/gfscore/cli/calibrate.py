"""``gfscore calibrate``: the temperatures that maximise an objective over models, without attacks."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore import auditing, calibrating
from gfscore.cli import options as shared
from gfscore.cli.screens import screen
from gfscore.cli.sources import model_names
from gfscore.cli.streams import write_data
from gfscore.errors import OptionError, naming
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.small_files import for_models, read_class_names, read_reference
from gfscore.outputs.terminal import show_calibration


def calibrate_command(
    logits: Annotated[
        list[Path], typer.Argument(help="Logits files, a model each: .npz, .safetensors, .parquet, .csv.")
    ],
    objective: Annotated[str, typer.Option(help="What to maximise: models, classes, stability or given.")],
    reference: shared.Reference = None,
    accuracies: shared.Accuracies = None,
    activation: Annotated[
        str, typer.Option(help="How logits become confidences: softmax or sigmoid.")
    ] = shared.DEFAULTS.activation,
    probabilities: shared.Probabilities = False,
    class_names: shared.ClassNames = None,
    search: Annotated[str, typer.Option("--range", help="Temperatures searched, lowest and highest.")] = "0.01,10",
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
) -> None:
    """Find the temperatures that maximise an objective over models, and say what the choice is worth.

    The objective is a step function of the temperature: all intervals that maximise it are given, with what T = 1 and
    clean accuracy alone would give.
    """
    options = auditing.Options(activation=activation)
    span = _span(search)
    calibrating.check_request(objective, reference=reference is not None, accuracies=accuracies is not None)
    given = None if reference is None else read_reference(reference)
    clean = None if accuracies is None else read_reference(accuracies, column="clean")
    names = None if class_names is None else read_class_names(class_names)
    curves = {}
    for name, path in model_names(logits).items():
        samples = read_samples(path, probabilities=probabilities, class_names=names)
        with naming(path):
            curves[name] = calibrating.curve_of(samples, options, span)
    calibration = calibrating.calibration_of(
        curves,
        objective,
        accuracies=None if clean is None else for_models(clean, curves, str(accuracies)),
        reference=None if given is None else for_models(given, curves, str(reference)),
    )
    if as_json:
        write_data(calibration.to_json())
    else:
        show_calibration(calibration, screen())


def _span(text: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise OptionError(
            f"--range {text!r} is not two numbers. Write the lowest and the highest, as 0.01,10."
        ) from None
    with naming("--range"):
        return calibrating.check_temperature_range((low, high))
