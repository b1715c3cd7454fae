"""How a network was trained, for readers: what it took, what was chosen, and what the same budget gives without it."""

from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.outputs.escaping import markdown_row, markdown_text
from gfscore.outputs.fitting import column_table
from gfscore.results import Baseline, Repair, Training

BASELINES = {
    "at": "plain adversarial training, its last weights",
    "average": "plain adversarial training, its weights averaged",
}
HEADINGS = ("worst before", "worst after", "mean after", "the method adds")


def training_sentence(result: Repair, trained: Training) -> str:
    """What was trained, on what, and which epoch is kept."""
    kept = (
        f"epoch {trained.chosen} of {trained.done} is kept" if trained.chosen else "no epoch was better than the start"
    )
    then = " A bias for the logit of each class follows." if any(result.bias) else ""
    return views.printable(
        f"Trained by {result.method} with {trained.inner} on {trained.train_n:,} images of {trained.train_source}; "
        f"{kept}, chosen on {trained.select_n:,} others.{then}"
    )


def baseline_rows(result: Repair, trained: Training) -> list[tuple[str, str, str, str, str]]:
    """Name, worst class before and after, mean, and what the method adds to the mean; the repaired network last."""

    def row(baseline: Baseline) -> tuple[str, str, str, str, str]:
        judged = baseline.judged
        old, new = judged.worst_before, judged.worst_after
        return (
            BASELINES.get(baseline.name, baseline.name),
            f"{views.percent(old.value)} ({views.printable(old.class_)})",
            f"{views.percent(new.value)} ({views.printable(new.class_)})",
            views.percent(judged.after),
            worst_against(baseline),
        )

    rows = [row(each) for each in trained.baselines]
    decisive = result.decisive
    if decisive is not None and rows:
        old, new = decisive.worst_before, decisive.worst_after
        ends = [f"{views.percent(each.value)} ({views.printable(each.class_)})" for each in (old, new)]
        rows.append((f"{result.method}: this repair", ends[0], ends[1], views.percent(decisive.after), ""))
    return rows


def worst_against(baseline: Baseline) -> str:
    """What the method changes in the class that is worst under the baseline, in points."""
    worst = baseline.against.worst_before.class_
    part = next(part for part in baseline.against.parts if part.name == worst)
    return f"{views.points(part.change)} ({views.printable(worst)})"


def baseline_table(result: Repair, trained: Training) -> Table:
    """The baselines beside the repair."""
    table = column_table("same budget", *HEADINGS)
    for row in baseline_rows(result, trained):
        table.add_row(*(Text(cell) for cell in row))
    return table


def baseline_note(trained: Training) -> str:
    """What the last column is, and that baselines had the same chances."""
    biased = ", with a bias chosen alike" if trained.then == "bias" else ""
    return (
        f"Baselines have the same images, epochs and seed{biased}. What the method adds: points of the class that is "
        "worst under the baseline, with its interval."
    )


def markdown_training(result: Repair, trained: Training, level: int) -> list[str]:
    """Lines of a section for a model card."""
    lines = [markdown_text(training_sentence(result, trained)), ""]
    rows = baseline_rows(result, trained)
    if rows:
        lines += [f"{'#' * level} The same budget without the method", ""]
        lines += [markdown_row(["", *HEADINGS]), "|---|---|---|---|---|"]
        lines += [markdown_row([markdown_text(cell) for cell in row]) for row in rows]
        lines += ["", baseline_note(trained), ""]
    return lines
