"""Figures for papers: as wide as was asked, with letters that can be read, whatever they show."""

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from made_results import complete

import gfscore
from gfscore.jobs.plan import audit_radii
from gfscore.outputs.figures import FIGURES, figure_bytes, paper_figures
from gfscore.outputs.figures.paper_figures import COLUMN, PAGE, POINTS_PER_INCH, for_paper, with_short_names
from gfscore.outputs.figures.rank_lines import rank_lines
from gfscore.outputs.figures.repair_figures import repair_arrows, repair_frontier, training_curves
from many_models import many_models

LEAST_POINTS, TALLEST = 7.0, 9.0  # points of letters, inches of a figure
ROUNDING = 0.01  # a figure's size is written with four digits
LETTERS = re.compile(r'font-size="([0-9.]+)px"')
FRAME = re.compile(r'<svg[^>]*? width="([0-9.]+)(pt|)"[^>]*? height="([0-9.]+)(?:pt|)"[^>]*? viewBox="0 0 ([0-9.]+) ')
WIDTHS = {"column": COLUMN, "page": PAGE}
MODELS = "a network of some length, {}"  # 27 characters


def measure(chart, scale: float) -> tuple[float, float, float]:
    """Points of the smallest letters, and inches of the picture across and upwards."""
    svg = figure_bytes(chart, ".svg", size=scale).decode()
    assert "scale(" not in svg.partition("<g")[0]
    across, unit, height, pixels = FRAME.search(svg).groups()
    assert unit == "pt" or scale == 1
    points = float(across) / float(pixels)
    return (
        min(map(float, LETTERS.findall(svg))) * points,
        float(across) / POINTS_PER_INCH,
        float(height) / POINTS_PER_INCH,
    )


def expect_readable(draw, inches: float, font: str | None = None) -> None:
    found = for_paper(draw, inches=inches, font=font)
    letters, across, height = measure(found.chart, found.scale)
    assert across == pytest.approx(inches, abs=ROUNDING)
    assert letters >= LEAST_POINTS - ROUNDING
    assert 0.5 < height < TALLEST


def renamed(audit):
    """Eight models of the audit with names of 27 characters."""
    robust = [model for model in audit.models if model.robustness is not None] or list(audit.models)
    models = [model.model_copy(update={"name": MODELS.format(place)}) for place, model in enumerate(robust[:8])]
    return audit.model_copy(update={"models": tuple(models)})


def drawing(name, audit, font=None):
    figure, audit = FIGURES[name], with_short_names(audit, COLUMN, font)
    numbers = {"radii": audit_radii(audit), "calibration": audit.calibration}
    subject = audit.models[0] if figure.per_model else audit
    return partial(figure.draw, subject, **({figure.takes: numbers[figure.takes]} if figure.takes else {}))


@pytest.mark.parametrize("name", FIGURES)
def test_letters_of_a_column_can_be_read_with_eight_long_names(name, results):
    expect_readable(drawing(name, complete(renamed(results["zoo"]))), COLUMN)


@pytest.mark.parametrize("name", ["reranking", "robustness-models", "heatmap"])
def test_letters_can_be_read_in_a_wide_font_too(name, results):
    """As the one that stands in for Times where that is not installed."""
    audit = complete(renamed(results["zoo"]))
    expect_readable(drawing(name, audit, "DejaVu Serif"), COLUMN, "DejaVu Serif")


@pytest.mark.long
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("result", ["zoo", "cifar10", "imagenet", "2 classes", "24 classes", "60 classes"])
@pytest.mark.parametrize("name", FIGURES)
def test_letters_can_be_read_whatever_is_shown(name, result, width, results):
    if name == "noise" and result in ("cifar10", "imagenet"):
        pytest.skip("the samples were not published")
    if (name, result) == ("radar", "2 classes"):
        pytest.skip("a radar needs three classes")
    if (name, result, width) in TOO_MUCH:
        pytest.skip("17 models do not go into a column: docs/figures.md says so")
    made = {"2 classes": (8, 2), "24 classes": (8, 24), "60 classes": (8, 60)}
    audit = results[result] if result in results else many_models(*made[result])
    audit = renamed(audit) if result == "zoo" else audit
    expect_readable(drawing(name, complete(audit)), WIDTHS[width])


TOO_MUCH = {("disparity", "cifar10", "column")}


def test_digits_follow_the_score_and_colours_its_scale(results):
    """On paper as on the screen: two heatmaps of one score compare."""
    for audit in (results["zoo"], results["cifar10"]):
        spec = for_paper(drawing("heatmap", audit), inches=PAGE).chart.to_json()
        low, high = audit.models[0].score.range
        assert set(re.findall(r'"domain": \[\s*([0-9.]+),\s*([0-9.]+)\s*\],\s*"scheme"', spec)) == {
            (f"{low}", f"{high}")
        }


def test_names_of_a_radar_that_are_long_are_numbered_in_a_column():
    audit = many_models(3, 24)
    svg = figure_bytes(for_paper(drawing("radar", audit), inches=COLUMN).chart, ".svg").decode()
    texts = re.findall(r">([^<>]+)</text>", svg)
    assert {f"{place}" for place in range(1, 13)} <= set(texts)
    assert sum("spotted animal" in text for text in texts) == 12


def test_ranks_of_a_leaderboard_fit_into_a_column():
    board = gfscore.leaderboard([renamed(many_models(8, 10))])
    expect_readable(partial(rank_lines, board), COLUMN)


@pytest.mark.parametrize("width", WIDTHS)
def test_pictures_of_a_repair_can_be_read(width):
    rng, labels = np.random.default_rng(0), np.arange(1200) % 4
    logits = rng.normal(0, 1, (1200, 4)) + np.array([3, 1.5, 1.2, 0.8])[labels][:, None] * np.eye(4)[labels]
    result = gfscore.repair(logits, labels)
    shares = [(0.9, 0.5, 0.4 + place / 50, 0.3 + place / 20) for place in range(9)]
    curves = [SimpleNamespace(number=place, robust=shares[place]) for place in range(1, 9)]
    training = SimpleNamespace(start_robust=shares[0], curves=curves, chosen=5, held_n=400)
    trained = result.model_copy(update={"training": training, "method": "faal"})
    for draw in (partial(repair_frontier, result), partial(repair_arrows, result), partial(training_curves, trained)):
        expect_readable(draw, WIDTHS[width])


def test_long_names_of_models_are_shortened_and_still_told_apart(monkeypatch):
    monkeypatch.setattr(paper_figures, "character_of", lambda _font: paper_figures.USUAL_CHARACTER)
    which = ("first", "other", "third")
    names = ["resnet", *(f"resnet-50-imagenet-{word}-of-the-whole-team-seed-1" for word in which)]
    pairs = zip(many_models(4, 2).models, names, strict=True)
    models = [each.model_copy(update={"name": name}) for each, name in pairs]
    audit = many_models(4, 2).model_copy(update={"models": tuple(models)})
    column = [model.name for model in with_short_names(audit, COLUMN).models]
    assert column == ["resnet", *(f"resnet-50-ima…le-team-seed-1{dash}" for dash in ("", "′", "′′"))]
    page = [model.name for model in with_short_names(audit, PAGE).models]
    assert len(set(page)) == 4
    assert max(map(len, page)) <= 40 + 2
    assert with_short_names(models[1], COLUMN).name == column[1]
    monkeypatch.setattr(paper_figures, "character_of", lambda _font: 1.25 * paper_figures.USUAL_CHARACTER)
    wide = [model.name for model in with_short_names(audit, COLUMN).models]
    assert len(set(wide)) == 4
    assert max(map(len, wide)) < max(map(len, column))
