"""Everything a page says of one model, from the sentences to quote down to how its outputs were made."""

from collections.abc import Iterator, Mapping
from typing import Any

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import as_html, shorten
from gfscore.outputs.report import page_charts
from gfscore.outputs.report import report_words as words
from gfscore.outputs.report.class_table import class_table
from gfscore.outputs.report.html_parts import Html, items, table, unbroken
from gfscore.outputs.report.key_sentences import doubt_sentences, key_sentences
from gfscore.results import Calibration, Curves, ModelAudit

STOPS = 6  # temperatures in a table, where there is no slider
NO_CHOICE = (
    "A temperature T divides the outputs before they become confidences. It changes every score and no decision: what "
    "depends on it is a matter of choice."
)


def model_section(model: ModelAudit, place: int, *, kind: str, calibration: Calibration | None, alone: bool) -> str:
    """A section with all tables of a model; its name and its sentences stand at the top of the page if it is alone."""
    parts = PLURALS[model.partition]
    blocks = {
        "flags": ("Warnings", _flags(model)),
        "robust": ("Robust accuracy", _robustness(model)),
        "classes": (f"All {parts}", class_table(model, kind)),
        "metrics": ("Metrics", _metrics(model)),
        "why": ("What this rests on", _why(model)),
        "claims": ("What is claimed, and what is not", _claims(model)),
        "temperature": ("Temperature", _temperature(model, calibration)),
        "samples": ("Samples", _samples(model)),
    }
    level = 2 if alone else 3
    body = "".join(
        f'<section class="{name}" aria-labelledby="m{place}-{name}"><h{level} id="m{place}-{name}">{as_html(title)}'
        f"</h{level}>{html}</section>"
        for name, (title, html) in blocks.items()
        if html
    )
    head = ""
    if not alone:
        quoted = key_box(model)
        back = '<p class="screen"><a href="#h-models">All models</a></p>'
        head = f'<h2 id="m{place}-name">{as_html(model.name)}</h2>{quoted}{back}'
    named = "" if alone else f' aria-labelledby="m{place}-name"'
    return f'<section class="model" id="m{place}" data-model="{place}"{named}>{head}{body}</section>'


def key_box(*models: ModelAudit) -> str:
    """The sentences to quote, in a frame."""
    gates = [model.verdict for model in models if model.verdict is not None]
    gate = f'<p class="gate">Gate: {as_html(gates[0])}</p>' if len(models) == 1 and gates else ""
    broken = [words.BROKEN.format(part=models[0].partition)] if len(models) == 1 and words.is_broken(models[0]) else []
    said = broken or [*doubt_sentences(models), *key_sentences(models)]
    quoted = "".join(f'<p class="key">{unbroken(as_html(sentence, words.TEXT_LIMIT))}</p>' for sentence in said)
    doubted = any(flag.voids for model in models for flag in model.flags)
    tone = "broken" if doubted else words.verdict(models[0]).tone if len(models) == 1 else "open"
    return f'<div class="verdict {tone}">{gate}{quoted}</div>'


def _flags(model: ModelAudit) -> str:
    if not model.flags:
        return "<p>None was raised.</p>"
    said = (f"<strong>{as_html(flag.code)}</strong>: {as_html(flag.message, words.TEXT_LIMIT)}" for flag in model.flags)
    return f'<ul class="flags">{items(said)}</ul>'


def _robustness(model: ModelAudit) -> str:
    """The curves over eps and the numbers at some of them."""
    if model.robustness is None:
        return f"<p>Not measured. {as_html(sentences.begin(robust_words.NONE_HERE), 300)}</p>"
    few = len(model.classes) <= page_charts.CLASS_LINES
    about, _, drawn = robust_words.curve_notes(model, lines=few)
    rows = robust_words.ladder_rows(model, named=shorten)
    ladder = table(robust_words.ladder_headings(model), rows, caption="By the size of the attack", kind="ladder")
    mark = f"↓: the worst {model.partition} at {robust_words.eps_text(model.robustness)} (dashed)."
    said = f"<p>{as_html(f'{about} {mark} {drawn}', words.TEXT_LIMIT)}</p>"
    return f"{page_charts.robust_chart(model)}{said}{ladder}"


def _metrics(model: ModelAudit) -> str:
    """Every metric with its interval, what it means and what chance would give; also at T* when it was calibrated."""
    best = model.calibrated
    headings = ["metric", "value [interval]", "chance alone would give"]
    if best is not None:
        headings.insert(2, f"at T* = {best.temperature:.4g}")
    rows: list[list[str | Html]] = []
    lines = words.metric_lines(model)
    for line in lines:
        cells: list[str | Html] = [line.name, line.value, line.floor or "–"]
        if best is not None:
            known = line.key in views.metric_keys(best)
            cells.insert(2, views.metric_text(model, line.key, best) if known else "–")
        rows.append(cells)
    notes = [line.meaning for line in lines]
    return table(headings, rows, caption=sentences.brackets(model), kind="metrics", notes=notes)


def _why(model: ModelAudit) -> str:
    said = words.verdict(model)
    known = () if model.robustness is not None else (said.headline,)  # else the sentences to quote say it
    return "".join(f"<p>{as_html(text, words.TEXT_LIMIT)}</p>" for text in (*known, *said.sentences))


def _claims(model: ModelAudit) -> str:
    said, unsaid = (
        items(as_html(text, words.TEXT_LIMIT) for text in texts)
        for texts in (words.claimed(model), words.not_claimed(model))
    )
    refuted = ' class="refuted"' if model.claim.radius_refuted_share else ""
    return (
        f'<p class="lead"><b>Claimed</b></p><ul>{said}</ul><p class="lead"><b>Not claimed</b></p>'
        f"<ul{refuted}>{unsaid}</ul>"
    )


def _temperature(model: ModelAudit, calibration: Calibration | None) -> str:
    """The scores by temperature as a picture and at a few stops as numbers; a script adds a slider."""
    curves = model.curves
    if curves is None:
        return "" if model.score.temperature is None else "<p>This result holds no scores by temperature.</p>"
    plateau = () if calibration is None else calibration.intervals
    shaded = " Shaded: what the calibration found." if plateau else ""
    lowest = (
        "" if len(curves.scores) >= len(model.classes) else f" Kept are the {len(curves.scores)} lowest of the audit."
    )
    note = f"↓: the lowest. Dashed: the audit's T.{shaded}{lowest}"
    chart = page_charts.temperature_chart(model, curves, plateau)
    return f"<p>{NO_CHOICE}</p>{chart}<p>{as_html(note, 300)}</p>{_stops(model, curves)}"


def _stops(model: ModelAudit, curves: Curves) -> str:
    """Metrics at a few of the temperatures that are stored."""
    last = len(curves.temperature) - 1
    places = sorted({round(last * part / (STOPS - 1)) for part in range(STOPS)})
    known: dict[str, tuple[float | None, ...]] = {"aggregate": tuple(curves.aggregate)} | {
        key: tuple(values) for key, values in curves.metrics.items()
    }
    rows = [
        [
            sentences.begin(views.metric_name(key, model.score, model.partition)),
            *(views.number(known[key][k], views.metric_digits(key, model.score)) for k in places),
        ]
        for key in views.metric_keys(model)
        if key in known
    ]
    headings = ["metric", *(f"T = {curves.temperature[k]:.3g}" for k in places)]
    return table(headings, rows, caption="Metrics at some temperatures", kind="stops")


def _samples(model: ModelAudit) -> str:
    """Where a model's samples came from, and how its logits were made if they were made here."""
    seed = "" if model.samples.seed is None else f", generated with seed {model.samples.seed}"
    source = as_html(f"{model.samples.n:,} samples, {model.samples.source}{seed}.", 400)
    how = as_html(", ".join(filter(None, (words.score_title(model.score), words.settings(model.score)))), 400)
    absent = ""
    if model.absent_classes:
        absent = f"<p>{len(model.absent_classes):,} {PLURALS['class']} without a sample are in no number.</p>"
    facts = list(_facts({} if model.run is None else model.run.model_dump(mode="json")))
    run = table(["setting", "value"], facts, caption="How its outputs were made", kind="facts") if facts else ""
    return f"<p>{source} {how}.</p>{absent}{run}"


def _facts(run: Mapping[str, Any], path: str = "") -> Iterator[list[str]]:
    """Every setting with its path, as ``data.source``; those that were not set are left out."""
    for name, value in run.items():
        if isinstance(value, Mapping):
            yield from _facts(value, f"{path}{name}.")
        elif value not in (None, False):
            yield [f"{path}{name}", str(value)]
