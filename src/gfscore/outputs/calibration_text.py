"""A calibration as a person reads it in a terminal: the temperature, how firmly it is chosen, and what it is worth."""

from collections.abc import Sequence

from rich.console import Console, Group
from rich.text import Text

from gfscore import views
from gfscore.outputs.fitting import column_table, fit, flag_lines
from gfscore.results import Agreement, Calibration, LeftOut

SAME_OBJECTIVE = 1e-9  # two values of an objective closer than this are equal
OBJECTIVE_MEANINGS = {
    "models": "rank correlation over models of score and clean accuracy (the paper's definition)",
    "classes": "mean over models of the rank correlation over classes of score and clean accuracy",
    "stability": "how little the order of the classes changes with a small change of temperature",
    "given": "rank correlation over models of score and the reference",
}


def show_calibration(calibration: Calibration, console: Console) -> None:
    """Print a calibration: the temperature, how firmly it is chosen, and what it is worth; 80 columns are enough."""
    table = column_table("", prose="", header=False)
    table.columns[0].style = "bold"
    for name, text in calibration_rows(calibration):
        table.add_row(name, Text(text))
    mistakes = [flag for flag in calibration.flags if flag.mistaken]
    console.print(
        Group(
            Text(f"Calibration of {len(calibration.models)} models, objective {calibration.objective}", style="bold"),
            Text(OBJECTIVE_MEANINGS.get(calibration.objective, ""), style="dim"),
            *flag_lines(mistakes),
            Text(),
            fit(console, table),
            Text(),
            *flag_lines(flag for flag in calibration.flags if not flag.mistaken),
        )
    )


def calibration_rows(calibration: Calibration) -> list[tuple[str, str]]:
    """What there is to say of a calibration, as name and text."""
    intervals = ", ".join(f"({low:.4g}, {high:.4g})" for low, high in calibration.intervals) or "–"
    low, high = calibration.temperature_range
    temperature = "undefined" if calibration.temperature is None else f"{calibration.temperature:.4g}"
    found = [
        ("T*", temperature),
        ("objective at T*", views.number(calibration.value)),
        ("maximal on", f"{intervals}  of the range [{low:g}, {high:g}]"),
        ("at T = 1", views.number(calibration.baselines.at_one)),
        ("clean accuracy alone", _clean_text(calibration)),
    ]
    if calibration.grid is not None:
        grid = calibration.grid
        found.append(("the paper's grid", f"T = {grid.temperature:.4g} with {views.number(grid.value)}"))
    left = [entry for entry in calibration.left_out if entry.at_full is not None]
    if left:
        found.append(("leaving one model out", _left_out_text(left)))
    if calibration.reference is not None:
        beside = calibration.reference
        agreements = {"T*": beside.calibrated, "T = 1": beside.at_one, "clean accuracy": beside.clean_accuracy}
        for name, agreement in agreements.items():
            if agreement is not None:
                found.append((f"with the reference, {name}", agreement_text(agreement)))
    return found


def agreement_text(agreement: Agreement) -> str:
    """Spearman's correlation with what is known of its chance: ``rank correlation 0.900 (p = 0.083, …)``."""
    if agreement.spearman is None:
        return "undefined: one of the two has the same value for all models"
    known = [] if agreement.spearman_p is None else [f"p = {agreement.spearman_p:.2g}"]
    if agreement.spearman_interval is not None:
        known.append(f"{agreement.level:.0%} interval {' to '.join(views.ends(agreement.spearman_interval))}")
    return f"rank correlation {views.number(agreement.spearman)}" + (f" ({', '.join(known)})" if known else "")


def _clean_text(calibration: Calibration) -> str:
    """The baseline; 1 says nothing where clean accuracy is what the score is compared with."""
    value = calibration.baselines.clean_accuracy
    known = value is not None and calibration.objective in ("models", "classes")
    return views.number(value) + (", by definition" if known else "")


def _left_out_text(left: Sequence[LeftOut]) -> str:
    """In how many cases T* is still the best for the remaining models, and what it costs them in the worst."""
    losses = {entry.model: entry.loss for entry in left}
    kept = sum(loss <= SAME_OBJECTIVE for loss in losses.values())
    if kept == len(left):
        return f"T* stays among the best in all {len(left)} cases"
    worst = max(losses, key=losses.__getitem__)
    return (
        f"T* stays among the best in {kept} of {len(left)} cases; without {views.printable(worst)} it loses "
        f"{losses[worst]:.3f}"
    )
