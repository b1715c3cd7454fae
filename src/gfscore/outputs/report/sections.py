"""The parts of the page that are words and small tables: they stand in the file and need no script."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import calibration as calibration_words
from gfscore.outputs.escaping import as_html
from gfscore.outputs.report import words
from gfscore.results import Audit, ModelAudit, Provenance

COMMAND_LIMIT = 4000
WITH_ENDS = ("wcr", "rdi", "nrgc")  # in the table of models, which must fit on paper: what is said of classes first


def per_model(audit: Audit, render: Callable[[ModelAudit], str]) -> str:
    """A block for each model, of which the page shows the chosen ones; at first the first."""
    single = len(audit.models) == 1
    blocks = []
    for index, model in enumerate(audit.models):
        heading = "" if single else f"<h3>{as_html(model.name)}</h3>"
        hidden = " hidden" if index else ""
        blocks.append(f'<div class="block" data-model="{index}"{hidden}>{heading}{render(model)}</div>')
    return f'<div class="blocks">{"".join(blocks)}</div>'


def verdict(model: ModelAudit) -> str:
    """What to take away."""
    said = words.verdict(model)
    gate = "" if model.verdict is None else f'<p class="gate">Gate: {as_html(model.verdict)}</p>'
    sentences = "".join(f"<p>{as_html(sentence, words.TEXT_LIMIT)}</p>" for sentence in said.sentences)
    headline = as_html(said.headline, words.TEXT_LIMIT)
    return f'<div class="verdict {said.tone}">{gate}<p class="headline">{headline}</p>{sentences}</div>'


def metrics(model: ModelAudit) -> str:
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
            cells.insert(2, views.metric_text(model, line.key, best, interval=False) if known else "–")
        rows.append(cells)
    notes = [line.meaning for line in words.metric_lines(model)]
    return _table(headings, rows, caption=views.brackets(model), kind="metrics", notes=notes)


def flags(model: ModelAudit) -> str:
    """What makes a number less trustworthy than it looks."""
    if not model.flags:
        return "<p>None was raised.</p>"
    items = (
        f"<strong>{as_html(flag.code)}</strong>: {as_html(flag.message, words.TEXT_LIMIT)}" for flag in model.flags
    )
    return f'<ul class="flags">{_items(items)}</ul>'


def claims(model: ModelAudit) -> str:
    """What is and what is not claimed."""
    said, unsaid = (
        _items(as_html(text, words.TEXT_LIMIT) for text in texts)
        for texts in (words.claimed(model), words.not_claimed(model))
    )
    refuted = ' class="refuted"' if model.claim.radius_refuted_share else ""
    return f"<h4>Claimed</h4><ul>{said}</ul><h4>Not claimed</h4><ul{refuted}>{unsaid}</ul>"


def models(audit: Audit) -> str:
    """All models in one table; the page draws the picture above it."""
    first, keys = audit.models[0], views.metric_keys(*audit.models, main=True)
    titles = [[views.metric_title(key, first.score), *(["which"] if key == "wcr" else [])] for key in keys]
    headings = ["model", "accuracy", *chain(*titles), "flags"]
    rows = []
    for model in audit.models:
        values = {key: views.metric_text(model, key, interval=key in WITH_ENDS) for key in keys}
        cells = [[values[key], *([model.wcr.class_] if key == "wcr" else [])] for key in keys]
        rows.append([model.name, views.percent(model.accuracy), *chain(*cells), str(len(model.flags))])
    caption = " ".join([views.brackets(first), *views.weighed_notes(audit.models)])
    return _table(headings, rows, caption=caption, kind="models")


def calibration(audit: Audit) -> str:
    """Which temperature was found, and what the choice is worth."""
    found = audit.calibration
    if found is None:
        return ""
    rows = [list(row) for row in calibration_words.rows(found)]
    notes = _items(as_html(flag.message, words.TEXT_LIMIT) for flag in found.flags)
    about = as_html(f"Objective {found.objective}: {calibration_words.MEANINGS.get(found.objective, '')}.", 200)
    table = _table(["what", "value"], rows, caption=f"Calibration over {len(found.models):,} models", kind="facts")
    return f"<h3>Calibration</h3><p>{about}</p>{table}" + (f'<ul class="flags">{notes}</ul>' if notes else "")


def samples(model: ModelAudit) -> str:
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


def provenance(made: Provenance) -> str:
    """What made the result."""
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
