"""``gfscore logits``: forward passes only, resumable."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli import options as shared
from gfscore.cli.running import RunOptions, run_models
from gfscore.engines.local import DEFAULT_BATCH
from gfscore.errors import OptionError
from gfscore.files import replacing


def logits_command(
    out: Annotated[Path, typer.Option("--out", "-o", help="The logits file to write: .safetensors.")],
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
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
    quiet: shared.Quiet = False,
) -> None:
    """Run a model on labelled images and keep its logits.

    A run that was stopped, however it was stopped, goes on where it was.
    """
    if out.suffix.lower() != ".safetensors":
        raise OptionError(f"--out {out} has the ending {out.suffix!r}. Logits are written as .safetensors.")
    if len(model or []) != 1 or len(data or []) != 1:
        raise OptionError("one --model and one --data make one logits file. Call the command once for each.")
    options = RunOptions(
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
        seed=seed,
        store=store,
        quiet=quiet,
    )  # fmt: skip
    for run in run_models(model or [], data or [], options):
        with replacing(out) as temporary:
            shutil.copyfile(run.logits, temporary)
        if not quiet:
            typer.echo(f"Written: {out}")
