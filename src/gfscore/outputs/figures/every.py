"""All the figures of a result, each under the name its file gets."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from altair.typing import ChartType

from gfscore.errors import ResultError
from gfscore.results import Audit, ModelAudit

if TYPE_CHECKING:
    from gfscore.outputs.figures import Figure


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A figure of a result, or why it cannot be drawn from it."""

    name: str  # of the figure
    stem: str  # of its file
    shows: str
    chart: ChartType | None
    reason: str | None = None


def draw_all(
    figures: Mapping[str, "Figure"], audit: Audit, *, radii: Mapping[str, Sequence[tuple[int, float]]]
) -> Iterator[Drawn]:
    """Draw each of ``figures`` that the result holds the numbers for; ``radii`` are the one set it does not hold."""
    numbers: dict[str | None, dict[str, Any]] = {
        None: {},
        "radii": {"radii": radii},
        "calibration": {"calibration": audit.calibration},
    }
    for name, figure in figures.items():
        for stem, subject in _subjects(name, figure, audit):
            chart, reason = None, None
            try:
                chart = figure.draw(subject, **numbers[figure.takes])
            except ResultError as error:
                reason = str(error)
            yield Drawn(name=name, stem=stem, shows=figure.shows, chart=chart, reason=reason)


def _subjects(name: str, figure: "Figure", result: Audit) -> Iterator[tuple[str, Audit | ModelAudit]]:
    """What a figure is drawn from, and the stem of its file: the audit, or each of its models."""
    if not figure.per_model:
        yield name, result
        return
    taken: set[str] = set()
    for model in result.models:
        stem = name if len(result.models) == 1 else f"{name}-{_file_name(model.name)}"
        while stem.casefold() in taken:
            stem += "-2"
        taken.add(stem.casefold())
        yield stem, model


def _file_name(name: str) -> str:
    """A model's name without what a file's name cannot hold."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "model"
