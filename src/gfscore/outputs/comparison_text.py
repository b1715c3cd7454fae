"""A comparison of two versions as a person reads it in a terminal."""

from collections.abc import Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.fitting import add_ends, column_table, drop_columns, fit, flag_lines
from gfscore.outputs.verdicts import COLOURS
from gfscore.results import (
    ClassChange,
    Comparison,
    RobustChange,
)

CHANGE_COLOURS = {"worse": "red", "better": "green", "within": "green", "unclear": "dim"}
FALL = "p of a fall"
SPARE_CHANGE_COLUMNS = ("n", FALL, "accuracy")  # what a narrow terminal goes without, the least needed first


def show_comparison(comparison: Comparison, console: Console) -> None:
    """The classes, the metrics, what got worse and what that hides."""
    old, new = views.printable(comparison.old), views.printable(comparison.new)
    paired = "paired" if comparison.paired else "UNPAIRED"
    robust = [
        drop_columns(console, _robust_changes(comparison, each), SPARE_CHANGE_COLUMNS) for each in comparison.robustness
    ]
    scored = drop_columns(console, _changes(comparison), SPARE_CHANGE_COLUMNS)
    mistakes = [flag for flag in comparison.flags if flag.mistaken]
    title = f"{old} → {new}: {comparison.n:,} samples, {paired} ({comparison.pairing})"
    if comparison.score is not None:
        title += "; " + ", ".join([views.score_name(comparison.score), *views.settings(comparison.score)])
    console.print(
        Group(
            Text(title, style="bold"),
            *flag_lines(mistakes),
            Text(f"Brackets: {_level_of(comparison)}.{_about_tests(comparison, robust, scored)}"),
            Text(),
            *_led_by(comparison, [fit(console, table) for table in robust]),
            fit(console, scored),
            Text(),
            fit(console, _metrics(comparison)),
            Text(),
            Text(comparison.reason, style=COLOURS[comparison.verdict]),
            *([Text(comparison.hidden, style="bold")] if comparison.hidden else []),
            *map(Text, sentences.no_order_between(comparison)),
            *(Text(f"No change of {name}: {why}.") for name, why in _unknown(comparison)),
            *flag_lines(flag for flag in comparison.flags if not flag.mistaken),
        )
    )


def _level_of(comparison: Comparison) -> str:
    """How sure the whole is, and where the error level goes when robust accuracy is compared beside a score."""
    whole, spent = comparison.delta, sum(change.delta for change in comparison.robustness)
    sure = f"everything here holds together with probability {1 - whole:g}"
    if not spent:
        return sure
    return f"{sure}: of the {whole:g} left, {spent:g} is for robust accuracy and {whole - spent:g} for the rest"


def _changes(comparison: Comparison) -> Table:
    table = column_table(comparison.partition, "n", "old", "new", "change", FALL, "accuracy")
    table.add_column("", no_wrap=True)
    ordered = sorted(comparison.classes, key=lambda entry: entry.change.value or 0.0)
    digits = views.digits_of(comparison.score)

    def row(entry: ClassChange) -> list[Text | str]:
        return [
            Text(views.printable(entry.name)),
            f"{entry.n:,}",
            views.number(entry.old, digits),
            views.number(entry.new, digits),
            Text(views.estimate(entry.change.value, entry.change.interval, digits)),
            "–" if entry.p_holm is None else f"{entry.p_holm:.2g}",
            f"{views.percent(entry.accuracy[0])} → {views.percent(entry.accuracy[1])}",
            Text(entry.verdict, style=CHANGE_COLOURS[entry.verdict]),
        ]

    return add_ends(table, ordered, row, f"more {PLURALS[comparison.partition]}")


def _about_tests(comparison: Comparison, robust: Sequence[Table], scored: Table) -> str:
    """What the p-values are, where a table that is shown has any."""
    shown = [
        *zip((change.classes for change in comparison.robustness), robust, strict=True),
        (comparison.classes, scored),
    ]
    for classes, table in shown:
        if any(column.header == FALL for column in table.columns) and any(each.p_holm is not None for each in classes):
            return f" {FALL}: corrected for all {PLURALS[comparison.partition]} (Holm); near 1 where one rose."
    return ""


def _robust_changes(comparison: Comparison, change: RobustChange) -> Table:
    """Robust accuracy of both versions, class by class."""
    table = column_table(comparison.partition, "n", "old", "new", "change in points", FALL)
    table.add_column("", no_wrap=True)

    def row(entry: ClassChange) -> list[Text | str]:
        return [
            Text(views.printable(entry.name)),
            f"{entry.n:,}",
            views.percent(entry.old),
            views.percent(entry.new),
            Text(views.points(entry.change)),
            "–" if entry.p_holm is None else f"{entry.p_holm:.2g}",
            Text(entry.verdict, style=CHANGE_COLOURS[entry.verdict]),
        ]

    return add_ends(table, sorted(change.classes, key=lambda entry: entry.change.value or 0.0), row)


def _led_by(comparison: Comparison, tables: Sequence[RenderableType]) -> list[RenderableType]:
    """The tables of robust accuracy, where it is known, each below its headline; then the name of the score below."""
    found: list[RenderableType] = []
    for change, table in zip(comparison.robustness, tables, strict=True):
        how = "same samples" if change.paired else "UNPAIRED"
        whole = f"{views.percent(change.old)} → {views.percent(change.new)}, {views.points(change.change)} points"
        at = f"{views.eps_text(change.eps, change.norm)} ({views.norm_text(change.norm)}, {change.kind}, {how})"
        found += [
            Text(f"Robust accuracy at {at}: {whole}; brackets hold with probability {1 - change.delta:g}.", "bold"),
            table,
            *([Text(robust_words.NO_BOUND, style="dim")] if change.kind == "estimated" else []),
            Text(),
            Text(sentences.begin(views.score_name(comparison.score)) + ":", style="bold"),
        ]
    return found


def _unknown(comparison: Comparison) -> list[tuple[str, str]]:
    """Metrics of which no change is known, with the reason; together where it is the same."""
    found: dict[str, list[str]] = {}
    for name, metric in comparison.metrics.items():
        if metric.reason is not None:
            found.setdefault(metric.reason, []).append(views.metric_name(name, comparison.score, comparison.partition))
    return [(", ".join(names), why) for why, names in found.items()]


def _metrics(comparison: Comparison) -> Table:
    table = column_table("metric", "old", "new", "change")
    for name, metric in comparison.metrics.items():
        digits = views.metric_digits(name, comparison.score)
        table.add_row(
            Text(views.metric_name(name, comparison.score, comparison.partition)),
            views.number(metric.old, digits),
            views.number(metric.new, digits),
            Text(views.estimate(metric.value, metric.interval, digits)),
        )
    before, after = comparison.accuracy
    table.add_row("accuracy", views.percent(before), views.percent(after), f"{100 * (after - before):+.1f} points")
    return table
