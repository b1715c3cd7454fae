"""The report as one HTML file: no other file, no other host, and the browser is told to refuse both.

Words and small tables stand in the file and need no script; what the page's scripts draw is packed small beside them.
"""

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import chain
from string import Template
from typing import Any

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.calibration_text import OBJECTIVE_MEANINGS, calibration_rows
from gfscore.outputs.escaping import as_html, script_json, shorten
from gfscore.outputs.report import report_words as words
from gfscore.outputs.report.page_numbers import CLASS_LINES, page_data
from gfscore.results import Audit, ModelAudit, Provenance

# In the order in which they build on each other.
SCRIPTS = ("dom.js", "charts.js", "curves.js", "robust.js", "table.js", "main.js")
CHOICE = """\
<nav aria-label="Models"><label for="model">Model</label><select id="model">{options}</select>
<label for="beside">beside it</label><select id="beside"><option value="">none</option>{options}</select></nav>"""
MODELS = """\
<section aria-labelledby="h-models"><h2 id="h-models">Models side by side</h2>
{table}<p>Scores, from the worst {part} to the best; the dot is their mean.{warning}</p>
<div id="spread" class="chart"></div></section>"""
ROBUST = """\
<section aria-labelledby="h-robust"><h2 id="h-robust">Robust accuracy</h2>
<div id="robust" class="chart"></div>{ladders}</section>"""
COMMAND_LIMIT = 4000
WITH_ENDS = ("wcr", "rdi", "nrgc")  # in the table of models, which must fit on paper: what is said of classes first


def html(audit: Audit) -> str:
    """The report: opens offline, prints, and reads in light and dark.

    Names are text wherever they stand. A content security policy allows this page's own script and style, by their
    hashes, and nothing else.
    """
    models, several = audit.models, len(audit.models) > 1
    part = models[0].partition
    style, script = read_asset("report.css"), _script()
    warning = "".join(f" {note}" for note in sentences.no_order(models))
    options = "".join(f'<option value="{index}">{as_html(model.name)}</option>' for index, model in enumerate(models))
    return Template(read_asset("report.html")).substitute(
        policy=f"default-src 'none'; img-src data:; script-src {hash_source(script)}; style-src {hash_source(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=f"Robustness of {len(models):,} models by {part}"
        if several
        else f"{as_html(models[0].name)}: robustness by {part}",
        about=f"How evenly robustness is spread over {PLURALS[part]}, measured without attacks.",
        style=style,
        choice=CHOICE.format(options=options) if several else "",
        verdict=_per_model(audit, _verdict),
        robust=_robustness(audit),
        models=MODELS.format(part=part, table=_models(audit), warning=warning) if several else "",
        part=part,
        parts=PLURALS[part],
        metrics=_per_model(audit, _metrics),
        flags=_per_model(audit, _flags),
        claims=_per_model(audit, _claims),
        calibration=_calibration(audit),
        samples=_per_model(audit, _samples),
        provenance=_provenance(audit.provenance),
        data=script_json(page_data(audit)),
        script=script,
    )


@cache
def read_asset(name: str) -> str:
    """A file that pages are made of."""
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = "\n".join(read_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def hash_source(text: str) -> str:
    """How a content security policy names a script or style that it allows."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _per_model(audit: Audit, render: Callable[[ModelAudit], str]) -> str:
    """A block for each model, of which the page shows the chosen ones; at first the first."""
    single = len(audit.models) == 1
    blocks = []
    for index, model in enumerate(audit.models):
        heading = "" if single else f"<h3>{as_html(model.name)}</h3>"
        hidden = " hidden" if index else ""
        blocks.append(f'<div class="block" data-model="{index}"{hidden}>{heading}{render(model)}</div>')
    return f'<div class="blocks">{"".join(blocks)}</div>'


def _verdict(model: ModelAudit) -> str:
    said = words.verdict(model)
    gate = "" if model.verdict is None else f'<p class="gate">Gate: {as_html(model.verdict)}</p>'
    sentences = "".join(f"<p>{as_html(sentence, words.TEXT_LIMIT)}</p>" for sentence in said.sentences)
    headline = as_html(said.headline, words.TEXT_LIMIT)
    return f'<div class="verdict {said.tone}">{gate}<p class="headline">{headline}</p>{sentences}</div>'


def _robustness(audit: Audit) -> str:
    """A section with the picture that a script draws, and a table for each model; empty where nothing is known."""
    if all(model.robustness is None for model in audit.models):
        return ""
    return ROBUST.format(ladders=_per_model(audit, _ladder))


def _ladder(model: ModelAudit) -> str:
    if model.robustness is None:
        return "<p>Not measured.</p>"
    about, _, drawn = robust_words.curve_notes(model, lines=len(model.classes) <= CLASS_LINES)
    rows = robust_words.ladder_rows(model, named=shorten)
    table = _table(robust_words.ladder_headings(model), rows, caption="By the size of the attack", kind="ladder")
    return f"<p>{as_html(f'{about} {drawn}', words.TEXT_LIMIT)}</p>{table}"


def _metrics(model: ModelAudit) -> str:
    """Every metric with its interval, what it means and what chance would give; also at T* when it was calibrated."""
    best = model.calibrated
    headings = ["metric", "value [interval]", "chance alone would give"]
    if best is not None:
        headings.insert(2, f"at T* = {best.temperature:.4g}")
    rows = []
    for line in words.metric_lines(model):
        cells = [line.name, line.value, line.floor or "–"]
        if best is not None:
            known = line.key in views.metric_keys(best)
            cells.insert(2, views.metric_text(model, line.key, best) if known else "–")
        rows.append(cells)
    notes = [line.meaning for line in words.metric_lines(model)]
    return _table(headings, rows, caption=sentences.brackets(model), kind="metrics", notes=notes)


def _flags(model: ModelAudit) -> str:
    if not model.flags:
        return "<p>None was raised.</p>"
    items = (
        f"<strong>{as_html(flag.code)}</strong>: {as_html(flag.message, words.TEXT_LIMIT)}" for flag in model.flags
    )
    return f'<ul class="flags">{_items(items)}</ul>'


def _claims(model: ModelAudit) -> str:
    said, unsaid = (
        _items(as_html(text, words.TEXT_LIMIT) for text in texts)
        for texts in (words.claimed(model), words.not_claimed(model))
    )
    refuted = ' class="refuted"' if model.claim.radius_refuted_share else ""
    return f"<h4>Claimed</h4><ul>{said}</ul><h4>Not claimed</h4><ul{refuted}>{unsaid}</ul>"


def _models(audit: Audit) -> str:
    first, keys = audit.models[0], views.metric_keys(*audit.models, main=True)
    titles = [[views.metric_title(key, first.score), *(["which"] if key == "wcr" else [])] for key in keys]
    robust, part = any(model.robustness for model in audit.models), first.partition
    beside = [robust_words.models_title(audit.models), f"worst {part}"] if robust else []
    headings = ["model", "accuracy", *beside, *chain(*titles), "flags"]
    rows = []
    for model in audit.models:
        with_ends = () if robust else WITH_ENDS
        values = {key: views.metric_text(model, key, interval=key in with_ends) for key in keys}
        cells = [[values[key], *([model.wcr.class_] if key == "wcr" else [])] for key in keys]
        known = robust_words.headline_cells(model, named=shorten) if robust else []
        rows.append([model.name, views.percent(model.accuracy), *known, *chain(*cells), str(len(model.flags))])
    caption = " ".join([sentences.brackets(first), *sentences.weighed_notes(audit.models)])
    return _table(headings, rows, caption=caption, kind="models robust" if robust else "models")


def _calibration(audit: Audit) -> str:
    found = audit.calibration
    if found is None:
        return ""
    rows = [list(row) for row in calibration_rows(found)]
    notes = _items(as_html(flag.message, words.TEXT_LIMIT) for flag in found.flags)
    about = as_html(f"Objective {found.objective}: {OBJECTIVE_MEANINGS.get(found.objective, '')}.", 200)
    table = _table(["what", "value"], rows, caption=f"Calibration over {len(found.models):,} models", kind="facts")
    return f"<h3>Calibration</h3><p>{about}</p>{table}" + (f'<ul class="flags">{notes}</ul>' if notes else "")


def _samples(model: ModelAudit) -> str:
    """Where a model's samples came from, and how its logits were made if they were made here."""
    seed = "" if model.samples.seed is None else f", generated with seed {model.samples.seed}"
    source = as_html(f"{model.samples.n:,} samples, {model.samples.source}{seed}.", 400)
    how = as_html(", ".join(filter(None, (words.score_title(model.score), words.settings(model.score)))), 400)
    absent = ""
    if model.absent_classes:
        absent = f"<p>{len(model.absent_classes):,} {PLURALS['class']} without a sample are in no number.</p>"
    facts = list(_facts({} if model.run is None else model.run.model_dump(mode="json")))
    run = _table(["setting", "value"], facts, caption="How its outputs were made", kind="facts") if facts else ""
    return f"<p>{source} {how}.</p>{absent}{run}"


def _facts(run: Mapping[str, Any], path: str = "") -> Iterator[list[str]]:
    """Every setting with its path, as ``data.source``; those that were not set are left out."""
    for name, value in run.items():
        if isinstance(value, Mapping):
            yield from _facts(value, f"{path}{name}.")
        elif value not in (None, False):
            yield [f"{path}{name}", str(value)]


def _provenance(made: Provenance) -> str:
    versions = ", ".join(f"{name} {getattr(made, name)}" for name in ("gfscore", "python", "numpy", "scipy"))
    command = (
        "<p>The command is not recorded: the audit was made in Python.</p>"
        if made.command is None
        else f'<p>Made by</p><pre tabindex="0"><code>{as_html(made.command, COMMAND_LIMIT)}</code></pre>'
    )
    hashes = [[path, digest] for path, digest in made.inputs.items()]
    table = _table(["input", "SHA-256"], hashes, caption="Files it was made from", kind="facts") if hashes else ""
    return f"{command}<p>on {as_html(made.created)} with {as_html(versions, 400)}.</p>{table}"


def _items(texts: Iterable[str]) -> str:
    return "".join(f"<li>{text}</li>" for text in texts)


def _table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    caption: str,
    kind: str,
    notes: Sequence[str] | None = None,
) -> str:
    """A table of texts; the first cell of a row is its heading, with a note below it if there are notes."""
    head = "".join(f'<th scope="col">{as_html(heading)}</th>' for heading in headings)
    body = []
    for index, (first, *others) in enumerate(rows):
        note = "" if notes is None else f"<small>{as_html(notes[index], words.TEXT_LIMIT)}</small>"
        cells = "".join(f"<td>{as_html(cell, words.TEXT_LIMIT)}</td>" for cell in others)
        body.append(f'<tr><th scope="row">{as_html(first)}{note}</th>{cells}</tr>')
    label = as_html(caption, 300)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{label}"><table class="{kind}">'
        f"<caption>{label}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )
