"""The pictures of the report show what the result holds: every line, dot and bar, and every text in them."""

import html
import re
from functools import cache

import pytest

from gfscore.outputs import report, robust_words
from gfscore.outputs.report.page_charts import HEIGHT, PERCENTS, SIDE, TOP
from gfscore.results import ModelAudit
from many_models import many_models

HALF = 0.5 / SIDE + 1e-9  # of a unit of the square that lines are drawn in
FIGURE = re.compile(r"<figure.*?</figure>", re.DOTALL)
PATH = re.compile(r'<path class="([^"]+)" d="M([^"]+)">(?:<title>(.*?)</title>)?</path>')
DOT = re.compile(r'<circle class="([^"]+)" cx="([0-9.]+)%" cy="([0-9.]+)" r="4.5"/>')
TEXT = re.compile(r'<text [^>]*?(class="axis")?>(.*?)</text>')
ROW = re.compile(r'<tr[^>]*><th scope="row">([^<]+)</th>(.*?)</tr>', re.DOTALL)
BAR = re.compile(r'<svg class="b (\w+)"[^>]*>(?:<line x1="([0-9.]+)%" x2="([0-9.]+)%"[^>]*>)?<circle cx="([0-9.]+)%"')


@cache
def page() -> str:
    return report.html(many_models(2, 10))


def section(place: int) -> str:
    start = page().index(f'id="m{place}"')
    end = page().find(f'id="m{place + 1}"')
    return page()[start : end if end > 0 else len(page())]


def points(way: str) -> list[tuple[float, float]]:
    """Across and up, in [0, 1]."""
    numbers = [float(each) / SIDE for each in way.split()]
    return [(x, 1 - y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def curves(model: ModelAudit) -> dict[str, list[tuple[float, float]]]:
    """What the lines over eps must be, by name: from clean accuracy on, as all samples have radii here."""
    found = model.robustness
    most = found.rungs[-1].eps
    known = {robust_words.WHOLE: [(0.0, model.accuracy), *((r.eps / most, r.value) for r in found.rungs)]}
    for place, entry in enumerate(model.classes):
        name = f"↓ {entry.name}" if entry.name == found.headline.worst else entry.name
        known[name] = [(0.0, entry.accuracy), *((r.eps / most, r.classes[place].value) for r in found.rungs)]
    return known


@pytest.mark.parametrize("place", [0, 1])
def test_lines_over_eps_go_through_the_shares_of_the_result(place):
    model = many_models(2, 10).models[place]
    drawn = {
        html.unescape(name): points(way)
        for look, way, name in PATH.findall(FIGURE.search(section(place))[0])
        if look.startswith("line")
    }
    wanted = curves(model)
    assert set(drawn) == set(wanted)
    for name, line in wanted.items():
        assert [x for x, _ in drawn[name]] == pytest.approx([x for x, _ in line], abs=HALF)
        assert [y for _, y in drawn[name]] == pytest.approx([y for _, y in line], abs=HALF)


def test_lines_of_all_models_are_theirs():
    first, second = (FIGURE.findall(page())[place] for place in (0, 1))
    for figure, of in ((first, "whole"), (second, "lowest")):
        drawn = [points(way) for look, way, _ in PATH.findall(figure) if look.startswith("line")]
        for model, line in zip(many_models(2, 10).models, drawn, strict=True):
            shares = [getattr(rung, of).value for rung in model.robustness.rungs]
            assert [y for _, y in line[1:]] == pytest.approx(shares, abs=HALF)


@pytest.mark.parametrize("place", [0, 1])
def test_dots_stand_at_clean_accuracy_and_at_the_headline(place):
    model = many_models(2, 10).models[place]
    rung = model.robustness.headline
    clean = {entry.name: entry.accuracy for entry in model.classes}
    dots = {look: (float(x) / 100, 1 - (float(y) - TOP) / HEIGHT) for look, x, y in DOT.findall(section(place))}
    at = model.robustness.eps / model.robustness.rungs[-1].eps
    wanted = {
        "main": (at, rung.value), "worst": (at, rung.lowest.value),
        "open main": (0, model.accuracy), "open worst": (0, clean[rung.worst]),
    }  # fmt: skip
    assert {look: pytest.approx(where, abs=3e-4) for look, where in wanted.items()} == dots


@pytest.mark.parametrize("place", [0, 1])
def test_bars_of_the_classes_are_their_numbers(place):
    model = many_models(2, 10).models[place]
    top = model.score.range[1]
    known = {entry.name: entry for entry in model.classes}
    seen = set()
    for name, cells in ROW.findall(section(place)):
        bars = BAR.findall(cells)
        if not bars:
            continue
        entry = known[html.unescape(name)]
        share = entry.robust_accuracy
        wanted = [(share.value, *share.interval), (entry.score / top, *(end / top for end in entry.interval))]
        for (_, low, high, middle), ends in zip(bars, wanted, strict=True):
            shown = [float(each) / 100 for each in (middle, low, high)]
            assert shown == pytest.approx([min(1, max(0, end)) for end in ends], abs=0.00051)
        seen.add(entry.name)
    assert seen == set(known)


@pytest.mark.parametrize("place", [0, 1])
def test_texts_in_pictures_are_names_or_places_on_their_axis(place):
    """No number stands in a picture that is neither a round place on its axis nor an eps of the result."""
    model = many_models(2, 10).models[place]
    eps = {f"{255 * rung.eps:.4g}" for rung in model.robustness.rungs} | {"0"}
    percents = {text for _, text in PERCENTS}
    top = model.score.range[1]
    scores = {f"{share * top:.3g}" for share in (0, 0.25, 0.5, 0.75, 1)}
    temperatures = {"0.01", "0.1", "1", "10"}
    names = {robust_words.WHOLE, *curves(model)}
    robust, by_temperature = FIGURE.findall(section(place))
    for figure, numbers in ((robust, eps | percents), (by_temperature, scores | temperatures)):
        texts = {html.unescape(text) for axis, text in TEXT.findall(figure) if not axis}
        lowest = {f"↓ {entry.name}" for entry in model.classes}
        assert texts <= numbers | names | lowest, texts - numbers - names - lowest
        assert len(texts) > 8
