"""Pictures of the HTML report that need no script: they take the width there is, and their text keeps its size.

Paths stand in a square that is stretched to the width; whatever must keep its shape is placed in per cent.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gfscore import views
from gfscore.outputs import robust_words
from gfscore.outputs.escaping import as_html, shorten
from gfscore.results import Curves, Metric, ModelAudit

CLASS_LINES = 40  # classes that have a line of their own; of more a band is drawn
NAMED = 12  # classes that all have their name at the end of their line
TOP, HEIGHT, BELOW = 8, 250, 44  # pixels above a field, of it, and below it for its axis
GAP = 15  # pixels from one name to the next
NAME = 13  # characters of a name at the end of a line: what fits on a phone
TICKS_APART = 16.0  # per cent of the width from one number below the axis to the next
SIDE = 1000  # units of the stretched square
T_TICKS = (0.01, 0.1, 1.0, 10.0)
KEPT = 34  # points of a line over the temperature, which are drawn of the hundred that are stored
COLOURED = 8  # models whose curves have a look each
SHADES = 10  # of a heatmap: one for each tenth

Points = Sequence[tuple[float, float]]  # across in [0, 1], and up in [0, 1]


class Line(NamedTuple):
    """A line with its looks and, where it has one, its name."""

    points: Points
    look: str
    text: str = ""
    titled: str = ""  # said when it is pointed at


def path(points: Points) -> str:
    """The way through points."""
    return "M" + " ".join(f"{SIDE * x:.0f} {SIDE * (1 - y):.0f}" for x, y in points)


def stroke(line: Line) -> str:
    """A line; one that is named tells its name to whoever points at it."""
    said = f"<title>{as_html(line.titled)}</title>" if line.titled else ""
    return f'<path class="{line.look}" d="{path(line.points)}">{said}</path>'


def band(low: Points, high: Points, look: str) -> str:
    """What lies between two lines."""
    back = path(tuple(reversed(high)))[1:]
    return f'<path class="{look}" d="{path(low)} {back}z"/>'


def field(
    drawn: str, *, label: str, across: Iterable[tuple[float, str]], up: Sequence[tuple[float, str]],
    titles: tuple[str, str], names: str = "", marks: str = "",
) -> str:  # fmt: skip
    """A picture with its axes: what is ``drawn`` in the square, ``marks`` over it, ``names`` on the right."""
    bottom = TOP + HEIGHT
    heights = [TOP + HEIGHT * (1 - y) for y, _ in up]
    sides = "".join(
        f'<text x="40" y="{at + 4:.0f}" text-anchor="end">{text}</text>'
        for at, (_, text) in zip(heights, up, strict=True)
    )
    grid = "".join(f'<line class="grid" x1="0" x2="100%" y1="{at:.0f}" y2="{at:.0f}"/>' for at in heights)
    ticks = "".join(
        f'<text x="{100 * x:.1f}%" y="{bottom + 16}" text-anchor="middle">{text}</text>' for x, text in across
    )
    whole = TOP + HEIGHT + BELOW
    right = f'<svg class="names" height="{whole}" aria-hidden="true">{names}</svg>' if names else ""
    return (
        f'<figure class="plot{"" if names else " wide"}"><p class="up">{as_html(titles[1])}</p><div>'
        f'<svg class="ys" height="{whole}" aria-hidden="true">{sides}</svg>'
        f'<svg class="field" height="{whole}" role="img" aria-label="{as_html(label, 300)}">{grid}'
        f'<svg y="{TOP}" width="100%" height="{HEIGHT}" viewBox="0 0 {SIDE} {SIDE}" preserveAspectRatio="none">{drawn}'
        f'</svg>{marks}{ticks}<text x="50%" y="{bottom + 36}" text-anchor="middle" class="axis">{as_html(titles[0])}'
        f"</text></svg>{right}</div></figure>"
    )


def end_names(lines: Sequence[Line]) -> str:
    """Names at the right ends of their lines, moved apart where they would lie on each other."""
    ends = [TOP + HEIGHT * (1 - line.points[-1][1]) for line in lines]
    order = sorted(range(len(lines)), key=lambda place: ends[place])
    places, free, most = dict[int, float](), float(TOP), float(TOP + HEIGHT)
    for place in order:
        places[place] = max(ends[place], free)
        free = places[place] + GAP
    for place in reversed(order):
        places[place] = min(places[place], most)
        most = places[place] - GAP
    return "".join(
        f'<line class="leader" x1="2" x2="12" y1="{ends[place]:.0f}" y2="{places[place]:.0f}"/>'
        f'<text class="t-{line.look.split()[-1]}" x="15" y="{places[place] + 4:.0f}">{as_html(cut(line.text))}</text>'
        for place, line in enumerate(lines)
    )


def cut(text: str, limit: int = NAME) -> str:
    """A name where there is little room: its beginning."""
    text = views.printable(text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def dot(x: float, y: float, look: str) -> str:
    """A point that keeps its shape."""
    return f'<circle class="{look}" cx="{100 * x:.2f}%" cy="{TOP + HEIGHT * (1 - y):.1f}" r="4.5"/>'


class EpsAxis:
    """Eps across, from 0 to the largest of some models; in 255ths where people write it so."""

    def __init__(self, models: Sequence[ModelAudit]) -> None:
        found = [model.robustness for model in models if model.robustness is not None]
        self.most = max(rung.eps for each in found for rung in each.rungs)
        unit, said = robust_words.eps_unit(found[0].norm, self.most)
        self.title = f"size of the attack, eps ({views.norm_text(found[0].norm)}{said})"
        self.ticks = list[tuple[float, str]]()
        heads = [each.eps for each in found]
        shown = sorted(rung.eps for each in found for rung in robust_words.shown_rungs(each))
        for eps in (0.0, *heads, *reversed(shown)):
            if all(abs(eps / self.most - other) * 100 >= TICKS_APART for other, _ in self.ticks):
                self.ticks.append((eps / self.most, f"{round(eps / unit, 6):.4g}"))

    def line(self, curve: Iterable[tuple[float, Metric]], start: float | None) -> list[tuple[float, float]]:
        """The points of a curve; from clean accuracy at 0 on, where that is of the same samples."""
        first = [] if start is None else [(0.0, start)]
        return [*first, *((eps / self.most, metric.value or 0.0) for eps, metric in curve)]

    def band(self, curve: Sequence[tuple[float, Metric]], look: str) -> str:
        """The intervals of a curve; nothing where there are none."""
        ends = [(eps / self.most, metric.interval) for eps, metric in curve if metric.interval is not None]
        if not ends:
            return ""
        low, high = ([(x, each[side]) for x, each in ends] for side in (0, 1))
        return band(low, high, look)


PERCENTS = tuple((tenth / 10, f"{10 * tenth} %") for tenth in (0, 2, 4, 6, 8, 10))


def robust_chart(model: ModelAudit) -> str:
    """Robust accuracy over eps of each class of a model, the worst and the whole with their intervals."""
    found = model.robustness
    if found is None:
        return ""
    axis, rung = EpsAxis([model]), found.headline
    names = [part.name for part in found.classes]
    clean = {entry.name: entry.accuracy for entry in model.classes}
    joined = found.n == model.samples.n
    curves = {name: [(each.eps, each.classes[at]) for each in found.rungs] for at, name in enumerate(names)}
    whole = [(each.eps, each.whole) for each in found.rungs]

    def line(curve: Sequence[tuple[float, Metric]], start: float, look: str, text: str) -> Line:
        return Line(axis.line(curve, start if joined else None), look, text, text)

    others = [line(curves[name], clean[name], "line class", name) for name in names if name != rung.worst]
    main = [
        line(whole, model.accuracy, "line main", robust_words.WHOLE),
        line(curves[rung.worst], clean[rung.worst], "line worst", f"↓ {rung.worst}"),
    ]
    parts = [axis.band(whole, "band main"), axis.band(curves[rung.worst], "band worst")]
    if len(names) > CLASS_LINES:
        low, high = ([(x, choose(ys)) for x, ys in _columns(others)] for choose in (min, max))
        parts.insert(0, band(low, high, "band spread"))
    else:
        parts += map(stroke, others)
    at = found.eps / axis.most
    marks = f'<line class="cursor" x1="{100 * at:.2f}%" x2="{100 * at:.2f}%" y1="{TOP}" y2="{TOP + HEIGHT}"/>'
    marks += dot(at, rung.value, "main") + dot(at, rung.lowest.value or 0.0, "worst")
    marks += dot(0, model.accuracy, "open main") + dot(0, clean[rung.worst], "open worst")
    label = f"Robust accuracy of {model.name} by {axis.title}: of all samples, of the worst {model.partition}, others"
    named = [*main, *(others if len(names) <= NAMED else [])]
    return field(
        "".join([*parts, *map(stroke, main)]), label=label, across=axis.ticks, up=PERCENTS, marks=marks,
        titles=(axis.title, "robust accuracy"), names=end_names(named),
    )  # fmt: skip


def _columns(lines: Sequence[Line]) -> list[tuple[float, list[float]]]:
    return [(points[0][0], [y for _, y in points]) for points in zip(*(line.points for line in lines), strict=True)]


def models_chart(models: Sequence[ModelAudit], *, worst: bool, places: Sequence[int]) -> str:
    """Robust accuracy over eps of several models, of all samples or of the worst class.

    ``places`` are those of the models in the result.
    """
    axis, parts = EpsAxis(models), []
    for look, (model, place) in enumerate(zip(models, places, strict=True)):
        found = model.robustness
        if found is None:
            continue
        curve = [(rung.eps, rung.lowest if worst else rung.whole) for rung in found.rungs]
        start = min(entry.accuracy for entry in model.classes) if worst else model.accuracy
        points = axis.line(curve, start if found.n == model.samples.n else None)
        shade = axis.band(curve, "band") if len(models) <= 4 else ""
        drawn = stroke(Line(points, "line", titled=model.name))
        parts.append(f'<g class="k{look % COLOURED}" data-model="{place}">{shade}{drawn}</g>')
    heads = sorted({model.robustness.eps / axis.most for model in models if model.robustness is not None})
    marks = "".join(
        f'<line class="cursor" x1="{100 * at:.2f}%" x2="{100 * at:.2f}%" y1="{TOP}" y2="{TOP + HEIGHT}"/>'
        for at in heads
    )
    whose = f"the worst {models[0].partition} at each eps" if worst else robust_words.WHOLE
    return field(
        "".join(parts), label=f"Robust accuracy of {len(models):,} models by {axis.title}: {whose}", marks=marks,
        across=axis.ticks, up=PERCENTS, titles=(axis.title, f"robust accuracy, {whose}"),
    )  # fmt: skip


def temperature_chart(model: ModelAudit, curves: Curves, plateau: Iterable[tuple[float, float]]) -> str:
    """Score of each class by temperature, the lowest marked; of many classes those whose curves are kept."""
    temperatures = curves.temperature
    first, last = temperatures[0], temperatures[-1]

    def across(t: float) -> float:
        return math.log(min(max(t, first), last) / first) / math.log(last / first)

    top = model.score.range[1]
    step = max(1, len(temperatures) // KEPT)
    kept = sorted({*range(0, len(temperatures), step), len(temperatures) - 1})
    order = {entry.name: entry.score for entry in model.classes}
    own = sorted((name for name in curves.scores if name in order), key=lambda name: order[name])
    lines = [
        Line(
            [(across(temperatures[k]), curves.scores[name][k] / top) for k in kept],
            "line class" if at else "line worst",
            f"↓ {name}",
            name,
        )
        for at, name in enumerate(own)
    ]
    shaded = "".join(
        f'<rect class="plateau" x="{SIDE * left:.0f}" width="{max(2.0, SIDE * (right - left)):.0f}" height="{SIDE}"/>'
        for left, right in ((across(low), across(high)) for low, high in plateau)
    )
    marks = ""
    if model.score.temperature is not None:
        at = f"{100 * across(model.score.temperature):.2f}%"
        marks = f'<line class="cursor" x1="{at}" x2="{at}" y1="{TOP}" y2="{TOP + HEIGHT}"/>'
    ticks = [(across(t), f"{t:g}") for t in T_TICKS if first * 0.999 <= t <= last * 1.001]
    up = [(share, f"{share * top:.3g}") for share in (0, 0.25, 0.5, 0.75, 1)]
    return field(
        shaded + "".join(map(stroke, reversed(lines))), label=f"Scores of {model.name} by temperature", marks=marks,
        across=ticks, up=up, names=end_names(lines[:1]),
        titles=("temperature T (logarithmic)", shorten(views.score_name(model.score))),
    )  # fmt: skip


def bar(value: float, interval: tuple[float, float] | None, most: float, look: str, also: float | None = None) -> str:
    """A point with its interval on a scale from 0 to ``most``, as wide as its cell; a tick at ``also``."""
    ends = ""
    if interval is not None:
        low, high = (f"{min(100.0, max(0.0, 100 * end / most)):.1f}%" for end in interval)
        ends = f'<line x1="{low}" x2="{high}" y1="6" y2="6"/>'
    tick = ""
    if also is not None:
        at = f"{100 * also / most:.1f}%"
        tick = f'<line class="t" x1="{at}" x2="{at}" y1="0" y2="12"/>'
    point = f'<circle cx="{100 * value / most:.1f}%" cy="6" r="4"/>'
    return f'<svg class="b {look}" aria-hidden="true">{ends}{point}{tick}</svg>'


def shade(share: float) -> int:
    """Which shade of the heatmap a share has: one for each tenth, and one for all.

    >>> shade(0.0), shade(0.449), shade(0.999), shade(1.0)
    (0, 4, 9, 10)
    """
    return min(SHADES, max(0, int(SHADES * share)))


def strip(shares: Sequence[float | None]) -> str:
    """A row of many classes as colours, too narrow for numbers."""
    width, runs = SIDE / len(shares), dict[int, list[str]]()
    for place, share in enumerate(shares):
        if share is not None:
            runs.setdefault(shade(share), []).append(f"M{place * width:.4g} 0h{width + 0.3:.4g}v1H{place * width:.4g}z")
    drawn = "".join(f'<path class="f{level}" d="{"".join(parts)}"/>' for level, parts in sorted(runs.items()))
    return f'<svg class="strip" viewBox="0 0 {SIDE} 1" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
