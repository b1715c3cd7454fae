"""``gfscore compare``: two versions of a model, class by class."""

from pathlib import Path
from typing import Annotated

import typer

from gfscore import comparing
from gfscore.cli import options as shared
from gfscore.cli.delivery import provenance
from gfscore.cli.gate import EXIT_CODES
from gfscore.cli.grouping import expand
from gfscore.cli.screens import screen
from gfscore.cli.sources import model_names
from gfscore.cli.streams import write_data
from gfscore.errors import OptionError, naming
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.small_files import read_class_names
from gfscore.outputs.verdicts import show_comparison
from gfscore.results import Audit, ModelAudit
from gfscore.samples import Samples
from gfscore.storage import Watched, to_read
from gfscore.storage.store import Store

STORED = "store:"
VERSION = "a logits file, an audit.json, or store:KEY for a run that gfscore store list shows"


@expand
def compare_command(
    *,
    old: Annotated[str, typer.Argument(help=f"The version before: {VERSION}.")],
    new: Annotated[str, typer.Argument(help="The version after.")],
    fail_on_worse: Annotated[
        bool, typer.Option("--fail-on-worse", help="Exit with 1 when a class got worse, 3 when it is undecided.")
    ] = False,
    tolerance: Annotated[
        float | None,
        typer.Option(help="A fall that is accepted; without it, a class is worse when it fell at all."),
    ] = None,
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Do not match samples: they are others, or their order is not theirs.")
    ] = False,
    probabilities: shared.Probabilities = False,
    groups: shared.Groups = None,
    class_names: shared.ClassNames = None,
    scoring: shared.AuditOptions,
    store: shared.StoreFolder = None,
    out: Annotated[Path | None, typer.Option(help="File to write the comparison to, as JSON.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
    quiet: shared.Quiet = False,
) -> None:
    """Compare two versions of a model on the same samples: what changed in each class, and how sure that is.

    Samples are matched by id, or by order where the labels are equal; two audits are compared without, which shows only
    large changes.
    """
    options = scoring.checked()
    names = None if class_names is None else read_class_names(class_names)

    def read(path: Path) -> Samples | ModelAudit:
        if path.suffix.lower() == ".json":
            with naming(path):
                return Audit.load(path).model
        return read_samples(path, probabilities=probabilities, class_names=names, groups=groups)

    paths = [_path(version, store) for version in (old, new)]
    first, second = model_names(paths)
    files = Watched([*paths, *([groups] if groups else [])])  # before any is read
    before, after = map(read, paths)
    if isinstance(before, Samples) and isinstance(after, Samples):
        found = comparing.compare(before, after, options, tolerance=tolerance, names=(first, second), unpaired=unpaired)
    elif isinstance(before, ModelAudit) and isinstance(after, ModelAudit):
        found = comparing.compare_audits(before, after, tolerance=tolerance)
    else:
        raise OptionError(
            "one version is an audit, and the other has samples. Give logits for both, or an audit.json for both."
        )
    found = found.model_copy(update={"provenance": provenance(files)})
    if out is not None:
        found.save(out)
    if as_json:
        write_data(found.to_json())
    elif not quiet:
        show_comparison(found, screen())
    raise typer.Exit(EXIT_CODES[found.verdict] if fail_on_worse else 0)


def _path(version: str, store: Path | None) -> Path:
    """The file of a version; for ``store:KEY`` the logits of that run."""
    if not version.startswith(STORED):
        return to_read(version)
    key = version.removeprefix(STORED)
    found = [entry for entry in Store(store).entries() if entry.path.name.startswith(key) and entry.finished.exists()]
    if len(found) != 1:
        raise OptionError(f"{len(found)} finished runs have a key that begins with {key!r}. See gfscore store list.")
    return found[0].finished
