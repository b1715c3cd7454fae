"""``gfscore logits``: forward passes only, resumable."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli import options as shared
from gfscore.cli.grouping import expand
from gfscore.cli.running import run_models
from gfscore.cli.screens import say, screen
from gfscore.errors import OptionError
from gfscore.storage import redact
from gfscore.storage.store import export_logits, name_metadata


@expand
def logits_command(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The logits file to write: .safetensors.")],
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
    run: shared.RunOptions,
) -> None:
    """Run a model on labelled images and keep its logits.

    A run that was stopped, however it was stopped, goes on where it was.
    """
    if out.suffix.lower() != ".safetensors":
        raise OptionError(f"--out {out} has the ending {out.suffix!r}. Logits are written as .safetensors.")
    if len(model or []) != 1 or len(data or []) != 1:
        raise OptionError("one --model and one --data make one logits file. Call the command once for each.")
    for done, logits in run_models(model or [], data or [], run):
        export_logits(logits, out, name_metadata(done.data.class_names, done.data.sample_ids))
    say(screen(quiet=run.quiet), f"Written: {redact(out)}")  # once the bar is gone, which would take it away
