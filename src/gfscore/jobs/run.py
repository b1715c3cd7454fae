"""``logits``: forward passes only, into a file."""

from pathlib import Path
from typing import Annotated

from gfscore.errors import OptionError
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.options import DataSpecs, ModelSpecs, RunOptions
from gfscore.jobs.sources import listed_objects, run_models
from gfscore.storage import to_write
from gfscore.storage.store import export_logits, name_metadata
from gfscore.words import Word


@Job
def logits(
    out: Annotated[Path, Word(short="o", help="The logits file to write: .safetensors.")],
    *,
    model: ModelSpecs = None,
    data: DataSpecs = None,
    run: RunOptions,
    face: Face = SILENT,
) -> Path:
    """Run a model on labelled images and keep its logits in a file.

    A run that was stopped, however it was stopped, goes on where it was.
    """
    path = to_write(out)
    if path.suffix.lower() != ".safetensors":
        raise OptionError(f"--out {out} has the ending {path.suffix!r}. Logits are written as .safetensors.")
    models, sets = listed_objects(model), listed_objects(data)
    if len(models) != 1 or len(sets) != 1:
        raise OptionError("one --model and one --data make one logits file. Call the command once for each.")
    for source in run_models(models, sets, run, face):
        if source.run is not None and source.path is not None:
            export_logits(source.path, path, name_metadata(source.run.data.class_names, source.run.data.sample_ids))
    return path
