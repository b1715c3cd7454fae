"""The report as one HTML file: no other file, no other host, and the browser is told to refuse both.

Every sentence, table and picture stands in the file and needs no script; scripts only sort, find, choose and slide.
"""

from functools import cache
from string import Template

from gfscore.errors import PLURALS
from gfscore.outputs.calibration_text import OBJECTIVE_MEANINGS, calibration_rows
from gfscore.outputs.escaping import as_html, script_json
from gfscore.outputs.report import report_words as words
from gfscore.outputs.report.class_table import headings, phone_labels
from gfscore.outputs.report.html_parts import hash_source, items, read_asset, table
from gfscore.outputs.report.model_section import key_box, model_section
from gfscore.outputs.report.overview import overview
from gfscore.outputs.report.page_numbers import page_data
from gfscore.outputs.report.report_head import ReportHead
from gfscore.results import Audit, Provenance

SCRIPTS = ("tables.js", "slider.js")
COMMAND_LIMIT = 4000


def html(audit: Audit, head: ReportHead | None = None) -> str:
    """The report: opens offline, prints, and reads in light and dark.

    Names are text wherever they stand. A content security policy allows this page's own script and style, by their
    hashes, and nothing else.
    """
    models, alone = audit.models, len(audit.models) == 1
    said = (head or ReportHead()).titled(audit)
    kinds, labels = phone_labels(models)
    style, script = f"{read_asset('report.css')}{labels}", _script()
    sections = [
        model_section(model, place, kind=kinds[headings(model)], calibration=audit.calibration, alone=alone)
        for place, model in enumerate(models)
    ]
    return Template(read_asset("report.html")).substitute(
        policy=f"default-src 'none'; img-src data:; script-src {hash_source(script)}; style-src {hash_source(style)}; "
        "base-uri 'none'; form-action 'none'",
        title=as_html(said.title, 300),
        about=f"How evenly robustness is spread over {PLURALS[models[0].partition]}.",
        facts=_head_facts(said),
        notes="".join(f"<p>{as_html(text, 20_000)}</p>" for text in said.paragraphs()),
        style=style,
        key=key_box(*models),
        overview=overview(audit),
        sections="".join(sections),
        calibration=_calibration(audit),
        provenance=_provenance(audit.provenance),
        data=script_json(page_data(audit)),
        script=script,
    )


def _head_facts(head: ReportHead) -> str:
    facts = [f"{name}: {as_html(text, 300)}" for name, text in head.facts()]
    return f'<p class="facts">{" · ".join(facts)}</p>' if facts else ""


@cache
def _script() -> str:
    parts = "\n".join(read_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'


def _calibration(audit: Audit) -> str:
    found = audit.calibration
    if found is None:
        return ""
    rows = [list(row) for row in calibration_rows(found)]
    notes = items(as_html(flag.message, words.TEXT_LIMIT) for flag in found.flags)
    about = as_html(f"Objective {found.objective}: {OBJECTIVE_MEANINGS.get(found.objective, '')}.", 200)
    made = table(["what", "value"], rows, caption=f"Calibration over {len(found.models):,} models", kind="facts")
    flags = f'<ul class="flags">{notes}</ul>' if notes else ""
    return (
        f'<section aria-labelledby="h-calibration"><h2 id="h-calibration">Calibration</h2><p>{about}</p>{made}{flags}'
        "</section>"
    )


def _provenance(made: Provenance) -> str:
    versions = ", ".join(f"{name} {getattr(made, name)}" for name in ("gfscore", "python", "numpy", "scipy"))
    command = (
        "<p>The command is not recorded: the audit was made in Python.</p>"
        if made.command is None
        else f'<p>Made by</p><pre tabindex="0"><code>{as_html(made.command, COMMAND_LIMIT)}</code></pre>'
    )
    hashes = [[path, digest] for path, digest in made.inputs.items()]
    files = table(["input", "SHA-256"], hashes, caption="Files it was made from", kind="facts") if hashes else ""
    return f"{command}<p>on {as_html(made.created)} with {as_html(versions, 400)}.</p>{files}"
