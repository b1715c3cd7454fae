"""The report as one HTML file: no other file, no other host, and the browser is told to refuse both."""

import base64
import hashlib
from functools import cache
from importlib import resources
from string import Template

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs.escaping import as_html, script_json
from gfscore.outputs.report import sections
from gfscore.outputs.report.data import packed
from gfscore.results import Audit

SCRIPTS = ("dom.js", "charts.js", "curves.js", "table.js", "main.js")  # in the order in which they build on each other
CHOICE = """\
<nav aria-label="Models"><label for="model">Model</label><select id="model">{options}</select>
<label for="beside">beside it</label><select id="beside"><option value="">none</option>{options}</select></nav>"""
MODELS = """\
<section aria-labelledby="h-models"><h2 id="h-models">Models side by side</h2>
<p>From the worst {part} to the best; the dot is their mean.{warning}</p>
<div id="spread" class="chart"></div>{table}</section>"""


def html(audit: Audit) -> str:
    """The report: opens offline, prints, and reads in light and dark.

    Names are text wherever they stand. A content security policy allows this page's own script and style, by their
    hashes, and nothing else.
    """
    models, several = audit.models, len(audit.models) > 1
    part = models[0].partition
    style, script = _asset("report.css"), _script()
    table = sections.models(audit) if several else ""
    warning = "".join(f" {note}" for note in views.no_order(models))
    return Template(_asset("report.html")).substitute(
        policy=f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=f"Robustness of {len(models):,} models by {part}"
        if several
        else f"{as_html(models[0].name)}: robustness by {part}",
        about=f"How evenly robustness is spread over {PLURALS[part]}, measured without attacks.",
        style=style,
        choice=CHOICE.format(options=_options(audit)) if several else "",
        verdict=sections.per_model(audit, sections.verdict),
        models=MODELS.format(part=part, table=table, warning=warning) if several else "",
        part=part,
        parts=PLURALS[part],
        metrics=sections.per_model(audit, sections.metrics),
        flags=sections.per_model(audit, sections.flags),
        claims=sections.per_model(audit, sections.claims),
        calibration=sections.calibration(audit),
        samples=sections.per_model(audit, sections.samples),
        provenance=sections.provenance(audit.provenance),
        data=script_json(packed(audit)),
        script=script,
    )


def _options(audit: Audit) -> str:
    return "".join(
        f'<option value="{index}">{as_html(model.name)}</option>' for index, model in enumerate(audit.models)
    )


@cache
def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
