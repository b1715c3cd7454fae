"""The report as Markdown, for a README, a wiki or a pull request, and as a section of a model card.

The metadata of a card follows https://github.com/huggingface/hub-docs/blob/main/modelcard.md: ``model-index`` with
task, dataset and metrics of each model.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from gfscore import views
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import markdown_row, markdown_text, shorten
from gfscore.outputs.report import report_words as words
from gfscore.outputs.report.key_sentences import key_sentences
from gfscore.outputs.report.report_head import ReportHead
from gfscore.results import Audit, ClassResult, ModelAudit, Provenance

IMAGES, UNKNOWN = "image-classification", "other"  # tasks of the hub: logits alone do not tell what was classified
CARD_TITLE = "## Robustness by class"


MARK = "<!-- gfscore report -->"  # tells later that gfscore wrote the file, which may then be replaced


def markdown(audit: Audit, head: ReportHead | None = None) -> str:
    """Three sentences, warnings, classes, metrics, claims and provenance of every model; of many classes the ends."""
    said = head or ReportHead()
    title = f"# {markdown_text(said.title or f'Robustness by {audit.models[0].partition}')}"
    facts = [f"{name}: {markdown_text(text)}  " for name, text in said.facts()]
    front = [
        *facts,
        *([""] if facts else []),
        *(line for text in said.paragraphs() for line in (markdown_text(text), "")),
    ]
    several = [*_list(key_sentences(audit.models)), ""] if len(audit.models) > 1 else []
    return "\n".join([title, "", *front, *several, *_model_parts(audit, level=2), "", MARK]) + "\n"


def _model_parts(audit: Audit, *, level: int) -> list[str]:
    """The lines below the title, with headings from ``level`` on."""
    lines = [line for model in audit.models for line in _model(model, "#" * level)]
    return [*lines, f"{'#' * level} How it was made", "", *_provenance(audit.provenance)]


def _model(model: ModelAudit, mark: str) -> list[str]:
    said = words.verdict(model)
    flags = _list(shorten(flag.message, words.TEXT_LIMIT) for flag in model.flags)
    sections = {"Warnings": flags or ["None was raised."]} | _robustness(model)
    sections |= {
        f"Score of each {model.partition}": _classes(model),
        "Metrics": _metrics(model),
        "Claimed": _list(words.claimed(model)),
        "Not claimed": _list(words.not_claimed(model)),
    }
    gate = [] if model.verdict is None else [f"Gate: **{markdown_text(model.verdict)}**", ""]
    lines = [f"{mark} {markdown_text(shorten(model.name))}", "", *gate, f"**{markdown_text(said.headline)}**", ""]
    lines += [" ".join(map(markdown_text, said.sentences)), ""]
    for title, body in sections.items():
        lines += [f"{mark}# {title}", "", *body, ""]
    return lines


def _robustness(model: ModelAudit) -> dict[str, list[str]]:
    """A section with the robust accuracies by eps, where there are some."""
    if model.robustness is None:
        return {}
    rows = robust_words.ladder_rows(model, named=shorten)
    about = f"By {robust_words.source_text(model)}; intervals: {robust_words.together_text([model])}."
    said = markdown_text(f"{about} {robust_words.limits_text(model.robustness)}")
    return {"Robust accuracy": [*_table(robust_words.ladder_headings(model), rows), "", said]}


def _classes(model: ModelAudit) -> list[str]:
    low, high = sentences.both_ends(robust_words.by_robustness(model))
    shares = sentences.class_shares(model)
    headings = [model.partition, "n", "score", views.accuracy_name(model.score), *shares, "most confused with"]
    gap = [["…", *[""] * (len(headings) - 1)]] if high else []
    rows = [*(_row(model, entry) for entry in low), *gap, *(_row(model, entry) for entry in high)]
    note = "" if not high else f" The {len(low)} lowest and {len(high)} highest of {len(model.classes):,} are shown."
    return [*_table(headings, rows), "", markdown_text(sentences.brackets(model) + note)]


def _row(model: ModelAudit, entry: ClassResult) -> list[str]:
    confused = "–"
    if entry.confused_with is not None:
        confused = f"{shorten(entry.confused_with)} ({views.percent(entry.confused_share)})"
    score = views.score_text(model, entry.score, entry.interval)
    shares = [views.share_text(share(entry)) for share in sentences.class_shares(model).values()]
    return [shorten(entry.name), f"{entry.n:,}", score, views.percent(entry.accuracy), *shares, confused]


def _metrics(model: ModelAudit) -> list[str]:
    rows = [[line.name, line.value, line.meaning, line.floor or "–"] for line in words.metric_lines(model)]
    how = ", ".join(filter(None, (words.score_title(model.score), words.settings(model.score))))
    about = f"{model.samples.n:,} samples, {shorten(model.samples.source, 300)}; {how}."
    return [*_table(["metric", "value", "meaning", "chance alone would give"], rows), "", markdown_text(about)]


def _provenance(made: Provenance) -> list[str]:
    command = ""
    if made.command is not None:
        quoted = shorten(made.command, 2000).replace("`", "'")  # between backticks, which it cannot hold itself
        command = f" by `{quoted}`"
    versions = f"gfscore {markdown_text(made.gfscore)}, Python {markdown_text(made.python)}"
    return [f"Made{command} on {made.created} with {versions}."]


def _list(texts: Iterable[str]) -> list[str]:
    return [f"- {markdown_text(each)}" for each in texts]


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    escaped = [[markdown_text(cell) for cell in row] for row in rows]
    return [markdown_row(cells) for cells in (headings, ["---"] * len(headings), *escaped)]


def model_card(audit: Audit) -> str:
    """A YAML block with ``model-index``, and a Markdown section; both go into the model's ``README.md``."""
    block = ["---", "model-index:", *_index(audit), "---", "", CARD_TITLE, ""]
    return "\n".join([*block, *_model_parts(audit, level=3), "", MARK]) + "\n"


def _index(audit: Audit) -> Iterator[str]:
    for model in audit.models:
        source = shorten(model.samples.source, 200)
        yield f"- name: {_scalar(shorten(model.name))}"
        yield "  results:"
        yield "  - task:"
        yield f"      type: {UNKNOWN if model.run is None else IMAGES}"
        yield "    dataset:"
        yield f"      type: {_scalar(source)}"
        yield f"      name: {_scalar(source)}"
        yield "    metrics:"
        for kind, value, name in _card_metrics(model):
            yield f"    - type: {kind}"
            yield f"      value: {value!r}"
            yield f"      name: {_scalar(name)}"


def _card_metrics(model: ModelAudit) -> Iterator[tuple[str, float, str]]:
    """Type, value and name of each number that exists."""
    how = words.settings(model.score)
    yield "accuracy", model.accuracy, f"{views.accuracy_name(model.score).capitalize()}{sentences.weighed(model)}"
    if model.robustness is not None:
        rung = model.robustness.headline
        yield "gfscore_robust_accuracy", float(rung.value), robust_words.card_name(model)
        yield (
            "gfscore_class_robust_accuracy",
            float(rung.lowest.value or 0.0),
            robust_words.card_name(model, worst=True),
        )
    for line in words.metric_lines(model):
        found = None if line.key == words.ROBUST else model.metric(line.key)
        if found is None or found.value is None:
            continue
        digits = views.metric_digits(line.key, model.score)
        ends = None if found.interval is None else f"interval {' to '.join(views.ends(found.interval, digits))}"
        yield f"gfscore_{line.key}", float(found.value), ", ".join(filter(None, (line.name, how, ends)))


def _scalar(text: str) -> str:
    """A YAML string: JSON's, whose quotes and escapes YAML shares once control characters are spelled out."""
    return json.dumps(views.printable(text), ensure_ascii=False)
