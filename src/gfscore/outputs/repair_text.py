"""A repair as a person reads it: in a terminal, at a prompt, and as a section of a report or a model card."""

from collections.abc import Callable
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs.escaping import markdown_row, markdown_text
from gfscore.outputs.fitting import add_ends, column_table, fit, flag_lines
from gfscore.outputs.training_text import (
    HEADINGS,
    baseline_note,
    baseline_table,
    markdown_training,
    training_sentence,
)
from gfscore.results import BeforeAfter, FrontierPoint, Metric, Repair, RepairedPart

COLOURS = {"gained": "green", "paid": "red", "unclear": "dim"}
MEASURES = {
    "clean": "clean accuracy",
    "first-order": "robust accuracy (first-order radii)",
    "midpoint": "robust accuracy (midpoint radii)",
    "great": "GREAT score",
    "autoattack": "accuracy under AutoAttack (standard)",
    "apgd": "accuracy under APGD (two of AutoAttack's four attacks)",
    "pgd": "accuracy under APGD (20 steps)",
}
CHANGE = "change in points"
SPARE = ("n", "bias")  # what a narrow terminal goes without, the least needed first
WIDTH = 100  # columns of a text
MARK = "<!-- gfscore repair -->"  # tells later that gfscore wrote the file, which may then be replaced
Cells = list[Text | str]


def show_repair(result: Repair, console: Console) -> None:
    """Verdict, every class before and after, what else could have been chosen, and what to know of it."""
    choice, trained = result.choice, result.training
    chose = f"{choice.n:,} samples chose it, {choice.judged_by:,} others judge it"
    lines: list[RenderableType] = [
        Text(views.printable(f"{result.name}: {what_was_done(result)}; {chose}"), style="bold"),
        Text(result.reason, style="bold green" if result.gained else "bold yellow"),
        *([] if trained is None else [Text(training_sentence(result, trained))]),
    ]
    decisive = result.decisive
    if decisive is not None:
        lines += [
            Text(),
            Text(f"{title_of(result, decisive)}, on {decisive.n:,} samples:"),
            fit(console, parts_table(result, decisive), SPARE),
            *(Text(summary(result, each)) for each in result.judged if each is not decisive),
        ]
        if trained is not None and trained.baselines:
            lines += [Text(), fit(console, baseline_table(result, trained), HEADINGS[:1])]
            lines.append(Text(baseline_note(trained), style="dim"))
        if result.frontier:
            lines += [Text(), Text(_frontier_title(result)), fit(console, _frontier(result))]
        lines.append(Text(level_text(result, decisive), style="dim"))
    console.print(Group(*lines, *flag_lines(result.flags)))


def what_was_done(result: Repair) -> str:
    """The repair in a few words."""
    bias = "a bias for the logit of each class"
    if result.training is None:
        return bias
    return f"trained by {result.method}" + (f", then {bias}" if any(result.bias) else "")


def repair_text(result: Repair) -> str:
    """The same as plain text."""
    out = StringIO()
    show_repair(result, Console(file=out, width=WIDTH, markup=False, emoji=False, highlight=False, no_color=True))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def title_of(result: Repair, judged: BeforeAfter) -> str:
    """What was measured, with the size of the attack."""
    name = MEASURES.get(judged.measure, judged.measure)
    if result.eps is None or judged.measure in ("clean", "great"):
        return name[0].upper() + name[1:]
    return (
        f"{name[0].upper()}{name[1:]} at {views.norm_text(result.norm or '')} {views.eps_text(result.eps, result.norm)}"
    )


def summary(result: Repair, judged: BeforeAfter) -> str:
    """Mean and worst part before and after, in a line."""
    cell = _cell_of(judged)
    old, new = judged.worst_before, judged.worst_after
    parts = PLURALS[result.partition]
    paid = judged.of("paid")
    return views.printable(
        f"{title_of(result, judged)}: mean {cell(judged.before)} → {cell(judged.after)}, worst {cell(old.value)} "
        f"({old.class_}) → {cell(new.value)} ({new.class_}); {len(judged.of('gained'))} {parts} shown to gain, "
        f"{len(paid)} to pay."
    )


def level_text(result: Repair, judged: BeforeAfter) -> str:
    """What brackets and the verdict promise."""
    return (
        f"Brackets of one table hold together with probability {1 - judged.delta:g}. That the worst {result.partition} "
        f"gained is said wrongly with probability at most {result.delta:g}: for that every {result.partition} must be "
        f"shown to be better now than the worst was. In a mean all {PLURALS[result.partition]} weigh alike."
    )


def parts_table(result: Repair, judged: BeforeAfter) -> Table:
    """Every part, the one that was worst first; the mean last."""
    shown = result.partition == "class" and any(result.bias)
    by_class = dict(zip(result.class_names, result.bias, strict=True)) if shown else {}
    headings = ["n", *(["bias"] if by_class else []), "before", "after", CHANGE]
    if judged.measure == "great":
        headings[-1] = "change"
    table = column_table(result.partition, *headings)
    table.add_column("", no_wrap=True)
    cell = _cell_of(judged)

    def row(part: RepairedPart) -> Cells:
        bias: Cells = [f"{by_class[part.name]:+.2f}"] if by_class else []
        name: Cells = [Text(views.printable(part.name)), f"{part.n:,}"]
        values: Cells = [cell(part.before.value), cell(part.after.value), Text(_change(judged, part.change))]
        return [*name, *bias, *values, Text(part.verdict, style=COLOURS[part.verdict])]

    ordered = sorted(judged.parts, key=lambda part: part.before.value or 0.0)
    table = add_ends(table, ordered, row, f"more {PLURALS[result.partition]}")
    none: Cells = [""] if by_class else []
    change = Text(_change(judged, judged.change))
    table.add_row(Text("mean", style="bold"), "", *none, cell(judged.before), cell(judged.after), change, "")
    return table


def _cell_of(judged: BeforeAfter) -> Callable[[float | None], str]:
    return views.number if judged.measure == "great" else views.percent


def _change(judged: BeforeAfter, change: Metric) -> str:
    return views.estimate(change.value, change.interval) if judged.measure == "great" else views.points(change)


def _frontier_title(result: Repair) -> str:
    what = "accuracy" if result.eps is None else "robust accuracy by radii"
    how = "" if result.training is None else "by a bias behind the training "
    return f"What could be had {how}({what}, on the samples that chose):"


def _frontier(result: Repair) -> Table:
    """What could have been chosen, and what was, by the mean."""
    table = column_table(f"worst {result.partition}", "mean", "clean mean", "largest loss")
    table.add_column("", no_wrap=True)
    for point in frontier_points(result):
        loss = f"{100 * point.largest_loss:.1f} points"
        mark = "← chosen" if point.bias == result.bias else "no bias" if point is result.unrepaired else ""
        table.add_row(views.percent(point.worst), views.percent(point.mean), views.percent(point.clean), loss, mark)
    return table


def frontier_points(result: Repair) -> list[FrontierPoint]:
    """The frontier, no bias, and the point that was chosen, which the bounds may keep below it; by the worst part."""
    named = {result.bias, result.unrepaired.bias}
    others = [point for point in result.frontier if point.bias not in named]
    return sorted([*others, result.chosen, result.unrepaired], key=lambda point: (point.worst, -point.mean))


def markdown_section(result: Repair, *, level: int = 2) -> str:
    """A section for a report or a model card: the verdict, every part before and after, and what to know of it."""
    mark = "#" * level
    title = "by a class bias" if result.training is None else f"by training ({result.method})"
    lines = [f"{mark} Repair {title}", "", f"**{markdown_text(result.reason)}**", ""]
    if result.training is not None:
        lines += markdown_training(result, result.training, level + 1)
    if result.training is None or any(result.bias):
        by_class = ", ".join(f"{name} {bias:+.3f}" for name, bias in zip(result.class_names, result.bias, strict=True))
        lines += [f"Added to the logits: {markdown_text(by_class)}.", ""]
    for judged in result.judged:
        cell = _cell_of(judged)
        lines += [f"{mark}# {markdown_text(title_of(result, judged))}", ""]
        lines += [markdown_row([result.partition, "n", "before", "after", "change", ""])]
        lines += ["|---|---|---|---|---|---|"]
        for part in sorted(judged.parts, key=lambda part: part.before.value or 0.0):
            ends = [views.share_text(each) for each in (part.before, part.after)]
            if judged.measure == "great":
                ends = [cell(part.before.value), cell(part.after.value)]
            lines.append(
                markdown_row(
                    [markdown_text(part.name), f"{part.n:,}", *ends, _change(judged, part.change), part.verdict]
                )
            )
        lines += [
            markdown_row(
                ["mean", f"{judged.n:,}", cell(judged.before), cell(judged.after), _change(judged, judged.change), ""]
            ),
            "",
        ]
    if result.decisive is not None:
        lines += [markdown_text(level_text(result, result.decisive)), ""]
    lines += [f"- {markdown_text(flag.message)}" for flag in result.flags]
    return "\n".join([*lines, "", MARK]) + "\n"
