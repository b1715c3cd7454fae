"""The audit for a model card of the Hugging Face hub: metadata that machines read, and a section for people.

The metadata follows https://github.com/huggingface/hub-docs/blob/main/modelcard.md: ``model-index`` with task, dataset
and metrics of each model.
"""

import json
from collections.abc import Iterator

from gfscore import views
from gfscore.outputs.escaping import shortened
from gfscore.outputs.report import words
from gfscore.outputs.report.texts import model_parts
from gfscore.results import Audit, ModelAudit

IMAGES, UNKNOWN = "image-classification", "other"  # tasks of the hub: logits alone do not tell what was classified
TITLE = "## Robustness by class"


def model_card(audit: Audit) -> str:
    """A YAML block with ``model-index``, and a Markdown section; both go into the model's ``README.md``."""
    return "\n".join(["---", "model-index:", *_index(audit), "---", "", TITLE, "", *model_parts(audit, level=3)]) + "\n"


def _index(audit: Audit) -> Iterator[str]:
    for model in audit.models:
        source = shortened(model.samples.source, 200)
        yield f"- name: {scalar(shortened(model.name))}"
        yield "  results:"
        yield "  - task:"
        yield f"      type: {UNKNOWN if model.run is None else IMAGES}"
        yield "    dataset:"
        yield f"      type: {scalar(source)}"
        yield f"      name: {scalar(source)}"
        yield "    metrics:"
        for kind, value, name in _metrics(model):
            yield f"    - type: {kind}"
            yield f"      value: {value!r}"
            yield f"      name: {scalar(name)}"


def _metrics(model: ModelAudit) -> Iterator[tuple[str, float, str]]:
    """Type, value and name of each number that exists."""
    how = words.settings(model.score)
    yield "accuracy", model.accuracy, f"{views.accuracy_name(model.score).capitalize()}{views.weighed(model)}"
    for line in words.metric_lines(model):
        found = model.robust_accuracy if line.key == words.ROBUST else model.metric(line.key)
        if found is None or found.value is None:
            continue
        ends = None if found.interval is None else views.ends(found.interval, _digits(line.key, model))
        between = None if ends is None else f"interval {' to '.join(ends)}"
        yield f"gfscore_{line.key}", float(found.value), ", ".join(filter(None, (line.name, how, between)))


def _digits(key: str, model: ModelAudit) -> int:
    return 3 if key == words.ROBUST else views.metric_digits(key, model.score)


def scalar(text: str) -> str:
    """A YAML string: JSON's, whose quotes and escapes YAML shares once control characters are spelled out."""
    return json.dumps(views.printable(text), ensure_ascii=False)
