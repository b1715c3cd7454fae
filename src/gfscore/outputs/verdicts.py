"""A verdict and a comparison as a person reads them in a terminal."""

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs.fitting import fitting
from gfscore.outputs.grounds import flag_text, sentence
from gfscore.results import AdaptiveRun, ClassChange, Comparison, GateResult, ModelVerdict, Verdict

COLOURS = {Verdict.PASS: "bold green", Verdict.FAIL: "bold red", Verdict.UNDECIDED: "bold yellow"}
CHANGE_COLOURS = {"worse": "red", "better": "green", "within": "green", "unclear": "dim"}
FALL = "p of a fall"
SPARE = ("n", FALL, "accuracy")  # what a narrow terminal goes without, the least needed first


def show_gate(result: GateResult, console: Console) -> None:
    """Every model with its rules; the verdict on all of them last."""
    for model in result.models:
        console.print(_model(model))
        console.print()
    if len(result.models) > 1:
        console.print(Text.assemble("All models: ", (result.verdict.value, COLOURS[result.verdict])))


def _model(model: ModelVerdict) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble((model.verdict.value, COLOURS[model.verdict]), f"  {views.printable(model.name)}")
    ]
    rules = Table(box=None, show_header=False)
    rules.add_column(no_wrap=True)
    rules.add_column(overflow="fold")
    for rule in model.rules:
        rules.add_row(Text(rule.verdict.value, style=COLOURS[rule.verdict]), Text(rule.reason))
    lines.append(rules)
    if model.adaptive is not None:
        lines += [Text(), _adaptive(model.adaptive, views.digits_of(model.score))]
    lines.append(Text(sentence(model)))
    lines += [Text(f"! {flag_text(model, flag)}", style="yellow") for flag in model.flags]
    lines.append(Text(_level(model), style="dim"))
    return Group(*lines)


def _level(model: ModelVerdict) -> str:
    shares = ", ".join(f"{kind} {level:.3g}" for kind, level in model.levels.items())
    split = f" ({shares})" if len(model.levels) > 1 else ""
    text = f"A verdict of PASS or FAIL is wrong with probability at most {model.delta:g}{split}."
    if model.adaptive is None:
        return text
    about = "the distribution behind the data" if model.adaptive.target == "population" else "this very data set"
    stored = f" {model.adaptive.from_store:,} samples were known from before." if model.adaptive.from_store else ""
    return f"{text} It is about {about}; seed {model.adaptive.seed}.{stored}"


def _adaptive(run: AdaptiveRun, digits: int) -> Table:
    """Where the forward passes went: the classes that took most."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("class", overflow="fold")
    for heading in ("samples", "of", "mean score", "accuracy"):
        table.add_column(heading, justify="right", no_wrap=True)
    most = sorted(run.classes, key=lambda entry: -entry.n)
    for entry in most[: 2 * views.SHOWN]:
        table.add_row(
            Text(views.printable(entry.name)),
            f"{entry.n:,}",
            f"{entry.available:,}",
            views.number(entry.score, digits),
            "–" if entry.accuracy is None else views.percent(entry.accuracy),
        )
    if len(most) > 2 * views.SHOWN:
        table.add_row(Text(f"… {len(most) - 2 * views.SHOWN:,} more", style="dim"))
    return table


def show_comparison(comparison: Comparison, console: Console) -> None:
    """The classes, the metrics, what got worse and what that hides."""
    old, new = views.printable(comparison.old), views.printable(comparison.new)
    paired = "paired" if comparison.paired else "UNPAIRED"
    about = f" {FALL}: corrected for all {PLURALS[comparison.partition]} (Holm); near 1 where one rose."
    about = about if comparison.paired else ""
    console.print(
        Group(
            Text(
                f"{old} → {new}: {comparison.n:,} samples, {paired} ({comparison.pairing}){_scored(comparison)}",
                style="bold",
            ),
            Text(f"Brackets: everything here holds together with probability {1 - comparison.delta:g}.{about}"),
            Text(),
            fitting(console, _classes(comparison), SPARE),
            Text(),
            _metrics(comparison),
            Text(),
            Text(comparison.reason, style=COLOURS[comparison.verdict]),
            *([Text(comparison.hidden, style="bold")] if comparison.hidden else []),
            *(Text(f"No change of {name}: {why}.") for name, why in _unknown(comparison)),
            *(Text(f"! {views.printable(flag.message)}", style="yellow") for flag in comparison.flags),
        )
    )


def _scored(comparison: Comparison) -> str:
    """Which score was compared, as ``; first-order radius, Linf``."""
    if comparison.score is None:
        return ""
    return "; " + ", ".join([views.score_name(comparison.score), *views.settings(comparison.score)])


def _classes(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(comparison.partition, overflow="fold")
    for heading in ("n", "old", "new", "change", FALL, "accuracy"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    ordered = sorted(comparison.classes, key=lambda entry: entry.change.value or 0.0)
    many, digits = len(ordered) > 2 * views.SHOWN, views.digits_of(comparison.score)
    for entry in ordered[: views.SHOWN] if many else ordered:
        _add_class(table, entry, digits)
    if many:
        table.add_row(Text(f"… {len(ordered) - 2 * views.SHOWN:,} more {PLURALS[comparison.partition]}", style="dim"))
        for entry in ordered[-views.SHOWN :]:
            _add_class(table, entry, digits)
    return table


def _unknown(comparison: Comparison) -> list[tuple[str, str]]:
    """Metrics of which no change is known, with the reason; together where it is the same."""
    found: dict[str, list[str]] = {}
    for name, metric in comparison.metrics.items():
        if metric.reason is not None:
            found.setdefault(metric.reason, []).append(views.metric_title(name, comparison.score))
    return [(", ".join(names), why) for why, names in found.items()]


def _add_class(table: Table, entry: ClassChange, digits: int) -> None:
    table.add_row(
        Text(views.printable(entry.name)),
        f"{entry.n:,}",
        views.number(entry.old, digits),
        views.number(entry.new, digits),
        Text(views.estimate(entry.change.value, entry.change.interval, digits)),
        "–" if entry.p_holm is None else f"{entry.p_holm:.2g}",
        f"{views.percent(entry.accuracy[0])} → {views.percent(entry.accuracy[1])}",
        Text(entry.verdict, style=CHANGE_COLOURS[entry.verdict]),
    )


def _metrics(comparison: Comparison) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    for heading in ("old", "new", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, metric in comparison.metrics.items():
        digits = views.metric_digits(name, comparison.score)
        table.add_row(
            Text(views.metric_title(name, comparison.score)),
            views.number(metric.old, digits),
            views.number(metric.new, digits),
            Text(views.estimate(metric.value, metric.interval, digits)),
        )
    before, after = comparison.accuracy
    table.add_row("accuracy", views.percent(before), views.percent(after), f"{100 * (after - before):+.1f} points")
    return table
