"""The gallery: every kind of figure, of few classes and of 1,000, by lines and commands that do what they show."""

import io
import re

import pytest
from made_results import complete
from test_other_pages import trained

import draw_figures
import gfscore
from gfscore.cli.main import run
from gfscore.cli.screens import Screen
from gfscore.outputs.figures import ALL_FIGURES
from gfscore.outputs.terminal_curves import curve_plot
from many_models import many_models

KINDS = tuple(ALL_FIGURES)
ONE_SIZE = {"arrows", "frontier", "training"}  # a repair of 1,000 classes takes longer than drawing should


@pytest.fixture(scope="module")
def sources(results):
    """What the lines and commands find: of the same classes as the gallery's, with fewer models."""
    few = {name: audit.model_copy(update={"models": audit.models[:3]}) for name, audit in results.items()}
    robust = [model for model in results["zoo"].models if model.robustness is not None]
    named = [model.model_copy(update={"name": model.name.partition(" on ")[0]}) for model in robust]
    wanted = tuple(model for model in named if model.name in ("standard", "trades"))
    few["zoo"] = complete(results["zoo"].model_copy(update={"models": wanted}))
    few["attacked"] = few["zoo"].model_copy(update={"models": few["zoo"].models[:1]})
    few["made"] = complete(many_models(2, 1000, 2))
    boards = {"board": gfscore.leaderboard([few["zoo"]]), "board_made": gfscore.leaderboard([few["made"]])}
    return few | boards | {"repaired": trained()}


def test_every_kind_that_the_help_lists_is_there_in_both_sizes(capsys):
    assert run(["figures", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    listed = re.search(r"Draw only this figure: (.*?)\. May be", said)[1].split(", ")
    assert set(listed) == set(KINDS)
    for kind in listed:
        sizes = {picture.source in draw_figures.LARGE for picture in draw_figures.PICTURES if picture.kind == kind}
        assert sizes == ({False} if kind in ONE_SIZE else {True, False}), kind


def test_the_page_shows_pictures_that_are_there_and_says_what_is_made():
    page = draw_figures.page()
    drawn = set(re.findall(r"!\[[^]]+\]\(images/figures/(.+?)\.png\)", page))
    assert drawn == {picture.stem for picture in draw_figures.PICTURES}
    assert all((draw_figures.FOLDER / f"{stem}.png").is_file() for stem in drawn)
    assert re.findall(r"^## `(.+)`$", page, re.MULTILINE) == list(KINDS)
    made = sum(picture.source in ("made", "board_made") for picture in draw_figures.PICTURES)
    assert page.count("made`. Made: random numbers, no networks.") == made > 0


@pytest.mark.parametrize("picture", draw_figures.PICTURES, ids=lambda picture: picture.stem)
def test_each_line_draws_the_figure_that_its_command_draws(picture, sources):
    chart = draw_figures.draw(picture.line, sources)
    assert chart.to_dict()["title"]["text"]
    function = picture.line.partition("(")[0]
    assert ALL_FIGURES[picture.kind].draw.__name__ == function


@pytest.mark.parametrize("source", draw_figures.SOURCES)
def test_commands_write_their_pictures(source, sources, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = sources[source]
    places = {"Audit": f"{source}/audit.json", "Repair": f"{source}/repair.json", "Leaderboard": f"{source}.json"}
    result.save(tmp_path / places[type(result).__name__])
    for picture in draw_figures.PICTURES:
        if picture.source == source:
            words = picture.command.split()
            assert words[0] == "gfscore"
            assert run([*words[1:], "--format", "svg", "--quiet", "--out", picture.stem]) == 0
            assert any(path.name.startswith(picture.kind) for path in (tmp_path / picture.stem).iterdir())


def test_the_curve_that_figures_md_shows_is_what_a_terminal_gets(zoo):
    text = (draw_figures.FOLDER.parents[1] / "figures.md").read_text(encoding="utf-8")
    shown = re.search(r"^```text\n(──.*?)^```", text, re.MULTILINE | re.DOTALL)[1]
    stream = io.StringIO()
    screen = Screen(file=stream, force_terminal=True, width=80, color_system=None, markup=False, highlight=False)
    for line in curve_plot(zoo["trades on zoo:digits"], screen):
        screen.print(line)
    assert [line.rstrip() for line in stream.getvalue().splitlines()] == shown.splitlines()
