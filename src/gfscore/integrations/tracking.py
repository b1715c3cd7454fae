"""An audit in an experiment tracker, MLflow or Weights & Biases: metrics with their intervals, a table, the report."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from gfscore import views
from gfscore.errors import OptionError, require
from gfscore.inputs.models.shims import no_deprecations
from gfscore.outputs import report
from gfscore.results import Audit, Metric, ModelAudit
from gfscore.storage import write_text

REPORT, RESULT = "report.html", "audit.json"
Columns = dict[str, list[Any]]


class Tracker(Protocol):
    """What a tracker must be able to keep."""

    def numbers(self, values: Mapping[str, float], step: int | None) -> None:
        """Numbers by name, which are drawn over steps."""

    def table(self, name: str, columns: Columns, step: int | None) -> None:
        """A table by columns of the same length, after the numbers of its step."""

    def file(self, path: Path) -> None:
        """A file as it is."""


def log_audit(audit: Audit, *, to: str | Tracker, step: int | None = None, prefix: str = "gfscore/") -> None:
    """Log an audit to the run that is active in ``to``: ``"mlflow"``, ``"wandb"``, or a :class:`Tracker` of your own.

    Each metric is three numbers: ``wcr``, and the ends of its interval, ``wcr_low`` and ``wcr_high``; a number that
    does not exist is not logged. With several models their names stand before it. The classes are a table,
    ``report.html`` and ``audit.json`` are files.

    >>> class Printer:
    ...     def numbers(self, values, step):
    ...         print(round(values["gfscore/wcr"], 3), values.keys() >= {"gfscore/wcr_low", "gfscore/wcr_high"})
    ...     def table(self, name, columns, step):
    ...         print(name, columns["class"])
    ...     def file(self, path):
    ...         print(path.name)
    >>> from gfscore import audit
    >>> log_audit(audit([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1]), to=Printer())
    0.29 True
    classes ['0', '1']
    report.html
    audit.json
    """
    tracker = _tracker(to) if isinstance(to, str) else to
    several = len(audit.models) > 1
    for model in audit.models:
        tracker.numbers(_numbers(model, f"{prefix}{_key(model.name)}/" if several else prefix), step)
    tracker.table("classes", _classes(audit), step)
    with tempfile.TemporaryDirectory() as folder:
        write_text(Path(folder) / REPORT, report.html(audit))
        audit.save(Path(folder) / RESULT)
        for name in (REPORT, RESULT):
            tracker.file(Path(folder) / name)


class MLflow:
    """The active run of MLflow."""

    def __init__(self) -> None:
        with no_deprecations():
            self.mlflow = require("mlflow", extra="mlflow", purpose="logging to MLflow")
        if self.mlflow.active_run() is None:
            raise OptionError("no run of MLflow is active. Call this inside `with mlflow.start_run():`.")

    def numbers(self, values: Mapping[str, float], step: int | None) -> None:
        """As metrics."""
        self.mlflow.log_metrics(dict(values), step=step)

    def table(self, name: str, columns: Columns, step: int | None) -> None:  # noqa: ARG002 (MLflow's have none)
        """As a table that the interface shows."""
        self.mlflow.log_table(columns, f"{name}.json")

    def file(self, path: Path) -> None:
        """As an artifact."""
        self.mlflow.log_artifact(str(path))


class WandB:
    """The active run of Weights & Biases."""

    def __init__(self) -> None:
        with no_deprecations():
            self.wandb = require("wandb", extra="wandb", purpose="logging to Weights & Biases")
        if self.wandb.run is None:
            raise OptionError("no run of Weights & Biases is active. Call wandb.init() first.")

    def numbers(self, values: Mapping[str, float], step: int | None) -> None:
        """As history, in one row with the table that follows."""
        self.wandb.run.log(dict(values), step=step, commit=False)

    def table(self, name: str, columns: Columns, step: int | None) -> None:
        """As a table, and the end of the row."""
        rows = [list(row) for row in zip(*columns.values(), strict=True)]
        self.wandb.run.log({name: self.wandb.Table(columns=list(columns), data=rows)}, step=step, commit=True)

    def file(self, path: Path) -> None:
        """As an artifact of the run."""
        artifact = self.wandb.Artifact(f"{self.wandb.run.id}-{path.name}", type="robustness-audit")
        artifact.add_file(str(path))
        self.wandb.run.log_artifact(artifact)


TRACKERS: dict[str, type[MLflow] | type[WandB]] = {"mlflow": MLflow, "wandb": WandB}


def _tracker(name: str) -> Tracker:
    if name not in TRACKERS:
        raise OptionError(f"tracker {name!r} is not known. Choose {' or '.join(map(repr, TRACKERS))}.")
    return TRACKERS[name]()


def _numbers(model: ModelAudit, prefix: str) -> dict[str, float]:
    mean = f"{_key(model.score.name).replace('-', '_')}_score"  # great_score, first_order_score
    found = {mean if key == "aggregate" else key: model.metric(key) for key in views.metric_keys(model)}
    found["accuracy"] = Metric(value=model.accuracy)
    values: dict[str, float | None] = {}
    for name, metric in found.items():
        low, high = metric.interval or (None, None)
        values |= {f"{prefix}{name}": metric.value, f"{prefix}{name}_low": low, f"{prefix}{name}_high": high}
    return {name: value for name, value in values.items() if value is not None}


def _classes(audit: Audit) -> Columns:
    columns: Columns = {name: [] for name in ("model", "class", "n", "score", "low", "high", "accuracy")}
    for model in audit.models:
        for entry in model.classes:
            low, high = entry.interval or (None, None)
            row = (model.name, entry.name, entry.n, entry.score, low, high, entry.accuracy)
            for column, value in zip(columns.values(), row, strict=True):
                column.append(value)
    return columns


def _key(name: str) -> str:
    """A model's name as a part of a metric's: the characters that MLflow takes."""
    return re.sub(r"[^\w .-]", "_", name, flags=re.ASCII)
