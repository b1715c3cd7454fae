"""A verdict, a comparison and a check as a person reads them in a terminal."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.metrics import all_metrics
from gfscore.outputs import attack_words, sentences
from gfscore.outputs.ci_formats import flag_text, grounds_text
from gfscore.outputs.fitting import add_ends, column_table, fit, flag_lines
from gfscore.outputs.terminal import shared_lines
from gfscore.results import (
    AdaptiveRun,
    Agreement,
    Audit,
    ClassResult,
    CrossCheck,
    GateResult,
    ModelAudit,
    ModelVerdict,
    RuleVerdict,
    ScoreInfo,
    Verdict,
)
from gfscore.score_titles import GREAT, ROBUST, SCORES
from gfscore.storage import redact

COLOURS = {Verdict.PASS: "bold green", Verdict.FAIL: "bold red", Verdict.UNDECIDED: "bold yellow"}

Columns = Mapping[str, Callable[[ClassResult], str]]


def show_gate(result: GateResult, console: Console) -> None:
    """Every model with its rules; the verdict on all of them last."""
    for model in result.models:
        console.print(_model(model, console, alone=len(result.models) == 1))
        console.print()
    if len(result.models) > 1:
        flagged = {
            views.printable(model.name): [flag_text(model, flag) for flag in model.flags] for model in result.models
        }
        console.print(Group(*shared_lines(flagged)))
        for text in dict.fromkeys(_level(model) for model in result.models if model.adaptive is None):
            console.print(Text(f"Of each model: {text[0].lower()}{text[1:]}", style="dim"))
        console.print(Text.assemble("All models: ", (result.verdict.value, COLOURS[result.verdict])))


def _model(model: ModelVerdict, console: Console, *, alone: bool) -> RenderableType:
    lines: list[RenderableType] = [
        Text.assemble((model.verdict.value, COLOURS[model.verdict]), f"  {views.printable(model.name)}")
    ]
    rules = column_table("", prose="", header=False)
    for rule in model.rules:
        rules.add_row(Text(f" {rule.verdict.value}", style=COLOURS[rule.verdict]), Text(reason_text(model, rule)))
    lines.append(fit(console, rules))
    if model.adaptive is not None:
        lines += [Text(), fit(console, _adaptive(model.adaptive, model.score), ("of", "accuracy"))]
    lines.append(Text(grounds_text(model)))
    if alone:
        lines += [Text(f"! {flag_text(model, flag)}", style="yellow") for flag in model.flags]
    if alone or model.adaptive is not None:
        lines.append(Text(_level(model), style="dim"))
    return Group(*lines)


def reason_text(model: ModelVerdict, rule: RuleVerdict) -> str:
    """Why a rule was judged as it was, about its metric by name: the result knows it by its short title."""
    head, verb, rest = rule.reason.partition(" is " if " is " in rule.reason else " ")
    if rule.metric not in all_metrics():
        return rule.reason
    title = views.metric_title(rule.metric, model.score)
    found = re.sub(rf"\b{re.escape(title)}\b", lambda _: views.metric_name(rule.metric, model.score), head, count=1)
    return f"{sentences.begin(found)}{verb}{rest}"


def _level(model: ModelVerdict) -> str:
    shares = ", ".join(f"{kind} {level:.3g}" for kind, level in model.levels.items())
    split = f" ({shares})" if len(model.levels) > 1 else ""
    text = f"A verdict of PASS or FAIL is wrong with probability at most {model.delta:g}{split}."
    if model.referee is not None:
        return f"{text} It is about {attack_words.TARGETS[model.referee.target]}; seed {model.referee.seed}."
    if model.adaptive is None:
        return text
    about = "the distribution behind the data" if model.adaptive.target == "population" else "this very data set"
    stored = f" {model.adaptive.from_store:,} samples were known from before." if model.adaptive.from_store else ""
    return f"{text} It is about {about}; seed {model.adaptive.seed}.{stored}"


def _adaptive(run: AdaptiveRun, score: ScoreInfo | None) -> Table:
    """Where the forward passes went: the classes that took most."""
    digits, robust = views.digits_of(score), score is not None and score.name == ROBUST
    table = column_table("class", "samples", "of", "robust" if robust else "mean score", "accuracy")
    most = sorted(run.classes, key=lambda entry: -entry.n)
    for entry in most[: 2 * sentences.END_ROWS]:
        table.add_row(
            Text(views.printable(entry.name)),
            f"{entry.n:,}",
            f"{entry.available:,}",
            views.percent(entry.score) if robust else views.number(entry.score, digits),
            views.percent(entry.accuracy),
        )
    if len(most) > 2 * sentences.END_ROWS:
        table.add_row(Text(f"… {len(most) - 2 * sentences.END_ROWS:,} more", style="dim"))
    return table


def show_check(audit: Audit, folder: Path | None, console: Console) -> None:
    """Radii refuted and accuracy under attack of each model; then where the result and the pictures are."""
    for model in audit.models:
        console.print(Text(views.printable(sentences.headline(model)), style="bold"))
        if model.claim.tried_by:
            console.print(_refutation(model, console))
        if model.cross_check is not None:
            console.print(_cross_check(model, model.cross_check, console))
        console.print(Group(*flag_lines(model.flags)))
    if folder is not None:
        pictures = " and witnesses/" if any(model.claim.witnesses for model in audit.models) else ""
        written = views.printable(f"Written: {redact(folder)}/: audit.json{pictures}")
        console.print(Text(written), soft_wrap=True)


def _refutation(model: ModelAudit, console: Console) -> RenderableType:
    claim = model.claim
    parts: list[RenderableType] = []
    if claim.radius_refuted_share is not None:
        columns: Columns = {
            "score": lambda entry: views.score_text(model, entry.score, entry.interval),
            "radii refuted": lambda entry: views.share_text(entry.refuted),
        }
        parts = [fit(console, _class_columns(model, columns)), Text()]
    parts += [Text(text, style="bold") for text in sentences.tried_texts(model)]
    if claim.witnesses:
        strongest = claim.witnesses[0]
        where = f" ({strongest.image}; exact pixels: {strongest.data})" if strongest.image else ""
        text = (
            f"Strongest witness: sample {strongest.sample} of “{strongest.class_}” is “{strongest.predicted}” at "
            f"distance {strongest.distance:.3g}, inside its radius of {strongest.radius:.3g}{where}."
        )
        parts.append(Text(views.printable(text)))
    if claim.radius_refuted_share is not None and claim.delta is not None:
        about = (
            "Shares are of samples with a positive score, from those tried; in the whole each class weighs as much as "
            f"it has of them. Intervals hold together with probability {1 - claim.delta:g}, beside those of the "
            "scores. A radius that stands is not proved."
        )
        parts.append(Text(about, style="dim"))
    return Group(*parts, Text(sentences.premise_text(model), style="dim"))


def _cross_check(model: ModelAudit, found: CrossCheck, console: Console) -> RenderableType:
    columns: Columns = {
        "accuracy attacked": lambda entry: views.share_text(entry.attacked),
        "first-order": lambda entry: views.percent(found.scores.first_order.get(entry.name)),
        "clean": lambda entry: views.percent(found.scores.clean_accuracy.get(entry.name)),
        SCORES[GREAT].heading: lambda entry: views.number(found.scores.great.get(entry.name)),
    }
    if found.few is not None:
        counts = {part.name: attack_words.count_text(part) for part in found.few.classes}
        columns = {**columns, "attacked": lambda entry: counts.get(entry.name, "–")}
    title = attack_words.ATTACKS.get(found.attack, found.attack)
    attack, accuracy = f"{title}, {found.norm} {found.eps:.4g}", views.share_text(found.accuracy)
    of_which = " on the same samples" if found.few is None else ""
    sure = f"intervals hold together with probability {1 - found.delta:g}"
    alike = [f"{name} {views.number(entry.spearman, 2)}" for name, entry in agreements(found).items()]
    lines = [
        *(
            [f"{attack}: accuracy {accuracy}, from {found.n:,} samples, classes weighed as audited; {sure}."]
            if found.few is None
            else attack_words.few_sentences(found, found.few, PLURALS[model.partition])
        ),
        f"Classes ranked as under attack (Spearman): {', '.join(alike)}.",
        *attack_words.kinder(found.attack),
        f"First-order radii: {found.first_order}.",
    ]
    if found.seconds:
        taken = ", ".join(f"{name} {_time(seconds)}" for name, seconds in found.seconds.items())
        lines.append(f"Time{of_which}: {taken}.")
    return Group(
        fit(console, _class_columns(model, columns), ("clean", SCORES[GREAT].heading)), Text(), *map(Text, lines)
    )


def agreements(found: CrossCheck) -> dict[str, Agreement]:
    """How alike each score and the attack order the classes, by the name of the score."""
    named = {
        "clean accuracy": found.agreement.clean_accuracy,
        "great": found.agreement.great,
        "first-order": found.agreement.first_order,
    }
    return {name: entry for name, entry in named.items() if entry is not None}


def _class_columns(model: ModelAudit, columns: Columns) -> Table:
    def row(entry: ClassResult) -> list[Text]:
        return [Text(views.printable(entry.name)), *(Text(cell(entry)) for cell in columns.values())]

    table = column_table(model.partition, *columns)
    return add_ends(table, sentences.by_score(model), row)


def _time(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
