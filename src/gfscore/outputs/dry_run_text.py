"""A dry run as a person reads it: what would be measured of each model, and how long that would take."""

from rich.console import Console
from rich.text import Text

from gfscore import views
from gfscore.outputs.fitting import column_table, fit
from gfscore.results import DryRun, PlannedMeasure, PlannedModel

MARKS = {"exact": "", "estimated": "about ", "at most": "at most "}
SPARE = ("written", "stored")  # columns that a narrow terminal goes without, the least needed first
UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"))
BYTES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
REST = (
    "Nothing was computed. Times are of measuring, in one process on this machine and as busy as it was now. "
    "Intervals, tables and reports come after it."
)
IF = "if it breaks nothing"
WHY = {
    "estimated": "The passes of {} depend on which images are right, or fall to an attack: as seen in the trial.",
    "at most": "Passes and times of {} are the most that it takes; it may end before.",
}


def span(seconds: float) -> str:
    """A time for people.

    >>> span(0.04), span(75.0), span(150.0), span(9000.0)
    ('0.04 s', '75 s', '2.5 min', '2.5 h')
    """
    for unit, name in UNITS:
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def size(n_bytes: float) -> str:
    """A number of bytes for people.

    >>> size(36_000), size(512), size(2.5e9)
    ('36 kB', '512 bytes', '2.5 GB')
    """
    for unit, name in BYTES:
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes:.0f} bytes"


def show_dry_run(found: DryRun, console: Console) -> None:
    """Print each model with its measurements, and all of them together."""
    for model in found.models:
        _show_model(model, console)
    if len(found.models) > 1:
        console.print(Text(f"All {len(found.models)} models: {span(found.seconds)}.", style="bold"))
    console.print(Text(REST, style="dim"))


def _show_model(model: PlannedModel, console: Console) -> None:
    where = f"{model.name} on {model.data}: {model.n:,} images, {model.classes:,} classes"
    console.print(Text(views.printable(where), style="bold"))
    table = column_table("measured", "images", "stored", "forward", "gradients", "written", "takes")
    for entry in model.measures:
        table.add_row(*_row(entry))
    console.print(fit(console, table, SPARE))
    low, high = model.seconds_range
    console.print(
        Text(
            f"Together {span(model.seconds)} ({span(low)} to {span(high)} by the trial), {span(model.start_seconds)} "
            f"of it to open and check. Memory about {size(model.memory)}."
        )
    )
    for entry in model.measures:
        if entry.most_seconds is not None:
            passes = f"{entry.most_forward_passes:,} passes, {entry.most_backward_passes:,} gradients"
            console.print(Text(f"{entry.what} takes at most {passes} and {span(entry.most_seconds)}, {IF}."))
    for are, why in WHY.items():
        whats = [entry.what for entry in model.measures if entry.passes_are == are and entry.stored < entry.images]
        if whats:
            console.print(Text(why.format(" and ".join(whats))))
    console.print()


def _row(entry: PlannedMeasure) -> tuple[str, ...]:
    mark = MARKS[entry.passes_are]
    done = 0 < entry.images == entry.stored
    return (
        entry.what,
        f"{entry.images:,}",
        f"{entry.stored:,}",
        "0" if done else f"{mark}{entry.forward_passes:,}",
        f"{mark}{entry.backward_passes:,}" if entry.backward_passes else "0",
        size(entry.bytes_written) if not done else "0 bytes",
        span(entry.seconds) if not done else "is stored",
    )
